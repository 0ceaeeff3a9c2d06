"""Usage: check_ranges.py SOURCE MODE < dump.json: compares the reads and writes of each marked line of
SOURCE with what its comment says. EXPECT-SERIAL lines are exact under the serial scheduler only."""
import json, re, sys

source, mode = sys.argv[1], sys.argv[2]
wanted = {}
for number, text in enumerate(open(source), 1):
    mark = re.search(r"/\* EXPECT(-SERIAL)?\b(.*?)\*/", text)
    if mark and not (mark.group(1) and mode != "serial"):
        wanted[number] = mark.group(2).split()

seen = {number: [] for number in wanted}
for line in sys.stdin:
    event = json.loads(line)
    if event["op"] not in ("r", "w") or event.get("line") not in wanted:
        continue
    if not event["file"].endswith(source.rsplit("/", 1)[-1]):
        continue
    variable = re.sub(r"\[0\.\.\d+\]", "", event["variable"])
    variable = re.sub(r"\[(\d+)\.\.\d+\]", r"[\1]", variable)
    if re.match(r"[a-z]+_[a-z_]*(\[\d+\])?$|(events|text|line)(\[\d+\])?$|heap", variable):
        seen[event["line"]].append((event["op"], variable, event["size"]))

def agree(want, got):
    op, variable, size = want.split(":")
    if size != str(got[2]) or op != got[0]:
        return False
    return got[1].startswith("heap") if variable == "*" else variable == got[1]

bad = 0
for number, want in sorted(wanted.items()):
    got = seen[number]
    if len(want) != len(got) or not all(map(agree, want, got)):
        bad += 1
        print(f"{source}:{number}: wanted {' '.join(want) or 'nothing'}, got",
              " ".join("%s:%s:%d" % g for g in got) or "nothing")
if not wanted:
    sys.exit("no EXPECT lines in " + source)
sys.exit(1 if bad else 0)
