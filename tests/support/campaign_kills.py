#!/usr/bin/env python3
"""campaign_kills.py KILLS SEED -- COMMAND...: runs COMMAND, which is `heddle campaign --supervise ...
mpirun ...`, and at random moments kills one of its ranks, rank 0 or mpirun, or stops a rank so that it
is not heard of any more. Ends with COMMAND's status; the last line on standard output has the kills.
"""
import os, pathlib, random, signal, subprocess, sys, time

kills, seed = int(sys.argv[1]), int(sys.argv[2])
command = sys.argv[sys.argv.index("--") + 1:]
dice = random.Random(seed)
done = []


def children(pid):
    try:
        return [int(word) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for word in (task / "children").read_text().split()]
    except OSError:
        return []


def name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def rank(pid):
    try:
        for word in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if word.startswith(b"OMPI_COMM_WORLD_RANK="):
                return int(word.split(b"=")[1])
    except (OSError, ValueError):
        pass
    return None


def victims(top):
    """mpirun and its ranks, by what they are."""
    found = {}
    for mpirun in children(top):
        if name(mpirun) != "mpirun":
            continue
        found["mpirun"] = mpirun
        for process in children(mpirun):
            number = rank(process)
            if number is not None:
                found["coordinator" if number == 0 else f"worker {number}"] = process
    return found


top = subprocess.Popen(command)
while top.poll() is None:
    time.sleep(dice.uniform(0.3, 1.6))
    if len(done) == kills or top.poll() is not None:
        continue
    found = victims(top.pid)
    if "coordinator" not in found:
        continue
    what = dice.choice(sorted(found))
    how = signal.SIGSTOP if what.startswith("worker") and dice.random() < 0.4 else signal.SIGKILL
    try:
        os.kill(found[what], how)
        done.append(f"{what} {'stopped' if how == signal.SIGSTOP else 'killed'}")
    except ProcessLookupError:
        pass
print(f"{len(done)} kills, seed {seed}:", ", ".join(done))
sys.exit(top.returncode)
