/* Controls for recording, and what the runs have covered. See seeds.h. */
#include "explore/seeds.h"

#include "base/vector.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MOST_TURNS 20000u /* of a run: each costs as much as many accesses */

static uint32_t at_least(uint32_t quantum, uint64_t calls) {
    uint64_t least = calls / MOST_TURNS;
    if (least > UINT32_MAX) least = UINT32_MAX;
    return quantum > least ? quantum : (uint32_t)least;
}

struct hd_steering hd_seed_steering(uint32_t n, uint64_t seed, uint64_t calls) {
    static const uint32_t quantum[] = {200, 20, 5, 50, 2, 10, 1000, 3};
    struct hd_steering steering = {.scheduler = HD_SCHED_SERIAL};
    if (n < 2) {
        steering.policy = HD_POLICY_ROUND_ROBIN;
        steering.quantum = n == 0 ? 0 : at_least(25, calls);
        return steering;
    }
    steering.policy = HD_POLICY_RANDOM;
    steering.seed = seed + n;
    steering.quantum = at_least(quantum[(n - 2) % (sizeof quantum / sizeof *quantum)], calls);
    return steering;
}

/* ---- coverage ------------------------------------------------------------------------------- */

enum fact { SITE = 1, PAIR, USE };

/* The same place in every run: wherever its module was loaded, and in whichever order. */
struct places {
    const struct hd_trace *trace;
    uint32_t module; /* of the latest site; sites of one module come in a row */
    uint64_t name;   /* its hash */
};

static bool holds(const struct hd_trace *trace, uint32_t module, uint32_t site) {
    uint32_t base = trace->module[module].site_base;
    for (uint32_t i = 0; i < trace->modules; i++) {
        uint32_t other = trace->module[i].site_base;
        if (other > base && other <= site) return false;
    }
    return site >= base;
}

static uint64_t place(struct places *places, uint32_t site) {
    const struct hd_trace *trace = places->trace;
    if (trace->site_names != NULL) {
        const char *name = site < trace->sites ? trace->site_names[site] : NULL;
        return name != NULL ? XXH3_64bits(name, strlen(name)) : 0;
    }
    if (places->module >= trace->modules || !holds(trace, places->module, site)) {
        uint32_t found = 0;
        while (found < trace->modules && !holds(trace, found, site)) found++;
        if (found == trace->modules) return hd_mix64(site);
        places->module = found;
        places->name = XXH3_64bits(trace->module[found].path, strlen(trace->module[found].path));
    }
    return hd_mix64(places->name + (site - trace->module[places->module].site_base));
}

static uint64_t key_of(enum fact fact, uint64_t a, uint64_t b) {
    return hd_mix64(a * 3 + hd_mix64(b + fact));
}

static bool note(struct hd_seen *seen, enum fact fact, uint64_t a, uint64_t b, uint32_t *count,
                 uint32_t *news) {
    uint32_t *slot = hd_map_slot(&seen->map, key_of(fact, a, b), 0);
    if (slot == NULL) return false;
    if (*slot != 0) return true;
    *slot = 1;
    ++*count;
    ++*news;
    return true;
}

bool hd_seen_add(struct hd_seen *seen, const struct hd_model *model, uint32_t *news) {
    *news = 0;
    uint64_t *places = malloc((model->events ? model->events : 1) * sizeof *places);
    if (places == NULL) return false;
    bool good = true;
    struct places at = {.trace = model->trace, .module = HD_NONE};
    for (uint32_t e = 0; good && e < model->events; e++) {
        places[e] = place(&at, model->site[e]);
        good = note(seen, SITE, places[e], model->kind[e], &seen->sites, news);
        if (good && hd_model_is_read(model, e))
            good = note(seen, USE, model->from[e] == HD_NONE ? 0 : places[model->from[e]],
                        places[e], &seen->uses, news);
    }
    for (uint32_t l = 0; good && l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        for (uint32_t i = model->location_start[l] + 1; good && i < model->location_start[l + 1];
             i++) {
            uint32_t a = model->location_event[i - 1], b = model->location_event[i];
            if (model->thread[a] != model->thread[b])
                good = note(seen, PAIR, places[a], places[b], &seen->pairs, news);
        }
    }
    free(places);
    return good;
}

static int compare_pairs(const void *left, const void *right) {
    const struct hd_new_pair *a = left, *b = right;
    if (a->second != b->second) return a->second < b->second ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

uint32_t hd_seen_new_pairs(const struct hd_seen *seen, const struct hd_model *model,
                           struct hd_new_pair *pair, uint32_t room) {
    HD_VECTOR(struct hd_new_pair) list = {0};
    struct places at = {.trace = model->trace, .module = HD_NONE};
    bool good = true;
    for (uint32_t l = 0; good && l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        for (uint32_t i = model->location_start[l] + 1; good && i < model->location_start[l + 1];
             i++) {
            uint32_t a = model->location_event[i - 1], b = model->location_event[i];
            if (model->thread[a] == model->thread[b]) continue;
            uint64_t first = place(&at, model->site[a]), second = place(&at, model->site[b]);
            if (hd_map_get(&seen->map, key_of(PAIR, first, second), 0) != 0) continue;
            struct hd_new_pair found = {l, a, b};
            good = hd_vector_push(&list, found);
        }
    }
    uint32_t count = HD_NONE;
    if (good) {
        if (list.size > 1) qsort(list.data, list.size, sizeof *list.data, compare_pairs);
        count = list.size < room ? (uint32_t)list.size : room;
        if (count > 0) memcpy(pair, list.data, count * sizeof *pair);
    }
    hd_vector_free(&list);
    return count;
}

void hd_seen_free(struct hd_seen *seen) { hd_map_free(&seen->map); }
