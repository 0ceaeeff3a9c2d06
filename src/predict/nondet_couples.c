/* Lists reads and writes of shared locations. */
#include "predict/nondet_couples.h"

#include "base/alloc.h"
#include "base/search.h"

#include <string.h>

/* ---- writes by location and thread -------------------------------------------------------------
 */

static void index_writes(struct hd_couples *couples) {
    const struct hd_model *model = couples->model;
    uint32_t *entry = hd_alloc(model->threads + (size_t)1, sizeof *entry);
    size_t room = 1;
    for (uint32_t l = 0; l < model->locations; l++)
        if (model->location[l].shared)
            room += model->location_start[l + 1] - model->location_start[l];
    couples->chain_first = hd_alloc(model->locations + (size_t)1, sizeof *couples->chain_first);
    couples->write = hd_alloc(room, sizeof *couples->write);
    memset(entry, 0xff, (model->threads + (size_t)1) * sizeof *entry);
    uint32_t fill = 0;
    for (uint32_t l = 0; l < model->locations; l++) {
        uint32_t mine = couples->chain_first[l] = (uint32_t)couples->chain.size;
        if (!model->location[l].shared) continue;
        const uint32_t *event = model->location_event + model->location_start[l];
        uint32_t count = model->location_start[l + 1] - model->location_start[l];
        for (uint32_t i = 0; i < count; i++) {
            if (!hd_model_is_write(model, event[i])) continue;
            uint32_t thread = model->thread[event[i]];
            if (entry[thread] == HD_NONE) {
                entry[thread] = (uint32_t)couples->chain.size;
                hd_vector_push(&couples->chain, ((struct hd_chain){thread, 0, 0}));
            }
            couples->chain.data[entry[thread]].count++;
        }
        for (size_t c = mine; c < couples->chain.size; c++) {
            couples->chain.data[c].first = fill;
            fill += couples->chain.data[c].count;
            couples->chain.data[c].count = 0;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (!hd_model_is_write(model, event[i])) continue;
            struct hd_chain *chain = &couples->chain.data[entry[model->thread[event[i]]]];
            couples->write[chain->first + chain->count++] = event[i];
        }
        for (size_t c = mine; c < couples->chain.size; c++)
            entry[couples->chain.data[c].thread] = HD_NONE;
    }
    couples->chain_first[model->locations] = (uint32_t)couples->chain.size;
    couples->writes = fill;
    free(entry);
}

static void clock_writes(struct hd_couples *couples, const struct hd_engine_base *base) {
    const struct hd_model *model = couples->model;
    couples->write_position =
        hd_alloc(couples->writes + (size_t)1, sizeof *couples->write_position);
    couples->write_clock = hd_alloc(couples->writes + (size_t)1, sizeof *couples->write_clock);
    for (uint32_t i = 0; i < couples->writes; i++) {
        uint32_t position = hd_model_position(model, couples->write[i]);
        couples->write_position[i] = position;
        couples->write_clock[i] =
            hd_reach_clock(&base->kept, model->thread[couples->write[i]], position);
    }
}

/* ---- reads -------------------------------------------------------------------------------------
 */

static void list_reads(struct hd_couples *couples, const struct hd_read_filter *filter) {
    const struct hd_model *model = couples->model;
    for (uint32_t e = 0; e < model->events; e++) {
        if (!hd_model_is_read(model, e)) continue;
        const uint32_t *location;
        uint32_t count = hd_model_locations(model, e, &location), first = 0;
        while (first < count && !model->location[location[first]].shared) first++;
        if (first == count) continue;
        if (filter->keep != NULL && !filter->keep(filter->context, e)) continue;
        struct hd_read read = {
            .event = e, .location = location[first], .seen = model->from[e], .wide = count > 1};
        hd_vector_push(&couples->read, read);
    }
}

/* The last of all writes of a shared location. */
static uint32_t last_write(const struct hd_couples *couples, uint32_t location) {
    uint32_t last = 0;
    for (uint32_t c = couples->chain_first[location]; c < couples->chain_first[location + 1]; c++) {
        const struct hd_chain *chain = &couples->chain.data[c];
        uint32_t write = couples->write[chain->first + chain->count - 1];
        if (write > last) last = write;
    }
    return last;
}

static void list_final_reads(struct hd_couples *couples) {
    const struct hd_model *model = couples->model;
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        struct hd_read read = {.event = HD_NONE, .location = l, .seen = last_write(couples, l)};
        if (model->kind[read.seen] == HD_EV_FREE) continue; /* it is not there any more */
        hd_vector_push(&couples->read, read);
    }
}

/* ---- reads of several locations ----------------------------------------------------------------
 */

/* Marks the locations that wide reads touch; false if there is no such read. */
static bool mark_wide(const struct hd_couples *couples, bool *touched) {
    const struct hd_model *model = couples->model;
    bool wide = false;
    for (size_t r = 0; r < couples->read.size; r++) {
        const struct hd_read *read = &couples->read.data[r];
        if (!read->wide) continue;
        const uint32_t *location;
        uint32_t count = hd_model_locations(model, read->event, &location);
        for (uint32_t i = 0; i < count; i++) touched[location[i]] = true;
        wide = true;
    }
    return wide;
}

/* Of two ascending lists, what is only in the first. Returns how many. */
static uint32_t only_first(const uint32_t *first, uint32_t count, const uint32_t *second,
                           uint32_t seconds, uint32_t *out) {
    uint32_t at = 0, fill = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (at < seconds && second[at] < first[i]) at++;
        if (at == seconds || second[at] != first[i]) out[fill++] = first[i];
    }
    return fill;
}

static void list_written(struct hd_couples *couples, const bool *touched) {
    const struct hd_model *model = couples->model;
    const uint32_t *start = model->location_start;
    size_t room = 1, first_room = (model->locations + (size_t)1) * sizeof(uint32_t);
    for (uint32_t l = 0; l < model->locations; l++)
        for (uint32_t i = start[l]; touched[l] && i < start[l + 1]; i++)
            room += hd_model_is_write(model, model->location_event[i]);
    uint32_t *first = couples->written_first = hd_alloc(first_room, 1);
    uint32_t *begun_first = couples->begun_first = hd_alloc(first_room, 1);
    couples->written = hd_alloc(room, sizeof *couples->written);
    couples->begun = hd_alloc(room, sizeof *couples->begun);
    uint32_t fill = 0, begun = 0;
    for (uint32_t l = 0; l < model->locations; l++) {
        first[l] = fill;
        begun_first[l] = begun;
        for (uint32_t i = start[l]; touched[l] && i < start[l + 1]; i++)
            if (hd_model_is_write(model, model->location_event[i]))
                couples->written[fill++] = model->location_event[i];
        uint32_t before = l > 0 ? first[l - 1] : first[l];
        begun += only_first(couples->written + first[l], fill - first[l], couples->written + before,
                            first[l] - before, couples->begun + begun);
    }
    first[model->locations] = fill;
    begun_first[model->locations] = begun;
}

/* What a read saw in a location that wide reads touch; HD_NONE: the initial value. */
static uint32_t write_seen(const struct hd_couples *couples, uint32_t location, uint32_t event) {
    const uint32_t *list = couples->written;
    uint32_t start = couples->written_first[location];
    uint32_t end = hd_first_not(i, start, couples->written_first[location + 1], list[i] < event);
    return end > start ? list[end - 1] : HD_NONE;
}

static void index_wide(struct hd_couples *couples) {
    bool *touched = hd_zalloc(couples->model->locations + (size_t)1, sizeof *touched);
    if (mark_wide(couples, touched)) list_written(couples, touched);
    free(touched);
    for (size_t r = 0; r < couples->read.size; r++) {
        struct hd_read *read = &couples->read.data[r];
        if (read->wide) read->seen = write_seen(couples, read->location, read->event);
    }
}

/* ---- all ---------------------------------------------------------------------------------------
 */

void hd_couples_build(const struct hd_model *model, const struct hd_engine_base *base,
                      bool final_state, const struct hd_read_filter *filter,
                      struct hd_couples *couples) {
    memset(couples, 0, sizeof *couples);
    couples->model = model;
    index_writes(couples);
    clock_writes(couples, base);
    list_reads(couples, filter);
    index_wide(couples);
    if (final_state) list_final_reads(couples);
}

void hd_couples_free(struct hd_couples *couples) {
    hd_vector_free(&couples->read);
    hd_vector_free(&couples->chain);
    free(couples->chain_first);
    free(couples->write);
    free(couples->write_position);
    free(couples->write_clock);
    free(couples->written_first);
    free(couples->begun_first);
    free(couples->written);
    free(couples->begun);
    memset(couples, 0, sizeof *couples);
}

/* ---- questions ---------------------------------------------------------------------------------
 */

uint32_t hd_couples_writes(const struct hd_couples *couples, uint32_t location) {
    uint32_t count = 0;
    for (uint32_t c = couples->chain_first[location]; c < couples->chain_first[location + 1]; c++)
        count += couples->chain.data[c].count;
    return count;
}

/* From the read's location number `at` on, which the write touches: the first that it touches and
 * where the read did not see it; `count` if there is none. */
static uint32_t first_unseen(const struct hd_model *model, const uint32_t *location,
                             const uint32_t *seen, uint32_t count, uint32_t at, uint32_t write) {
    if (seen[at] != write) return at;
    const uint32_t *list;
    uint32_t length = hd_model_locations(model, write, &list);
    uint32_t low = hd_lower_bound(list, length, location[at]);
    for (; at < count && low < length; at++) {
        while (low < length && list[low] < location[at]) low++;
        if (low < length && list[low] == location[at] && seen[at] != write) return at;
    }
    return count;
}

static int by_write(const void *left, const void *right) {
    const struct hd_challenger *a = left, *b = right;
    if (a->write != b->write) return a->write < b->write ? -1 : 1;
    return a->location < b->location ? -1 : a->location > b->location;
}

/* In ascending order of locations, each write is looked at where it begins to touch the read's; if
 * there are gaps between its locations or between the read's, more than once. */
void hd_couples_challengers(const struct hd_couples *couples, const struct hd_read *read,
                            struct hd_challengers *challengers) {
    const struct hd_model *model = couples->model;
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, read->event, &location);
    uint32_t not_initial = count; /* the first place where it saw a write */
    challengers->list.size = challengers->seen.size = 0;
    hd_vector_reserve(&challengers->seen, count);
    uint32_t *seen = challengers->seen.data;
    for (uint32_t i = 0; i < count; i++) {
        seen[i] = write_seen(couples, location[i], read->event);
        if (seen[i] != HD_NONE && not_initial == count) not_initial = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool goes_on = i > 0 && location[i - 1] + 1 == location[i];
        const uint32_t *first = (goes_on ? couples->begun_first : couples->written_first);
        const uint32_t *write = goes_on ? couples->begun : couples->written;
        for (uint32_t k = first[location[i]]; k < first[location[i] + 1]; k++) {
            if (write[k] == read->event) continue;
            uint32_t at = first_unseen(model, location, seen, count, i, write[k]);
            if (at == count) continue;
            struct hd_challenger challenger = {write[k], location[at], seen[at]};
            hd_vector_push(&challengers->list, challenger);
        }
    }
    struct hd_challenger *list = challengers->list.data;
    size_t size = challengers->list.size, kept = 0;
    if (size > 1) qsort(list, size, sizeof *list, by_write);
    for (size_t i = 0; i < size; i++)
        if (i == 0 || list[i].write != list[i - 1].write) list[kept++] = list[i];
    challengers->list.size = kept;
    if (not_initial == count) return;
    struct hd_challenger initial = {HD_NONE, location[not_initial], seen[not_initial]};
    hd_vector_push(&challengers->list, initial);
}

void hd_challengers_free(struct hd_challengers *challengers) {
    hd_vector_free(&challengers->list);
    hd_vector_free(&challengers->seen);
}
