#!/usr/bin/env python3
"""Checks a timeline in the Chrome trace event format: slices of a track nest, arrows have two ends, each in
a slice, the two ends of what is on a track of its own fit. Prints what there is, sorted.

    check_timeline.py FILE
"""
import collections, json, sys

document = json.load(open(sys.argv[1]))
assert document["displayTimeUnit"] in ("ns", "ms")
tracks, flows, apart = collections.defaultdict(list), collections.defaultdict(dict), collections.defaultdict(dict)
named, seen = set(), collections.Counter()
for record in document["traceEvents"]:
    track = record["pid"], record["tid"]
    assert isinstance(record["ts"], int) and record["ts"] >= 0, record
    if record["ph"] == "X":
        assert record["dur"] > 0, record
        tracks[track].append((record["ts"], record["ts"] + record["dur"], record["name"]))
    elif record["ph"] in "sf":
        flows[record["cat"], record["id"]][record["ph"]] = track, record["ts"]
    elif record["ph"] in "be":
        apart[record["cat"], record["id"]][record["ph"]] = record["ts"]
    elif record["ph"] == "M":
        named.add((record["name"], *track))
    else:
        assert record["ph"] == "i", record
    group = {1: "", 2: "lock: "}[record["pid"]]
    if record["ph"] in "Xib":
        seen[f"{group}{record['cat']} {record['name']}"] += 1
    elif record["ph"] == "s":
        seen[f"arrow {record['name']}"] += 1

for track, slices in tracks.items():
    assert ("thread_name", *track) in named, f"{track} has no name"
    open_ones = []
    for start, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ones and open_ones[-1][1] <= start:
            open_ones.pop()
        assert not open_ones or end <= open_ones[-1][1], f"{name} at {start} crosses {open_ones[-1]}"
        open_ones.append((start, end, name))
for key, ends in flows.items():
    assert set(ends) == {"s", "f"}, f"arrow {key} has one end"
    assert ends["s"][1] < ends["f"][1], f"arrow {key} goes back"
    for track, time in ends.values():
        assert any(start <= time <= end for start, end, _ in tracks[track]), f"arrow {key} begins or ends in no slice"
for key, ends in apart.items():
    assert ends["b"] < ends["e"], f"{key} ends before it begins"
for name, count in sorted(seen.items()):
    print(f"{count} {name}")
