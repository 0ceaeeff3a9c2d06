/* The steps of a stream of events by definition, byte by byte: what the filter must not change. */
#ifndef HEDDLE_TESTS_ORACLE_FILTER_NAIVE_H
#define HEDDLE_TESTS_ORACLE_FILTER_NAIVE_H

#include "base/vector.h"
#include "trace/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NAIVE_THREADS = 4, NAIVE_WINDOWS = 6, NAIVE_WINDOW = 64 };
#define NAIVE_BYTES (NAIVE_WINDOWS * NAIVE_WINDOW)
/* A window lies over the border of two pages, and far from the others. */
#define NAIVE_BASE(window) (((uint64_t)(window) + 1) * 0x100000 + 4096 - 32)

struct naive_event {
    uint32_t thread, site;
    unsigned kind;
    uint64_t address, bytes;
    uint32_t number; /* in the full stream; UINT32_MAX: put in */
};
typedef HD_VECTOR(struct naive_event) naive_stream;

/* An access as steps see it: from where, what it does, by whom, in which of its epochs. */
struct naive_access {
    uint32_t site;
    uint16_t kind, thread;
    uint32_t epoch;
};
/* A step of the thread of `second` on a byte, in one of the byte's lives; and, for a triple, an
 * access of another thread in between. */
struct naive_step {
    uint32_t byte, life;
    struct naive_access first, between, second;
};
typedef HD_VECTOR(struct naive_step) naive_steps;

static inline bool naive_is_access(unsigned kind) {
    return kind <= HD_EV_ATOMIC_UPDATE || kind == HD_EV_FREE;
}
/* Does it end its thread's epoch? */
static inline bool naive_ends_epoch(unsigned kind) {
    return kind != HD_EV_READ && kind != HD_EV_WRITE && kind != HD_EV_ALLOC && kind != HD_EV_FREE &&
           kind != HD_EV_NOTE && kind != HD_EV_BRANCH;
}

static inline int naive_compare(const void *a, const void *b) {
    return memcmp(a, b, sizeof(struct naive_step));
}

/* All steps and triples of the stream, sorted, each once. */
static inline naive_steps naive_find(const struct naive_event *event, size_t events) {
    naive_steps found = {0};
    uint32_t epoch[NAIVE_THREADS] = {0};
    static uint32_t life[NAIVE_BYTES];
    static struct naive_access last[NAIVE_BYTES][NAIVE_THREADS];
    static bool has[NAIVE_BYTES][NAIVE_THREADS];
    static HD_VECTOR(struct naive_access) since[NAIVE_BYTES][NAIVE_THREADS];
    memset(life, 0, sizeof life);
    memset(has, 0, sizeof has);
    for (size_t e = 0; e < events; e++) {
        const struct naive_event *now = &event[e];
        for (uint32_t byte = 0; byte < NAIVE_BYTES; byte++) {
            uint64_t address = NAIVE_BASE(byte / NAIVE_WINDOW) + byte % NAIVE_WINDOW;
            if (address < now->address || address - now->address >= now->bytes) continue;
            if (now->kind == HD_EV_ALLOC) {
                life[byte]++;
                for (int t = 0; t < NAIVE_THREADS; t++) {
                    has[byte][t] = false;
                    since[byte][t].size = 0;
                }
            }
            if (!naive_is_access(now->kind)) continue;
            struct naive_access access = {now->site, (uint16_t)now->kind, (uint16_t)now->thread,
                                          epoch[now->thread]};
            uint32_t t = now->thread;
            if (has[byte][t]) {
                struct naive_step step = {byte, life[byte], last[byte][t], {0}, access};
                hd_vector_push(&found, step);
                for (size_t i = 0; i < since[byte][t].size; i++) {
                    step.between = since[byte][t].data[i];
                    step.between.epoch++; /* told apart from none */
                    hd_vector_push(&found, step);
                }
            }
            last[byte][t] = access;
            has[byte][t] = true;
            since[byte][t].size = 0;
            for (uint32_t other = 0; other < NAIVE_THREADS; other++)
                if (other != t && has[byte][other]) hd_vector_push(&since[byte][other], access);
        }
        if (naive_ends_epoch(now->kind)) epoch[now->thread]++;
    }
    for (int b = 0; b < NAIVE_BYTES; b++)
        for (int t = 0; t < NAIVE_THREADS; t++) hd_vector_free(&since[b][t]);
    if (found.size != 0) qsort(found.data, found.size, sizeof *found.data, naive_compare);
    size_t count = 0;
    for (size_t i = 0; i < found.size; i++)
        if (count == 0 || naive_compare(&found.data[count - 1], &found.data[i]) != 0)
            found.data[count++] = found.data[i];
    found.size = count;
    return found;
}

#endif
