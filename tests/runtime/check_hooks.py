"""Usage: check_hooks.py SOURCE < dump.json: compares the events of each line of SOURCE that has an EXPECT
comment with what it says: operation:variable:bytes[:memory order], in order; a|b for either."""
import json, re, sys

source = sys.argv[1]
wanted = {}
for number, text in enumerate(open(source), 1):
    mark = re.search(r"/\* EXPECT(.*?)\*/", text)
    if mark:
        wanted[number] = mark.group(1).split()
seen = {number: [] for number in wanted}
for line in sys.stdin:
    event = json.loads(line)
    if event["op"] not in ("r", "w", "ar", "aw", "arw", "fence") or event.get("line") not in wanted:
        continue
    if not event["file"].endswith(source.rsplit("/", 1)[-1]):
        continue
    variable = event.get("variable", "")
    # The machine's own variables of the test are not what it is about.
    if event["op"] in "rw" and re.match(r"(got|old)\d+$|stack of|.*::", variable):
        continue
    size = "" if event["op"] == "fence" else str(event["size"])
    seen[event["line"]].append((event["op"], variable, size, event.get("order", "")))


def agree(want, got):
    parts = want.split(":") + [""]
    return all(value in part.split("|") for part, value in zip(parts[:4], got))


bad = 0
for number, want in sorted(wanted.items()):
    got = seen[number]
    if len(want) != len(got) or not all(map(agree, want, got)):
        bad += 1
        print(f"{source}:{number}: wanted {' '.join(want) or 'nothing'}, got", " ".join(":".join(g) for g in got) or "nothing")
if not wanted:
    sys.exit("no EXPECT lines in " + source)
sys.exit(1 if bad else 0)
