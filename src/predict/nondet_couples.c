/* Lists reads and writes of shared locations. */
#include "predict/nondet_couples.h"

#include <string.h>

static bool out_of_memory(struct hd_error *error) {
    return hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

/* ---- writes by location and thread -------------------------------------------------------------
 */

static bool index_writes(struct hd_couples *couples) {
    const struct hd_model *model = couples->model;
    uint32_t *entry = malloc((model->threads + (size_t)1) * sizeof *entry);
    size_t room = 1;
    for (uint32_t l = 0; l < model->locations; l++)
        if (model->location[l].shared)
            room += model->location_start[l + 1] - model->location_start[l];
    couples->chain_first = malloc((model->locations + (size_t)1) * sizeof *couples->chain_first);
    couples->write = malloc(room * sizeof *couples->write);
    if (entry == NULL || couples->chain_first == NULL || couples->write == NULL) {
        free(entry);
        return false;
    }
    memset(entry, 0xff, (model->threads + (size_t)1) * sizeof *entry);
    uint32_t fill = 0;
    bool done = true;
    for (uint32_t l = 0; l < model->locations; l++) {
        uint32_t mine = couples->chain_first[l] = (uint32_t)couples->chain.size;
        if (!done || !model->location[l].shared) continue;
        const uint32_t *event = model->location_event + model->location_start[l];
        uint32_t count = model->location_start[l + 1] - model->location_start[l];
        for (uint32_t i = 0; done && i < count; i++) {
            if (!hd_model_is_write(model, event[i])) continue;
            uint32_t thread = model->thread[event[i]];
            if (entry[thread] == HD_NONE) {
                entry[thread] = (uint32_t)couples->chain.size;
                done = hd_vector_push(&couples->chain, ((struct hd_chain){thread, 0, 0}));
            }
            if (done) couples->chain.data[entry[thread]].count++;
        }
        for (size_t c = mine; c < couples->chain.size; c++) {
            couples->chain.data[c].first = fill;
            fill += couples->chain.data[c].count;
            couples->chain.data[c].count = 0;
        }
        for (uint32_t i = 0; done && i < count; i++) {
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
    return done;
}

static bool clock_writes(struct hd_couples *couples, const struct hd_ground *ground) {
    const struct hd_model *model = couples->model;
    couples->write_position =
        malloc((couples->writes + (size_t)1) * sizeof *couples->write_position);
    couples->write_clock = malloc((couples->writes + (size_t)1) * sizeof *couples->write_clock);
    if (couples->write_position == NULL || couples->write_clock == NULL) return false;
    for (uint32_t i = 0; i < couples->writes; i++) {
        uint32_t position = hd_model_position(model, couples->write[i]);
        couples->write_position[i] = position;
        couples->write_clock[i] =
            hd_reach_clock(&ground->kept, model->thread[couples->write[i]], position);
    }
    return true;
}

/* ---- reads -------------------------------------------------------------------------------------
 */

static uint32_t write_seen(const struct hd_model *model, uint32_t location, uint32_t event) {
    const uint32_t *list = model->location_event;
    uint32_t low = model->location_start[location], high = model->location_start[location + 1];
    uint32_t start = low;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > start)
        if (hd_model_is_write(model, list[--low])) return list[low];
    return HD_NONE;
}

static bool list_reads(struct hd_couples *couples, const struct hd_read_filter *filter) {
    const struct hd_model *model = couples->model;
    for (uint32_t e = 0; e < model->events; e++) {
        if (!hd_model_is_read(model, e)) continue;
        const uint32_t *location;
        uint32_t count = hd_model_locations(model, e, &location), first = 0;
        while (first < count && !model->location[location[first]].shared) first++;
        if (first == count) continue;
        if (filter->keep != NULL && !filter->keep(filter->context, e)) continue;
        struct hd_read read = {.event = e, .location = location[first], .wide = count > 1};
        read.seen = read.wide ? write_seen(model, read.location, e) : model->from[e];
        if (!hd_vector_push(&couples->read, read)) return false;
    }
    return true;
}

static bool list_final_reads(struct hd_couples *couples) {
    const struct hd_model *model = couples->model;
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        struct hd_read read = {.event = HD_NONE, .location = l};
        read.seen = write_seen(model, l, HD_NONE);
        if (model->kind[read.seen] == HD_EV_FREE) continue; /* it is not there any more */
        if (!hd_vector_push(&couples->read, read)) return false;
    }
    return true;
}

bool hd_couples_build(const struct hd_model *model, const struct hd_ground *ground,
                      bool final_state, const struct hd_read_filter *filter,
                      struct hd_couples *couples, struct hd_error *error) {
    memset(couples, 0, sizeof *couples);
    couples->model = model;
    if (index_writes(couples) && clock_writes(couples, ground) && list_reads(couples, filter) &&
        (!final_state || list_final_reads(couples)))
        return true;
    hd_couples_free(couples);
    return out_of_memory(error);
}

void hd_couples_free(struct hd_couples *couples) {
    hd_vector_free(&couples->read);
    hd_vector_free(&couples->chain);
    free(couples->chain_first);
    free(couples->write);
    free(couples->write_position);
    free(couples->write_clock);
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

static bool touches(const struct hd_model *model, uint32_t event, uint32_t location) {
    const uint32_t *list;
    uint32_t count = hd_model_locations(model, event, &list);
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == location) return true;
    return false;
}

/* The first location that both touch and where the read did not see the write; HD_NONE. */
static uint32_t first_unseen(const struct hd_couples *couples, const struct hd_read *read,
                             uint32_t write) {
    const struct hd_model *model = couples->model;
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, read->event, &location);
    for (uint32_t i = 0; i < count; i++) {
        if (write != HD_NONE && !touches(model, write, location[i])) continue;
        if (write_seen(model, location[i], read->event) != write) return location[i];
    }
    return HD_NONE;
}

bool hd_couples_sees(const struct hd_couples *couples, const struct hd_read *read, uint32_t write) {
    return first_unseen(couples, read, write) == HD_NONE;
}

uint32_t hd_couples_seen(const struct hd_couples *couples, const struct hd_read *read,
                         uint32_t other) {
    if (!read->wide) return read->seen;
    uint32_t location = first_unseen(couples, read, other);
    return location == HD_NONE ? HD_NONE : write_seen(couples->model, location, read->event);
}

static int by_number(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

bool hd_couples_challengers(const struct hd_couples *couples, const struct hd_read *read,
                            hd_event_list *list) {
    const struct hd_model *model = couples->model;
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, read->event, &location);
    list->size = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = model->location_start[location[i]];
             at < model->location_start[location[i] + 1]; at++) {
            uint32_t event = model->location_event[at];
            if (event == read->event || !hd_model_is_write(model, event)) continue;
            if (!hd_vector_push(list, event)) return false;
        }
    if (list->size > 1) qsort(list->data, list->size, sizeof *list->data, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < list->size; i++) {
        if (i > 0 && list->data[i] == list->data[i - 1]) continue;
        if (!hd_couples_sees(couples, read, list->data[i])) list->data[kept++] = list->data[i];
    }
    list->size = kept;
    return true;
}
