/* Other runs, as sets of identities: see intent_runs.h. */
#include "facts/intent_runs.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct hd_other_runs {
    uint32_t runs;
    struct hd_map *exercised; /* per run: triples */
    struct hd_map *had;       /* per run: local pairs */
};

static uint64_t mix_text(uint64_t hash, const char *text) {
    return XXH3_64bits_withSeed(text, strlen(text), hash);
}

static uint64_t mix_number(uint64_t hash, uint64_t number) {
    return XXH3_64bits_withSeed(&number, sizeof number, hash);
}

uint64_t hd_site_identity(struct hd_describe *describe, const struct hd_model *model,
                          uint32_t event) {
    uint64_t hash = mix_number(1, hd_access_does(model, event));
    if (model->trace->format != HD_FORMAT_BINARY) {
        const char *word = hd_describe_site(describe, event);
        /* without a word: told by the variable */
        return mix_text(hash, *word != '\0' ? word : hd_describe_event(describe, event, HD_SHORT));
    }
    const struct hd_frame *frame = hd_describe_frame(describe, event);
    if (frame == NULL || frame->file == NULL || frame->line == 0)
        return mix_text(hash, hd_describe_site(describe, event)); /* module+offset */
    hash = mix_text(mix_text(hash, frame->function), frame->file);
    return mix_number(hash, (uint64_t)frame->line << 32 | frame->column);
}

static uint64_t pair_key(const uint64_t site[3]) { return mix_number(site[0], site[2]); }
static uint64_t triple_key(const uint64_t site[3]) { return mix_number(pair_key(site), site[1]); }

/* ---- reading a run ----------------------------------------------------------------------------
 */

static bool add_exercised(const struct hd_triples *triples, struct hd_describe *describe,
                          struct hd_map *set) {
    for (uint32_t g = 0; g < triples->group.size; g++) {
        struct hd_triple triple;
        if (!hd_triples_observed(triples, g, &triple)) continue;
        uint64_t site[3] = {hd_site_identity(describe, triples->model, triple.first),
                            hd_site_identity(describe, triples->model, triple.remote),
                            hd_site_identity(describe, triples->model, triple.second)};
        if (hd_map_slot(set, triple_key(site), 1) == NULL) return false;
    }
    return true;
}

/* Pairs that are in no group count too: nobody else touched the location. */
static bool add_pairs(const struct hd_triples *triples, struct hd_describe *describe,
                      struct hd_map *set) {
    for (size_t l = 0; l < triples->pairs.size; l++) {
        const struct hd_local_pair *pair = &triples->pair.data[triples->pairs.data[l].start];
        uint64_t site[3] = {hd_site_identity(describe, triples->model, pair->first), 0,
                            hd_site_identity(describe, triples->model, pair->second)};
        if (hd_map_slot(set, pair_key(site), 1) == NULL) return false;
    }
    return true;
}

struct hd_other_runs *hd_other_runs_new(struct hd_model *const *model,
                                        struct hd_describe *const *describe, uint32_t count,
                                        bool all_patterns, struct hd_error *error) {
    struct hd_other_runs *runs = calloc(1, sizeof *runs);
    bool done = runs != NULL;
    if (done) {
        runs->exercised = calloc(count + (size_t)1, sizeof *runs->exercised);
        runs->had = calloc(count + (size_t)1, sizeof *runs->had);
        done = runs->exercised != NULL && runs->had != NULL;
        runs->runs = done ? count : 0;
    }
    for (uint32_t r = 0; done && r < count; r++) {
        struct hd_triples triples;
        if (!hd_triples_build(model[r], HD_CDSR, all_patterns, NULL, &triples, error)) {
            hd_other_runs_free(runs);
            return NULL;
        }
        done = add_exercised(&triples, describe[r], &runs->exercised[r]) &&
               add_pairs(&triples, describe[r], &runs->had[r]);
        hd_triples_free(&triples);
    }
    if (done) return runs;
    hd_other_runs_free(runs);
    hd_fail(error, HD_ERR_MEMORY, "out of memory");
    return NULL;
}

void hd_other_runs_free(struct hd_other_runs *runs) {
    if (runs == NULL) return;
    for (uint32_t r = 0; r < runs->runs; r++) {
        hd_map_free(&runs->exercised[r]);
        hd_map_free(&runs->had[r]);
    }
    free(runs->exercised);
    free(runs->had);
    free(runs);
}

struct hd_run_counts hd_other_runs_count(const struct hd_other_runs *runs, const uint64_t site[3]) {
    struct hd_run_counts counts = {0, 0};
    for (uint32_t r = 0; r < runs->runs; r++) {
        counts.exercised += hd_map_get(&runs->exercised[r], triple_key(site), 0);
        counts.had += hd_map_get(&runs->had[r], pair_key(site), 0);
    }
    return counts;
}
