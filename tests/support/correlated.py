"""The five bugs of two variables (tests/programs/correlated.tsv): mines the correlations from the
source, records the buggy program and its repaired twin, and predicts with --correlations. Used by
tests/cli/predict_correlated.test and bench/mine/correlated.

rows(heddle, programs, directory, schedules) yields one dictionary a program and method."""
import collections
import json
import os
import subprocess

METHODS = ("lockset_mv", "hb_mv", "poly/cdsr", "poly/csr")
MINING = ["--no-cache", "--min-support", "3", "--min-direct-support", "3"]


def run(command, directory, good=(0, 1)):
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if result.returncode not in good:
        raise SystemExit("%s: status %d\n%s%s" % (" ".join(command), result.returncode, result.stdout, result.stderr))
    return result.stdout


def table(programs):
    with open(os.path.join(programs, "correlated.tsv")) as text:
        names = text.readline().lstrip("#").split()
        return [dict(zip(names, line.rstrip("\n").split("\t"))) for line in text if line.strip()]


def rules(heddle, entry, source, directory):
    """The correlation file, mined; where the source does not show the rule, by hand."""
    path = entry["program"] + ".corr"
    run([heddle, "mine", *MINING, "-o", path, source], directory)
    wanted = set(entry["variables"].split(","))
    with open(os.path.join(directory, path)) as text:
        lines = [line.split() for line in text if "=>" in line]
    mined = any({words[1], words[4]} == wanted for words in lines)
    return path, mined


def by_hand(entry, directory):
    path = entry["program"] + ".hand.corr"
    with open(os.path.join(directory, path), "w") as text:
        text.write("heddle-correlations 1\nany %s => any %s\nend\n" % tuple(entry["variables"].split(",")))
    return path


def is_bug(entry, finding):
    functions = {event["function"] for event in finding["events"]}
    return set(finding.get("variables") or []) == set(entry["variables"].split(",")) and functions & {
        entry["first"]
    } and functions & {entry["other"], "append", "add_row"}


def predict(heddle, method, corr, trace, directory):
    engine, _, model = method.partition("/")
    command = [heddle, "predict", "race", "--engine", engine, "--format", "json", "--correlations", corr, trace]
    if model:
        command += ["--model", model]
    report = json.loads(run(command, directory))
    return [finding for finding in report["findings"] if finding.get("variables")]


def rows(heddle, programs, directory, schedules):
    for entry in table(programs):
        name = entry["program"]
        source = os.path.join(programs, name + ".c")
        mined_file, mined = rules(heddle, entry, source, directory)
        run([heddle, "names", "--no-cache", "-o", name + ".names", source], directory)
        count = collections.Counter()
        for twin in ("buggy", "fixed"):
            flags = ["-DFIXED"] if twin == "fixed" else []
            run([heddle, "cc", "-g", "-O1", *flags, "-o", name, source, "-pthread"], directory, (0,))
            for number, schedule in enumerate(schedules):
                trace = "%s.%s.%d.hdt" % (name, twin, number)
                run([heddle, "record", "-q", *schedule, "-o", trace, "--", "./" + name], directory, range(256))
                for method in METHODS:
                    for kind, path in (("mined", mined_file), ("hand", by_hand(entry, directory))):
                        with open(os.path.join(directory, path)) as text:
                            if "=>" not in text.read():
                                continue
                        found = predict(heddle, method, path, trace, directory)
                        bugs = [f for f in found if is_bug(entry, f)]
                        key = (twin, method, kind)
                        count[key + ("found",)] += bool(bugs)
                        count[key + ("extra",)] = max(count[key + ("extra",)], len(found) - len(bugs))
                        count[key + ("all",)] = max(count[key + ("all",)], len(found))
        yield {"entry": entry, "mined": mined, "count": count, "runs": len(schedules)}
