"""Usage: make_hooks.py plain|atomic > program.c: a program with one access, or one atomic operation, in a
line; each line says in a comment what must be recorded for it (see check_hooks.py), and the program checks
the values itself."""
import sys

ORDERS = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"]
SIZES = [1, 2, 4, 8, 16]
TYPE = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "u128"}
lines = []


def emit(text=""):
    lines.append(text)


HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned __int128 u128;
#define CHECK(c) do { if (!(c)) { printf("line %d: wrong value\\n", __LINE__); exit(1); } } while (0)"""


def order_constant(order):
    return "__ATOMIC_" + order.upper()


def constant(value, size):
    if size == 16:
        return f"((u128)0x{value >> 64:x}u << 64 | 0x{value & (1 << 64) - 1:x}u)"
    return f"({TYPE[size]})0x{value:x}u"


def atomic():
    names = []
    body = []
    count = 0

    def variable(size, value):
        nonlocal count
        count += 1
        name = f"a{size}_{count}"
        names.append(f"{TYPE[size]} {name} __attribute__((aligned({size}))) = {constant(value, size)};")
        return name

    for size in SIZES:
        full = (1 << 8 * size) - 1
        start = 0x1122334455667788AABBCCDDEEFF0911 & full
        operand = 0xF0E1D2C3B4A5968778695A4B3C2D1E0F & full
        t = TYPE[size]
        for order in ["relaxed", "consume", "acquire", "seq_cst"]:
            v = variable(size, start)
            seen = "acquire" if order == "consume" else order
            body.append((f"got{size} = __atomic_load_n(&{v}, {order_constant(order)});", f"ar:{v}:{size}:{order}|{seen}"))
            body.append((f"CHECK(got{size} == {constant(start, size)});", None))
        for order in ["relaxed", "release", "seq_cst"]:
            v = variable(size, start)
            body.append((f"__atomic_store_n(&{v}, {constant(operand, size)}, {order_constant(order)});", f"aw:{v}:{size}:{order}"))
            body.append((f"CHECK(*(volatile {t} *)&{v} == {constant(operand, size)});", None))
        operations = {
            "add": start + operand, "sub": start - operand, "and": start & operand, "or": start | operand,
            "xor": start ^ operand, "nand": ~(start & operand)}
        for number, (name, result) in enumerate(operations.items()):
            orders = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"] if number == 0 else [ORDERS[2 + number % 4]]
            for order in orders:
                v = variable(size, start)
                body.append((f"got{size} = __atomic_fetch_{name}(&{v}, {constant(operand, size)}, {order_constant(order)});", f"arw:{v}:{size}:{order}"))
                body.append((f"CHECK(got{size} == {constant(start, size)} && *(volatile {t} *)&{v} == {constant(result & full, size)});", None))
            # The other form returns the new value.
            v = variable(size, start)
            body.append((f"got{size} = __atomic_{name}_fetch(&{v}, {constant(operand, size)}, __ATOMIC_SEQ_CST);", f"arw:{v}:{size}:seq_cst"))
            body.append((f"CHECK(got{size} == {constant(result & full, size)});", None))
        for order in ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]:
            v = variable(size, start)
            body.append((f"got{size} = __atomic_exchange_n(&{v}, {constant(operand, size)}, {order_constant(order)});", f"arw:{v}:{size}:{order}"))
            body.append((f"CHECK(got{size} == {constant(start, size)} && *(volatile {t} *)&{v} == {constant(operand, size)});", None))
        for weak in "false", "true":
            for good, bad in [("relaxed", "relaxed"), ("acquire", "relaxed"), ("acq_rel", "acquire"), ("release", "relaxed"), ("seq_cst", "seq_cst"), ("seq_cst", "acquire")]:
                v = variable(size, start)
                body.append((f"old{size} = {constant(start, size)};", None))
                body.append((f"done = __atomic_compare_exchange_n(&{v}, &old{size}, {constant(operand, size)}, {1 if weak == 'true' else 0}, {order_constant(good)}, {order_constant(bad)});", f"arw:{v}:{size}:{good}"))
                body.append((f"CHECK(done && *(volatile {t} *)&{v} == {constant(operand, size)});", None))
                body.append((f"old{size} = {constant(start, size)};", None))
                body.append((f"done = __atomic_compare_exchange_n(&{v}, &old{size}, 0, {1 if weak == 'true' else 0}, {order_constant(good)}, {order_constant(bad)});", f"ar:{v}:{size}:{bad}"))
                body.append((f"CHECK(!done && old{size} == {constant(operand, size)} && *(volatile {t} *)&{v} == {constant(operand, size)});", None))
    for order in ["acquire", "release", "acq_rel", "seq_cst"]:
        body.append((f"__atomic_thread_fence({order_constant(order)});", f"fence:::{order}"))
        body.append(("apart++;", None))  # or compilers make one of two
    body.append(("__atomic_signal_fence(__ATOMIC_SEQ_CST);", ""))
    for old, size in [("int", 4), ("long", 8)]:
        names.append(f"{old} s{size} = 5;")
        body.append((f"CHECK(__sync_fetch_and_add(&s{size}, 3) == 5);", f"arw:s{size}:{size}:seq_cst"))
        body.append((f"CHECK(__sync_bool_compare_and_swap(&s{size}, 8, 9));", f"arw:s{size}:{size}:seq_cst"))
        body.append((f"CHECK(__sync_val_compare_and_swap(&s{size}, 8, 9) == 9);", f"ar:s{size}:{size}:seq_cst"))
        body.append((f"CHECK(__sync_lock_test_and_set(&s{size}, 1) == 9);", f"arw:s{size}:{size}:acquire|seq_cst"))
        body.append((f"__sync_lock_release(&s{size});", f"aw:s{size}:{size}:release"))
        body.append((f"CHECK(s{size} == 0);", None))
    body.append(("__sync_synchronize();", "fence:::seq_cst"))
    emit(HEAD)
    for name in names:
        emit(name)
    for size in SIZES:
        emit(f"{TYPE[size]} got{size}, old{size};")
    emit("volatile int apart;")
    emit("int main(void) {")
    emit("    int done;")
    for text, expected in body:
        emit("    " + text + (f" /* EXPECT {expected} */" if expected is not None else ""))
    emit('    puts("done");')
    emit("    return 0;")
    emit("}")


def plain():
    emit(HEAD)
    emit("struct __attribute__((packed)) odd { char pad; u16 two; u32 four; u64 eight; u128 sixteen; };")
    emit("struct odd odd __attribute__((aligned(16)));")
    emit("struct large { int field[100]; };")
    emit("struct large from_struct, to_struct;")
    emit("volatile u8 v1; volatile u16 v2; volatile u32 v4; volatile u64 v8;")
    for size in SIZES:
        emit(f"{TYPE[size]} r{size} = 7, w{size}, rw{size} = 1;")
        emit(f"__attribute__((noinline)) static {TYPE[size]} read{size}({TYPE[size]} *p) {{")
        emit(f"    return *p; /* EXPECT r:r{size}:{size} */")
        emit("}")
        emit(f"__attribute__((noinline)) static void write{size}({TYPE[size]} *p, {TYPE[size]} v) {{")
        emit(f"    *p = v; /* EXPECT w:w{size}:{size} */")
        emit("}")
        emit(f"__attribute__((noinline)) static void update{size}({TYPE[size]} *p) {{")
        emit(f"    *p += 41; /* EXPECT r:rw{size}:{size} w:rw{size}:{size} */")
        emit("}")
    for size in SIZES[1:]:
        field = {2: "two", 4: "four", 8: "eight", 16: "sixteen"}[size]
        emit(f"__attribute__((noinline)) static void unaligned{size}(struct odd *p) {{")
        emit(f"    p->{field} = 9; /* EXPECT w:odd.{field}:{size} */")
        emit("}")
        emit(f"__attribute__((noinline)) static int unaligned_read{size}(const struct odd *p) {{")
        emit(f"    return p->{field} == 9; /* EXPECT r:odd.{field}:{size} */")
        emit("}")
    emit("__attribute__((noinline)) static void volatiles(void) {")
    for size in SIZES[:-1]:
        emit(f"    v{size} = 3; /* EXPECT w:v{size}:{size} */")
        emit(f"    CHECK(v{size} == 3); /* EXPECT r:v{size}:{size} */")
    emit("}")
    emit("__attribute__((noinline)) static void copy_struct(struct large *to, const struct large *from) {")
    emit("    *to = *from; /* EXPECT r|w:from_struct|to_struct:400 r|w:from_struct|to_struct:400 */")
    emit("}")
    emit("int main(void) {")
    for size in SIZES:
        emit(f"    CHECK(read{size}(&r{size}) == 7);")
        emit(f"    write{size}(&w{size}, 9);")
        emit(f"    update{size}(&rw{size});")
        emit(f"    CHECK(w{size} == 9 && rw{size} == 42);")
    for size in SIZES[1:]:
        emit(f"    unaligned{size}(&odd);")
        emit(f"    CHECK(unaligned_read{size}(&odd));")
    emit("    volatiles();")
    emit("    from_struct.field[99] = 5;")
    emit("    copy_struct(&to_struct, &from_struct);")
    emit("    CHECK(to_struct.field[99] == 5);")
    emit('    puts("done");')
    emit("    return 0;")
    emit("}")


def direct():
    """Every hook for plain accesses, also those that no compiler here emits."""
    emit(HEAD)
    emit("char memory[4096] __attribute__((aligned(16)));")
    emit("char source[64];")
    calls = []
    at = 0

    def call(name, size, kinds, unaligned, pc=""):
        nonlocal at
        at += 32
        place = at + (3 if unaligned else 0)
        emit(f"void {name}(void *{', void *' if pc else ''});")
        expected = " ".join(f"{kind}:memory[{place}{f'..{place + size - 1}' if size > 1 else ''}]:{size}" for kind in kinds)
        calls.append(f"    {name}(memory + {place}{pc}); /* EXPECT {expected} */")

    for prefix in "", "unaligned_", "volatile_", "unaligned_volatile_":
        for size in SIZES:
            if size == 1 and "unaligned" in prefix:
                continue
            call(f"__tsan_{prefix}read{size}", size, "r", "un" in prefix)
            call(f"__tsan_{prefix}write{size}", size, "w", "un" in prefix)
            if "volatile" not in prefix:
                call(f"__tsan_{prefix}read_write{size}", size, "rw", "un" in prefix)
                call(f"__tsan_{prefix}read{size}_pc", size, "r", "un" in prefix, ", place")
                call(f"__tsan_{prefix}write{size}_pc", size, "w", "un" in prefix, ", place")
    for name in "read", "write":
        emit(f"void __tsan_{name}_range(void *, unsigned long);")
        calls.append(f"    __tsan_{name}_range(memory + 3, 2900); /* EXPECT {name[0]}:memory[3..2902]:2900 */")
    emit("void *__tsan_memcpy(void *, const void *, unsigned long);")
    emit("void *__tsan_memmove(void *, const void *, unsigned long);")
    emit("void *__tsan_memset(void *, int, unsigned long);")
    calls.append("    CHECK(__tsan_memset(source, 7, 33) == source); /* EXPECT w:source[0..32]:33 */")
    calls.append("    CHECK(__tsan_memcpy(memory, source, 33) == memory); /* EXPECT r:source[0..32]:33 w:memory[0..32]:33 */")
    calls.append("    CHECK(__tsan_memmove(memory + 1, memory, 33) == memory + 1); /* EXPECT r:memory[0..32]:33 w:memory[1..33]:33 */")
    calls.append("    CHECK(memory[33] == 7 && memory[34] == 0);")
    emit("__attribute__((noinline)) static int given_place(int n) { return n * 3; }")
    emit("int main(int argc, char **argv) {")
    emit("    void *place = (char *)given_place + 1;")
    emit("    if (argc > 9) return given_place(argc);")
    for text in calls:
        # With a program counter given, the event is at that place.
        emit(text.split(" /*")[0] if ", place" in text else text)
    emit('    puts("done");')
    emit("    return 0;")
    emit("}")


{"plain": plain, "atomic": atomic, "direct": direct}[sys.argv[1]]()
print("\n".join(lines))
