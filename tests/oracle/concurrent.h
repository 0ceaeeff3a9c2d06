/* A small language for concurrent programs, with which the explorer is checked: what both sides
 * share, its instructions and the parser of its text. concurrent_search.h runs all schedules of a
 * program; concurrent_run.c runs it once, on real threads.
 *
 *     thread                 begins a thread; `finally` what the main thread does after joining all
 *     r0 = x                 plain variables x y z w
 *     x = 3
 *     r0 = load a            atomic variables a b c d
 *     store a 4
 *     r0 = add a 16          fetch-add; r0 is what it saw
 *     r0 = cas a 4 5         compare-and-exchange; it succeeded if r0, what it saw, is 4
 *     spin a != 0            loads a until that holds
 *     lock m, unlock m       mutexes m n
 *     r0 = try m             1 if the mutex was taken, else 0
 *     await x == 3 s m       condition variables s t: while (!(x == 3)) wait
 *     signal s, broadcast s
 *     r0 = until s m         a wait with a time limit: 1 if it was woken, 0 if its time was up
 *     post p, down p         semaphores p q; r0 = take p: 1 if it was not 0, else 0
 *     read k, write k        reader-writer locks k l; leave k; r0 = tryread k, r0 = trywrite k
 *     once o x 3             x = 3 by whoever comes first; one-time initialisations o u; whether
 *                            it came first is seen too
 *     if r0 == 3, if r0 != 3, else, end
 *     assert r0 != 3
 *
 * One instruction a line; what follows # is a comment. All variables begin as 0. Nothing is
 * executed twice but the load of a spin and the read of an await, so that a write is known by its
 * line. The functions call nothing and are not instrumented: they may run inside a program under
 * test. */
#ifndef HEDDLE_TESTS_ORACLE_CONCURRENT_H
#define HEDDLE_TESTS_ORACLE_CONCURRENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIET __attribute__((no_sanitize("thread"), noinline, unused)) static

enum {
    CONCURRENT_THREADS = 5, /* the main thread, which runs `finally`, is the first */
    CONCURRENT_STEPS = 24,  /* instructions of a thread */
    CONCURRENT_REGISTERS = 8,
    CONCURRENT_OBJECTS = 4, /* of a sort */
    CONCURRENT_SEEN = 40    /* what a thread reads in a run */
};

enum concurrent_op {
    OP_READ,
    OP_WRITE,
    OP_LOAD,
    OP_STORE,
    OP_ADD,
    OP_CAS,
    OP_SPIN,
    OP_LOCK,
    OP_UNLOCK,
    OP_TRY,
    OP_AWAIT,
    OP_SIGNAL,
    OP_BROADCAST,
    OP_UNTIL,
    OP_POST,
    OP_DOWN,
    OP_TAKE,
    OP_RDLOCK,
    OP_WRLOCK,
    OP_LEAVE,
    OP_TRYREAD,
    OP_TRYWRITE,
    OP_ONCE,
    OP_IF,
    OP_ELSE, /* the end of the first branch: a jump behind the second */
    OP_ASSERT
};

/* 16 bytes, so that one is returned in registers. */
struct concurrent_step {
    uint8_t op, reg, object, mutex; /* `mutex`: of an await, and the variable of a once */
    uint8_t differs;                /* the condition is !=, not == */
    uint8_t line, jump;             /* `jump`: where an if goes whose condition does not hold */
    int32_t value, next;            /* `next`: what a cas writes */
};

struct concurrent {
    unsigned threads; /* with the main thread */
    unsigned steps[CONCURRENT_THREADS];
    struct concurrent_step step[CONCURRENT_THREADS][CONCURRENT_STEPS];
};

struct concurrent_words {
    const char *word[8];
    unsigned length[8], count;
};

QUIET bool concurrent_is(const struct concurrent_words *words, unsigned w, const char *text) {
    unsigned i = 0;
    if (w >= words->count) return false;
    for (; i < words->length[w] && text[i] != '\0'; i++)
        if (words->word[w][i] != text[i]) return false;
    return i == words->length[w] && text[i] == '\0';
}

/* The number of a variable: its place among the letters of its sort. */
QUIET bool concurrent_object(const struct concurrent_words *words, unsigned w, const char *sort,
                             uint8_t *object) {
    if (w >= words->count || words->length[w] != 1) return false;
    for (uint8_t i = 0; sort[i] != '\0'; i++) {
        *object = i;
        if (words->word[w][0] == sort[i]) return true;
    }
    return false;
}

QUIET bool concurrent_number(const struct concurrent_words *words, unsigned w, unsigned from,
                             int32_t *number) {
    if (w >= words->count || words->length[w] <= from || words->length[w] > from + 8) return false;
    *number = 0;
    for (unsigned i = from; i < words->length[w]; i++) {
        if (words->word[w][i] < '0' || words->word[w][i] > '9') return false;
        *number = *number * 10 + (words->word[w][i] - '0');
    }
    return true;
}

QUIET bool concurrent_register(const struct concurrent_words *words, unsigned w, uint8_t *reg) {
    int32_t number;
    if (w >= words->count || words->word[w][0] != 'r') return false;
    if (!concurrent_number(words, w, 1, &number) || number >= CONCURRENT_REGISTERS) return false;
    *reg = (uint8_t)number;
    return true;
}

/* "== K" or "!= K" */
QUIET bool concurrent_condition(const struct concurrent_words *words, unsigned w,
                                struct concurrent_step *step) {
    step->differs = concurrent_is(words, w, "!=");
    return (step->differs || concurrent_is(words, w, "==")) &&
           concurrent_number(words, w + 1, 0, &step->value);
}

/* "r0 = ..." */
QUIET bool concurrent_parse_result(const struct concurrent_words *words,
                                   struct concurrent_step *step) {
    if (!concurrent_register(words, 0, &step->reg)) return false;
    if (concurrent_object(words, 2, "xyzw", &step->object)) {
        step->op = OP_READ;
        return words->count == 3;
    }
    if (concurrent_is(words, 2, "load")) {
        step->op = OP_LOAD;
        return words->count == 4 && concurrent_object(words, 3, "abcd", &step->object);
    }
    if (concurrent_is(words, 2, "try")) {
        step->op = OP_TRY;
        return words->count == 4 && concurrent_object(words, 3, "mn", &step->object);
    }
    if (concurrent_is(words, 2, "until")) {
        step->op = OP_UNTIL;
        return words->count == 5 && concurrent_object(words, 3, "st", &step->object) &&
               concurrent_object(words, 4, "mn", &step->mutex);
    }
    static const struct {
        const char *name, *sort;
        enum concurrent_op op;
    } tries[] = {
        {"take", "pq", OP_TAKE}, {"tryread", "kl", OP_TRYREAD}, {"trywrite", "kl", OP_TRYWRITE}};
    for (unsigned i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        if (!concurrent_is(words, 2, tries[i].name)) continue;
        step->op = (uint8_t)tries[i].op;
        return words->count == 4 && concurrent_object(words, 3, tries[i].sort, &step->object);
    }
    if (!concurrent_object(words, 3, "abcd", &step->object)) return false;
    if (!concurrent_number(words, 4, 0, &step->value)) return false;
    step->op = concurrent_is(words, 2, "add") ? OP_ADD : OP_CAS;
    if (step->op == OP_ADD) return words->count == 5;
    return words->count == 6 && concurrent_is(words, 2, "cas") &&
           concurrent_number(words, 5, 0, &step->next);
}

QUIET bool concurrent_parse_step(const struct concurrent_words *words,
                                 struct concurrent_step *step) {
    static const struct {
        const char *name, *sort;
        enum concurrent_op op;
    } plain[] = {
        {"lock", "mn", OP_LOCK},           {"unlock", "mn", OP_UNLOCK}, {"signal", "st", OP_SIGNAL},
        {"broadcast", "st", OP_BROADCAST}, {"post", "pq", OP_POST},     {"down", "pq", OP_DOWN},
        {"read", "kl", OP_RDLOCK},         {"write", "kl", OP_WRLOCK},  {"leave", "kl", OP_LEAVE}};
    if (concurrent_is(words, 1, "=")) {
        if (!concurrent_object(words, 0, "xyzw", &step->object))
            return concurrent_parse_result(words, step);
        step->op = OP_WRITE;
        return words->count == 3 && concurrent_number(words, 2, 0, &step->value);
    }
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (!concurrent_is(words, 0, plain[i].name)) continue;
        step->op = (uint8_t)plain[i].op;
        return words->count == 2 && concurrent_object(words, 1, plain[i].sort, &step->object);
    }
    if (concurrent_is(words, 0, "once")) {
        step->op = OP_ONCE;
        return words->count == 4 && concurrent_object(words, 1, "ou", &step->object) &&
               concurrent_object(words, 2, "xyzw", &step->mutex) &&
               concurrent_number(words, 3, 0, &step->value);
    }
    if (concurrent_is(words, 0, "store")) {
        step->op = OP_STORE;
        return words->count == 3 && concurrent_object(words, 1, "abcd", &step->object) &&
               concurrent_number(words, 2, 0, &step->value);
    }
    if (concurrent_is(words, 0, "spin")) {
        step->op = OP_SPIN;
        return words->count == 4 && concurrent_object(words, 1, "abcd", &step->object) &&
               concurrent_condition(words, 2, step);
    }
    if (concurrent_is(words, 0, "await")) {
        step->op = OP_AWAIT;
        return words->count == 6 && concurrent_object(words, 1, "xyzw", &step->object) &&
               concurrent_condition(words, 2, step) &&
               concurrent_object(words, 4, "st", &step->reg) &&
               concurrent_object(words, 5, "mn", &step->mutex);
    }
    step->op = concurrent_is(words, 0, "if") ? OP_IF : OP_ASSERT;
    return (step->op == OP_IF || concurrent_is(words, 0, "assert")) && words->count == 4 &&
           concurrent_register(words, 1, &step->reg) && concurrent_condition(words, 2, step);
}

/* Reads one line; returns where the next begins. */
QUIET const char *concurrent_split(const char *at, struct concurrent_words *words) {
    bool comment = false, within = false;
    words->count = 0;
    for (; *at != '\0' && *at != '\n'; at++) {
        bool blank = *at == ' ' || *at == '\t';
        if (*at == '#') comment = true;
        if (comment || blank) {
            within = false;
            continue;
        }
        if (!within && words->count == 8) return NULL;
        if (!within) {
            words->word[words->count] = at;
            words->length[words->count++] = 0;
            within = true;
        }
        words->length[words->count - 1]++;
    }
    return *at == '\n' ? at + 1 : at;
}

/* Returns 0, or the number of the first line that is wrong. */
QUIET unsigned concurrent_parse(const char *text, struct concurrent *program) {
    struct concurrent_words words;
    unsigned line = 0, thread = CONCURRENT_THREADS, open[CONCURRENT_STEPS], depth = 0;
    program->threads = 1;
    for (unsigned t = 0; t < CONCURRENT_THREADS; t++) program->steps[t] = 0;
    while (*text != '\0') {
        line++;
        text = concurrent_split(text, &words);
        if (text == NULL) return line;
        if (words.count == 0) continue;
        bool is_thread = concurrent_is(&words, 0, "thread");
        if (is_thread || concurrent_is(&words, 0, "finally")) {
            if (words.count != 1 || depth != 0 || thread == 0) return line;
            if (is_thread && program->threads == CONCURRENT_THREADS) return line;
            thread = is_thread ? program->threads++ : 0;
            continue;
        }
        if (thread == CONCURRENT_THREADS) return line;
        unsigned *count = &program->steps[thread];
        struct concurrent_step *steps = program->step[thread];
        bool is_else = concurrent_is(&words, 0, "else");
        if (is_else || concurrent_is(&words, 0, "end")) {
            if (words.count != 1 || depth == 0) return line;
            struct concurrent_step *from = &steps[open[--depth]];
            if (is_else && (from->op == OP_ELSE || *count == CONCURRENT_STEPS)) return line;
            from->jump = (uint8_t)(*count + is_else);
            if (!is_else) continue;
        } else if (*count == CONCURRENT_STEPS) {
            return line;
        }
        struct concurrent_step step = {.op = OP_ELSE, .line = (uint8_t)line};
        if (!is_else && !concurrent_parse_step(&words, &step)) return line;
        if (step.op == OP_IF || is_else) open[depth++] = *count;
        steps[(*count)++] = step;
    }
    return depth != 0 || program->threads == 1 ? line + 1 : 0;
}

#endif
