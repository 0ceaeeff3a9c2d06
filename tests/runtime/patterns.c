/* Accesses of blocks, alone and after branches, whose addresses follow patterns that change at
 * random: constant, strides, rows, one of two steps, as far from the access before as last time, or
 * no pattern at all. Usage: patterns SEED ROUNDS THREADS. What chooses them is not recorded. */
#include <pthread.h>
#include <stdlib.h>

#define HIDDEN __attribute__((noinline, no_sanitize("thread"), no_sanitize_coverage))

enum { CELLS = 1 << 12, HOOKS = 6, KINDS = 6, MOST_ROUNDS = 1 << 14, MOST_THREADS = 4 };

static long cell[CELLS], own[MOST_THREADS][CELLS];

struct thread {
    unsigned number, rounds;
    unsigned long random;
    unsigned kind; /* of most patterns at a time */
    int index[MOST_ROUNDS][HOOKS];
    unsigned char way[MOST_ROUNDS];
};
static struct thread thread[MOST_THREADS];

HIDDEN static unsigned below(struct thread *t, unsigned limit) {
    t->random = t->random * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(t->random >> 33) % limit;
}

struct pattern {
    unsigned kind, left, trip;
    int at, step, other, distance;
};

HIDDEN static int next(struct thread *t, struct pattern *p, int before) {
    if (p->left == 0) {
        p->kind = below(t, 3) != 0 ? t->kind : below(t, KINDS);
        p->left = 1 + below(t, below(t, 2) ? 12 : below(t, 2) ? 100 : 1000);
        p->trip = 2 + below(t, 30);
        p->step = (int)below(t, 7) - 3;
        p->other = (int)below(t, 200) - 100;
        p->distance = (int)below(t, 50) - 25;
        if (below(t, 2)) p->at = (int)below(t, CELLS);
    }
    p->left--;
    switch (p->kind) {
    case 0:
        break;
    case 1:
        p->at += p->step;
        break;
    case 2:
        p->at += p->left % p->trip == 0 ? p->other : p->step;
        break;
    case 3:
        p->at += below(t, 2) ? p->step : 0;
        break;
    case 4:
        p->at = before + p->distance;
        break;
    default:
        p->at = (int)below(t, CELLS);
        break;
    }
    p->at &= CELLS - 1;
    return p->at;
}

HIDDEN static void choose(struct thread *t, unsigned long seed, unsigned number, unsigned rounds) {
    struct pattern pattern[HOOKS] = {{0}};
    unsigned way_left = 0, way = 0;
    int before = 0;
    t->number = number;
    t->rounds = rounds;
    t->random = seed * MOST_THREADS + number;
    for (unsigned round = 0; round < rounds; round++) {
        if (way_left-- == 0) {
            way = below(t, 4);
            way_left = below(t, below(t, 2) ? 30 : 1000);
        }
        if (below(t, 200) == 0) {
            t->kind = below(t, KINDS);
            for (unsigned i = 0; i < HOOKS; i++)
                if (below(t, 2)) pattern[i].left = 0;
        }
        unsigned now = below(t, 100) ? way : below(t, 4);
        t->way[round] = (unsigned char)now;
        for (unsigned i = 0; i < HOOKS; i++)
            if (i < 3 || (i == 3 && now & 1) || (i > 3 && now & 2))
                before = t->index[round][i] = next(t, &pattern[i], before);
    }
}

HIDDEN static int *indices(struct thread *t, unsigned round) { return t->index[round]; }
HIDDEN static int at(const int *index, unsigned hook) { return index[hook]; }
HIDDEN static unsigned way_of(const struct thread *t, unsigned round) { return t->way[round]; }
HIDDEN static unsigned rounds_of(const struct thread *t) { return t->rounds; }
HIDDEN static unsigned number_of(const struct thread *t) { return t->number; }

static void *walk(void *argument) {
    struct thread *t = argument;
    long *mine = own[number_of(t)];
    long all = 0;
    for (unsigned round = 0, rounds = rounds_of(t); round < rounds; round++) {
        int *index = indices(t, round);
        unsigned way = way_of(t, round);
        int a = at(index, 0), b = at(index, 1), c = at(index, 2), d = at(index, 3);
        int e = at(index, 4), f = at(index, 5);
        long value = mine[a] + cell[b] * mine[c];
        if (way & 1) value += cell[d];
        if (way & 2) {
            mine[e] = value;
            mine[f]++;
        }
        all += value;
    }
    return (void *)all;
}

int main(int count, char **argument) {
    if (count != 4) return 2;
    unsigned threads = (unsigned)atoi(argument[3]);
    pthread_t id[MOST_THREADS];
    for (unsigned i = 0; i < threads; i++)
        choose(&thread[i], (unsigned long)atol(argument[1]), i, (unsigned)atoi(argument[2]));
    for (unsigned i = 0; i < threads; i++) pthread_create(&id[i], 0, walk, &thread[i]);
    for (unsigned i = 0; i < threads; i++) pthread_join(id[i], 0);
    return 0;
}
