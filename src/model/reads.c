/* Fourth pass: cells become locations in the object column; the write each read saw; which
 * locations are shared; and the accesses of each location. */
#include "model/build.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_AHEAD 16
/* Entries of the location lists; more than this only comes from a trace made to be large. */
#define LEAST_ENTRY_LIMIT ((uint64_t)1 << 28)
#define ENTRIES_PER_EVENT 32

enum { SEEN = 1, WRITTEN = 2, SEVERAL_THREADS = 4 };

struct state {
    uint32_t last_write;
    uint32_t accesses;
    uint16_t thread;
    uint16_t flags;
};

struct reads {
    struct hd_build *build;
    struct state *state;
    uint64_t entries, entry_limit;
    HD_VECTOR(struct hd_list) scattered, several;
    HD_VECTOR(uint32_t) several_write;
    HD_VECTOR(uint32_t) seen; /* writes of the read at hand */
};

static inline void touch(struct state *state, uint16_t thread, bool writes, uint32_t event) {
    if ((state->flags & SEEN) == 0) {
        state->thread = thread;
        state->flags = SEEN;
    } else if (state->thread != thread)
        state->flags |= SEVERAL_THREADS;
    state->accesses++;
    if (writes) {
        state->flags |= WRITTEN;
        state->last_write = event;
    }
}

static int compare_events(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void add_atomic_edge(struct hd_build *build, uint32_t from, uint32_t to) {
    const struct hd_trace *trace = build->trace;
    if (from == HD_NONE || trace->thread[from] == trace->thread[to]) return;
    if (trace->kind[from] != HD_EV_ATOMIC_WRITE && trace->kind[from] != HD_EV_ATOMIC_UPDATE) return;
    struct hd_edge edge = {from, to, HD_EDGE_ATOMIC};
    hd_vector_push(&build->atomic_edge, edge);
}

/* What a read over several locations saw: sorted, without repetition. */
static void note_writes(struct reads *reads, uint32_t event, bool atomic) {
    uint32_t *seen = reads->seen.data;
    size_t count = 0;
    qsort(seen, reads->seen.size, sizeof *seen, compare_events);
    for (size_t i = 0; i < reads->seen.size; i++)
        if (count == 0 || seen[i] != seen[count - 1]) seen[count++] = seen[i];
    uint32_t *from = reads->build->memory->from;
    from[event] = seen[count - 1];
    if (count > 1) {
        if (seen[count - 1] == HD_NONE) from[event] = seen[count - 2];
        struct hd_list list = {event, (uint32_t)reads->several_write.size, (uint32_t)count};
        hd_vector_push(&reads->several, list);
        hd_vector_reserve(&reads->several_write, count);
        memcpy(reads->several_write.data + reads->several_write.size, seen, count * sizeof *seen);
        reads->several_write.size += count;
    }
    for (size_t i = 0; atomic && i < count; i++) add_atomic_edge(reads->build, seen[i], event);
}

struct touched {
    const uint32_t *list; /* NULL: consecutive from first */
    uint32_t first, count;
};

static bool touch_several(struct reads *reads, uint32_t event, struct touched touched,
                          bool does_read, bool writes, bool atomic) {
    struct hd_build *build = reads->build;
    uint16_t thread = build->trace->thread[event];
    reads->entries += touched.count;
    reads->seen.size = 0;
    for (uint32_t i = 0; i < touched.count; i++) {
        uint32_t location = touched.list != NULL ? touched.list[i] : touched.first + i;
        struct state *state = &reads->state[location];
        if (does_read &&
            (reads->seen.size == 0 || reads->seen.data[reads->seen.size - 1] != state->last_write))
            hd_vector_push(&reads->seen, state->last_write);
        touch(state, thread, writes, event);
    }
    if (reads->entries > reads->entry_limit)
        return hd_fail(
            build->error, HD_ERR_LIMIT,
            "event %u: accesses that overlap in parts have more than %llu locations in all", event,
            (unsigned long long)reads->entry_limit);
    if (does_read && touched.count > 0) note_writes(reads, event, atomic);
    return true;
}

/* The locations of a cell that has not exactly one. */
static struct touched spread_cell(struct reads *reads, uint32_t event, struct hd_spot place) {
    struct hd_build *build = reads->build;
    hd_bit_set(build->memory->span, event);
    if (place.count != HD_SCATTERED) return (struct touched){NULL, place.first, place.count};
    struct hd_list list = build->scattered.data[place.first];
    list.owner = event;
    hd_vector_push(&reads->scattered, list);
    const uint32_t *location = build->scattered_location.data + list.start;
    return (struct touched){location, location[0], list.count};
}

static bool free_event(struct reads *reads, uint32_t event, size_t *range_at) {
    struct hd_build *build = reads->build;
    uint32_t *object = &build->memory->object[event];
    struct touched touched = {0};
    hd_bit_set(build->memory->span, event);
    if (*object != HD_NONE) {
        const uint32_t *start = &build->model->block_start[*object];
        touched = (struct touched){NULL, start[0], start[1] - start[0]};
    } else if (*range_at < build->range_free.size &&
               build->range_free.data[*range_at].owner == event) {
        struct hd_spot place = build->cell_place[build->range_free.data[(*range_at)++].start];
        /* Its list is kept with the event, since it has no object to find it by. */
        touched = spread_cell(reads, event, place);
        if (place.count != HD_SCATTERED) {
            struct hd_list list = {event, (uint32_t)build->scattered_location.size, touched.count};
            hd_vector_push(&reads->scattered, list);
            for (uint32_t i = 0; i < touched.count; i++)
                hd_vector_push(&build->scattered_location, touched.first + i);
        }
    }
    return touch_several(reads, event, touched, false, true, false);
}

static bool follow_events(struct reads *reads) {
    struct hd_build *build = reads->build;
    const struct hd_trace *trace = build->trace;
    const struct hd_spot *cell_place = build->cell_place;
    uint32_t *objects = build->memory->object, *from = build->memory->from;
    uint32_t events = trace->events;
    size_t range_at = 0;
    for (uint32_t e = 0; e < events; e++) {
        /* Two steps ahead of use: the place of the cell, then the state of the location. */
        if (e + 2 * LOOK_AHEAD < events && trace->kind[e + 2 * LOOK_AHEAD] <= HD_EV_ATOMIC_UPDATE)
            __builtin_prefetch(&cell_place[objects[e + 2 * LOOK_AHEAD]]);
        if (e + LOOK_AHEAD < events && trace->kind[e + LOOK_AHEAD] <= HD_EV_ATOMIC_UPDATE &&
            objects[e + LOOK_AHEAD] != HD_NONE)
            __builtin_prefetch(&reads->state[cell_place[objects[e + LOOK_AHEAD]].first]);
        from[e] = HD_NONE;
        uint8_t kind = trace->kind[e];
        bool does_read, writes, atomic;
        switch (kind) {
        case HD_EV_READ:
        case HD_EV_WRITE:
        case HD_EV_ATOMIC_READ:
        case HD_EV_ATOMIC_WRITE:
        case HD_EV_ATOMIC_UPDATE:
            break;
        case HD_EV_ACQUIRE:
        case HD_EV_RELEASE:
        case HD_EV_READ_ACQUIRE:
        case HD_EV_READ_RELEASE:
        case HD_EV_TRY_FAILED: {
            objects[e] = cell_place[objects[e]].first;
            uint8_t type = trace->flags[e] & HD_LOCK_TYPE_MASK;
            struct hd_lock *lock = &build->memory->lock[objects[e]];
            if (kind == HD_EV_READ_ACQUIRE && type == HD_LOCK_MUTEX) type = HD_LOCK_RWLOCK;
            if (type != HD_LOCK_MUTEX) lock->type = type;
            continue;
        }
        case HD_EV_SIGNAL:
        case HD_EV_BROADCAST:
        case HD_EV_WAIT:
        case HD_EV_WAIT_TIMEOUT:
        case HD_EV_BARRIER_ARRIVE:
        case HD_EV_BARRIER_LEAVE:
        case HD_EV_SEM_INIT:
        case HD_EV_POST:
        case HD_EV_SEM_WAIT:
        case HD_EV_ONCE_DONE:
        case HD_EV_ONCE_PASS:
        case HD_EV_NOTE:
            objects[e] = cell_place[objects[e]].first;
            continue;
        case HD_EV_BLOCKED:
            if (objects[e] != HD_NONE && trace->flags[e] != HD_WAIT_JOIN)
                objects[e] = cell_place[objects[e]].first;
            continue;
        case HD_EV_FREE:
            if (!free_event(reads, e, &range_at)) return false;
            continue;
        default:
            continue;
        }
        does_read = kind != HD_EV_WRITE && kind != HD_EV_ATOMIC_WRITE;
        writes = kind != HD_EV_READ && kind != HD_EV_ATOMIC_READ;
        atomic = kind != HD_EV_READ && kind != HD_EV_WRITE;
        if (objects[e] == HD_NONE) { /* of no bytes */
            hd_bit_set(build->memory->span, e);
            continue;
        }
        struct hd_spot place = cell_place[objects[e]];
        if (place.count != 1) {
            struct touched touched = spread_cell(reads, e, place);
            objects[e] = touched.first;
            if (!touch_several(reads, e, touched, does_read, writes, atomic)) return false;
            continue;
        }
        objects[e] = place.first;
        struct state *state = &reads->state[place.first];
        if (does_read) {
            from[e] = state->last_write;
            if (atomic) add_atomic_edge(build, state->last_write, e);
        }
        touch(state, trace->thread[e], writes, e);
        reads->entries++;
    }
    return true;
}

/* The accesses of each location, in trace order. */
static void list_accesses(struct reads *reads) {
    struct hd_build *build = reads->build;
    struct hd_model *model = build->model;
    uint32_t locations = model->locations, events = build->trace->events;
    uint32_t *start = build->memory->location_start = hd_alloc(locations + 2ul, sizeof *start);
    uint32_t *list = build->memory->location_event = hd_alloc(reads->entries, sizeof *list);
    start[0] = 0;
    uint32_t sum = 0;
    for (uint32_t l = 0; l < locations; l++) {
        const struct state *state = &reads->state[l];
        build->memory->location[l].shared =
            (state->flags & WRITTEN) != 0 && (state->flags & SEVERAL_THREADS) != 0;
        start[l + 1] = sum; /* shifted by one: filling moves it to where it belongs */
        sum += state->accesses;
    }
    start[locations + 1] = sum;
    const uint8_t *kind = build->trace->kind;
    const uint32_t *object = build->memory->object;
    for (uint32_t e = 0; e < events; e++) {
        if (e + LOOK_AHEAD < events && kind[e + LOOK_AHEAD] <= HD_EV_ATOMIC_UPDATE) {
            __builtin_prefetch(&start[object[e + LOOK_AHEAD] + (size_t)1], 1);
            if (hd_bit(build->memory->span, e + LOOK_AHEAD))
                __builtin_prefetch(&model->location[object[e + LOOK_AHEAD]]);
        }
        if (kind[e] > HD_EV_ATOMIC_UPDATE && kind[e] != HD_EV_FREE) continue;
        if (!hd_bit(build->memory->span, e)) {
            list[start[object[e] + 1]++] = e;
            continue;
        }
        const uint32_t *touched;
        uint32_t count = hd_model_locations(model, e, &touched);
        for (uint32_t i = 0; i < count; i++) list[start[touched[i] + 1]++] = e;
    }
    model->location_start = start;
    model->location_event = list;
}

static void build_numbers(struct hd_build *build) {
    uint32_t locations = build->model->locations;
    uint32_t *number = build->memory->number = hd_alloc(locations, sizeof *number);
    for (uint32_t l = 0; l < locations; l++) number[l] = l;
}

static void take_over(struct reads *reads) {
    struct hd_build *build = reads->build;
    struct hd_model_memory *memory = build->memory;
    memory->scattered = (uint32_t)reads->scattered.size;
    memory->scattered_list = reads->scattered.data;
    memory->scattered_location = build->scattered_location.data;
    memory->scattered_locations = build->scattered_location.size;
    memory->several = (uint32_t)reads->several.size;
    memory->several_list = reads->several.data;
    memory->several_write = reads->several_write.data;
    memory->several_writes = reads->several_write.size;
    build->scattered_location.data = NULL;
}

bool hd_pass_reads(struct hd_build *build) {
    struct reads reads = {.build = build};
    uint32_t locations = build->model->locations, events = build->trace->events;
    reads.entry_limit = (uint64_t)events * ENTRIES_PER_EVENT;
    if (reads.entry_limit < LEAST_ENTRY_LIMIT) reads.entry_limit = LEAST_ENTRY_LIMIT;
    if (reads.entry_limit > UINT32_MAX - 1) reads.entry_limit = UINT32_MAX - 1;
    reads.state = hd_zalloc(locations, sizeof *reads.state);
    build->memory->span = hd_zalloc(hd_bit_words(events), sizeof *build->memory->span);
    for (uint32_t l = 0; l < locations; l++) reads.state[l].last_write = HD_NONE;
    bool done = follow_events(&reads);
    take_over(&reads);
    hd_vector_free(&reads.seen);
    /* No cell is needed any more. */
    hd_vector_free(&build->cell);
    free(build->cell_place);
    build->cell_place = NULL;
    if (done) {
        build_numbers(build);
        list_accesses(&reads);
    }
    free(reads.state);
    return done;
}
