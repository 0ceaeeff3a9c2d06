/* Properties over runs: the tables, sums, merging, and what is open. */
#include "cover/cover.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *about;
} criteria[] = {
#define X(name, word, about) {word, about},
    HD_CRITERIA(X)
#undef X
};

const char *hd_criterion_name(enum hd_criterion criterion) { return criteria[criterion].word; }
const char *hd_criterion_about(enum hd_criterion criterion) { return criteria[criterion].about; }

void hd_cover_free(struct hd_cover *cover) {
    hd_intern_free(&cover->site);
    for (unsigned c = 0; c < HD_CRITERION_COUNT; c++) {
        hd_vector_free(&cover->kept[c].list);
        hd_map_free(&cover->kept[c].number);
    }
    for (unsigned does = 0; does < 4; does++) hd_map_free(&cover->by_code[does]);
    hd_map_free(&cover->pair_number);
    hd_vector_free(&cover->pair);
    hd_vector_free(&cover->run);
    hd_arena_free(&cover->arena);
    memset(cover, 0, sizeof *cover);
}

struct hd_property *hd_cover_property(struct hd_cover *cover, enum hd_criterion criterion,
                                      const uint32_t site[3]) {
    uint64_t key = (uint64_t)site[0] << 42 | (uint64_t)site[1] << 21 | site[2];
    uint32_t *number = hd_map_slot(&cover->kept[criterion].number, key, HD_NONE);
    if (*number == HD_NONE) {
        *number = (uint32_t)cover->kept[criterion].list.size;
        struct hd_property fresh = {.site = {site[0], site[1], site[2]}};
        hd_vector_push(&cover->kept[criterion].list, fresh);
    }
    return &cover->kept[criterion].list.data[*number];
}

struct hd_cover_pair *hd_cover_pair(struct hd_cover *cover, uint32_t first, uint32_t second) {
    uint32_t *number = hd_map_slot(&cover->pair_number, (uint64_t)first << 32 | second, HD_NONE);
    if (*number == HD_NONE) {
        *number = (uint32_t)cover->pair.size;
        hd_vector_push(&cover->pair, ((struct hd_cover_pair){0}));
    }
    return &cover->pair.data[*number];
}

struct hd_cover_count hd_cover_count(const struct hd_cover *cover, enum hd_criterion criterion) {
    struct hd_cover_count count = {.properties = (uint32_t)cover->kept[criterion].list.size};
    for (uint32_t i = 0; i < count.properties; i++) {
        const struct hd_property *property = &cover->kept[criterion].list.data[i];
        count.covered += property->runs > 0;
        count.infeasible += property->runs == 0 && property->infeasible;
    }
    return count;
}

const char *hd_cover_site(const struct hd_cover *cover, uint32_t site) {
    return site == 0 || site > cover->site.name.size ? "" : cover->site.name.data[site - 1];
}

double hd_cover_gap(const struct hd_cover *cover, const struct hd_property *property) {
    uint64_t key = (uint64_t)property->site[0] << 32 | property->site[1];
    uint32_t number = hd_map_get(&cover->pair_number, key, HD_NONE);
    if (number == HD_NONE) return 0;
    const struct hd_cover_pair *pair = &cover->pair.data[number];
    return pair->instances > 0 ? (double)pair->gap / (double)pair->instances : 0;
}

uint32_t *hd_cover_growth(const struct hd_cover *cover, enum hd_criterion criterion) {
    uint32_t *covered = hd_zalloc(cover->run.size, sizeof *covered), sum = 0;
    for (size_t i = 0; i < cover->kept[criterion].list.size; i++) {
        uint32_t first = cover->kept[criterion].list.data[i].first;
        if (first > 0 && first <= cover->run.size) covered[first - 1]++;
    }
    for (size_t i = 0; i < cover->run.size; i++) covered[i] = sum += covered[i];
    return covered;
}

/* ---- what is open -----------------------------------------------------------------------------
 */

struct open {
    double gap;
    uint32_t index;
    bool harmless; /* PInv: the three are serializable */
    const char *words[3];
};

static int by_likelihood(const void *left, const void *right) {
    const struct open *a = left, *b = right;
    if (a->harmless != b->harmless) return a->harmless ? 1 : -1;
    if (a->gap != b->gap) return a->gap < b->gap ? -1 : 1;
    for (int i = 0; i < 3; i++) {
        int order = strcmp(a->words[i], b->words[i]);
        if (order != 0) return order;
    }
    return 0;
}

uint32_t *hd_cover_open(const struct hd_cover *cover, enum hd_criterion criterion,
                        uint32_t *count) {
    HD_VECTOR(struct open) open = {0};
    for (uint32_t i = 0; i < cover->kept[criterion].list.size; i++) {
        const struct hd_property *property = &cover->kept[criterion].list.data[i];
        if (property->runs > 0 || property->infeasible) continue;
        struct open entry = {.gap = hd_cover_gap(cover, property), .index = i};
        entry.harmless = criterion == HD_COVER_PINV && !property->unserializable;
        for (int k = 0; k < 3; k++) entry.words[k] = hd_cover_site(cover, property->site[k]);
        hd_vector_push(&open, entry);
    }
    if (open.size > 0) qsort(open.data, open.size, sizeof *open.data, by_likelihood);
    uint32_t *list = hd_alloc(open.size, sizeof *list);
    for (size_t i = 0; i < open.size; i++) list[i] = open.data[i].index;
    *count = (uint32_t)open.size;
    hd_vector_free(&open);
    return list;
}

/* ---- merging ----------------------------------------------------------------------------------
 */

static void merge_property(struct hd_cover *cover, enum hd_criterion criterion,
                           const struct hd_property *property, const uint32_t *site,
                           uint32_t earlier_runs) {
    uint32_t mapped[3];
    bool second_is_site = criterion != HD_COVER_LR_DEF;
    mapped[0] = site[property->site[0]];
    mapped[1] = second_is_site ? site[property->site[1]] : property->site[1];
    mapped[2] = site[property->site[2]];
    size_t before = cover->kept[criterion].list.size;
    struct hd_property *to = hd_cover_property(cover, criterion, mapped);
    bool fresh = cover->kept[criterion].list.size > before;
    to->unserializable |= property->unserializable;
    to->infeasible = fresh ? property->infeasible : to->infeasible && property->infeasible;
    to->runs += property->runs;
    if (to->first == 0 && property->first != 0) to->first = property->first + earlier_runs;
}

void hd_cover_merge(struct hd_cover *cover, const struct hd_cover *other) {
    uint32_t sites = (uint32_t)other->site.name.size, earlier_runs = (uint32_t)cover->run.size;
    uint32_t *site = hd_alloc(sites + 1ul, sizeof *site);
    site[0] = 0;
    for (uint32_t i = 0; i < sites; i++) {
        const char *words = other->site.name.data[i];
        site[i + 1] = hd_intern(&cover->site, words, strlen(words)) + 1;
    }
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++)
        for (size_t i = 0; i < other->kept[c].list.size; i++)
            merge_property(cover, c, &other->kept[c].list.data[i], site, earlier_runs);
    for (uint32_t i = 0; other->pair_number.entry != NULL && i <= other->pair_number.mask; i++) {
        const struct hd_map_entry *entry = &other->pair_number.entry[i];
        if (!entry->used) continue;
        struct hd_cover_pair *to =
            hd_cover_pair(cover, site[entry->key >> 32], site[(uint32_t)entry->key]);
        to->gap += other->pair.data[entry->value].gap;
        to->instances += other->pair.data[entry->value].instances;
    }
    for (size_t i = 0; i < other->run.size; i++) {
        struct hd_cover_run run = other->run.data[i];
        run.name = hd_arena_copy(&cover->arena, run.name, strlen(run.name));
        hd_vector_push(&cover->run, run);
    }
    cover->cut |= other->cut;
    free(site);
}
