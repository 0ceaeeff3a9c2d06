/* The figures of Wang and Hoang's paper, changed at random: lines dropped, threads' lines swapped,
 * sections put on another lock. What is left of the obstacles in them is what random traces hardly
 * ever have. */
#ifndef HEDDLE_TESTS_ORACLE_FIGURE_TRACE_H
#define HEDDLE_TESTS_ORACLE_FIGURE_TRACE_H

#include "oracle/random_query.h"

/* tests/traces/fig2.std, fig3.std, fig4.std. */
static const char *const figures[] = {
    "T1|acq(l0)\nT1|post(s1)\nT1|acq(l1)\nT1|rel(l0)\nT1|w(x)\nT1|rel(l1)\nT2|acq(l0)\n"
    "T2|post(s2)\nT3|wait(s1)\nT3|wait(s2)\nT3|acq(l1)\nT3|rel(l1)\nT3|post(s3)\nT2|wait(s3)\n"
    "T2|rel(l0)\nT2|post(s4)\nT3|wait(s4)\nT3|w(x)\n",
    "T1|acq(l0)\nT1|post(s1)\nT1|post(s2)\nT1|acq(l1)\nT1|acq(l2)\nT1|rel(l0)\nT1|w(x)\n"
    "T1|rel(l2)\nT1|rel(l1)\nT2|acq(l0)\nT2|post(s3)\nT2|post(s4)\nT3|acq(l3)\nT3|acq(l1)\n"
    "T3|rel(l1)\nT3|post(s5)\nT3|wait(s1)\nT3|wait(s3)\nT3|rel(l3)\nT4|acq(l3)\nT4|acq(l2)\n"
    "T4|rel(l2)\nT4|post(s6)\nT4|wait(s2)\nT4|wait(s4)\nT4|rel(l3)\nT2|wait(s5)\nT2|wait(s6)\n"
    "T2|rel(l0)\nT2|w(x)\n",
    "T1|acq(l0)\nT1|acq(l1)\nT1|acq(l2)\nT1|rel(l0)\nT1|w(x)\nT1|rel(l2)\nT1|rel(l1)\n"
    "T2|acq(l0)\nT2|post(s3)\nT2|post(s4)\nT2|rel(l0)\nT3|acq(l3)\nT3|acq(l1)\nT3|rel(l1)\n"
    "T3|wait(s3)\nT3|rel(l3)\nT3|post(s5)\nT4|acq(l3)\nT4|acq(l2)\nT4|rel(l2)\nT4|wait(s4)\n"
    "T4|rel(l3)\nT4|wait(s5)\nT4|w(x)\n",
};

static inline void figure_drop(struct text_trace *text, unsigned line) {
    memmove(text->line[line], text->line[line + 1], (TEXT_LINES - line - 1) * sizeof *text->line);
    text->lines--;
}

static inline void figure_change(struct text_trace *text, struct dice *dice) {
    unsigned line = roll(dice, text->lines - 1), other = roll(dice, text->lines);
    char *lock;
    switch (roll(dice, 6)) {
    case 0: /* a wait, a post, an access */
        figure_drop(text, line);
        break;
    case 1: /* an acquire and its release, with luck */
        if (line == other) break;
        figure_drop(text, line > other ? line : other);
        figure_drop(text, line > other ? other : line);
        break;
    case 2: /* reads among the writes, or writes of something else */
        if ((lock = strstr(text->line[line], "|w(x)")) != NULL)
            strcpy(lock, roll(dice, 2) ? "|r(x)" : "|w(y)");
        break;
    case 3: /* an access anywhere */
        if (text->lines == TEXT_LINES) break;
        memmove(text->line[line + 1], text->line[line],
                (TEXT_LINES - line - 1) * sizeof *text->line);
        text->lines++;
        snprintf(text->line[line], TEXT_WIDTH, "T%u|%c(%c)", 1 + roll(dice, 4), "rw"[roll(dice, 2)],
                 "xy"[roll(dice, 2)]);
        break;
    case 4: /* one lock becomes another, for one thread */
        lock = strstr(text->line[line], "(l");
        if (lock == NULL) break;
        char thread = text->line[line][1], name = lock[2], fresh = (char)('0' + roll(dice, 4));
        for (unsigned i = 0; i < text->lines; i++) {
            lock = strstr(text->line[i], "(l");
            if (lock != NULL && text->line[i][1] == thread && lock[2] == name) lock[2] = fresh;
        }
        break;
    default: /* another order */
        if (text->line[line][1] != text->line[line + 1][1]) {
            char kept[TEXT_WIDTH];
            memcpy(kept, text->line[line], TEXT_WIDTH);
            memcpy(text->line[line], text->line[line + 1], TEXT_WIDTH);
            memcpy(text->line[line + 1], kept, TEXT_WIDTH);
        }
    }
}

static inline void random_figure_trace(uint64_t seed, struct text_trace *out) {
    struct dice dice = {seed * 0x2545f4914f6cdd1dull};
    const char *at = figures[roll(&dice, sizeof figures / sizeof figures[0])];
    memset(out, 0, sizeof *out);
    for (const char *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        memcpy(out->line[out->lines++], at, (size_t)(end - at));
    unsigned changes = roll(&dice, 12);
    for (unsigned i = 0; i < changes && out->lines > 8; i++) {
        struct text_trace changed = *out;
        struct hd_model model;
        struct hd_error error;
        figure_change(&changed, &dice);
        if (!model_of_text(&changed, &model, &error)) continue;
        hd_model_free(&model);
        *out = changed;
    }
}

/* A trace with lines lost or in the wrong place, as after a crash: releases without acquires, two
 * holders, joins before ends. The model is repaired. */
static inline void random_broken_trace(uint64_t seed, struct text_trace *out) {
    struct dice dice = {seed};
    (roll(&dice, 2) ? random_trace : random_hard_trace)(seed, out);
    out->lenient = true;
    for (unsigned i = roll(&dice, 5); i-- > 0 && out->lines > 2;) {
        unsigned line = roll(&dice, out->lines), other = roll(&dice, out->lines);
        if (roll(&dice, 2)) {
            figure_drop(out, line);
            continue;
        }
        char kept[TEXT_WIDTH];
        memcpy(kept, out->line[line], TEXT_WIDTH);
        memmove(out->line[line], out->line[other], TEXT_WIDTH);
        memcpy(out->line[other], kept, TEXT_WIDTH);
    }
}

/* The trace of a seed: half of them small, the others harder or broken. */
static inline void oracle_make(uint64_t seed, struct text_trace *out) {
    if (seed % 8 == 0)
        random_broken_trace(seed, out);
    else if (seed % 2 == 0)
        random_trace(seed, out);
    else if (seed % 4 == 1)
        random_hard_trace(seed, out);
    else
        random_figure_trace(seed, out);
}

#endif
