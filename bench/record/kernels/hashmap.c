/* A chained hash map whose buckets share 64 striped mutexes: each thread counts
 * words drawn from a skewed stream, looking up, inserting and adding. */
#include "harness.h"

enum { BUCKETS = 1 << 14, STRIPES = 64, DISTINCT = 1 << 15 };

struct entry {
    struct entry *next;
    uint64_t key;
    uint64_t count;
};

/* Alone on its cache line, or neighbours would contend for nothing. */
struct stripe {
    _Alignas(64) pthread_mutex_t mutex;
    unsigned long entries;
};

static struct entry **buckets;
static struct stripe stripes[STRIPES];
static struct entry *pools; /* one run of DISTINCT entries a thread */

static const char *hashmap_setup(struct team *team) {
    buckets = bench_alloc(BUCKETS, sizeof(struct entry *));
    pools = bench_alloc((unsigned long)team->threads * DISTINCT, sizeof *pools);
    for (int i = 0; i < STRIPES; i++) pthread_mutex_init(&stripes[i].mutex, 0);
    return 0;
}

/* The product of two uniform draws prefers small keys, as words do. */
static uint64_t drawn_key(unsigned long i) {
    uint64_t random = bench_mix(i);
    uint64_t low = random % DISTINCT, high = (random >> 32) % DISTINCT;
    return low * high / DISTINCT;
}

static void count_key(uint64_t key, struct entry **pool) {
    uint64_t hash = bench_mix(key);
    struct entry **bucket = &buckets[hash % BUCKETS];
    struct stripe *stripe = &stripes[hash % STRIPES];
    pthread_mutex_lock(&stripe->mutex);
    struct entry *entry = *bucket;
    while (entry != 0 && entry->key != key) entry = entry->next;
    if (entry == 0) {
        entry = (*pool)++;
        entry->key = key;
        entry->next = *bucket;
        *bucket = entry;
        stripe->entries++;
    }
    entry->count++;
    pthread_mutex_unlock(&stripe->mutex);
}

static void hashmap_work(struct team *team, unsigned self) {
    struct span share = team_share(team, self, team->size);
    struct entry *pool = pools + (unsigned long)self * DISTINCT;
    for (unsigned long i = share.begin; i < share.end; i++) count_key(drawn_key(i), &pool);
}

static bool hashmap_check(struct team *team, uint64_t *checksum) {
    unsigned long entries = 0, expected_entries = 0, total = 0;
    for (int i = 0; i < STRIPES; i++) expected_entries += stripes[i].entries;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct entry *entry = buckets[i]; entry != 0; entry = entry->next) {
            entries++;
            total += entry->count;
            *checksum += bench_mix(entry->key * 0x9e3779b9u + entry->count);
        }
    return entries == expected_entries && total == team->size;
}

const struct kernel kernel = {"hashmap", "words counted", hashmap_setup, hashmap_work,
                              hashmap_check};
