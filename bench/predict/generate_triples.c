/* Makes large traces for the atomicity part of bench/predict: threads that take locks and work on
 * variables of their own, and, among them, triples of accesses of which it is known what each
 * method must say. But for one kind, no triple that is planted is seen in the trace itself. The
 * same arguments give the same trace, in the text format with branches; prints what a right
 * analysis must find. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum plant {
    BLIND,   /* two sections of a lock, a remote write in a third that reads nothing: feasible */
    READ_UP, /* the remote write follows a read of the local one: infeasible, AVFilter rejects it */
    QUEUE,   /* Fig. 2: the remote thread first reads an index that is written after k */
    RELAYED, /* the same through a third thread: infeasible, but AVFilter keeps it */
    HISTORY, /* nested sections the other way round: infeasible, AVFilter keeps it */
    COUNTER, /* updates by turns, many times: no update is parted; from one to the next, seen */
    MONITOR, /* pairs of reads, remote writes, many times: feasible; the writes with a read between
              them are not */
    PLANTS
};
static const char *const plant_name[PLANTS] = {"blind",   "read_up", "queue",  "relayed",
                                               "history", "counter", "monitor"};
/* candidate groups, of them feasible, of them kept by AVFilter */
static const unsigned plant_groups[PLANTS][3] = {{1, 1, 1}, {2, 0, 0}, {1, 0, 0}, {1, 0, 1},
                                                 {1, 0, 1}, {2, 1, 1}, {4, 2, 4}};

enum { OWN = 64, SITES = 64 };

static uint64_t state, wanted = 1000000, written;
static unsigned threads = 8, locks = 64, plants[PLANTS], rounds = 200, sites = SITES, variables;
static FILE *out;

static unsigned roll(unsigned limit) {
    state += 0x9e3779b97f4a7c15ull;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (unsigned)((z ^ z >> 31) % limit);
}

static void line(unsigned thread, const char *operation, char letter, unsigned object,
                 unsigned site) {
    written++;
    fprintf(out, "T%u|%s(%c%u)|%u\n", thread, operation, letter, object, site);
}

static void branch(unsigned thread) {
    written++;
    fprintf(out, "T%u|branch|0\n", thread);
}

static void acquire(unsigned t, unsigned lock) { line(t, "acq", 'L', lock, lock + 1); }
static void release(unsigned t, unsigned lock) { line(t, "rel", 'L', lock, lock + 1); }

static void locked(unsigned t, const char *operation, unsigned lock, unsigned variable,
                   unsigned site) {
    acquire(t, lock);
    line(t, operation, 'V', variable, site);
    release(t, lock);
}

/* What a thread does most of the time: a section around two accesses of its own. */
static void background(unsigned t) {
    unsigned lock = roll(locks), own = t * OWN;
    acquire(t, lock);
    for (unsigned n = 2 + roll(8); n > 0; n--) {
        unsigned variable = own + roll(OWN);
        line(t, roll(3) == 0 ? "w" : "r", 'P', variable, 1 + variable % SITES);
        if (roll(4) == 0) branch(t);
    }
    release(t, lock);
}

static void plant(enum plant kind) {
    unsigned p = 1 + roll(threads), q = 1 + roll(threads), m = 1 + roll(threads);
    while (q == p) q = 1 + roll(threads);
    while (m == p || m == q) m = 1 + roll(threads);
    unsigned a = roll(locks), b = (a + 1 + roll(locks - 1)) % locks;
    unsigned x = variables, y = x + 1, z = x + 2, s = sites;
    variables += 3;
    sites += 8;
    switch (kind) {
    case BLIND:
        locked(p, "r", a, x, s), branch(p);
        locked(p, "w", a, x, s + 1);
        locked(q, "w", a, x, s + 2);
        break;
    case READ_UP: /* each may part the other: two groups */
        locked(p, "r", a, x, s);
        locked(p, "w", a, x, s + 1);
        locked(q, "r", a, x, s + 2), branch(q);
        locked(q, "w", a, x, s + 3);
        break;
    case QUEUE:
        line(p, "r", 'V', x, s);
        line(p, "w", 'V', x, s + 1);
        locked(p, "w", a, y, s + 2);
        locked(q, "r", a, y, s + 3), branch(q);
        line(q, "w", 'V', x, s + 4);
        break;
    case RELAYED:
        line(p, "r", 'V', x, s);
        line(p, "w", 'V', x, s + 1);
        line(p, "w", 'V', y, s + 2);
        line(m, "r", 'V', y, s + 3);
        line(m, "w", 'V', z, s + 4);
        line(q, "r", 'V', z, s + 5);
        line(q, "w", 'V', x, s + 6);
        break;
    case HISTORY: /* p holds a over both accesses, q over its own the outer b, and a inside it */
        acquire(p, a), acquire(p, b), line(p, "w", 'V', y, s + 3), release(p, b);
        line(p, "r", 'V', x, s), line(p, "w", 'V', x, s + 1), release(p, a);
        acquire(q, b), acquire(q, a), line(q, "w", 'V', z, s + 4), release(q, a);
        line(q, "w", 'V', x, s + 2), release(q, b);
        break;
    case COUNTER:
        for (unsigned n = 0; n < rounds; n++) {
            unsigned t = n % 2 == 0 ? p : q;
            locked(t, "r", a, x, s), branch(t);
            locked(t, "w", a, x, s + 1);
        }
        break;
    default: /* the pairs come first; y keeps nothing apart */
        for (unsigned n = 0; n < rounds; n++) {
            locked(p, "r", a, x, s), branch(p);
            locked(p, "r", a, x, s + 1);
            line(p, "w", 'V', y, s + 2);
        }
        for (unsigned n = 0; n < rounds; n++) locked(q, "w", a, x, s + 3);
    }
}

static void run(void) {
    uint64_t total = 0, planted = 0;
    unsigned left[PLANTS];
    memcpy(left, plants, sizeof left);
    for (int k = 0; k < PLANTS; k++) total += plants[k];
    for (unsigned t = 1; t <= threads; t++) fprintf(out, "T0|fork(T%u)|0\n", t);
    written += threads;
    while (written < wanted || planted < total) {
        if (planted < total && planted * wanted <= written * total) {
            int kind = (int)roll(PLANTS);
            while (left[kind] == 0) kind = (kind + 1) % PLANTS;
            left[kind]--;
            planted++;
            plant((enum plant)kind);
        } else
            background(1 + roll(threads));
    }
}

static unsigned argument(const char *text, unsigned low, unsigned high) {
    char *end;
    double value = strtod(text, &end);
    if (*end == '\0' && value >= low && value <= high) return (unsigned)value;
    fprintf(stderr, "generate_triples: '%s' is not a number from %u to %u\n", text, low, high);
    exit(2);
}

int main(int argc, char **argv) {
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (name[0] != '-') {
            path = name;
            continue;
        }
        i++;
        if (strcmp(name, "--events") == 0)
            wanted = argument(value, 1, 4000000000u);
        else if (strcmp(name, "--threads") == 0)
            threads = argument(value, 3, 1000);
        else if (strcmp(name, "--locks") == 0)
            locks = argument(value, 2, 100000);
        else if (strcmp(name, "--rounds") == 0)
            rounds = argument(value, 2, 1000000);
        else if (strcmp(name, "--seed") == 0)
            state = argument(value, 0, 1000000000u);
        else if (strcmp(name, "--plant") == 0)
            for (int k = 0; k < COUNTER; k++) plants[k] = argument(value, 0, 1000000);
        else if (strcmp(name, "--repeat") == 0)
            plants[COUNTER] = plants[MONITOR] = argument(value, 0, 100000);
        else
            path = NULL, i = argc;
    }
    out = path != NULL ? fopen(path, "w") : NULL;
    if (out == NULL) {
        fprintf(stderr, "usage: generate_triples [--events N] [--threads N] [--locks N] "
                        "[--plant N] [--repeat N] [--rounds N] [--seed N] FILE\n"
                        "  --plant   triples of each of: blind read_up queue relayed history\n"
                        "  --repeat  of each of: counter monitor, with --rounds pairs each\n");
        return 2;
    }
    run();
    if (fclose(out) != 0) return perror(path), 2;
    uint64_t groups[3] = {0};
    for (int k = 0; k < PLANTS; k++) {
        printf("%s %u\n", plant_name[k], plants[k]);
        for (int i = 0; i < 3; i++) groups[i] += (uint64_t)plants[k] * plant_groups[k][i];
    }
    printf("events %" PRIu64 "\ncandidates %" PRIu64 "\nfeasible %" PRIu64 "\navfilter %" PRIu64
           "\n",
           written, groups[0], groups[1], groups[2]);
    return 0;
}
