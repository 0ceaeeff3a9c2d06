#!/usr/bin/env python3
"""The violations that are marked in tests/lint/programs, against what a tool reports.

  marks.py PROGRAM.c              prints the marks: line, count or also, kinds, first, second
  marks.py PROGRAM.c FINDINGS     compares: "violations V, missed M, false F, unlikely U", then a line for
                                  each; the U are those of the F that are ranked down
  marks.py --fixed PROGRAM.c FINDINGS   the same for the repaired twin, which has no violations

FINDINGS is the JSON of heddle lint. A report fits a mark if its kind is one of the mark's, and its
blocks lie in the functions that the mark names: in this order for stale-value, in any for view. An
access may be in a function that the block calls: the block's own is the last of its stack."""
import json
import re
import sys

MARK = re.compile(r"\b(violation|also): ([a-z,-]+) (\w+) (\w+)")
FUNCTION = re.compile(r"^[a-z].*?\b(\w+)\([^;]*$")


class Mark:
    def __init__(self, line, word, kinds, first, second):
        self.line, self.counts = line, word == "violation"
        self.kinds, self.first, self.second = kinds.split(","), first, second

    def fits(self, report):
        kind, first, second = report
        if kind not in self.kinds:
            return False
        if (first, second) == (self.first, self.second):
            return True
        return kind == "view" and (second, first) == (self.first, self.second)

    def __str__(self):
        word = "violation" if self.counts else "also"
        return f"{self.line}: {word}: {','.join(self.kinds)} {self.first} {self.second}"


def read_marks(path):
    """The marks of a program; each names two functions that the program has."""
    marks, functions = [], set()
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if found := FUNCTION.match(line):
            functions.add(found[1])
        for found in MARK.finditer(line):
            marks.append(Mark(number, *found.groups()))
    for mark in marks:
        for name in (mark.first, mark.second):
            if name not in functions:
                sys.exit(f"{path}:{mark.line}: there is no function {name}")
    return marks


def block_of(event):
    """The function that holds the block: the outermost of the stack, or the access's own."""
    return event["stack"][-1]["function"] if event.get("stack") else event["function"]


def report_of(finding):
    """Kind and functions of the two blocks."""
    function = {}
    for event in finding["events"]:
        function.setdefault(event.get("role"), block_of(event))
    return (finding["kind"], function.get("first"), function.get("second"))


def read_reports(path):
    """The reports of a file, each once; and those of them that are unlikely."""
    reports, likely = [], set()
    for finding in json.load(open(path, encoding="utf-8"))["findings"]:
        report = report_of(finding)
        if report not in reports:
            reports.append(report)
        if finding["harm"] != "unlikely":
            likely.add(report)
    return reports, [r for r in reports if r not in likely]


def compare(marks, reports, unlikely):
    """What is missed, and what is false. A report that is ranked down as unlikely finds nothing, but
    is false all the same."""
    found = [r for r in reports if r not in unlikely]
    missed = [m for m in marks if m.counts and not any(m.fits(r) for r in found)]
    false = [r for r in reports if not any(m.fits(r) for m in marks)]
    return missed, false


def main():
    arguments = sys.argv[1:]
    fixed = arguments[:1] == ["--fixed"]
    if fixed:
        arguments = arguments[1:]
    marks = [] if fixed else read_marks(arguments[0])
    if len(arguments) == 1:
        print("\n".join(map(str, marks)))
        return
    reports, unlikely = read_reports(arguments[1])
    missed, false = compare(marks, reports, unlikely)
    down = [r for r in false if r in unlikely]
    print(f"violations {sum(m.counts for m in marks)}, missed {len(missed)}, false {len(false)}, "
          f"unlikely {len(down)}")
    for mark in missed:
        print(f"missed {mark}")
    for report in false:
        print("unlikely" if report in down else "false", *report)


if __name__ == "__main__":
    main()
