#!/usr/bin/env python3
"""Runs the examples of the documentation and compares what they print.

    examples.py [--update] SOURCE SCRATCH [PAGE...]

An example is a fenced block whose first line begins with "$ ". The line before the fence says what it
needs, and nothing else may be there:

    <!-- example FILE... [-- COMMAND] -->     files of examples/ or tests/ (path below it, or NAME=PATH to
                                              give it another name), and a command that is run first
    <!-- example not run: REASON -->          counted, not run

Examples of one page are run in one directory, in their order. What a command prints on standard output
and standard error stands below it; a line "..." stands for any number of lines. Compared are the lines
without trailing blanks, after times, sizes, addresses, offsets in stacks and numbers of runs were replaced.
--update writes what is printed into the page, where no line is "...".
"""
import pathlib, re, shutil, subprocess, sys

update = "--update" in sys.argv
arguments = [a for a in sys.argv[1:] if a != "--update"]
source, scratch = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
pages = [pathlib.Path(p) for p in arguments[2:]] or [source / "README.md", *sorted((source / "docs").glob("*.md"))]


def normalised(line):
    line = re.sub(r"0x[0-9a-f]{5,}", "ADDRESS", line)
    line = re.sub(r"\b(stack of T\d+)\+\d+", r"\1+OFFSET", line)
    line = re.sub(r"\b\d+(\.\d+)? (s|ms|us|seconds?)\b", "TIME", line)
    line = re.sub(r"\b\d+(\.\d+)? (bytes an event|kB|MB)", "SIZE", line)
    # Threads that run in parallel need not take as many runs, and switches, every time.
    line = re.sub(r"\b\d+ (runs|plain|profiled|steered|traced runs?)\b", r"N \1", line)
    line = re.sub(r"\(\d+ before minimising\)", "(N before minimising)", line)
    line = re.sub(r"by the suspensions \d+ of \d+", "by the suspensions N of N", line)
    return re.sub(r" +", " ", line.rstrip())


def matches(wanted, got):
    """Lines of wanted against lines of got, where '...' is any number of lines."""
    if not wanted:
        return not got
    if wanted[0].strip() == "...":
        return any(matches(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and normalised(wanted[0]) == normalised(got[0]) and matches(wanted[1:], got[1:])


def fetch(words, directory):
    for word in words:
        name, _, path = word.rpartition("=")
        for root in (source / "examples", source / "tests"):
            if (root / path).is_file():
                shutil.copy(root / path, directory / (name or pathlib.Path(path).name))
                break
        else:
            raise SystemExit(f"there is no {path} in examples/ or tests/")


def run(command, directory):
    done = subprocess.run(["bash", "-c", command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=100, text=True, errors="replace")
    return done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def parts(block):
    """Commands of a block, each with the lines below it."""
    result = []
    for line in block:
        if line.startswith("$ "):
            result.append((line[2:], []))
        else:
            result[-1][1].append(line)
    return result


def run_example(where, directive, block, directory):
    """The block as the page should have it."""
    global ran, left, wrong
    if not directive:
        print(f"{where}: the line before the example does not say how it is run")
        wrong += 1
        return block
    if directive.group(1):
        print(f"{where}: {directive.group(1)}")
        left += 1
        return block
    fetch(directive.group(2).split(), directory)
    if directive.group(3):
        done = subprocess.run(["bash", "-ec", directive.group(3)], cwd=directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True)
        if done.returncode != 0:
            print(f"{where}: what comes first fails: {done.stdout}")
            wrong += 1
            return block
    out = []
    for command, wanted in parts(block):
        got = run(command, directory)
        ran += 1
        while wanted and not wanted[-1].strip():
            wanted.pop()
        if not matches(wanted, got):
            if update and not any(line.strip() == "..." for line in wanted):
                wanted = [line.rstrip() for line in got]
            else:
                wrong += 1
                print(f"{where}: $ {command}", "--- the page says", *wanted, "--- it prints", *got, "---", sep="\n")
        out += ["$ " + command, *wanted]
    return out


ran = left = wrong = 0
for page in pages:
    lines = page.read_text().split("\n")
    directory = scratch / page.stem
    directory.mkdir(parents=True, exist_ok=True)
    out, i = [], 0
    while i < len(lines):
        out.append(lines[i])
        i += 1
        if not out[-1].startswith("```"):
            continue
        end = next((k for k in range(i, len(lines)) if lines[k].startswith("```")), len(lines))
        block = lines[i:end]
        if block and block[0].startswith("$ "):
            directive = re.fullmatch(r"<!-- example(?: (not run: .+)|((?: [^ -][^ ]*)*)(?: -- (.+))?) -->", out[-2])
            block = run_example(f"{page.name}:{i + 1}", directive, block, directory)
        out += block + lines[end:end + 1]
        i = end + 1
    if update:
        page.write_text("\n".join(out))
print(f"{ran} commands of examples run, {left} examples not run, {wrong} wrong")
sys.exit(1 if wrong or ran < 10 and len(pages) > 1 else 0)
