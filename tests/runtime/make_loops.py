"""Usage: make_loops.py SEED: a C program of loops in loops, at random: straight code of one to nine accesses, numbers of
rounds that stay the same, alternate, grow or change now and then, steps of all kinds, branches here and there. What a
recording keeps of such a program is the same as what --direct keeps."""
import random
import sys

r = random.Random(int(sys.argv[1]))
ARRAYS = {"bytes": "unsigned char", "halves": "short", "words": "int", "longs": "long"}
SIZE = 4096


def rounds(outer):
    """How often an inner loop goes round, by the outer loop's variable."""
    n = r.choice([1, 2, 3, 7, 9, 12, 16, 17, 33, 64])
    return r.choice([f"{n}", f"{n}", f"{n}", f"{n} + ({outer} % 11 == 10)", f"{n} + {outer} % 2", f"1 + {outer} % {n + 1}",
                     f"({outer} % 13 == 5 ? 3 : {n})"])


def place(variables):
    """An element somewhere, that goes on with the loops."""
    name = r.choice(list(ARRAYS))
    terms = [str(r.randrange(SIZE))]
    for v in variables:
        step = r.choice([0, 0, 1, 1, 1, 2, 3, 8, 64, 511, SIZE - 1, SIZE - 2])
        if step:
            terms.append(f"{v} * {step}u")
    if r.random() < 0.15:
        terms.append("(state >> 7)")  # anywhere
    return f"{name}[({' + '.join(terms)}) % {SIZE}u]"


def statement(variables):
    kind = r.random()
    at = place(variables)
    if kind < 0.35:
        return f"sum += {at};"
    if kind < 0.6:
        return f"{at} += 1;"
    if kind < 0.8:
        return f"{at} = sum;"
    if kind < 0.9:
        return f"object->{r.choice('abc')} += {at};"
    return f"{at} = {place(variables)};"


def body(variables, indent):
    lines = [statement(variables) for _ in range(r.randrange(1, 6))]
    if r.random() < 0.25:
        lines.insert(r.randrange(len(lines) + 1), f"if ({variables[-1]} % {r.randrange(2, 9)} == 0) {statement(variables)}")
    if r.random() < 0.15:
        lines.append(f"if (next() & 1) {statement(variables)}")
    if r.random() < 0.15:
        lines.append("state = next();")
    if r.random() < 0.1:
        lines.append("object = object->next;")
    return [indent + line for line in lines]


def nest(depth, variables, indent):
    v = "ijk"[len(variables)]
    count = rounds(variables[-1]) if variables else str(r.choice([5, 40, 100, 200]))
    lines = [f"{indent}for (unsigned {v} = 0; {v} < {count}; {v}++) {{"]
    inner = indent + "    "
    if r.random() < 0.5 or depth == 1:
        lines += body(variables + [v], inner)
    if depth > 1:
        lines += nest(depth - 1, variables + [v], inner)
        if r.random() < 0.3:
            lines += body(variables + [v], inner)
    return lines + [indent + "}"]


print("#include <pthread.h>\n#include <stdio.h>\n")
print("static unsigned state = 1;\nstatic long sum;")
for name, kind in ARRAYS.items():
    print(f"static {kind} {name}[{SIZE}];")
print("static struct object { int a; long b; char c; struct object *next; } objects[64], *object = objects;")
print("static inline unsigned next(void) { return state = state * 1103515245u + 12345u; }")
functions = r.randrange(2, 6)
for f in range(functions):
    print(f"__attribute__((noinline)) static void loops{f}(void) {{")
    print("\n".join(nest(r.choice([1, 2, 2, 2, 3]), [], "    ")))
    print("}")
print("static void *work(void *unused) {\n    (void)unused;")
for _ in range(functions + 2):
    print(f"    loops{r.randrange(functions)}();")
print("    return 0;\n}")
print("int main(void) {\n    for (int i = 0; i < 64; i++) objects[i].next = &objects[i * 37 % 64];")
print("    pthread_t thread;\n    work(0);\n    pthread_create(&thread, 0, work, 0);\n    pthread_join(thread, 0);")
print('    printf("%ld\\n", sum);\n    return 0;\n}')
