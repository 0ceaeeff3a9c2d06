/* Inline assembly that synchronises. The compiler's instrumentation does not see it; in the
 * compiler's output it stands between #APP and #NO_APP. In front of each instruction there that
 * changes memory in one step, and of each move to or from memory in a short piece, goes a call that
 * tells the runtime the address and what is about to be done to it. Nothing of the piece itself is
 * changed: registers, flags and the red zone stay as they are. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "toolchain/compiler.h"
#include "trace/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text --------------------------------------------------------------------------------------
 */

struct span {
    const char *at;
    size_t length;
};

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static struct span trimmed(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    while (end > at && is_blank(end[-1])) end--;
    return (struct span){at, (size_t)(end - at)};
}
static bool is(struct span s, const char *word) {
    return s.length == strlen(word) && memcmp(s.at, word, s.length) == 0;
}
static bool has(struct span s, const char *word) {
    return memmem(s.at, s.length, word, strlen(word)) != NULL;
}
static bool begins(struct span s, const char *word) {
    return s.length >= strlen(word) && memcmp(s.at, word, strlen(word)) == 0;
}

struct text {
    char *at;
    size_t length, room;
};
static void add(struct text *to, const char *from, size_t length) {
    if (to->length + length > to->room) {
        to->room = 2 * (to->length + length);
        to->at = hd_realloc(to->at, to->room, 1);
    }
    memcpy(to->at + to->length, from, length);
    to->length += length;
}
static void add_word(struct text *to, const char *word) { add(to, word, strlen(word)); }

/* ---- one instruction ---------------------------------------------------------------------------
 */

#define MOST_OPERANDS 3
struct instruction {
    const char *start; /* its prefixes included, its labels not */
    bool locked;
    struct span name, operand[MOST_OPERANDS];
    unsigned operands;
};

/* Instructions that may stand behind `lock`. */
static const char *const lockable[] = {
    "add", "adc", "and", "btc", "btr",  "bts",  "dec",     "inc",       "neg",       "not",
    "or",  "sbb", "sub", "xor", "xadd", "xchg", "cmpxchg", "cmpxchg8b", "cmpxchg16b"};

static unsigned log_of_suffix(char suffix) {
    const char *at = strchr("bwlq", suffix);
    return at != NULL && suffix != '\0' ? (unsigned)(at - "bwlq") : UINT32_MAX;
}

/* Its registers' size; UINT32_MAX if the name is none of a general register's. */
static unsigned log_of_register(struct span operand, unsigned *number) {
    static const char *const wide[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    const char *at = operand.at + 1;
    size_t length = operand.length - 1;
    if (operand.length < 3 || operand.at[0] != '%') return UINT32_MAX;
    if (at[0] == 'r' && at[1] >= '0' && at[1] <= '9') {
        bool two = length > 2 && at[2] >= '0' && at[2] <= '9';
        *number = two ? 10u + (unsigned)(at[2] - '0') : (unsigned)(at[1] - '0');
        size_t used = two ? 3 : 2;
        if (length == used) return 3;
        if (length != used + 1) return UINT32_MAX;
        return at[used] == 'd' ? 2 : log_of_suffix(at[used]) < 2 ? log_of_suffix(at[used]) : 9;
    }
    bool extended = length == 3 && (at[0] == 'r' || at[0] == 'e');
    for (unsigned i = 0; i < 8; i++) {
        if (length - extended == 2 && memcmp(at + extended, wide[i], 2) == 0) {
            *number = i;
            return !extended ? 1 : at[0] == 'r' ? 3 : 2;
        }
        /* %al, and %sil */
        bool low = i < 4 ? length == 2 && at[0] == wide[i][0] && at[1] == 'l'
                         : length == 3 && memcmp(at, wide[i], 2) == 0 && at[2] == 'l';
        if (low) {
            *number = i;
            return 0;
        }
    }
    return UINT32_MAX;
}

static bool is_memory(struct span operand) {
    return operand.length > 0 && operand.at[0] != '%' && operand.at[0] != '$' &&
           operand.at[0] != '*';
}

/* `name` without the size at its end, where it has one; that in *log. */
static bool is_named(struct span name, const char *word, unsigned *log) {
    if (is(name, word)) return true;
    size_t length = strlen(word);
    if (name.length != length + 1 || !begins(name, word)) return false;
    unsigned found = log_of_suffix(name.at[length]);
    if (found == UINT32_MAX) return false;
    *log = found;
    return true;
}

struct effect {
    enum hd_assembly_does does;
    unsigned log, number; /* number: of the register that is exchanged */
    struct span memory;
};

static bool is_stack(struct span memory) { return has(memory, "%rsp") || has(memory, "%esp"); }
static bool has_segment(struct span memory) { return has(memory, "%fs") || has(memory, "%gs"); }

/* Adding nothing to the top of the stack is a way to write a fence. */
static bool is_fence(const struct instruction *i) {
    return i->locked && i->operands == 2 && is_stack(i->operand[1]) &&
           (is(i->operand[0], "$0") || is(i->operand[0], "$0x0"));
}

static bool is_update(const struct instruction *i, struct effect *effect) {
    if (!i->locked && !begins(i->name, "xchg")) return false;
    for (size_t k = 0; k < sizeof lockable / sizeof *lockable; k++) {
        if (!is_named(i->name, lockable[k], &effect->log)) continue;
        effect->does = begins(i->name, "cmpxchg") ? HD_ASSEMBLY_COMPARES
                       : begins(i->name, "xchg")  ? HD_ASSEMBLY_EXCHANGES
                                                  : HD_ASSEMBLY_UPDATES;
        if (is(i->name, "cmpxchg8b")) effect->log = 3, effect->does = HD_ASSEMBLY_UPDATES;
        if (is(i->name, "cmpxchg16b")) effect->log = 4, effect->does = HD_ASSEMBLY_UPDATES;
        return true;
    }
    return false;
}

/* Moves and comparisons. */
static bool is_plain(const struct instruction *i, struct effect *effect) {
    if (i->operands != 2) return false;
    if (is_named(i->name, "mov", &effect->log)) {
        effect->does = is_memory(i->operand[1]) ? HD_ASSEMBLY_WRITES : HD_ASSEMBLY_READS;
        return true;
    }
    effect->does = HD_ASSEMBLY_READS;
    if (is_named(i->name, "cmp", &effect->log) || is_named(i->name, "test", &effect->log))
        return true;
    if (i->name.length != 6 || (!begins(i->name, "movz") && !begins(i->name, "movs"))) return false;
    effect->log = log_of_suffix(i->name.at[4]);
    return effect->log < 3;
}

static bool effect_of(const struct instruction *i, bool moves, struct effect *effect) {
    *effect = (struct effect){.log = UINT32_MAX};
    bool fence = is(i->name, "mfence") || is_fence(i);
    if (fence || is(i->name, "sfence") || is(i->name, "lfence")) {
        effect->does = fence ? HD_ASSEMBLY_FENCE : HD_ASSEMBLY_HALF_FENCE;
        effect->log = 0;
        return true;
    }
    if (!is_update(i, effect) && !(moves && is_plain(i, effect))) return false;
    unsigned found = 0;
    for (unsigned k = 0; k < i->operands; k++) {
        unsigned number = 0, log = log_of_register(i->operand[k], &number);
        if (is_memory(i->operand[k])) {
            effect->memory = i->operand[k];
            found++;
        } else if (log <= 3) {
            effect->number = number;
            if (effect->log == UINT32_MAX) effect->log = log;
        }
    }
    return found == 1 && effect->log <= 4 && !has_segment(effect->memory);
}

/* ---- one piece ---------------------------------------------------------------------------------
 */

/* A piece of assembly is what one asm statement of the program gave. */
struct piece {
    const char *at, *end;
    unsigned instructions, waits; /* that do nothing but pass time */
    bool fixed;                   /* code must not be put into it */
    bool other;                   /* it does more than to move words between memory and registers */
};

/* Takes labels and prefixes off. */
static struct instruction parse(struct span s) {
    struct instruction i = {.start = s.at};
    const char *end = s.at + s.length;
    for (;;) {
        const char *word = s.at;
        while (word < end && !is_blank(*word)) word++;
        struct span first = {s.at, (size_t)(word - s.at)};
        const char *colon = memchr(first.at, ':', first.length);
        if (colon != NULL && first.at[0] != '%') { /* a label */
            s = trimmed(colon + 1, end);
            i.start = s.at;
        } else if (is(first, "lock")) {
            i.locked = true;
            s = trimmed(word, end);
        } else {
            i.name = first;
            s = trimmed(word, end);
            break;
        }
    }
    int depth = 0;
    const char *from = s.at;
    for (const char *at = s.at; at <= end; at++) {
        if (at < end && *at == '(') depth++;
        if (at < end && *at == ')') depth--;
        if (at < end && (*at != ',' || depth != 0)) continue;
        struct span operand = trimmed(from, at);
        if (operand.length != 0 && i.operands < MOST_OPERANDS) i.operand[i.operands++] = operand;
        from = at + 1;
    }
    return i;
}

/* The next statement at or after *at: up to a line's end or a semicolon, without its comment. A
 * `lock` of its own is taken together with what follows it. */
static bool next_statement(const char **at, const char *end, struct span *statement) {
    while (*at < end) {
        const char *from = *at, *to = from;
        bool quoted = false;
        while (to < end && *to != '\n' && (*to != ';' || quoted) && (*to != '#' || quoted)) {
            if (*to == '"') quoted = !quoted;
            to++;
        }
        *at = to < end && *to == '#' ? memchr(to, '\n', (size_t)(end - to)) : to;
        *at = *at != NULL && *at < end ? *at + 1 : end;
        *statement = trimmed(from, to);
        if (statement->length != 0) return true;
    }
    return false;
}

static const char *const harmless[] = {".p2align", ".align", ".balign", ".cfi_", ".loc"};
/* Jumps that reach 127 bytes only; what moves the stack or leaves the piece. */
static const char *const fixing[] = {"loop", "jcxz", "jecxz", "jrcxz", "xbegin"};
static const char *const others[] = {"push", "pop",      "call", "ret",   "syscall",
                                     "int",  "sysenter", "iret", "leave", "enter"};

static bool begins_any(struct span s, const char *const *word, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (begins(s, word[i])) return true;
    return false;
}
#define BEGINS_ANY(s, list) begins_any(s, list, sizeof(list) / sizeof *(list))

static void look_at(struct piece *piece) {
    struct span s;
    for (const char *at = piece->at; next_statement(&at, piece->end, &s);) {
        struct instruction i = parse(s);
        if (s.at[0] == '.' || (i.name.length != 0 && i.name.at[0] == '.')) {
            piece->fixed = piece->fixed || !BEGINS_ANY(i.name, harmless);
            continue;
        }
        if (i.name.length == 0) continue;
        if (is(i.name, "pause") || is(i.name, "nop") || is(i.name, "rep"))
            piece->waits++;
        else
            piece->instructions++;
        piece->fixed = piece->fixed || BEGINS_ANY(i.name, fixing);
        piece->other = piece->other || BEGINS_ANY(i.name, others) || has(s, "%xmm") ||
                       has(s, "%ymm") || has(s, "%zmm") || has(s, "%mm") || has(s, "%st") ||
                       (i.operands > 0 && is(i.operand[i.operands - 1], "%rsp"));
    }
}

/* A longer piece computes something. */
#define SHORT_PIECE 6u

static const char into_call[] = "\tleaq\t-128(%rsp), %rsp\n\tpushq\t%rdi\n";
static const char out_of_call[] = "\tleaq\t8(%rsp), %rsp\n\tpopq\t%rdi\n\tleaq\t128(%rsp), %rsp\n";

static void add_call(struct text *to, const struct effect *effect) {
    char code[32];
    unsigned word = HD_ASSEMBLY_CODE(effect->does, effect->log, effect->number);
    add_word(to, into_call);
    if (effect->memory.length != 0) {
        add_word(to, "\tleaq\t");
        if (is_stack(effect->memory)) /* the stack pointer has moved */
            add_word(to, effect->memory.at[0] == '(' ? "136" : "136+");
        add(to, effect->memory.at, effect->memory.length);
        add_word(to, ", %rdi\n");
    }
    snprintf(code, sizeof code, "\tpushq\t$%u\n", word);
    add_word(to, code);
    add_word(to, "\tcall\t*__heddle_assembly@GOTPCREL(%rip)\n");
    add_word(to, out_of_call);
}

/* Copies the piece with its calls; *from is what is copied already. True if it has one. */
static bool add_piece(struct text *to, const char **from, struct piece *piece) {
    bool any = false;
    look_at(piece);
    if (piece->fixed || piece->instructions == 0) return false;
    bool moves = !piece->other && piece->instructions <= SHORT_PIECE;
    struct span s;
    const char *lock = NULL; /* the beginning of a statement `lock` */
    for (const char *at = piece->at; next_statement(&at, piece->end, &s);) {
        struct instruction i = parse(s);
        struct effect effect;
        if (i.name.length == 0) {
            if (i.locked) lock = i.start;
            continue;
        }
        if (lock != NULL) i.locked = true, i.start = lock;
        lock = NULL;
        if (!effect_of(&i, moves, &effect)) continue;
        any = true;
        add(to, *from, (size_t)(i.start - *from));
        add_word(to, "\n");
        add_call(to, &effect);
        *from = i.start;
    }
    return any;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

/* Where a unit synchronises by assembly, its volatile accesses belong to that: volatile is what
 * such code has in place of atomic variables. */
#define VOLATILE "__tsan_volatile_"
static char *renamed(char *text, size_t bytes, size_t *new_bytes) {
    static const char name[] = "__heddle_volatile_";
    struct text to = {0};
    const char *from = text, *end = text + bytes;
    for (const char *at; (at = memmem(from, (size_t)(end - from), VOLATILE, strlen(VOLATILE)));) {
        add(&to, from, (size_t)(at - from));
        add_word(&to, name);
        from = at + strlen(VOLATILE);
    }
    add(&to, from, (size_t)(end - from));
    free(text);
    *new_bytes = to.length;
    return to.at;
}

char *hd_note_inline_assembly(const char *text, size_t bytes, size_t *new_bytes) {
    static const char app[] = "#APP\n", no_app[] = "#NO_APP\n";
    const char *end = text + bytes, *from = text;
    struct text to = {0};
    bool any = false;
    if (memmem(text, bytes, ".intel_syntax", 13) != NULL) return NULL;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), app, sizeof app - 1));) {
        const char *stop = memmem(at, (size_t)(end - at), no_app, sizeof no_app - 1);
        if (stop == NULL) break;
        struct piece piece = {0};
        if (at > text && at[-1] == '\t') { /* clang: one piece, and the line is indented */
            piece = (struct piece){.at = at + sizeof app - 1, .end = stop};
            any = add_piece(&to, &from, &piece) || any;
            at = stop;
            continue;
        }
        /* gcc: each piece begins behind a line `# 12 "file" 1` and ends with `# 0 "" 2`. */
        for (const char *line = at + sizeof app - 1; line < stop;) {
            const char *next = memchr(line, '\n', (size_t)(stop - line));
            next = next != NULL ? next + 1 : stop;
            bool ends = begins((struct span){line, (size_t)(next - line)}, "# 0 \"\" 2");
            if (!ends && line[0] == '#' && line[1] == ' ' && next - line > 3 &&
                memcmp(next - 3, " 1\n", 3) == 0) {
                piece = (struct piece){.at = next};
            } else if (ends && piece.at != NULL) {
                piece.end = line;
                any = add_piece(&to, &from, &piece) || any;
                piece.at = NULL;
            }
            line = next;
        }
        at = stop;
    }
    if (!any) {
        free(to.at);
        return NULL;
    }
    add(&to, from, (size_t)(end - from));
    return renamed(to.at, to.length, new_bytes);
}
