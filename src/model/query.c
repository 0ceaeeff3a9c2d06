/* Questions to a finished model. */
#include "base/search.h"
#include "model/build.h"

#include <stdlib.h>

static const struct hd_list *find_list(const struct hd_list *list, uint32_t count, uint32_t owner) {
    uint32_t at = hd_first_not(i, 0, count, list[i].owner < owner);
    return at < count && list[at].owner == owner ? &list[at] : NULL;
}

/* How many consecutive locations from `first` on lie within `bytes` bytes. */
static uint32_t span_count(const struct hd_model *model, uint32_t first, uint64_t bytes) {
    uint64_t end = model->location[first].address + bytes;
    uint32_t block = model->location[first].block;
    uint32_t limit = model->block_start[block == HD_NONE ? 0 : block + 1];
    uint32_t below = first, step = 1; /* location below starts before the end */
    while (below + step < limit && model->location[below + step].address < end) {
        below += step;
        step *= 2;
    }
    uint32_t above = below + step < limit ? below + step : limit;
    return hd_first_not(i, below + 1, above, model->location[i].address < end) - first;
}

uint32_t hd_model_locations(const struct hd_model *model, uint32_t event, const uint32_t **list) {
    const struct hd_model_memory *memory = model->memory;
    uint8_t kind = model->kind[event];
    *list = &model->object[event];
    if (kind > HD_EV_ATOMIC_UPDATE && kind != HD_EV_FREE) return 0;
    if (!hd_bit(memory->span, event)) return 1;
    const struct hd_list *scattered = find_list(memory->scattered_list, memory->scattered, event);
    if (scattered != NULL) {
        *list = memory->scattered_location + scattered->start;
        return scattered->count;
    }
    uint32_t object = model->object[event];
    if (object == HD_NONE) return 0;
    if (kind == HD_EV_FREE) {
        *list = memory->number + model->block_start[object];
        return model->block_start[object + 1] - model->block_start[object];
    }
    *list = memory->number + object;
    uint64_t size = hd_access_size(kind, model->flags[event], 0);
    if (size == 0) size = hd_trace_extra(model->trace, event, 0);
    return span_count(model, object, size);
}

uint32_t hd_model_reads_from(const struct hd_model *model, uint32_t event, const uint32_t **list) {
    const struct hd_model_memory *memory = model->memory;
    *list = &model->from[event];
    if (!hd_model_is_read(model, event)) return 0;
    if (!hd_bit(memory->span, event)) return 1;
    const struct hd_list *several = find_list(memory->several_list, memory->several, event);
    if (several == NULL) return model->object[event] == HD_NONE ? 0 : 1;
    *list = memory->several_write + several->start;
    return several->count;
}

uint32_t hd_model_edges_into(const struct hd_model *model, uint32_t event, const uint32_t **list) {
    const struct hd_model_memory *memory = model->memory;
    *list = memory->number;
    if (!hd_bit(memory->has_in, event)) return 0;
    uint32_t low = hd_first_not(i, 0, model->edges, model->edge[i].to < event);
    *list = memory->number + low;
    uint32_t count = 0;
    while (low + count < model->edges && model->edge[low + count].to == event) count++;
    return count;
}

uint32_t hd_model_edges_from(const struct hd_model *model, uint32_t event, const uint32_t **list) {
    const struct hd_model_memory *memory = model->memory;
    *list = memory->edge_by_source;
    if (!hd_bit(memory->has_out, event)) return 0;
    uint32_t low =
        hd_first_not(i, 0, model->edges, model->edge[memory->edge_by_source[i]].from < event);
    *list = memory->edge_by_source + low;
    uint32_t count = 0;
    while (low + count < model->edges &&
           model->edge[memory->edge_by_source[low + count]].from == event)
        count++;
    return count;
}

uint32_t hd_model_calls(const struct hd_model *model, uint32_t event) {
    if (model->calls[event] != UINT16_MAX) return model->calls[event];
    const struct hd_model_memory *memory = model->memory;
    uint32_t at = hd_first_not(i, 0, memory->many_calls, memory->many_calls_list[i].event < event);
    return memory->many_calls_list[at].calls;
}

uint32_t hd_model_held(const struct hd_model *model, uint32_t event, uint32_t *section,
                       uint32_t room) {
    uint32_t count = 0, s = model->event_section[event];
    if (s == HD_NONE) return 0;
    /* The sections open now are the innermost and some of those open at its acquire; a chain of
     * sections that were handed over one to the next need not be followed to its end. */
    const struct hd_section *innermost = &model->section[s];
    uint32_t left = innermost->held == 255 ? UINT32_MAX : innermost->held + 1u;
    for (; s != HD_NONE && left > 0; s = model->section[s].outer) {
        const struct hd_section *each = &model->section[s];
        if (each->release != HD_NONE && each->release < innermost->acquire) continue;
        left--;
        if (each->release != HD_NONE && each->release < event) continue;
        if (count < room) section[count] = s;
        count++;
    }
    return count;
}

/* Is it another thread's section, and open at the event? */
static bool blocks(const struct hd_model *model, uint32_t event, uint32_t section) {
    const struct hd_section *each = &model->section[section];
    return each->thread != model->thread[event] &&
           (each->release == HD_NONE || each->release > event);
}

uint32_t hd_model_failed_by(const struct hd_model *model, uint32_t event) {
    uint32_t lock = model->object[event];
    if (model->kind[event] != HD_EV_TRY_FAILED || lock == HD_NONE) return HD_NONE;
    const uint32_t *list = model->lock_section + model->lock_start[lock];
    uint32_t count = model->lock_start[lock + 1] - model->lock_start[lock];
    /* sections whose acquire comes before the event */
    uint32_t low = hd_first_not(i, 0, count, model->section[list[i]].acquire < event);
    /* A reader may have come long ago and still be there; at a writer the search ends, since nobody
     * else held the lock at its acquire. Its own thread may, in read mode. */
    while (low-- > 0) {
        uint32_t s = list[low];
        if (blocks(model, event, s)) return s;
        if (model->section[s].read_mode) continue;
        for (uint32_t outer = model->section[s].outer; outer != HD_NONE;
             outer = model->section[outer].outer)
            if (model->section[outer].lock == lock && blocks(model, event, outer)) return outer;
        break;
    }
    return HD_NONE;
}

static bool is_life(const struct hd_model *model, uint32_t event) {
    return model->kind[event] == HD_EV_NOTE && hd_note_is_life(model->flags[event]);
}
bool hd_model_is_lock_life(const struct hd_model *model, uint32_t event) {
    return is_life(model, event) && model->flags[event] >> HD_NOTE_OBJECT_SHIFT == HD_NOTE_LOCK;
}
bool hd_model_is_object_life(const struct hd_model *model, uint32_t event) {
    unsigned object = model->flags[event] >> HD_NOTE_OBJECT_SHIFT;
    return is_life(model, event) && object > HD_NOTE_LOCK && object <= HD_NOTE_SEM;
}

bool hd_model_is_access(const struct hd_model *model, uint32_t event) {
    uint8_t kind = model->kind[event];
    return kind <= HD_EV_ATOMIC_UPDATE || kind == HD_EV_FREE;
}

bool hd_model_is_write(const struct hd_model *model, uint32_t event) {
    uint8_t kind = model->kind[event];
    return kind == HD_EV_WRITE || kind == HD_EV_ATOMIC_WRITE || kind == HD_EV_ATOMIC_UPDATE ||
           kind == HD_EV_FREE;
}

bool hd_model_is_read(const struct hd_model *model, uint32_t event) {
    uint8_t kind = model->kind[event];
    return kind == HD_EV_READ || kind == HD_EV_ATOMIC_READ || kind == HD_EV_ATOMIC_UPDATE;
}

bool hd_model_is_atomic(const struct hd_model *model, uint32_t event) {
    uint8_t kind = model->kind[event];
    return kind == HD_EV_ATOMIC_READ || kind == HD_EV_ATOMIC_WRITE || kind == HD_EV_ATOMIC_UPDATE;
}

/* ---- call stacks --------------------------------------------------------------------------------
 */

/* The access that a late one repeats: the latest before it from the same place, by the same thread;
 * no other thread touched the location since. HD_NONE if there is none. */
static uint32_t repeated(const struct hd_model *model, uint32_t event) {
    uint32_t location = model->object[event];
    if (location == HD_NONE) return HD_NONE;
    const uint32_t *first = model->location_event + model->location_start[location];
    uint32_t low = hd_lower_bound(
        first, model->location_start[location + 1] - model->location_start[location], event);
    while (low > 0 && model->thread[first[low - 1]] == model->thread[event]) {
        uint32_t earlier = first[--low];
        if (model->site[earlier] == model->site[event] && hd_model_calls(model, earlier) > 0)
            return earlier;
    }
    return HD_NONE;
}

uint32_t hd_model_stack(const struct hd_model *model, uint32_t event) {
    if (model->stack == NULL) return 0;
    bool plain = model->kind[event] == HD_EV_READ || model->kind[event] == HD_EV_WRITE;
    bool late = plain && model->calls[event] == 0 && model->trace->format == HD_FORMAT_BINARY;
    uint32_t earlier = late ? repeated(model, event) : HD_NONE;
    return model->stack[earlier != HD_NONE ? earlier : event];
}

uint32_t hd_model_waited_for(const struct hd_model *model, uint32_t release) {
    if (!(model->flags[release] & HD_LOCK_BY_WAIT)) return HD_NONE;
    uint32_t thread = model->thread[release];
    uint32_t at = model->thread_start[thread] + hd_model_position(model, release) + 1;
    for (; at < model->thread_start[thread + 1u]; at++) {
        uint32_t next = model->thread_event[at];
        switch (model->kind[next]) {
        case HD_EV_WAIT:
        case HD_EV_WAIT_TIMEOUT:
            return model->object[next];
        case HD_EV_BLOCKED:
            return model->flags[next] == HD_WAIT_COND ? model->object[next] : HD_NONE;
        case HD_EV_NOTE:
            break;
        default:
            return HD_NONE;
        }
    }
    return HD_NONE;
}
