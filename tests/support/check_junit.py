#!/usr/bin/env python3
"""Checks JUnit reports: well-formed, and the counts are those of the cases.

    check_junit.py FILE...
"""
import sys
import xml.etree.ElementTree as tree

for path in sys.argv[1:]:
    root = tree.parse(path).getroot()
    total = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in root.findall("testsuite"):
        cases = suite.findall("testcase")
        found = {"tests": len(cases), "failures": len(suite.findall("testcase/failure")),
                 "errors": len(suite.findall("testcase/error")), "skipped": len(suite.findall("testcase/skipped"))}
        for name, count in found.items():
            if int(suite.get(name)) != count:
                sys.exit(f"{path}: {suite.get('name')} says {suite.get(name)} {name}, it has {count}")
            total[name] += count
        if not all(case.get("name") and case.get("classname") for case in cases):
            sys.exit(f"{path}: a case without a name")
    for name, count in total.items():
        if int(root.get(name)) != count:
            sys.exit(f"{path}: says {root.get(name)} {name}, there are {count}")
