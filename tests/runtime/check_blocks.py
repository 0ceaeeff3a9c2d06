"""Usage: check_blocks.py SOURCE SCHEDULER < dump.json: compares allocations, releases and accesses of blocks with the
EXPECT comments of SOURCE: alloc:TYPE:BYTES (* for any), free:LETTER, r:LETTER, w:LETTER. A letter stands for
one block: the same one everywhere, and no other letter's. After || is what the free scheduler sees: blocks
that realloc leaves in their places end and begin."""
import json, re, sys

source = sys.argv[1]
wanted = {}
for number, text in enumerate(open(source), 1):
    mark = re.search(r"// EXPECT(.*)", text)
    if mark:
        serial, _, free = mark.group(1).partition("||")
        wanted[number] = (free if sys.argv[2] == "free" and "||" in mark.group(1) else serial).split()
seen = {number: [] for number in wanted}
born = {}
for line in sys.stdin:
    event = json.loads(line)
    name = event.get("variable") or event.get("object") or ""
    block = re.match(r"(heap|map)#\d+", name)
    if not block or event["op"] not in ("alloc", "free", "r", "w"):
        continue
    if event["op"] == "alloc":
        if block.group(0) in born:
            sys.exit(f"{block.group(0)} is allocated twice")
        born[block.group(0)] = event["event"]
    if event.get("file", "").endswith(source.rsplit("/", 1)[-1]) and event.get("line") in wanted:
        seen[event["line"]].append((event["op"], block.group(1), block.group(0), event.get("size", 0)))

letters = {}
bad = 0
for number, want in sorted(wanted.items()):
    # What strdup itself writes is another test's business.
    got = [g for g in seen[number] if not (g[0] == "w" and not any(w.startswith("w:") for w in want))]
    good = len(want) == len(got)
    for mark, (op, kind, block, size) in zip(want, got):
        part = mark.split(":")
        if part[0] != op:
            good = False
        elif op == "alloc":
            good = good and part[1] == kind and part[2] in ("*", str(size))
        else:
            good = good and letters.setdefault(part[1], block) == block
    if not good:
        bad += 1
        print(f"{source}:{number}: wanted {' '.join(want) or 'nothing'}, got",
              " ".join(f"{op}:{block}:{size}" for op, _, block, size in got) or "nothing")
if len(set(letters.values())) != len(letters):
    bad += 1
    print("two letters are one block:", letters)
if len(wanted) < 10:
    sys.exit("no EXPECT lines in " + source)
sys.exit(1 if bad else 0)
