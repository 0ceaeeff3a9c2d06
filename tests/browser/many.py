#!/usr/bin/env python3
"""many.py FINDINGS: 10,000 findings from those of a file, to standard output."""
import copy
import json
import sys

report = json.load(open(sys.argv[1]))
some = report["findings"]
report["findings"] = []
for i in range(10000):
    finding = copy.deepcopy(some[i % len(some)])
    finding["fingerprint"] = "%016x" % i
    finding["variable"] += "_%d" % i
    finding["witness"] = None
    report["findings"].append(finding)
json.dump(report, sys.stdout)
