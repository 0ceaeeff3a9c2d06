"""What the scripts of this directory share: which programs there are, how they are compiled, and what heddle is asked."""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
HEDDLE = os.environ.get("HEDDLE", os.path.join(ROOT, "build/heddle"))
OUT = os.path.join(os.environ.get("BENCH_OUT", os.path.join(HERE, "../out")), "explore")


def say(text):
    print(text, file=sys.stderr, flush=True)


def structures():
    """Name, source and number of threads of the programs here; None if a program has a number of its own."""
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "programs/*.c"))):
        with open(path) as source:
            text = source.read()
        own = "#define THREADS" in text or "threads.h" not in text
        found += [(os.path.basename(path)[:-2], path, threads) for threads in ([None] if own else [2, 3])]
    return found


def others():
    """The same for the other programs that have a bug and a repaired twin: those of tests/programs and bench/expose."""
    return [(os.path.splitext(os.path.basename(path))[0], path, None)
            for pattern in ("tests/programs/*.c", "tests/programs/*.cpp", "bench/expose/programs/*.c")
            for path in sorted(glob.glob(os.path.join(ROOT, pattern)))]


def title(name, threads):
    return name if threads is None else "%s, %d threads" % (name, threads)


def compile_program(name, source, threads, fixed, heddle=HEDDLE):
    """The path of the program, compiled by this heddle; it is broken, or right."""
    place = os.path.join(OUT, "bin", "" if heddle == HEDDLE else heddle.strip("/").replace("/", "-"),
                         os.path.basename(os.path.dirname(os.path.dirname(source))))
    os.makedirs(place, exist_ok=True)
    binary = os.path.join(place, "%s%s%s" % (name, "" if threads is None else "_%d" % threads, "" if fixed else ".broken"))
    cpp = source.endswith("pp")
    command = [heddle, "c++" if cpp else "cc"] + ([] if cpp else ["-std=gnu11"])
    command += ["-g", "-O2", "-o", binary, source, "-pthread"] + (["-DFIXED"] if fixed else [])
    subprocess.run(command + ([] if threads is None else ["-DTHREADS=%d" % threads]), check=True)
    return binary


def ask(command):
    """The JSON that a command prints; None if it prints none."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        say("%s: %s" % (" ".join(command), done.stderr.strip()))
        return None


def hunt(binary, seconds, options=(), heddle=HEDDLE):
    """A hunt until nothing is left."""
    report = ask([heddle, "hunt", "--complete", "--time", str(seconds), "--no-output", "--format", "json", *options, "--", binary])
    if report is None or "exploration" not in report:
        return None
    failed = [f for f in report["findings"] if f.get("forced") and f["forced"]["failed"]]
    exploration = report["exploration"]
    return {"complete": exploration["complete"], "classes": exploration["classes"], "runs": exploration["runs"],
            "left": exploration["left"], "reasons": exploration["reasons"], "failed": bool(failed),
            "seconds": report["effort"]["milliseconds"] / 1000, "first": exploration["first_failure"],
            "first_seconds": report["effort"]["failure_milliseconds"] / 1000}


def expose(binary, strategy, seed, runs, seconds, options=()):
    """Runs of a campaign until it fails; negative if it does not."""
    report = ask([HEDDLE, "expose", "--strategy", strategy, "--seed", str(seed), "--runs", str(runs), "--time", str(seconds),
                  "--repeat", "0", "--limit", "4", "--format", "json", "-o", binary + ".json", *options, "--", binary])
    if report is None or "expose" not in report:
        return -runs
    campaign = report["expose"]
    return campaign["runs"] if campaign["verdict"] in ("exposed", "flaky") else -campaign["runs"]


def table(head, rows, heading, note, report):
    """To the terminal, and as Markdown to the list `report`."""
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    print("\n" + heading)
    for row in [head] + rows:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
    print(note)
    report.append("#### %s\n\n|%s|\n|%s|\n%s\n\n%s\n" % (
        heading, "|".join(head), "|".join("---" if i == 0 else "---:" for i in range(len(head))),
        "\n".join("|" + "|".join(row) + "|" for row in rows), note))
