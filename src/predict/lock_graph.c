/* Two passes over the trace: the graph of locks and its strongly connected parts, then the waiters
 * and dependencies inside them. Most traces have none, and end after the first. */
#include "predict/lock_graph.h"

#include "base/alloc.h"
#include "facts/clocks.h"
#include "facts/needs.h"
#include "facts/site.h"
#include "predict/lock_parts.h"

#include <stdlib.h>
#include <string.h>

/* An end of a wait for progress, with a lock held. */
struct progress {
    uint32_t event, behind, place;
};

struct held {
    uint32_t lock, section;
    bool reading;
};

struct builder {
    struct hd_lock_graph *graph;
    struct hd_analysis *analysis;
    const struct hd_model *model;
    struct hd_describe *describe;
    bool whole;
    HD_VECTOR(struct held) held; /* at the event at hand, by lock */
    HD_VECTOR(uint32_t) section;
    HD_VECTOR(uint64_t) edge; /* of the graph of resources: from << 32 | to */
    struct hd_map edge_known, site_number, dependency_known, giver_waiter;
    struct hd_intern place, waiter, instance, class, type;
    HD_VECTOR(struct progress) progress;
    HD_VECTOR(uint32_t) place_site;
    struct hd_lock_parts parts;
    struct hd_bitset gives; /* acquires that must come before the end of a wait */
    uint32_t *resource_class;
    uint32_t *clock, *clock_behind;
    HD_VECTOR(uint32_t) key;
    struct {
        HD_VECTOR(uint32_t) waiter;
        HD_VECTOR(struct hd_wait_instance) at;
    } found; /* instances in the order in which they were found */
};

/* ---- what waits --------------------------------------------------------------------------------
 */

struct lock_wait {
    uint32_t wants;
    bool reading;
};

/* Nobody says how a thread wanted the lock that it is blocked at. One for which readers are in the
 * way wants to write, and so does one at a lock that nobody ever reads under. */
static bool blocked_for_reading(const struct hd_model *model, uint32_t lock) {
    bool ever = false;
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        ever |= section->read_mode;
        if (section->release == HD_NONE && section->read_mode) return false;
    }
    return ever;
}

static bool waits_for_lock(const struct hd_model *model, uint32_t event, struct lock_wait *wait) {
    uint8_t kind = model->kind[event];
    if (kind == HD_EV_ACQUIRE || kind == HD_EV_READ_ACQUIRE) {
        uint32_t section = model->event_section[event];
        if (section == HD_NONE || model->section[section].acquire != event) return false;
        if ((model->flags[event] & HD_LOCK_BY_TRY) != 0) return false; /* does not wait for ever */
        *wait = (struct lock_wait){model->section[section].lock, model->section[section].read_mode};
        return true;
    }
    if (kind != HD_EV_BLOCKED || model->flags[event] != HD_WAIT_LOCK) return false;
    if (model->object[event] == HD_NONE) return false;
    *wait =
        (struct lock_wait){model->object[event], blocked_for_reading(model, model->object[event])};
    return true;
}

static bool is_progress(enum hd_edge_type type) {
    return type == HD_EDGE_JOIN || type == HD_EDGE_SIGNAL || type == HD_EDGE_BARRIER ||
           type == HD_EDGE_POST;
}

static int compare_held(const void *left, const void *right) {
    const struct held *a = left, *b = right;
    if (a->lock != b->lock) return a->lock < b->lock ? -1 : 1;
    return a->reading - b->reading;
}

/* Locks held when a thread comes to an event, by lock. */
static void list_held(struct builder *b, uint32_t event) {
    const struct hd_model *model = b->model;
    uint32_t count = hd_model_held(model, event, b->section.data, (uint32_t)b->section.capacity);
    if (count > b->section.capacity) {
        hd_vector_reserve(&b->section, count);
        hd_model_held(model, event, b->section.data, count);
    }
    b->held.size = 0;
    hd_vector_reserve(&b->held, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_section *section = &model->section[b->section.data[i]];
        if (section->acquire == event) continue;
        b->held.data[b->held.size++] =
            (struct held){section->lock, b->section.data[i], section->read_mode};
    }
    if (b->held.size > 1) qsort(b->held.data, b->held.size, sizeof *b->held.data, compare_held);
}

/* ---- the graph of resources --------------------------------------------------------------------
 */

static void add_edge(struct builder *b, uint32_t from, uint32_t to) {
    uint64_t key = (uint64_t)from << 32 | to;
    uint32_t fresh = b->edge_known.count;
    uint32_t *slot = hd_map_slot(&b->edge_known, key, fresh);
    if (*slot == fresh) hd_vector_push(&b->edge, key);
}

static void add_lock_edges(struct builder *b) {
    const struct hd_model *model = b->model;
    struct lock_wait wait;
    for (uint32_t s = 0; s < model->sections; s++) {
        uint32_t event = model->section[s].acquire;
        if (model->section[s].held == 0 || !waits_for_lock(model, event, &wait)) continue;
        list_held(b, event);
        for (size_t i = 0; i < b->held.size; i++) add_edge(b, b->held.data[i].lock, wait.wants);
    }
}

static void add_blocked_edges(struct builder *b) {
    const struct hd_model *model = b->model;
    struct lock_wait wait;
    for (uint32_t t = 0; t < model->threads; t++) {
        if (model->thread_start[t] == model->thread_start[t + 1]) continue;
        uint32_t event = model->thread_event[model->thread_start[t + 1] - 1];
        if (model->kind[event] != HD_EV_BLOCKED || !waits_for_lock(model, event, &wait)) continue;
        list_held(b, event);
        for (size_t i = 0; i < b->held.size; i++) add_edge(b, b->held.data[i].lock, wait.wants);
    }
}

static uint32_t thread_before(const struct hd_model *model, uint32_t event) {
    uint32_t position = hd_model_position(model, event);
    return position == 0
               ? HD_NONE
               : model->thread_event[model->thread_start[model->thread[event]] + position - 1];
}

/* The place of a wait, by thread, object and code. */
static uint32_t place_of(struct builder *b, const struct hd_edge *edge) {
    const struct hd_model *model = b->model;
    bool barrier = edge->type == HD_EDGE_BARRIER;
    struct hd_wait_place place = {.kind = barrier ? HD_EV_BARRIER_LEAVE : model->kind[edge->to],
                                  .object = model->object[barrier ? edge->from : edge->to],
                                  .thread = model->thread[edge->to]};
    uint32_t site = hd_site_number(model, &b->site_number, edge->to, place.object);
    uint32_t key[4] = {place.kind, place.object, place.thread, site};
    uint32_t number = hd_intern(&b->place, (const char *)key, sizeof key);
    if (number == b->graph->place.size) {
        hd_vector_push(&b->graph->place, place);
        hd_vector_push(&b->place_site, site);
    }
    return number;
}

static void note_progress(struct builder *b, const struct hd_edge *edge) {
    struct progress each = {edge->to, thread_before(b->model, edge->to), HD_NONE};
    if (each.behind == HD_NONE) return;
    if (b->progress.size > 0 && b->progress.data[b->progress.size - 1].event == each.event) return;
    list_held(b, edge->to);
    if (b->held.size == 0) return;
    each.place = place_of(b, edge);
    hd_vector_push(&b->progress, each);
    for (size_t i = 0; i < b->held.size; i++)
        add_edge(b, b->held.data[i].lock, b->model->locks + each.place);
}

/* Calls back for each lock wait that must come before the end of a wait, but need not come before
 * that wait begins. */
static void for_givers(struct builder *b, const struct progress *progress,
                       void (*found)(struct builder *, const struct progress *, uint32_t event,
                                     struct lock_wait)) {
    const struct hd_model *model = b->model;
    struct lock_wait wait;
    hd_clocks_get(b->graph->clocks, progress->event, b->clock);
    hd_clocks_get(b->graph->clocks, progress->behind, b->clock_behind);
    for (uint32_t t = 0; t < model->threads; t++) {
        if (t == model->thread[progress->event]) continue;
        const uint32_t *event = model->thread_event + model->thread_start[t];
        for (uint32_t i = b->clock_behind[t]; i < b->clock[t]; i++)
            if (waits_for_lock(model, event[i], &wait)) found(b, progress, event[i], wait);
    }
}

static void add_giver_edge(struct builder *b, const struct progress *progress, uint32_t event,
                           struct lock_wait wait) {
    (void)event;
    add_edge(b, b->model->locks + progress->place, wait.wants);
}

static void add_progress_edges(struct builder *b) {
    const struct hd_model *model = b->model;
    for (uint32_t i = 0; i < model->edges; i++)
        if (is_progress(model->edge[i].type)) note_progress(b, &model->edge[i]);
    if (b->progress.size == 0) return;
    b->graph->clocks = hd_must_clocks(b->analysis);
    b->clock = hd_alloc(model->threads + (size_t)1, sizeof *b->clock);
    b->clock_behind = hd_alloc(model->threads + (size_t)1, sizeof *b->clock_behind);
    for (size_t i = 0; i < b->progress.size; i++)
        for_givers(b, &b->progress.data[i], add_giver_edge);
}

/* ---- types -------------------------------------------------------------------------------------
 */

/* Locks of one array, or at one place of blocks that one place allocates, are of one class. */
static uint32_t class_of_object(struct builder *b, uint64_t operand, uint32_t block,
                                const char *name) {
    const struct hd_model *model = b->model;
    if (model->trace->format == HD_FORMAT_BINARY && block < model->blocks &&
        model->block[block].type != HD_BLOCK_STACK) {
        uint64_t key[2] = {model->site[model->block[block].alloc],
                           operand - model->block[block].address};
        return hd_intern(&b->class, (const char *)key, sizeof key);
    }
    char text[256];
    size_t length = 0;
    bool index = false, strip = model->trace->format == HD_FORMAT_BINARY;
    for (; *name != '\0' && length < sizeof text; name++) {
        if (*name == ']') index = false;
        if (!index) text[length++] = *name;
        if (*name == '[') index = strip;
    }
    return hd_intern(&b->class, text, length);
}

static uint32_t class_of(struct builder *b, uint32_t resource) {
    const struct hd_model *model = b->model;
    uint32_t *class = &b->resource_class[resource];
    if (*class != HD_NONE) return *class;
    if (resource < model->locks) {
        const struct hd_lock *lock = &model->lock[resource];
        return *class = class_of_object(b, lock->operand, lock->block,
                                        hd_describe_lock(b->describe, resource, HD_SHORT));
    }
    const struct hd_wait_place *place = &b->graph->place.data[resource - model->locks];
    uint32_t key[3] = {place->kind, b->place_site.data[resource - model->locks], 0};
    if (place->kind != HD_EV_JOIN && place->object < model->objects) {
        const struct hd_object *object = &model->sync_object[place->object];
        key[2] = class_of_object(b, object->operand, object->block,
                                 hd_describe_object(b->describe, place->object, HD_SHORT));
    }
    return *class = hd_intern(&b->class, (const char *)key, sizeof key);
}

/* ---- waiters and dependencies ------------------------------------------------------------------
 */

static void add_dependency(struct builder *b, struct hd_dependency dependency, uint32_t hold_site,
                           uint32_t want_site) {
    uint32_t holds = class_of(b, dependency.holds), wants = class_of(b, dependency.wants);
    uint32_t key[5] = {holds, wants, hold_site, want_site,
                       dependency.holds_reading * 2u + dependency.wants_reading};
    dependency.type = hd_intern(&b->type, (const char *)key, sizeof key);
    hd_vector_push(&b->graph->dependency, dependency);
}

static uint32_t site_of(struct builder *b, uint32_t event, uint32_t lock) {
    return hd_site_number(b->model, &b->site_number, event, lock);
}

/* The lock set of what is held, and in `key` where it was taken. */
static uint32_t lockset_of(struct builder *b) {
    b->key.size = 0;
    hd_vector_reserve(&b->key, 2 * b->held.size + 8);
    for (size_t i = 0; i < b->held.size; i++)
        b->key.data[i] = b->held.data[i].lock * 2 + b->held.data[i].reading;
    uint32_t set = hd_locksets_number(&b->graph->locksets, b->key.data, (uint32_t)b->held.size);
    for (size_t i = 0; i < b->held.size; i++) {
        uint32_t acquire = b->model->section[b->held.data[i].section].acquire;
        b->key.data[i] = site_of(b, acquire, b->held.data[i].lock);
    }
    b->key.size = b->held.size;
    return set;
}

/* The waiter that an event belongs to, whose held locks are listed. */
static uint32_t waiter_of(struct builder *b, struct hd_waiter fresh, uint32_t want_site) {
    struct hd_lock_graph *graph = b->graph;
    fresh.lockset = lockset_of(b);
    size_t sites = b->key.size;
    const uint32_t more[5] = {fresh.thread, fresh.wants, fresh.lockset, want_site,
                              fresh.reading * 2u + fresh.waits};
    memcpy(b->key.data + sites, more, sizeof more);
    uint32_t number =
        hd_intern(&b->waiter, (const char *)b->key.data, (sites + 5) * sizeof *b->key.data);
    if (number < graph->waiter.size) return number;
    hd_vector_push(&graph->waiter, fresh);
    for (size_t i = 0; i < b->held.size; i++) {
        const struct held *held = &b->held.data[i];
        if (i > 0 && held[-1].lock == held->lock)
            continue; /* held for writing too: that says all */
        struct hd_dependency dependency = {.holds = held->lock,
                                           .wants = fresh.wants,
                                           .waiter = number,
                                           .holds_reading = held->reading,
                                           .wants_reading = fresh.reading};
        if (hd_lock_parts_share(&b->parts, held->lock, fresh.wants))
            add_dependency(b, dependency, b->key.data[i], want_site);
    }
    return number;
}

static void add_instance(struct builder *b, uint32_t waiter, struct hd_wait_instance instance) {
    b->graph->waiter.data[waiter].all++;
    hd_vector_push(&b->found.waiter, waiter);
    hd_vector_push(&b->found.at, instance);
}

/* Is an earlier event of the waiter inside the same sections, with nothing in between that
 * another thread needs? */
static bool is_spoken_for(struct builder *b, uint32_t waiter, uint32_t segment) {
    size_t known = b->instance.name.size;
    b->key.size = 0;
    hd_vector_reserve(&b->key, b->held.size + 2);
    b->key.data[b->key.size++] = waiter;
    b->key.data[b->key.size++] = segment;
    for (size_t i = 0; i < b->held.size; i++) b->key.data[b->key.size++] = b->held.data[i].section;
    return hd_intern(&b->instance, (const char *)b->key.data, b->key.size * sizeof *b->key.data) <
           known;
}

static bool holds_something_of_part(struct builder *b, uint32_t wants) {
    for (size_t i = 0; i < b->held.size; i++)
        if (hd_lock_parts_share(&b->parts, b->held.data[i].lock, wants)) return true;
    return false;
}

static void add_lock_waiter(struct builder *b, uint32_t event, struct lock_wait wait,
                            uint32_t segment) {
    bool gives = hd_bitset_has(&b->gives, event);
    list_held(b, event);
    if (!gives && !holds_something_of_part(b, wait.wants)) return;
    struct hd_waiter fresh = {
        .wants = wait.wants, .thread = b->model->thread[event], .reading = wait.reading};
    uint32_t waiter = waiter_of(b, fresh, site_of(b, event, wait.wants));
    if (gives) hd_map_slot(&b->giver_waiter, event, waiter);
    if (!b->whole && is_spoken_for(b, waiter, segment))
        b->graph->waiter.data[waiter].all++;
    else
        add_instance(b, waiter, (struct hd_wait_instance){event, event});
}

static void add_lock_waiters(struct builder *b) {
    const struct hd_model *model = b->model;
    const struct hd_bitset *needed = hd_needed(b->analysis, HD_CDSR);
    struct lock_wait wait;
    uint32_t *segment = hd_zalloc(model->threads + (size_t)1, sizeof *segment);
    for (uint32_t e = 0; e < model->events; e++) {
        if (waits_for_lock(model, e, &wait) && hd_lock_parts_cyclic(&b->parts, wait.wants))
            add_lock_waiter(b, e, wait, segment[model->thread[e]]);
        if (hd_bitset_has(needed, e)) segment[model->thread[e]]++;
    }
    free(segment);
}

static void mark_giver(struct builder *b, const struct progress *progress, uint32_t event,
                       struct lock_wait wait) {
    uint32_t place = b->model->locks + progress->place;
    if (hd_lock_parts_share(&b->parts, place, wait.wants)) hd_bitset_add(&b->gives, event);
}

/* The lock wait "holds" the place: nothing goes on there without it. */
static void add_giver(struct builder *b, const struct progress *progress, uint32_t event,
                      struct lock_wait wait) {
    uint32_t place = b->model->locks + progress->place;
    if (!hd_lock_parts_share(&b->parts, place, wait.wants)) return;
    uint32_t waiter = hd_map_get(&b->giver_waiter, event, HD_NONE), fresh;
    if (waiter == HD_NONE) return;
    fresh = b->dependency_known.count;
    uint32_t *slot =
        hd_map_slot(&b->dependency_known, (uint64_t)progress->place << 32 | waiter, fresh);
    if (*slot != fresh) return;
    struct hd_dependency dependency = {
        .holds = place, .wants = wait.wants, .waiter = waiter, .wants_reading = wait.reading};
    add_dependency(b, dependency, HD_NONE, site_of(b, event, wait.wants));
}

static void add_progress_waiter(struct builder *b, const struct progress *progress) {
    uint32_t place = b->model->locks + progress->place;
    list_held(b, progress->event);
    struct hd_waiter fresh = {
        .wants = place, .thread = b->model->thread[progress->event], .waits = true};
    uint32_t waiter = waiter_of(b, fresh, b->place_site.data[progress->place]);
    add_instance(b, waiter, (struct hd_wait_instance){progress->event, progress->behind});
}

static void add_waiters(struct builder *b) {
    const struct progress *progress = b->progress.data;
    for (size_t i = 0; i < b->progress.size; i++)
        if (hd_lock_parts_cyclic(&b->parts, b->model->locks + progress[i].place))
            for_givers(b, &progress[i], mark_giver);
    add_lock_waiters(b);
    for (size_t i = 0; i < b->progress.size; i++) {
        if (!hd_lock_parts_cyclic(&b->parts, b->model->locks + progress[i].place)) continue;
        add_progress_waiter(b, &progress[i]);
        for_givers(b, &progress[i], add_giver);
    }
}

/* ---- indexes -----------------------------------------------------------------------------------
 */

static void list_instances(struct builder *b) {
    struct hd_lock_graph *graph = b->graph;
    uint32_t start = 0;
    hd_vector_reserve(&graph->instance, b->found.at.size);
    for (size_t i = 0; i < b->found.waiter.size; i++)
        graph->waiter.data[b->found.waiter.data[i]].count++;
    for (size_t i = 0; i < graph->waiter.size; i++) {
        graph->waiter.data[i].start = start;
        start += graph->waiter.data[i].count;
        graph->waiter.data[i].count = 0;
    }
    for (size_t i = 0; i < b->found.waiter.size; i++) {
        struct hd_waiter *waiter = &graph->waiter.data[b->found.waiter.data[i]];
        graph->instance.data[waiter->start + waiter->count++] = b->found.at.data[i];
    }
    graph->instance.size = start;
}

static int compare_dependencies(const void *left, const void *right) {
    const struct hd_dependency *a = left, *b = right;
    if (a->holds != b->holds) return a->holds < b->holds ? -1 : 1;
    if (a->wants != b->wants) return a->wants < b->wants ? -1 : 1;
    return a->waiter < b->waiter ? -1 : a->waiter > b->waiter;
}

static void index_dependencies(struct hd_lock_graph *graph) {
    graph->out = hd_zalloc(graph->resources + (size_t)1, sizeof *graph->out);
    if (graph->dependency.size > 1)
        qsort(graph->dependency.data, graph->dependency.size, sizeof *graph->dependency.data,
              compare_dependencies);
    uint32_t at = 0;
    for (uint32_t r = 0; r <= graph->resources; r++) {
        graph->out[r] = at;
        while (at < graph->dependency.size && graph->dependency.data[at].holds == r) at++;
    }
}

static bool is_giver(const struct hd_model *model, uint32_t event) {
    uint8_t kind = model->kind[event];
    return (kind == HD_EV_SIGNAL || kind == HD_EV_BROADCAST || kind == HD_EV_POST) &&
           model->object[event] < model->objects;
}

static void index_givers(struct hd_lock_graph *graph) {
    const struct hd_model *model = graph->model;
    uint32_t *start = graph->giver_start = hd_zalloc(model->objects + (size_t)2, sizeof *start);
    for (uint32_t e = 0; e < model->events; e++)
        if (is_giver(model, e)) start[model->object[e] + 2]++;
    for (uint32_t o = 0; o < model->objects; o++) start[o + 2] += start[o + 1];
    graph->giver = hd_alloc(start[model->objects + 1] + (size_t)1, sizeof *graph->giver);
    for (uint32_t e = 0; e < model->events; e++)
        if (is_giver(model, e)) graph->giver[start[model->object[e] + 1]++] = e;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static void build(struct builder *b) {
    struct hd_lock_graph *graph = b->graph;
    add_lock_edges(b);
    add_blocked_edges(b);
    add_progress_edges(b);
    graph->resources = b->model->locks + (uint32_t)graph->place.size;
    hd_lock_parts_build(&b->parts, b->edge.data, b->edge.size, graph->resources);
    if (b->parts.any) {
        graph->clocks = hd_must_clocks(b->analysis);
        b->resource_class = hd_alloc(graph->resources, sizeof *b->resource_class);
        memset(b->resource_class, 0xff, graph->resources * sizeof *b->resource_class);
        add_waiters(b);
        list_instances(b);
        if (graph->place.size > 0) index_givers(graph);
    }
    index_dependencies(graph);
}

void hd_lock_graph_build(struct hd_analysis *analysis, bool whole, struct hd_lock_graph *graph) {
    memset(graph, 0, sizeof *graph);
    graph->model = analysis->model;
    struct builder b = {.graph = graph,
                        .analysis = analysis,
                        .model = analysis->model,
                        .describe = analysis->describe,
                        .whole = whole};
    hd_locksets_init(&graph->locksets);
    build(&b);
    graph->types = (uint32_t)b.type.name.size;
    hd_vector_free(&b.held);
    hd_vector_free(&b.section);
    hd_vector_free(&b.edge);
    hd_map_free(&b.edge_known);
    hd_map_free(&b.site_number);
    hd_map_free(&b.dependency_known);
    hd_map_free(&b.giver_waiter);
    hd_intern_free(&b.place);
    hd_intern_free(&b.waiter);
    hd_intern_free(&b.instance);
    hd_intern_free(&b.class);
    hd_intern_free(&b.type);
    hd_vector_free(&b.progress);
    hd_vector_free(&b.place_site);
    hd_lock_parts_free(&b.parts);
    hd_bitset_free(&b.gives);
    free(b.resource_class);
    free(b.clock);
    free(b.clock_behind);
    hd_vector_free(&b.key);
    hd_vector_free(&b.found.waiter);
    hd_vector_free(&b.found.at);
}

void hd_lock_graph_free(struct hd_lock_graph *graph) {
    hd_locksets_free(&graph->locksets);
    hd_vector_free(&graph->instance);
    hd_vector_free(&graph->waiter);
    hd_vector_free(&graph->dependency);
    hd_vector_free(&graph->place);
    free(graph->out);
    free(graph->giver_start);
    free(graph->giver);
    memset(graph, 0, sizeof *graph);
}

uint32_t hd_instance_section(const struct hd_model *model, const struct hd_wait_instance *instance,
                             uint32_t lock) {
    uint32_t s = model->event_section[instance->event];
    for (; s != HD_NONE; s = model->section[s].outer) {
        const struct hd_section *each = &model->section[s];
        if (each->lock == lock && each->acquire != instance->event &&
            (each->release == HD_NONE || each->release >= instance->event))
            return s;
    }
    return HD_NONE;
}
