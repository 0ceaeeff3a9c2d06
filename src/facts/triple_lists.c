/* Sorting the accesses of a location into lists: see triple_lists.h. */
#include "facts/triple_lists.h"

#include "base/alloc.h"

#include <string.h>

void hd_triple_lists_free(struct hd_triple_lists *lists) {
    hd_vector_free(&lists->pair);
    hd_vector_free(&lists->remote);
    hd_vector_free(&lists->pairs);
    hd_vector_free(&lists->remotes);
}

void hd_lister_free(struct hd_lister *lister) {
    free(lister->last);
    free(lister->pair_table.slot);
    free(lister->remote_table.slot);
    hd_vector_free(&lister->pair);
    hd_vector_free(&lister->pair_list);
    hd_vector_free(&lister->remote_list);
    hd_vector_free(&lister->number);
    hd_lock_room_free(&lister->room);
}

/* ---- locks ------------------------------------------------------------------------------------
 */

/* Does a guard part every remote access from a pair with these locks around both? A section for
 * reading lets a remote read in. */
static bool is_guarded(const struct hd_lister *lister, uint32_t set, bool both_write) {
    const struct hd_locksets *sets = &lister->segments->locksets;
    const struct hd_lockset *held = &sets->set.data[set];
    for (uint32_t k = 0; k < lister->guards; k++)
        for (uint32_t j = 0; j < held->count; j++) {
            uint32_t lock = sets->held.data[held->start + j];
            if (lock / 2 == lister->guard[k] && (lock % 2 == 0 || !both_write)) return true;
        }
    return false;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static bool same_pairs(const struct hd_pair_list *a, const struct hd_pair_list *b) {
    return a->site[0] == b->site[0] && a->site[1] == b->site[1] && a->held == b->held &&
           a->thread == b->thread && a->does[0] == b->does[0] && a->does[1] == b->does[1];
}

/* The list that pairs like this belong to. */
static uint32_t find_pairs(struct hd_lister *lister, const struct hd_pair_list *like) {
    struct hd_scratch_table *table = &lister->pair_table;
    struct hd_triple_lists *lists = lister->lists;
    uint64_t key = hd_mix64((uint64_t)like->site[0] << 32 | like->site[1]) ^
                   ((uint64_t)like->held << 32 | (uint64_t)like->thread << 8 |
                    (uint64_t)like->does[0] << 4 | like->does[1]);
    struct hd_scratch_slot *slot =
        hd_scratch_find(table, key, list, same_pairs(&lists->pairs.data[list], like));
    if (hd_scratch_is_empty(table, slot)) {
        hd_scratch_put(table, slot, (uint32_t)lists->pairs.size);
        hd_vector_push(&lists->pairs, *like);
    }
    return slot->value;
}

static bool same_remotes(const struct hd_remote_list *a, const struct hd_remote_list *b) {
    return a->site == b->site && a->thread == b->thread && a->does == b->does &&
           a->frees == b->frees;
}

static uint32_t find_remotes(struct hd_lister *lister, const struct hd_remote_list *like) {
    struct hd_scratch_table *table = &lister->remote_table;
    struct hd_triple_lists *lists = lister->lists;
    uint64_t key = (uint64_t)like->site << 24 | (uint64_t)like->thread << 8 |
                   (uint64_t)like->frees << 4 | like->does;
    struct hd_scratch_slot *slot =
        hd_scratch_find(table, key, list, same_remotes(&lists->remotes.data[list], like));
    if (hd_scratch_is_empty(table, slot)) {
        hd_scratch_put(table, slot, (uint32_t)lists->remotes.size);
        hd_vector_push(&lists->remotes, *like);
    }
    return slot->value;
}

static void add_pair(struct hd_lister *lister, const uint32_t *event, uint32_t first,
                     uint32_t second) {
    uint32_t i = event[first], k = event[second];
    uint32_t site_i = lister->number.data[first], site_k = lister->number.data[second];
    unsigned does_i = hd_access_does(lister->model, i), does_k = hd_access_does(lister->model, k);
    if (does_i == 0 || does_k == 0 || site_i == HD_NO_SITE || site_k == HD_NO_SITE) return;
    uint32_t held = hd_common_locks(lister->model, lister->segments, i, k, &lister->room);
    if (held != 0 && is_guarded(lister, held, (does_i & does_k & HD_DOES_WRITE) != 0)) return;
    struct hd_pair_list like = {.location = lister->location,
                                .site = {site_i, site_k},
                                .held = held,
                                .thread = lister->model->thread[i],
                                .does = {(uint8_t)does_i, (uint8_t)does_k}};
    uint32_t list = find_pairs(lister, &like);
    lister->lists->pairs.data[list].count++;
    hd_vector_push(&lister->pair, ((struct hd_local_pair){i, k}));
    hd_vector_push(&lister->pair_list, list);
}

static void add_pairs(struct hd_lister *lister, const uint32_t *event, uint32_t count,
                      uint32_t location) {
    struct hd_triple_lists *lists = lister->lists;
    lister->pair.size = lister->pair_list.size = lister->number.size = 0;
    lister->first_pairs = (uint32_t)lists->pairs.size;
    lister->round++;
    hd_scratch_clear(&lister->pair_table, count);
    hd_vector_reserve(&lister->number, count);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t thread = lister->model->thread[event[n]];
        lister->number.data[lister->number.size++] =
            lister->site(lister->context, event[n], location);
        if (lister->last[thread].round == lister->round)
            add_pair(lister, event, lister->last[thread].index, n);
        lister->last[thread].round = lister->round;
        lister->last[thread].index = n;
    }
    uint32_t start = (uint32_t)lists->pair.size;
    hd_vector_reserve(&lists->pair, lister->pair.size);
    for (size_t l = lister->first_pairs; l < lists->pairs.size; l++) {
        lists->pairs.data[l].start = start;
        start += lists->pairs.data[l].count;
        lists->pairs.data[l].count = 0;
    }
    for (size_t n = 0; n < lister->pair.size; n++) {
        struct hd_pair_list *list = &lists->pairs.data[lister->pair_list.data[n]];
        lists->pair.data[list->start + list->count++] = lister->pair.data[n];
    }
    lists->pair.size = start;
}

static void add_remotes(struct hd_lister *lister, const uint32_t *event, uint32_t count) {
    const struct hd_model *model = lister->model;
    struct hd_triple_lists *lists = lister->lists;
    lister->remote_list.size = 0;
    lister->first_remotes = (uint32_t)lists->remotes.size;
    hd_scratch_clear(&lister->remote_table, count);
    hd_vector_reserve(&lister->remote_list, count);
    hd_vector_reserve(&lists->remote, count);
    for (uint32_t n = 0; n < count; n++) {
        unsigned does =
            lister->frees ? hd_remote_does(model, event[n]) : hd_access_does(model, event[n]);
        struct hd_remote_list like = {.site = lister->number.data[n],
                                      .thread = model->thread[event[n]],
                                      .does = (uint8_t)does,
                                      .frees = model->kind[event[n]] == HD_EV_FREE};
        uint32_t list =
            does == 0 || like.site == HD_NO_SITE ? HD_NONE : find_remotes(lister, &like);
        if (list != HD_NONE) lists->remotes.data[list].count++;
        lister->remote_list.data[lister->remote_list.size++] = list;
    }
    uint32_t start = (uint32_t)lists->remote.size;
    for (size_t l = lister->first_remotes; l < lists->remotes.size; l++) {
        lists->remotes.data[l].start = start;
        start += lists->remotes.data[l].count;
        lists->remotes.data[l].count = 0;
    }
    for (uint32_t n = 0; n < count; n++) {
        if (lister->remote_list.data[n] == HD_NONE) continue;
        struct hd_remote_list *list = &lists->remotes.data[lister->remote_list.data[n]];
        lists->remote.data[list->start + list->count++] = event[n];
    }
    lists->remote.size = start;
}

bool hd_lister_add(struct hd_lister *lister, uint32_t location) {
    const struct hd_model *model = lister->model;
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    if (lister->last == NULL) lister->last = hd_zalloc(model->threads, sizeof *lister->last);
    lister->location = location;
    lister->guards = 0;
    if (!lister->guarded)
        lister->guards = hd_find_guards(model, lister->segments, event, count, lister->guard);
    add_pairs(lister, event, count, location);
    if (lister->pair.size == 0) return false;
    add_remotes(lister, event, count);
    return true;
}
