#!/usr/bin/env python3
"""Sets `heddle hunt --complete` beside all schedules of small concurrent programs (tests/oracle/concurrent.h),
given as files or made up. The program's own runs say which classes were reached, the oracle which there are.
A hunt must not say that it is complete before every class and every failure was reached, must reach nothing
else, and must count the classes as the oracle does. With --random N, the program is run N times under random
schedules instead of a hunt: then the interpreter and the oracle are checked against each other."""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time


class Truth:
    """What the oracle says of a program."""

    def __init__(self, oracle, path):
        lines = subprocess.run([oracle, "classes", path], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
        self.classes = {line for line in lines if line.startswith("class")}
        self.failures = {line for line in lines if line.startswith("assert") or line == "deadlock"}
        self.late = {line.replace("late", "assert") for line in lines if line.startswith("late")}
        self.hangs = "hang" in lines
        self.counted = int(next(line for line in lines if line.startswith("counted")).split()[1])


def collapsed(classes):
    """Classes in which a thread that is woken for nothing, and looks again at the same, has looked once."""
    return {re.sub(r"( \d+w)\1+", r"\1", line) for line in classes}


def logged(path):
    """The lines that the program's runs have appended."""
    if not os.path.exists(path):
        return set()
    with open(path) as log:
        return set(log.read().splitlines())


def random_runs(args, text, directory, environment):
    """The program under random schedules."""
    deadlocks = False
    for seed in range(args.random):
        done = subprocess.run([args.heddle, "record", "-q", "--policy", "random", "--quantum", "3", "--seed", str(seed + 1),
                               "-o", os.path.join(directory, "t.hdt"), "--", args.run, text], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadlocks = deadlocks or "the program deadlocked" in done.stderr
    return {"deadlock": deadlocks, "complete": None, "runs": args.random}


def hunt(args, text, directory, environment):
    """A hunt to the end."""
    command = [args.heddle, "hunt", "--complete", "--time", str(args.time), "--repeat", "1", "--no-output", "--format",
               "json"] + args.option + ["--", args.run, text]
    done = subprocess.run(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"error": "status %d, no JSON: %s" % (done.returncode, done.stderr.strip())}
    if "error" in report:  # a program that fails in every plain run is refused
        return {"refused": report["error"]}
    exploration = report["exploration"]
    outcomes = [f["forced"]["outcome"] for f in report["findings"] if f.get("forced")]
    # what plain runs do too is no finding, but the hunt says that the program fails by itself
    found = "deadlock" in outcomes or report["effort"]["plain_failed"] > 0
    return {"deadlock": found and done.returncode == 1,
            "complete": exploration["complete"], "classes": exploration["classes"], "runs": exploration["runs"],
            "reasons": [r if isinstance(r, str) else json.dumps(r) for r in exploration["reasons"]]}


def compare(args, path):
    """What is wrong with one program, what was seen, and how it ended."""
    with open(path) as file:
        text = file.read()
    truth = Truth(args.oracle, path)
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "log")
        environment = dict(os.environ, CONCURRENT_LOG=log)
        result = (random_runs if args.random else hunt)(args, text, directory, environment)
        lines = logged(log)
    if "error" in result:
        return [result["error"]], result, truth
    if "refused" in result:
        return [] if truth.failures else ["refused: " + result["refused"]], result, truth
    wrong = []
    reached = {line for line in lines if line.startswith("class")}
    failures = lines - reached
    if result["deadlock"] and ("deadlock" in truth.failures or not failures):
        failures.add("deadlock")
    for line in sorted(reached - truth.classes):
        wrong.append("reached, and no schedule does it: " + line)
    for line in sorted(failures - truth.failures - truth.late):
        wrong.append("failed, and no schedule does it: " + line)
    missed = [("not reached: ", line) for line in sorted(collapsed(truth.classes) - collapsed(reached))]
    missed += [("not reached: ", line) for line in sorted(truth.failures - failures)]
    result["missed"] = len(missed)
    if result["complete"]:
        wrong += ["complete, but " + what + line for what, line in missed]
        counts = {truth.counted, len(collapsed(truth.classes)) if truth.counted == len(truth.classes) else truth.counted}
        if not truth.failures and not truth.late and not truth.hangs and result["classes"] not in counts:
            wrong.append("%d classes counted, there are %s" % (result["classes"], " or ".join(map(str, sorted(counts)))))
    return wrong, result, truth


def one(args, job):
    path = job
    if isinstance(job, int):
        path = os.path.join(args.directory, "%d.txt" % job)
        with open(path, "w") as file:
            subprocess.run([args.oracle, "random", str(job), str(args.classes)] + ["all"] * args.all, check=True, stdout=file)
    return (path,) + compare(args, path)


UNFORESEEN = "had not been foreseen"


def show(args, path, lines):
    """Prints a program and what is said of it; a kept one has its seed in its first line."""
    with open(path) as file:
        text = file.read()
    print("%s\n%s  %s\n" % (path, text, "\n  ".join(lines)), flush=True)
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
        with open(os.path.join(args.keep, os.path.basename(path)), "w") as kept:
            kept.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--oracle", required=True, help="build/tests/support/concurrent")
    parser.add_argument("--run", required=True, help="tests/oracle/concurrent_run.c, compiled by heddle cc")
    parser.add_argument("--random", type=int, default=0, help="so many random runs of each program, no hunt")
    parser.add_argument("--programs", type=int, default=0, help="make up so many programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--classes", type=int, default=40, help="of a program that is made up, at most")
    parser.add_argument("--all", action="store_true", help="of all instructions, not only of the first ones")
    parser.add_argument("--time", type=int, default=60, help="seconds of a hunt")
    parser.add_argument("--least", type=int, default=0, help="percent of the hunts that must be complete, refused ones aside")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], help="of heddle hunt")
    parser.add_argument("--keep", metavar="DIRECTORY", help="of the programs that disagree, or that closing alone did not finish")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("file", nargs="*")
    args = parser.parse_args()
    for name in "heddle", "oracle", "run":
        setattr(args, name, os.path.abspath(getattr(args, name)))
    jobs = args.file + list(range(args.seed, args.seed + args.programs))
    begin, bad, reasons, sums = time.time(), 0, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        args.directory = directory
        for path, wrong, result, truth in pool.map(lambda job: one(args, job), jobs):
            sums["classes"] += len(truth.classes)
            sums["runs"] += result.get("runs", 0)
            sums["failing"] += bool(truth.failures)
            sums["complete"] += bool(result.get("complete"))
            sums["refused"] += "refused" in result
            sums["missed nothing"] += result.get("missed") == 0
            reasons.update(result.get("reasons", []))
            if args.verbose:
                print("%s: %s, %d classes, %d failures" % (os.path.basename(path), result, len(truth.classes),
                                                            len(truth.failures)))
            # The random runs behind "complete" noticed what closing alone had missed: no false claim, but a hole.
            holes = [reason for reason in result.get("reasons", []) if UNFORESEEN in reason]
            sums["holes"] += bool(holes)
            if wrong or holes:
                bad += 1
                show(args, path, wrong + holes)
    seconds = time.time() - begin
    print("%d programs (%d can fail), %d classes: %d refused, %d complete, %d with nothing missed, %d disagree, of them "
          "%d not foreseen; %d runs, %.0f a second" % (len(jobs), sums["failing"], sums["classes"], sums["refused"],
                                                       sums["complete"], sums["missed nothing"], bad, sums["holes"],
                                                       sums["runs"], sums["runs"] / seconds))
    for reason, count in reasons.most_common(12):
        print("%6d  %s" % (count, reason))
    if (len(jobs) - sums["refused"]) * args.least > 100 * sums["complete"]:
        print("too few are complete")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
