/* check_compare SEED QUANTUM byte|word|line once|twice PROGRAM [ARGUMENT]...: runs a program under
 * the serial scheduler, checked and recorded in full, and compares what the runtime found with the
 * definition in run/observed.h, applied to the trace access by access. `twice`: also with what it
 * finds in a second run, the same but not recorded (the program must be deterministic). Prints
 * what differs and how much was compared; status 1 if anything does, 2 if it could not be run. */
#define _GNU_SOURCE
#include "base/map.h"
#include "run/observed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the definition -------------------------------------------------------------------------- */

/* The accesses to one byte (word, line) since its memory was new, in order. */
struct unit {
    uint64_t address;
    HD_VECTOR(uint32_t) event;
    bool mixed; /* they are of several threads */
};
static struct hd_map unit_number;
static HD_VECTOR(struct unit) units;
static struct hd_trace trace;
static uint64_t unit_bytes = 1;

static unsigned does(uint32_t event) {
    switch (trace.kind[event]) {
    case HD_EV_READ:
    case HD_EV_ATOMIC_READ:
        return HD_DOES_READ;
    case HD_EV_WRITE:
    case HD_EV_ATOMIC_WRITE:
        return HD_DOES_WRITE;
    case HD_EV_ATOMIC_UPDATE:
        return HD_DOES_UPDATE;
    default:
        return 0;
    }
}

static struct unit *unit_of(uint64_t address) {
    uint32_t fresh = (uint32_t)units.size, number = *hd_map_slot(&unit_number, address, fresh);
    if (number == fresh) {
        struct unit none = {.address = address};
        hd_vector_push(&units, none);
    }
    return &units.data[number];
}

/* A triple of accesses in the code, or one that was executed (the others are 0). */
struct found {
    uint32_t site[3];
    unsigned does[3];
    uint64_t instances;
};
struct found_list {
    HD_VECTOR(struct found) list;
};

static int compare_found(const void *a, const void *b) {
    const struct found *x = a, *y = b;
    int order = memcmp(x->site, y->site, sizeof x->site);
    return order != 0 ? order : memcmp(x->does, y->does, sizeof x->does);
}

static void count(struct found_list *to, const struct found *found, bool once) {
    for (size_t i = 0; i < to->list.size; i++) {
        if (compare_found(&to->list.data[i], found) != 0) continue;
        if (!once) to->list.data[i].instances += found->instances;
        return;
    }
    hd_vector_push(&to->list, *found);
}

/* One unit of an access; what it breaks goes into `here`, each triple once. */
static void look_at(const struct unit *unit, uint32_t i, struct found_list *here, bool *executed) {
    uint32_t n = (uint32_t)unit->event.size, at = n;
    const uint32_t *event = unit->event.data;
    while (at > 0 && trace.thread[event[at - 1]] != trace.thread[i]) at--;
    if (at == 0) return;
    *executed |= unit->mixed;
    if (at == n) return;
    uint32_t p = event[at - 1], first = event[at], write = HD_NONE, r = HD_NONE;
    for (uint32_t k = at; k < n; k++)
        if (does(event[k]) & HD_DOES_WRITE) write = event[k];
    if (write != HD_NONE) {
        enum hd_pattern pattern = hd_pattern_of(does(p), does(write), does(i), false);
        if (pattern != HD_PATTERN_NONE && pattern != HD_PATTERN_WRW) r = write;
    }
    if (r == HD_NONE && hd_pattern_of(does(p), does(first), does(i), false) == HD_PATTERN_WRW)
        r = first;
    if (r == HD_NONE) return;
    struct found triple = {.site = {trace.site[p], trace.site[r], trace.site[i]},
                           .does = {does(p), does(r), does(i)},
                           .instances = 1};
    count(here, &triple, true);
}

static void forget(uint64_t from, uint64_t to) {
    for (size_t i = 0; i < units.size; i++) {
        struct unit *unit = &units.data[i];
        uint64_t end = unit->address + unit_bytes;
        bool inside = unit_bytes == 64 ? unit->address >= from && end <= ((to + 7) & ~7ull)
                                       : unit->address >= from && unit->address < to;
        if (!inside) continue;
        hd_vector_free(&unit->event);
        unit->mixed = false;
    }
}

static void note_executed(struct found_list *executed, uint32_t event) {
    struct found alone = {
        .site = {0, 0, trace.site[event]}, .does = {0, 0, does(event)}, .instances = 1};
    count(executed, &alone, true);
}

static void access_memory(uint32_t event, struct found_list *triples, struct found_list *executed) {
    struct found_list here = {{0}};
    bool as_second = false;
    uint64_t from = trace.operand[event] & ~(unit_bytes - 1);
    uint64_t to = trace.operand[event] + hd_trace_size(&trace, event);
    for (uint64_t at = from; at < to; at += unit_bytes) {
        struct unit *unit = unit_of(at);
        look_at(unit, event, &here, &as_second);
        size_t before = unit->event.size;
        if (before > 0 && trace.thread[unit->event.data[0]] != trace.thread[event]) {
            if (!unit->mixed && before > 1) note_executed(executed, unit->event.data[before - 1]);
            unit->mixed = true;
        }
        hd_vector_push(&unit->event, event);
    }
    for (size_t i = 0; i < here.list.size; i++) count(triples, &here.list.data[i], false);
    hd_vector_free(&here.list);
    if (as_second) note_executed(executed, event);
}

static void by_definition(struct found_list *triples, struct found_list *executed) {
    for (uint32_t e = 0; e < trace.events; e++) {
        uint64_t from = trace.operand[e];
        if (does(e) != 0)
            access_memory(e, triples, executed);
        else if (trace.kind[e] == HD_EV_ALLOC || trace.kind[e] == HD_EV_FREE)
            forget(from, from + hd_trace_size(&trace, e));
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print(const char *what, const struct found *found, uint64_t instead) {
    printf("%s:", what);
    for (unsigned i = 0; i < 3; i++) printf(" %c 0x%x", "-rwu"[found->does[i]], found -> site[i]);
    printf(" %llu times", (unsigned long long)found->instances);
    if (instead != 0) printf(", the runtime says %llu", (unsigned long long)instead);
    putchar('\n');
}

static bool equal(const char *what, struct found_list *wanted, struct found_list *got) {
    bool same = true;
    if (wanted->list.size > 0)
        qsort(wanted->list.data, wanted->list.size, sizeof *wanted->list.data, compare_found);
    if (got->list.size > 0)
        qsort(got->list.data, got->list.size, sizeof *got->list.data, compare_found);
    for (size_t i = 0, k = 0; i < wanted->list.size || k < got->list.size;) {
        const struct found *a = i < wanted->list.size ? &wanted->list.data[i] : NULL;
        const struct found *b = k < got->list.size ? &got->list.data[k] : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : compare_found(a, b);
        if (order == 0 && a->instances != b->instances)
            print(what, a, b->instances), same = false;
        else if (order < 0)
            printf("missing "), print(what, a, 0), same = false;
        else if (order > 0)
            printf("wrong "), print(what, b, 0), same = false;
        i += order <= 0;
        k += order >= 0;
    }
    return same;
}

static void by_runtime(const struct hd_observed *observed, struct found_list *triples,
                       struct found_list *executed) {
    for (size_t i = 0; i < observed->violation.size; i++) {
        const struct hd_observed_violation *v = &observed->violation.data[i];
        struct found found = {.site = {v->first.site, v->remote.site, v->second.site},
                              .does = {v->first.does, v->remote.does, v->second.does},
                              .instances = v->instances};
        hd_vector_push(&triples->list, found);
    }
    for (size_t i = 0; i < observed->executed.size; i++) {
        const struct hd_observed_site *s = &observed->executed.data[i];
        struct found found = {.site = {0, 0, s->site}, .does = {0, 0, s->does}, .instances = 1};
        hd_vector_push(&executed->list, found);
    }
}

static bool run(struct hd_job *job, const struct hd_checking *checking, struct hd_result *result,
                struct found_list *triples, struct found_list *executed) {
    struct hd_host host = {.library_directory = getenv("HEDDLE_LIBRARY")};
    struct hd_observed observed;
    struct hd_error error;
    bool good = hd_run_checked(job, &host, checking, result, &observed, &error);
    struct hd_trace_options all = {.keep = HD_KEEP_ALL};
    if (good && checking->record) good = hd_trace_load(result->trace_path, &all, &trace, &error);
    if (!good) fprintf(stderr, "%s\n", error.message);
    by_runtime(&observed, triples, executed);
    hd_observed_free(&observed);
    return good;
}

int main(int argc, char **argv) {
    struct hd_checking checking = {.record = true};
    if (argc < 6) return 2;
    if (strcmp(argv[3], "word") == 0) checking.granularity = HD_GRANULARITY_WORD, unit_bytes = 8;
    if (strcmp(argv[3], "line") == 0) checking.granularity = HD_GRANULARITY_LINE, unit_bytes = 64;
    struct hd_job job = {.program = {.argv = argv + 5, .limit_ms = 60000},
                         .steering = {.scheduler = HD_SCHED_SERIAL,
                                      .policy = HD_POLICY_RANDOM,
                                      .seed = strtoull(argv[1], NULL, 10),
                                      .quantum = (uint32_t)strtoul(argv[2], NULL, 10)}};
    struct hd_result result;
    static struct found_list triples, executed, got_triples, got_executed; /* kept to the end */
    if (!run(&job, &checking, &result, &got_triples, &got_executed)) return 2;
    by_definition(&triples, &executed);
    bool same = equal("triple", &triples, &got_triples);
    same &= equal("executed", &executed, &got_executed);
    printf("%zu triples, %zu executed, %u events\n", triples.list.size, executed.list.size,
           trace.events);
    if (strcmp(argv[4], "twice") != 0) return same ? 0 : 1;
    static struct found_list again_triples, again_executed;
    checking.record = false;
    if (!run(&job, &checking, &result, &again_triples, &again_executed)) return 2;
    same &= equal("triple, not recorded", &triples, &again_triples);
    same &= equal("executed, not recorded", &executed, &again_executed);
    return same ? 0 : 1;
}
