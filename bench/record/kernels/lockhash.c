/* A hash table in 128 stripes, each an open-addressing table of its own that doubles under its
 * lock: threads count uniformly drawn keys, so that few accesses repeat and blocks come and go. */
#include "harness.h"

#include <stdlib.h>

enum { STRIPES = 128, FIRST_SLOTS = 16, DISTINCT = 1 << 17 };

struct slot {
    uint64_t key; /* 0: free */
    uint64_t count;
};

struct stripe {
    _Alignas(64) pthread_mutex_t mutex;
    struct slot *slots;
    unsigned long room, used;
};

static struct stripe stripes[STRIPES];

static struct slot *new_slots(unsigned long room) {
    struct slot *slots = calloc(room, sizeof *slots);
    if (slots == 0) abort();
    return slots;
}

static const char *lockhash_setup(struct team *team) {
    (void)team;
    for (int i = 0; i < STRIPES; i++) {
        pthread_mutex_init(&stripes[i].mutex, 0);
        stripes[i].room = FIRST_SLOTS;
        stripes[i].slots = new_slots(FIRST_SLOTS);
    }
    return 0;
}

/* The key's slot, or the free one where it belongs. */
static struct slot *find(struct slot *slots, unsigned long room, uint64_t key, uint64_t hash) {
    unsigned long at = hash / STRIPES & (room - 1);
    while (slots[at].key != 0 && slots[at].key != key) at = (at + 1) & (room - 1);
    return &slots[at];
}

static void grow(struct stripe *stripe) {
    struct slot *old = stripe->slots, *larger = new_slots(2 * stripe->room);
    for (unsigned long i = 0; i < stripe->room; i++)
        if (old[i].key != 0)
            *find(larger, 2 * stripe->room, old[i].key, bench_mix(old[i].key)) = old[i];
    stripe->slots = larger;
    stripe->room *= 2;
    free(old);
}

static void count_key(uint64_t key) {
    uint64_t hash = bench_mix(key);
    struct stripe *stripe = &stripes[hash % STRIPES];
    pthread_mutex_lock(&stripe->mutex);
    struct slot *slot = find(stripe->slots, stripe->room, key, hash);
    if (slot->key == 0) {
        if (4 * ++stripe->used > 3 * stripe->room) {
            grow(stripe);
            slot = find(stripe->slots, stripe->room, key, hash);
        }
        slot->key = key;
    }
    slot->count++;
    pthread_mutex_unlock(&stripe->mutex);
}

static void lockhash_work(struct team *team, unsigned self) {
    struct span share = team_share(team, self, team->size);
    for (unsigned long i = share.begin; i < share.end; i++) count_key(bench_mix(i) % DISTINCT + 1);
}

static bool lockhash_check(struct team *team, uint64_t *checksum) {
    unsigned long total = 0;
    bool right = true;
    for (int i = 0; i < STRIPES; i++) {
        unsigned long used = 0;
        for (unsigned long k = 0; k < stripes[i].room; k++) {
            const struct slot *slot = &stripes[i].slots[k];
            used += slot->key != 0;
            total += slot->count;
            if (slot->key != 0) *checksum += bench_mix(slot->key * 0x9e3779b9u + slot->count);
        }
        right = right && used == stripes[i].used;
    }
    return right && total == team->size;
}

const struct kernel kernel = {"lockhash", "keys counted", lockhash_setup, lockhash_work,
                              lockhash_check};
