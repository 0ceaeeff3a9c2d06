/* The caches of hardware.h: lines, their states, AVIO's bits, and who takes whose place. */
#include "base/alloc.h"
#include "facts/patterns.h"
#include "learn/detect.h"
#include "learn/hardware.h"

enum state { EMPTY, INVALID, SHARED, EXCLUSIVE, MODIFIED };

struct line {
    uint64_t tag;     /* address divided by the length of a line */
    uint64_t used;    /* when, for the least recently used one to go */
    uint32_t history; /* the core's number of context switches when the bits were set */
    uint8_t state;
    bool pi, dg;
};

struct cache {
    struct line *line;
    uint64_t sets;
    uint32_t ways;
};

struct hd_caches {
    struct hd_hardware hardware;
    struct cache *l1, l2;
    uint32_t *switches; /* of each core */
    uint64_t now;
    uint64_t displaced;
};

static struct cache make_cache(uint64_t bytes, uint32_t ways, uint32_t line) {
    struct cache cache = {.ways = ways, .sets = bytes / line / ways};
    cache.line = hd_zalloc(cache.sets * ways, sizeof *cache.line);
    return cache;
}

struct hd_caches *hd_caches_make(const struct hd_hardware *hardware) {
    struct hd_caches *caches = hd_zalloc(1, sizeof *caches);
    caches->hardware = *hardware;
    caches->l1 = hd_alloc(hardware->cores, sizeof *caches->l1);
    caches->switches = hd_zalloc(hardware->cores, sizeof *caches->switches);
    for (uint32_t i = 0; i < hardware->cores; i++)
        caches->l1[i] = make_cache(hardware->l1_bytes, hardware->l1_ways, hardware->line);
    caches->l2 = make_cache(hardware->l2_bytes, hardware->l2_ways, hardware->line);
    return caches;
}

void hd_caches_free(struct hd_caches *caches) {
    for (uint32_t i = 0; i < caches->hardware.cores; i++) free(caches->l1[i].line);
    free(caches->l1);
    free(caches->l2.line);
    free(caches->switches);
    free(caches);
}

static struct line *find(const struct cache *cache, uint64_t tag) {
    struct line *set = &cache->line[tag % cache->sets * cache->ways];
    for (uint32_t i = 0; i < cache->ways; i++)
        if (set[i].state != EMPTY && set[i].tag == tag) return &set[i];
    return NULL;
}

/* Where a line can go: an empty place, one whose data is of no use, the least recently used. */
static struct line *victim(const struct cache *cache, uint64_t tag) {
    struct line *set = &cache->line[tag % cache->sets * cache->ways], *best = set;
    for (uint32_t i = 0; i < cache->ways; i++) {
        unsigned worth = set[i].state < SHARED ? set[i].state : SHARED;
        unsigned least = best->state < SHARED ? best->state : SHARED;
        if (worth < least || (worth == least && set[i].used < best->used)) best = &set[i];
    }
    return best;
}

/* Is the line in L2? It is from now on. */
static bool use_l2(struct hd_caches *caches, uint64_t tag) {
    struct line *line = find(&caches->l2, tag);
    bool there = line != NULL;
    if (!there) {
        line = victim(&caches->l2, tag);
        *line = (struct line){.tag = tag, .state = SHARED};
    }
    line->used = caches->now;
    return there;
}

/* Downgrades or invalidates the copies of other cores. Does any of them keep one? */
static bool notify_others(struct hd_caches *caches, uint32_t core, uint64_t tag, bool write) {
    bool kept = false;
    for (uint32_t other = 0; other < caches->hardware.cores; other++) {
        struct line *line = other != core ? find(&caches->l1[other], tag) : NULL;
        if (line == NULL || line->state < SHARED) continue;
        if (write) {
            line->state = INVALID;
        } else {
            if (line->state == MODIFIED) line->dg = true; /* a request to the recent writer */
            line->state = SHARED;
            kept = true;
        }
    }
    return kept;
}

/* Figure 4.8: what the bits say about the interleaving of the last local access and this one. */
static bool is_violated(const struct line *line, unsigned does) {
    bool by_write;
    unsigned previous = line->pi ? HD_DOES_READ : HD_DOES_WRITE;
    return hd_detect_case(previous, line->state == INVALID ? HD_DOES_WRITE : 0,
                          line->dg ? HD_DOES_READ : 0, does, &by_write) != HD_PATTERN_NONE;
}

struct hd_cache_access hd_caches_access(struct hd_caches *caches, uint32_t core, uint64_t tag,
                                        unsigned does) {
    struct hd_cache_access access = {.cycles = caches->hardware.l1_cycles};
    struct cache *l1 = &caches->l1[core];
    bool write = does & HD_DOES_WRITE;
    struct line *line = find(l1, tag);
    caches->now++;
    access.known = line != NULL && line->history == caches->switches[core];
    access.switched = line != NULL && !access.known;
    access.upgrade = line != NULL && write && line->state == SHARED;
    access.hit = line != NULL && line->state >= SHARED && !access.upgrade;
    if (!access.hit && access.known) access.violated = is_violated(line, does);
    if (!access.hit) {
        access.cycles += caches->hardware.l2_cycles;
        if (!access.upgrade && !use_l2(caches, tag))
            access.cycles += caches->hardware.memory_cycles;
        bool kept = notify_others(caches, core, tag, write);
        if (line == NULL) {
            line = victim(l1, tag);
            caches->displaced += line->state != EMPTY;
            *line = (struct line){.tag = tag};
        }
        line->state = write ? MODIFIED : kept ? SHARED : EXCLUSIVE;
    } else if (write) {
        line->state = MODIFIED;
    }
    line->pi = !write;
    line->dg = false;
    line->used = caches->now;
    line->history = caches->switches[core];
    return access;
}

void hd_caches_switch(struct hd_caches *caches, uint32_t core) { caches->switches[core]++; }

bool hd_caches_bits(const struct hd_caches *caches, uint32_t core, uint64_t tag,
                    struct hd_cache_bits *bits) {
    const struct line *line = find(&caches->l1[core], tag);
    if (line == NULL) return false;
    *bits = (struct hd_cache_bits){line->pi, line->dg, line->state == INVALID};
    return true;
}

uint64_t hd_caches_displaced(const struct hd_caches *caches) { return caches->displaced; }
