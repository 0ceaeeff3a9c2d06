/* The indexes of AVFilter and its five tests: see avfilter.h. "Thread 1" is the local thread, that
 * of i and k; "thread 2" that of j. */
#include "methods/avfilter.h"

#include "base/alloc.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* Reads of one thread fed by writes of another: those whose write is later than all before. So the
 * latest write up to a read is found by looking for the read. */
struct fed {
    uint32_t read, write;
};
struct fed_list {
    struct fed *data;
    size_t size, capacity;
};

/* A number for each read of the local thread that touches what one other thread writes, with the
 * least of any range at hand: a tree whose nodes have sixteen children. */
#define FAN_BITS 4
#define FAN (1u << FAN_BITS)
struct least {
    HD_VECTOR(uint32_t) read; /* ascending, or descending in a list made backwards */
    HD_VECTOR(uint32_t) number;
    HD_VECTOR(uint32_t) node; /* of all levels above the numbers */
    uint32_t level[8], levels;
};

struct hd_avfilter {
    const struct hd_model *model;
    const struct hd_branches *branches;
    struct hd_map pair_number; /* writing thread << 32 | reading thread -> fed list */
    HD_VECTOR(struct fed_list) fed;
    /* threads that write a location: writer[writer_start[l] .. writer_start[l + 1]) */
    uint32_t *writer_start;
    uint16_t *writer;
    uint32_t *at;     /* per writer of a location: its last (or next) write */
    uint32_t *cursor; /* per location */
    /* per entry of the model's location_event: the access of the same thread to the location before
     * and after it, HD_NONE */
    uint32_t *previous, *following;
    uint32_t thread;          /* local; HD_NONE at the start */
    struct least *next_write; /* per thread 2: of each read, thread 2's first write after it */
    struct least *last_write; /* the last write before it, from the other end of the numbers */
};

/* ---- the least of a range -----------------------------------------------------------------------
 */

static void least_clear(struct least *least) {
    least->read.size = least->number.size = least->node.size = 0;
    least->levels = 0;
}

static void least_free(struct least *least) {
    hd_vector_free(&least->read);
    hd_vector_free(&least->number);
    hd_vector_free(&least->node);
}

static void least_add(struct least *least, uint32_t read, uint32_t number) {
    hd_vector_push(&least->read, read);
    hd_vector_push(&least->number, number);
}

static void least_finish(struct least *least) {
    const uint32_t *below = least->number.data;
    uint32_t count = (uint32_t)least->number.size;
    uint32_t room = 0;
    for (uint32_t c = count; c > FAN; c = (c + FAN - 1) / FAN) room += (c + FAN - 1) / FAN;
    hd_vector_reserve(&least->node, room);
    while (count > FAN) {
        uint32_t above = (count + FAN - 1) / FAN, start = (uint32_t)least->node.size;
        least->level[least->levels++] = start;
        for (uint32_t n = 0; n < above; n++) {
            uint32_t low = UINT32_MAX, end = (n + 1) * FAN < count ? (n + 1) * FAN : count;
            for (uint32_t c = n * FAN; c < end; c++)
                if (below[c] < low) low = below[c];
            least->node.data[start + n] = low;
        }
        least->node.size += above;
        below = least->node.data + start;
        count = above;
    }
}

static uint32_t least_of(const struct least *least, uint32_t from, uint32_t to) {
    const uint32_t *number = least->number.data;
    uint32_t low = UINT32_MAX;
    for (uint32_t level = 0; from < to; level++) {
        bool top = level == least->levels;
        while (from < to && (top || from % FAN != 0)) {
            if (number[from] < low) low = number[from];
            from++;
        }
        while (from < to && to % FAN != 0)
            if (number[--to] < low) low = number[to];
        if (from >= to) break;
        from /= FAN;
        to /= FAN;
        number = least->node.data + least->level[level];
    }
    return low;
}

/* The first index whose read is at or after an event; the last index + 1 of a descending list whose
 * read is at or after it. */
static uint32_t first_from(const struct least *least, uint32_t event, bool descending) {
    return hd_first_not(i, 0, (uint32_t)least->read.size,
                        (least->read.data[i] < event) != descending);
}

/* ---- reads fed by another thread ----------------------------------------------------------------
 */

static void add_fed(struct hd_avfilter *filter, uint32_t read, uint32_t write) {
    const struct hd_model *model = filter->model;
    uint64_t key = (uint64_t)model->thread[write] << 32 | model->thread[read];
    uint32_t fresh = (uint32_t)filter->fed.size;
    uint32_t *slot = hd_map_slot(&filter->pair_number, key, fresh);
    if (*slot == fresh) hd_vector_push(&filter->fed, (struct fed_list){0});
    struct fed_list *list = &filter->fed.data[*slot];
    if (list->size > 0 && list->data[list->size - 1].write >= write) return;
    hd_vector_push(list, ((struct fed){read, write}));
}

static void find_fed(struct hd_avfilter *filter) {
    const struct hd_model *model = filter->model;
    for (uint32_t e = 0; e < model->events; e++) {
        if (!hd_model_is_read(model, e)) continue;
        const uint32_t *write;
        uint32_t writes = hd_model_reads_from(model, e, &write);
        for (uint32_t i = 0; i < writes; i++)
            if (write[i] != HD_NONE && model->thread[write[i]] != model->thread[e])
                add_fed(filter, e, write[i]);
    }
}

/* 1 + the latest write of one thread that feeds a read of another before an event; 0 if none. */
static uint64_t latest_fed(const struct hd_avfilter *filter, uint32_t writer, uint32_t reader,
                           uint32_t before) {
    uint32_t pair = hd_map_get(&filter->pair_number, (uint64_t)writer << 32 | reader, HD_NONE);
    if (pair == HD_NONE) return 0;
    const struct fed_list *list = &filter->fed.data[pair];
    size_t low = hd_first_not(i, 0, list->size, list->data[i].read < before);
    return low == 0 ? 0 : (uint64_t)list->data[low - 1].write + 1;
}

/* ---- writers by location ------------------------------------------------------------------------
 */

static void find_writers(struct hd_avfilter *filter) {
    const struct hd_model *model = filter->model;
    HD_VECTOR(uint16_t) list = {0};
    uint32_t *seen = hd_zalloc(model->threads + (size_t)1, sizeof *seen);
    hd_vector_reserve(&list, 16);
    for (uint32_t l = 0; l < model->locations; l++) {
        filter->writer_start[l] = (uint32_t)list.size;
        if (!model->location[l].shared) continue;
        for (uint32_t n = model->location_start[l]; n < model->location_start[l + 1]; n++) {
            uint32_t event = model->location_event[n], thread = model->thread[event];
            if (seen[thread] == l + 1 || !hd_model_is_write(model, event)) continue;
            seen[thread] = l + 1;
            hd_vector_push(&list, (uint16_t)thread);
        }
    }
    filter->writer_start[model->locations] = (uint32_t)list.size;
    filter->writer = list.data;
    filter->at = hd_alloc(list.size + 1, sizeof *filter->at);
    free(seen);
}

/* The accesses of one thread to one location, linked. */
static void link_accesses(struct hd_avfilter *filter) {
    const struct hd_model *model = filter->model;
    struct {
        uint32_t stamp, entry;
    } *last = hd_zalloc(model->threads + (size_t)1, sizeof *last);
    for (uint32_t l = 0; l < model->locations; l++)
        for (uint32_t n = model->location_start[l]; n < model->location_start[l + 1]; n++) {
            uint32_t event = model->location_event[n], thread = model->thread[event];
            bool linked = last[thread].stamp == l + 1;
            filter->previous[n] = linked ? model->location_event[last[thread].entry] : HD_NONE;
            filter->following[n] = HD_NONE;
            if (linked) filter->following[last[thread].entry] = event;
            last[thread].stamp = l + 1;
            last[thread].entry = n;
        }
    free(last);
}

static void note_write(struct hd_avfilter *filter, uint32_t location, uint32_t event) {
    uint32_t thread = filter->model->thread[event];
    for (uint32_t w = filter->writer_start[location]; w < filter->writer_start[location + 1]; w++)
        if (filter->writer[w] == thread) {
            filter->at[w] = event;
            return;
        }
}

/* ---- the reads of one thread --------------------------------------------------------------------
 */

static void add_next_writes(struct hd_avfilter *filter, uint32_t read, uint32_t location) {
    const struct hd_model *model = filter->model;
    uint32_t *cursor = &filter->cursor[location];
    while (*cursor > model->location_start[location] && model->location_event[*cursor - 1] > read) {
        uint32_t event = model->location_event[--*cursor];
        if (hd_model_is_write(model, event)) note_write(filter, location, event);
    }
    for (uint32_t w = filter->writer_start[location]; w < filter->writer_start[location + 1]; w++)
        if (filter->at[w] != HD_NONE && filter->writer[w] != filter->thread)
            least_add(&filter->next_write[filter->writer[w]], read, filter->at[w]);
}

static void add_last_writes(struct hd_avfilter *filter, uint32_t read, uint32_t location) {
    const struct hd_model *model = filter->model;
    uint32_t *cursor = &filter->cursor[location];
    while (*cursor < model->location_start[location + 1] && model->location_event[*cursor] < read) {
        uint32_t event = model->location_event[(*cursor)++];
        if (hd_model_is_write(model, event)) note_write(filter, location, event);
    }
    for (uint32_t w = filter->writer_start[location]; w < filter->writer_start[location + 1]; w++)
        if (filter->at[w] != HD_NONE && filter->writer[w] != filter->thread)
            least_add(&filter->last_write[filter->writer[w]], read, UINT32_MAX - filter->at[w]);
}

typedef void (*add_writes)(struct hd_avfilter *filter, uint32_t read, uint32_t location);

static void add_read(struct hd_avfilter *filter, uint32_t event, add_writes add) {
    const uint32_t *location;
    if (!hd_model_is_read(filter->model, event)) return;
    uint32_t locations = hd_model_locations(filter->model, event, &location);
    for (uint32_t i = 0; i < locations; i++)
        if (filter->model->location[location[i]].shared) add(filter, event, location[i]);
}

static void index_thread(struct hd_avfilter *filter) {
    const struct hd_model *model = filter->model;
    uint32_t first = model->thread_start[filter->thread];
    uint32_t last = model->thread_start[filter->thread + 1];
    size_t writers = filter->writer_start[model->locations];
    for (uint32_t t = 0; t < model->threads; t++) {
        least_clear(&filter->next_write[t]);
        least_clear(&filter->last_write[t]);
    }
    memset(filter->at, 0xff, (writers + 1) * sizeof *filter->at);
    for (uint32_t l = 0; l < model->locations; l++)
        filter->cursor[l] = model->location_start[l + 1];
    for (uint32_t n = last; n-- > first;) add_read(filter, model->thread_event[n], add_next_writes);
    memset(filter->at, 0xff, (writers + 1) * sizeof *filter->at);
    for (uint32_t l = 0; l < model->locations; l++) filter->cursor[l] = model->location_start[l];
    for (uint32_t n = first; n < last; n++)
        add_read(filter, model->thread_event[n], add_last_writes);
    for (uint32_t t = 0; t < model->threads; t++) {
        least_finish(&filter->next_write[t]);
        least_finish(&filter->last_write[t]);
    }
}

/* ---- life ---------------------------------------------------------------------------------------
 */

struct hd_avfilter *hd_avfilter_new(const struct hd_model *model,
                                    const struct hd_branches *branches) {
    struct hd_avfilter *filter = hd_zalloc(1, sizeof *filter);
    size_t locations = model->locations + (size_t)1, threads = model->threads + (size_t)1;
    size_t entries = model->location_start[model->locations];
    filter->model = model;
    filter->branches = branches;
    filter->thread = HD_NONE;
    filter->writer_start = hd_alloc(locations, sizeof *filter->writer_start);
    filter->cursor = hd_alloc(locations, sizeof *filter->cursor);
    filter->previous = hd_alloc(entries, sizeof *filter->previous);
    filter->following = hd_alloc(entries, sizeof *filter->following);
    filter->next_write = hd_zalloc(threads, sizeof *filter->next_write);
    filter->last_write = hd_zalloc(threads, sizeof *filter->last_write);
    find_writers(filter);
    link_accesses(filter);
    find_fed(filter);
    return filter;
}

void hd_avfilter_free(struct hd_avfilter *filter) {
    for (size_t i = 0; i < filter->fed.size; i++) hd_vector_free(&filter->fed.data[i]);
    hd_vector_free(&filter->fed);
    hd_map_free(&filter->pair_number);
    for (uint32_t t = 0; t < filter->model->threads; t++) {
        least_free(&filter->next_write[t]);
        least_free(&filter->last_write[t]);
    }
    free(filter->next_write);
    free(filter->last_write);
    free(filter->writer_start);
    free(filter->writer);
    free(filter->at);
    free(filter->cursor);
    free(filter->previous);
    free(filter->following);
    free(filter);
}

void hd_avfilter_begin(struct hd_avfilter *filter, uint32_t thread) {
    if (filter->thread == thread) return;
    filter->thread = thread;
    index_thread(filter);
}

/* ---- the tests ----------------------------------------------------------------------------------
 */

/* The access of j's thread to the location next to j, on one side; HD_NONE. */
static uint32_t neighbour(const struct hd_avfilter *filter, const struct hd_triple *triple,
                          const uint32_t *side) {
    const struct hd_model *model = filter->model;
    uint32_t low = hd_first_not(i, model->location_start[triple->location],
                                model->location_start[triple->location + 1],
                                model->location_event[i] < triple->remote);
    return side[low];
}

/* The first event of k's thread after which no branch comes before k. */
static uint32_t after_branches(const struct hd_avfilter *filter, uint32_t second) {
    const struct hd_model *model = filter->model;
    const uint32_t *list = model->thread_event + model->thread_start[filter->thread];
    uint32_t low = hd_first_not(i, 0, hd_model_position(model, second),
                                hd_branch_between(filter->branches, list[i], second));
    return list[low];
}

static enum hd_avfilter_case rejects_later(const struct hd_avfilter *filter,
                                           const struct hd_triple *triple) {
    const struct hd_model *model = filter->model;
    uint32_t remote = model->thread[triple->remote];
    uint32_t previous = neighbour(filter, triple, filter->previous);
    bool has_previous = previous != HD_NONE && previous > triple->first;
    if (has_previous &&
        latest_fed(filter, filter->thread, remote, previous + 1) > triple->first + (uint64_t)1)
        return HD_AVFILTER_A1;
    if (latest_fed(filter, filter->thread, remote, triple->remote) > triple->second + (uint64_t)1)
        return HD_AVFILTER_A2;
    if (!has_previous) return HD_AVFILTER_KEEPS;
    const struct least *least = &filter->next_write[remote];
    uint32_t branch = after_branches(filter, triple->second);
    if (branch <= triple->first) return HD_AVFILTER_KEEPS;
    /* the list descends: reads from i on, before the last branch */
    uint32_t from = first_from(least, branch, true), to = first_from(least, triple->first, true);
    return least_of(least, from, to) <= previous ? HD_AVFILTER_A3 : HD_AVFILTER_KEEPS;
}

static enum hd_avfilter_case rejects_earlier(const struct hd_avfilter *filter,
                                             const struct hd_triple *triple) {
    uint32_t remote = filter->model->thread[triple->remote];
    if (latest_fed(filter, remote, filter->thread, triple->first + 1) > (uint64_t)triple->remote)
        return HD_AVFILTER_B1;
    uint32_t next = neighbour(filter, triple, filter->following);
    if (next == HD_NONE || next > triple->second) return HD_AVFILTER_KEEPS;
    const struct least *least = &filter->last_write[remote];
    uint32_t branch = after_branches(filter, triple->second);
    if (branch <= triple->first) return HD_AVFILTER_KEEPS;
    uint32_t from = first_from(least, triple->first + 1, false);
    uint32_t to = first_from(least, branch, false);
    return UINT32_MAX - least_of(least, from, to) > next ? HD_AVFILTER_B2 : HD_AVFILTER_KEEPS;
}

enum hd_avfilter_case hd_avfilter_rejects(const struct hd_avfilter *filter,
                                          const struct hd_triple *triple) {
    if (triple->remote > triple->second) return rejects_later(filter, triple);
    if (triple->remote < triple->first) return rejects_earlier(filter, triple);
    return HD_AVFILTER_KEEPS;
}
