#!/usr/bin/env python3
"""Writes a report as heddle lint does, for tests of what takes one: each argument is a finding,
"KIND VARIABLE|FIRST|BETWEEN|SECOND", where the last three are "r TEXT" or "w TEXT": an access at
the only line of PROGRAM.c that has the text; "TEXT #2" is the second of them.

  suspect.py PROGRAM.c FINDING... >lint.json"""
import json
import sys


def event(path, lines, role, words):
    op, text = words.strip().split(" ", 1)
    text, _, number = text.partition(" #")
    at = [n for n, line in enumerate(lines, 1) if text in line]
    if not at or (len(at) > 1 and not number):
        sys.exit(f"{path}: {len(at)} lines have '{text}'")
    line = at[int(number) - 1] if number else at[0]
    return {"role": role, "op": op, "file": path, "line": line, "function": None}


def main():
    path = sys.argv[1]
    lines = open(path, encoding="utf-8").read().splitlines()
    findings = []
    for number, argument in enumerate(sys.argv[2:], 1):
        about, *places = argument.split("|")
        kind, variable = about.split()
        findings.append({
            "kind": kind, "verdict": "possible", "engine": "moth", "fingerprint": f"{number:016x}",
            "variable": variable, "explanation": "",
            "events": [event(path, lines, role, words)
                       for role, words in zip(("first", "between", "second"), places)]})
    json.dump({"schema": "heddle-findings/1", "findings": findings}, sys.stdout, indent=2)


main()
