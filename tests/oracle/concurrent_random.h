/* Random programs of concurrent.h. Every program has a mixture of its own: which operations it has
 * at all, and how often. Every value that is written is written by one instruction only: stores and
 * writes give the numbers from 1, and each fetch-add adds a power of two above them. */
#ifndef HEDDLE_TESTS_ORACLE_CONCURRENT_RANDOM_H
#define HEDDLE_TESTS_ORACLE_CONCURRENT_RANDOM_H

#include "oracle/concurrent.h"
#include "support/dice.h"

#include <stdio.h>
#include <string.h>

/* The last five are of `all` programs only. */
enum { RANDOM_LINES = 120, RANDOM_FEW = 13, RANDOM_OPS = 18, RANDOM_VALUES = 64 };

/* A line of text before it is known what is compared with what. */
struct random_line {
    char text[32];
    char variable; /* whose value stands behind the text; 0: none */
    char end[16];  /* what stands behind the value */
};

struct random_program {
    struct dice dice;
    unsigned weight[RANDOM_OPS], plains, atomics, mutexes;
    struct random_line line[RANDOM_LINES];
    unsigned lines;
    int32_t written[128][RANDOM_VALUES]; /* by the variable's letter */
    unsigned writes[128];
    int32_t next_value, next_add;
    /* of the thread that is being made */
    char source[CONCURRENT_REGISTERS]; /* the variable that a register was read from */
    unsigned registers, steps, held;
};

static inline struct random_line *random_line(struct random_program *random) {
    struct random_line *line = &random->line[random->lines++];
    memset(line, 0, sizeof *line);
    random->steps++;
    return line;
}

#define RANDOM_SAY(random, ...) \
    snprintf(random_line(random)->text, sizeof(struct random_line), __VA_ARGS__)

static inline int32_t random_written(struct random_program *random, char variable, int32_t value) {
    random->written[(int)variable][random->writes[(int)variable]++] = value;
    return value;
}

static inline unsigned random_register(struct random_program *random, char variable) {
    unsigned reg = random->registers++ % CONCURRENT_REGISTERS;
    random->source[reg] = variable;
    return reg;
}

/* The condition on something that was read is filled in later. */
static inline void random_condition(struct random_program *random, const char *what, char variable,
                                    unsigned reg, const char *end) {
    struct random_line *line = random_line(random);
    const char *relation = roll(&random->dice, 2) ? "==" : "!=";
    if (strcmp(what, "if") == 0 || strcmp(what, "assert") == 0)
        snprintf(line->text, sizeof line->text, "%s r%u %s ", what, reg, relation);
    else
        snprintf(line->text, sizeof line->text, "%s %c %s ", what, variable, "==");
    line->variable = variable;
    snprintf(line->end, sizeof line->end, "%s", end);
}

static inline void random_block(struct random_program *random, unsigned steps, unsigned depth);

static inline void random_atomic(struct random_program *random, unsigned op) {
    char variable = "abcd"[roll(&random->dice, random->atomics)];
    struct random_line *line;
    switch (op) {
    case 0:
        RANDOM_SAY(random, "r%u = load %c", random_register(random, variable), variable);
        break;
    case 1:
        RANDOM_SAY(random, "store %c %d", variable,
                   random_written(random, variable, random->next_value++));
        break;
    case 2:
        RANDOM_SAY(random, "r%u = add %c %d", random_register(random, variable), variable,
                   random_written(random, variable, random->next_add));
        random->next_add *= 2;
        break;
    case 3:
        line = random_line(random);
        snprintf(line->text, sizeof line->text, "r%u = cas %c ", random_register(random, variable),
                 variable);
        line->variable = variable;
        snprintf(line->end, sizeof line->end, " %d",
                 random_written(random, variable, random->next_value++));
        break;
    default:
        if (roll(&random->dice, 2) == 0)
            RANDOM_SAY(random, "spin %c != 0", variable);
        else
            random_condition(random, "spin", variable, 0, "");
    }
}

/* What stands under a mutex that this thread does not hold. */
static inline void random_section(struct random_program *random, unsigned op, unsigned steps,
                                  unsigned depth) {
    unsigned m = roll(&random->dice, random->mutexes);
    char mutex = "mn"[m], variable = "xyzw"[roll(&random->dice, random->plains)], end[8];
    if ((random->held >> m & 1) != 0) return;
    random->held |= 1u << m;
    if (op == 1) {
        unsigned reg = random_register(random, 0);
        RANDOM_SAY(random, "r%u = try %c", reg, mutex);
        RANDOM_SAY(random, "if r%u == 1", reg);
    } else {
        RANDOM_SAY(random, "lock %c", mutex);
    }
    if (op == 2) {
        snprintf(end, sizeof end, " s %c", mutex);
        if (roll(&random->dice, 3) == 0)
            random_condition(random, "await", variable, 0, end);
        else
            RANDOM_SAY(random, "await %c != 0%s", variable, end);
    }
    if (op == 3)
        RANDOM_SAY(random, "%c = %d", variable,
                   random_written(random, variable, random->next_value++));
    random_block(random, 1 + roll(&random->dice, steps), depth + 1);
    if (op == 3) RANDOM_SAY(random, roll(&random->dice, 2) ? "signal s" : "broadcast s");
    RANDOM_SAY(random, "unlock %c", mutex);
    random->held &= ~(1u << m);
    if (op != 1) return;
    if (roll(&random->dice, 3) == 0) {
        RANDOM_SAY(random, "else");
        random_block(random, 1, depth + 1);
    }
    RANDOM_SAY(random, "end");
}

/* What stands under a reader-writer lock. */
static inline void random_shared(struct random_program *random, unsigned depth) {
    unsigned l = roll(&random->dice, 2), way = roll(&random->dice, 4);
    char lock = "kl"[l];
    if ((random->held >> (2 + l) & 1) != 0) return;
    random->held |= 4u << l;
    if (way >= 2) {
        unsigned reg = random_register(random, 0);
        RANDOM_SAY(random, "r%u = %s %c", reg, way == 2 ? "tryread" : "trywrite", lock);
        RANDOM_SAY(random, "if r%u == 1", reg);
    } else {
        RANDOM_SAY(random, "%s %c", way == 0 ? "read" : "write", lock);
    }
    random_block(random, 1 + roll(&random->dice, 2), depth + 1);
    RANDOM_SAY(random, "leave %c", lock);
    random->held &= ~(4u << l);
    if (way >= 2) RANDOM_SAY(random, "end");
}

/* Operations that only `all` programs have. */
static inline void random_other(struct random_program *random, unsigned op, unsigned depth) {
    unsigned m = roll(&random->dice, random->mutexes);
    char variable = "xyzw"[roll(&random->dice, random->plains)];
    char semaphore = "pq"[roll(&random->dice, 3) == 0];
    switch (op) {
    case 0:
        if ((random->held >> m & 1) != 0 || depth >= 3) return;
        RANDOM_SAY(random, "lock %c", "mn"[m]);
        RANDOM_SAY(random, "r%u = until s %c", random_register(random, 0), "mn"[m]);
        random->held |= 1u << m;
        random_block(random, 1 + roll(&random->dice, 2), depth + 1);
        random->held &= ~(1u << m);
        RANDOM_SAY(random, "unlock %c", "mn"[m]);
        break;
    case 1:
        RANDOM_SAY(random, "post %c", semaphore);
        break;
    case 2:
        if (roll(&random->dice, 2))
            RANDOM_SAY(random, "r%u = take %c", random_register(random, 0), semaphore);
        else
            RANDOM_SAY(random, "down %c", semaphore);
        break;
    case 3:
        if (depth < 3) random_shared(random, depth);
        break;
    default:
        RANDOM_SAY(random, "once %c %c %d", "ou"[roll(&random->dice, 3) == 0], variable,
                   random_written(random, variable, random->next_value++));
    }
}

static inline void random_decision(struct random_program *random, bool asserts, unsigned steps,
                                   unsigned depth) {
    unsigned reg = roll(&random->dice, CONCURRENT_REGISTERS);
    if (random->source[reg] == 0) return;
    random_condition(random, asserts ? "assert" : "if", random->source[reg], reg, "");
    if (asserts) return;
    random_block(random, 1 + roll(&random->dice, steps), depth + 1);
    if (roll(&random->dice, 3) == 0) {
        RANDOM_SAY(random, "else");
        random_block(random, 1 + roll(&random->dice, steps), depth + 1);
    }
    RANDOM_SAY(random, "end");
}

static inline void random_block(struct random_program *random, unsigned steps, unsigned depth) {
    unsigned sum = 0, op, most = random->steps + steps;
    for (op = 0; op < RANDOM_OPS; op++) sum += random->weight[op];
    for (unsigned tries = 0; random->steps < most && tries < 8; tries++) {
        if (random->steps > CONCURRENT_STEPS - 8 || random->lines > RANDOM_LINES - 20) return;
        unsigned pick = roll(&random->dice, sum);
        for (op = 0; pick >= random->weight[op]; op++) pick -= random->weight[op];
        char variable = "xyzw"[roll(&random->dice, random->plains)];
        if (op == 0)
            RANDOM_SAY(random, "r%u = %c", random_register(random, variable), variable);
        else if (op == 1)
            RANDOM_SAY(random, "%c = %d", variable,
                       random_written(random, variable, random->next_value++));
        else if (op < 7)
            random_atomic(random, op - 2);
        else if (op < 11 && depth < 3)
            random_section(random, op - 7, 2, depth);
        else if (op >= RANDOM_FEW)
            random_other(random, op - RANDOM_FEW, depth);
        else if (op >= 11 && depth < 3)
            random_decision(random, op == 12, 2, depth);
    }
}

static inline void random_begin(struct random_program *random, const char *what) {
    RANDOM_SAY(random, "%s", what);
    memset(random->source, 0, sizeof random->source);
    random->registers = random->steps = random->held = 0;
}

/* One of the values that are written to the variable, or its first one. */
static inline int32_t random_value(struct random_program *random, char variable) {
    unsigned count = random->writes[(int)variable];
    if (count == 0 || roll(&random->dice, 3) == 0) return 0;
    return random->written[(int)variable][roll(&random->dice, count)];
}

static inline void random_make(struct random_program *random, uint64_t seed, bool all, char *text,
                               size_t size) {
    memset(random, 0, sizeof *random);
    random->dice.state = seed;
    random->next_value = 1;
    random->next_add = 64;
    random->plains = 1 + roll(&random->dice, 3);
    random->atomics = 1 + roll(&random->dice, 2);
    random->mutexes = 1 + roll(&random->dice, 2);
    for (unsigned op = 0; op < (all ? RANDOM_OPS : RANDOM_FEW); op++) {
        /* what has conditions to wait for or to look at needs something else beside it */
        bool often = op < 2 || op == 11;
        random->weight[op] = roll(&random->dice, often ? 4 : 8) == 0 ? 4 : roll(&random->dice, 2);
    }
    random->weight[0] += 1;
    random->weight[1] += 1;
    for (unsigned op = RANDOM_FEW; all && op < RANDOM_OPS; op++)
        random->weight[op] += 2 * roll(&random->dice, 2);
    /* several threads wait, and somebody signals */
    for (unsigned op = 9; all && op < 11; op++) random->weight[op] += roll(&random->dice, 3);
    random->weight[12] = roll(&random->dice, 2); /* assertions end most runs if there are many */
    static const unsigned threads_of[] = {2, 2, 2, 2, 2, 3, 3, 3, 3, 4};
    unsigned threads = threads_of[roll(&random->dice, 10)];
    for (unsigned t = 0; t < threads; t++) {
        random_begin(random, "thread");
        random_block(random, 1 + roll(&random->dice, threads == 2 ? 6 : 4), 0);
    }
    if (roll(&random->dice, 3) == 0) {
        random_begin(random, "finally");
        char variable = "xyzw"[roll(&random->dice, random->plains)];
        RANDOM_SAY(random, "r0 = %c", variable);
        random->source[0] = variable;
        if (roll(&random->dice, 2)) random_condition(random, "assert", variable, 0, "");
    }
    size_t at = 0;
    for (unsigned l = 0; l < random->lines && at < size; l++) {
        struct random_line *line = &random->line[l];
        at += (size_t)snprintf(text + at, size - at, "%s", line->text);
        if (line->variable != 0 && at < size)
            at += (size_t)snprintf(text + at, size - at, "%d%s",
                                   random_value(random, line->variable), line->end);
        if (at < size) at += (size_t)snprintf(text + at, size - at, "\n");
    }
}

#endif
