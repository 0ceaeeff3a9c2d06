#!/bin/bash
# The directories of src/ depend on each other in one order only, the runtime sees nothing of the
# analyser but trace/wire.h, expect.h, token.h and hook.h, one file includes libclang, and only cli/ prints, parses options or exits.
cd "${SOURCE:?}" || exit 2
exec python3 - <<'PYTHON'
import pathlib, re, sys

# Directories of one inner list may not include each other.
order = [["base"], ["trace"], ["runtime"], ["model"], ["facts"], ["finding"], ["learn"], ["engine"],
         ["predict"], ["methods"], ["cover"], ["source"], ["mine", "lint"], ["run"], ["explore"], ["store"], ["campaign"],
         ["report"], ["toolchain"], ["cli"]]
rank = {name: i for i, row in enumerate(order) for name in row}
include = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
terminal = re.compile(r'(?<![\w.>])(printf|vprintf|puts|putchar|perror|exit|quick_exit|getopt|getopt_long)\s*\(|\b(stdout|stderr)\b')
problems = []
clang_files = set()

def code_lines(text):
    """Lines without comments and string contents, so that words in them do not count."""
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m.group(0).count('\n'), text, flags=re.S)
    text = re.sub(r'//[^\n]*', '', text)
    return text.split('\n')

files = sorted(p for p in pathlib.Path("src").rglob("*") if p.suffix in (".c", ".h", ".S", ".cc", ".cpp"))
if len(files) < 10:
    sys.exit("found only %d sources: is SOURCE right?" % len(files))
for path in files:
    if len(path.parts) != 3:
        problems.append(f"{path}: sources live in src/<directory>/, no deeper and no higher")
        continue
    here = path.parts[1]
    if here not in rank:
        problems.append(f"{path}: '{here}' is not in the order of directories (DESIGN section 2)")
        continue
    for number, line in enumerate(code_lines(path.read_text()), 1):
        where = f"{path}:{number}"
        found = include.match(line)
        if found:
            quote, name = found.groups()
            if "clang-c/" in name:
                clang_files.add(str(path))
                if here != "source":
                    problems.append(f"{where}: only src/source may include {name}")
            if name in ("err.h", "getopt.h", "argp.h") and here != "cli":
                problems.append(f"{where}: {name}: only cli/ prints, parses options or exits")
            if quote == '<':
                continue
            top = name.split("/")[0]
            if top == "heddle":
                continue  # include/heddle: public headers
            if "/" not in name or ".." in name:
                problems.append(f'{where}: write the path from src/: #include "{here}/{name}"')
            elif top not in rank:
                problems.append(f"{where}: {name} is in no directory of src/")
            elif here == "runtime":
                if top != "runtime" and name not in ("trace/wire.h", "trace/expect.h", "trace/token.h", "trace/hook.h"):
                    problems.append(f"{where}: the runtime may include trace/wire.h, expect.h, token.h and hook.h only, not {name}")
            elif top == "runtime":
                problems.append(f"{where}: the analyser may not include the runtime's {name}")
            elif top != here and rank[top] >= rank[here]:
                problems.append(f"{where}: {here}/ comes before {top}/ and may not include {name}")
        elif here not in ("cli", "runtime") and str(path) != "src/base/alloc.c":
            code = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            used = terminal.search(code)
            if used and not re.search(r'__attribute__|format\s*\(', code):
                problems.append(f"{where}: {used.group(0).rstrip('( ')}: only cli/ prints, parses options or exits")
if len(clang_files) > 1:
    problems.append("more than one file includes libclang: " + ", ".join(sorted(clang_files)))
print("\n".join(problems))
sys.exit(1 if problems else 0)
PYTHON
