/* The candidate generator: location by location, coarse classes before fine ones, so that a hot
 * location whose accesses are protected costs one look at each. */
#include "facts/conflicts.h"

#include <stdlib.h>
#include <string.h>

/* Accesses of the location at hand by one thread under one lock set in one mode. */
struct lock_class {
    uint16_t thread;
    uint8_t mode;
    bool live; /* has a partner */
    uint32_t lockset;
    uint32_t first, last; /* events */
    uint32_t lists;       /* chain of its lists; HD_NONE ends it */
};

struct generator {
    struct hd_conflicts *result;
    const struct hd_model *model;
    uint32_t location;
    HD_VECTOR(struct lock_class) class;
    HD_VECTOR(uint32_t) class_of; /* of each access of the location */
    HD_VECTOR(uint32_t) next;     /* per list of the location: next of its class */
    HD_VECTOR(uint32_t) list_of;  /* of each access, HD_NONE if its class has no partner */
    HD_VECTOR(uint64_t) partners; /* pairs of classes */
    HD_VECTOR(uint32_t) place;    /* of each list of the location */
    uint32_t first_list;
    /* a hash table that forgets in no time: entries of another location count as empty */
    struct {
        uint64_t key;
        uint32_t stamp, value;
    } * slot;
    uint32_t mask, stamp;
    struct hd_map range;  /* first location << 32 | count -> number */
    struct hd_map placed; /* site << 32 | range -> number */
    uint32_t ranges, places;
    struct {
        uint32_t site, first, count;
        uint32_t event; /* any event there */
    } * place_info;
    size_t place_room;
};

/* ---- the small hash table ---------------------------------------------------------------------
 */

static bool clear_table(struct generator *g, uint32_t entries) {
    uint64_t wanted = 64;
    while (wanted < (uint64_t)entries * 2) wanted *= 2;
    if (g->slot == NULL || g->mask + (uint64_t)1 < wanted || g->stamp == UINT32_MAX) {
        free(g->slot);
        if (g->slot != NULL && g->mask + (uint64_t)1 > wanted) wanted = g->mask + (uint64_t)1;
        g->slot = calloc(wanted, sizeof *g->slot);
        if (g->slot == NULL) return false;
        g->mask = (uint32_t)(wanted - 1);
        g->stamp = 0;
    }
    g->stamp++;
    return true;
}

static uint32_t *table_slot(struct generator *g, uint64_t key, uint32_t initial) {
    uint32_t at = (uint32_t)hd_mix64(key) & g->mask;
    while (g->slot[at].stamp == g->stamp && g->slot[at].key != key) at = (at + 1) & g->mask;
    if (g->slot[at].stamp != g->stamp) {
        g->slot[at].stamp = g->stamp;
        g->slot[at].key = key;
        g->slot[at].value = initial;
    }
    return &g->slot[at].value;
}

/* ---- sites and places -------------------------------------------------------------------------
 */

static bool has_site(const struct hd_model *model, uint32_t site) {
    const struct hd_trace *trace = model->trace;
    if (trace->site_names == NULL) return trace->format == HD_FORMAT_BINARY && site != 0;
    return site < trace->sites && trace->site_names[site] != NULL &&
           trace->site_names[site][0] != '\0';
}

uint32_t hd_site_number(const struct hd_model *model, struct hd_map *number, uint32_t event,
                        uint32_t location) {
    uint32_t site = model->site[event];
    uint64_t key = has_site(model, site) ? site
                                         : (uint64_t)1 << 63 | (uint64_t)location << 1 |
                                               hd_model_is_write(model, event);
    uint32_t *slot = hd_map_slot(number, key, number->count);
    return slot != NULL ? *slot : UINT32_MAX;
}

/* A place is a site with the range of locations that an access touches there: all accesses of a
 * place overlap all accesses of another place in the same locations. */
static uint32_t place_of(struct generator *g, uint32_t event) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(g->model, event, &location), range = 0;
    uint32_t site = hd_site_number(g->model, &g->result->site_number, event, location[0]);
    if (site == UINT32_MAX) return HD_NONE;
    if (count > 1) {
        /* Lists of locations that are not one run are told apart by their event. */
        bool run = location[count - 1] - location[0] == count - 1;
        uint64_t key = run ? (uint64_t)location[0] << 32 | count : (uint64_t)1 << 63 | event;
        uint32_t *slot = hd_map_slot(&g->range, key, ++g->ranges);
        if (slot == NULL) return HD_NONE;
        range = *slot;
    }
    uint32_t *slot = hd_map_slot(&g->placed, (uint64_t)site << 32 | range, g->places);
    if (slot == NULL) return HD_NONE;
    if (*slot == g->places) {
        if (g->places >= g->place_room) {
            size_t room = g->place_room == 0 ? 64 : g->place_room * 2;
            void *larger = realloc(g->place_info, room * sizeof *g->place_info);
            if (larger == NULL) return HD_NONE;
            g->place_info = larger;
            g->place_room = room;
        }
        g->place_info[g->places].site = site;
        g->place_info[g->places].first = count > 1 ? location[0] : HD_NONE;
        g->place_info[g->places].count = count;
        g->place_info[g->places].event = event;
        g->places++;
    }
    return *slot;
}

/* Is the location at hand the first that accesses of two places have in common? Pairs that overlap
 * in several are taken up once. */
static bool first_common(const struct generator *g, uint32_t a, uint32_t b) {
    uint32_t first_a = g->place_info[a].first, first_b = g->place_info[b].first;
    if (first_a == HD_NONE || first_b == HD_NONE) return true; /* one touches this location only */
    const uint32_t *left, *right;
    uint32_t count_a = hd_model_locations(g->model, g->place_info[a].event, &left);
    uint32_t count_b = hd_model_locations(g->model, g->place_info[b].event, &right);
    bool runs =
        left[count_a - 1] - left[0] == count_a - 1 && right[count_b - 1] - right[0] == count_b - 1;
    if (runs) return g->location == (first_a > first_b ? first_a : first_b);
    for (uint32_t i = 0, k = 0; i < count_a && k < count_b;) { /* both ascend */
        if (left[i] == right[k]) return g->location == left[i];
        if (left[i] < right[k])
            i++;
        else
            k++;
    }
    return false;
}

/* ---- classes ----------------------------------------------------------------------------------
 */

/* Is one lock held by every access, for writing by every write? Then nothing here can race. A cheap
 * look that keeps well protected locations out of everything else. */
#define COMMON_LOCKS 8
static bool has_guard(const struct generator *g, const uint32_t *event, uint32_t count) {
    const struct hd_segments *segments = &g->result->segments;
    const struct hd_locksets *sets = &segments->locksets;
    uint32_t common[COMMON_LOCKS], left = 0, previous = HD_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t set = segments->segment.data[segments->of[event[i]]].lockset;
        bool write = hd_model_is_write(g->model, event[i]);
        if (i > 0 && set * 2 + write == previous) continue;
        previous = set * 2 + write;
        const struct hd_lockset *held = &sets->set.data[set];
        const uint32_t *lock = sets->held.data + held->start;
        if (i == 0)
            for (uint32_t k = 0; k < held->count && left < COMMON_LOCKS; k++)
                if (left == 0 || common[left - 1] != lock[k] / 2) common[left++] = lock[k] / 2;
        uint32_t kept = 0;
        for (uint32_t k = 0; k < left; k++)
            for (uint32_t j = 0; j < held->count; j++)
                if (lock[j] / 2 == common[k] && (!write || lock[j] % 2 == 0)) {
                    common[kept++] = common[k];
                    break;
                }
        left = kept;
        if (left == 0) return false;
    }
    return left > 0;
}

static bool classify(struct generator *g, const uint32_t *event, uint32_t count) {
    const struct hd_segments *segments = &g->result->segments;
    if (!clear_table(g, count)) return false;
    g->class.size = g->class_of.size = 0;
    if (!hd_vector_reserve(&g->class_of, count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t e = event[i], set = segments->segment.data[segments->of[e]].lockset;
        uint16_t thread = g->model->thread[e];
        enum hd_access_mode mode = hd_access_mode(g->model, e);
        uint64_t key = (uint64_t)set << 32 | (uint32_t)thread << 2 | mode;
        uint32_t at = *table_slot(g, key, (uint32_t)g->class.size);
        if (at == g->class.size) {
            struct lock_class fresh = {.thread = thread,
                                       .mode = (uint8_t)mode,
                                       .lockset = set,
                                       .first = e,
                                       .lists = HD_NONE};
            if (!hd_vector_push(&g->class, fresh)) return false;
        }
        g->class.data[at].last = e;
        g->class_of.data[g->class_of.size++] = at;
    }
    return true;
}

/* Classes whose accesses might race with each other. */
static bool pair_classes(struct generator *g) {
    const struct hd_conflicts *result = g->result;
    g->partners.size = 0;
    for (uint32_t i = 0; i < g->class.size; i++) {
        struct lock_class *a = &g->class.data[i];
        for (uint32_t k = i + 1; k < g->class.size; k++) {
            struct lock_class *b = &g->class.data[k];
            if (a->thread == b->thread || !hd_modes_race(a->mode, b->mode) ||
                hd_locksets_exclude(&result->segments.locksets, a->lockset, b->lockset) ||
                hd_clocks_before(result->fork_clocks, a->last, b->first) ||
                hd_clocks_before(result->fork_clocks, b->last, a->first))
                continue;
            a->live = b->live = true;
            if (!hd_vector_push(&g->partners, (uint64_t)i << 32 | k)) return false;
        }
    }
    return true;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static bool add_list(struct generator *g, uint32_t class, uint32_t place) {
    struct lock_class *owner = &g->class.data[class];
    struct hd_access_list list = {
        .site = g->place_info[place].site, .thread = owner->thread, .mode = owner->mode};
    if (!hd_vector_push(&g->result->list, list) || !hd_vector_push(&g->next, owner->lists) ||
        !hd_vector_push(&g->place, place))
        return false;
    owner->lists = (uint32_t)g->next.size - 1;
    return true;
}

/* The accesses of live classes, sorted into lists. */
static bool make_lists(struct generator *g, const uint32_t *event, uint32_t count) {
    struct hd_conflicts *result = g->result;
    g->first_list = (uint32_t)result->list.size;
    g->next.size = g->list_of.size = g->place.size = 0;
    uint32_t live = 0;
    for (uint32_t i = 0; i < count; i++) live += g->class.data[g->class_of.data[i]].live;
    if (!clear_table(g, live) || !hd_vector_reserve(&g->list_of, count) ||
        !hd_vector_reserve(&result->event, live))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = g->class_of.data[i], list = HD_NONE;
        if (g->class.data[class].live) {
            uint32_t place = place_of(g, event[i]);
            if (place == HD_NONE) return false;
            list = *table_slot(g, (uint64_t) class << 32 | place, (uint32_t)g->next.size);
            if (list == g->next.size && !add_list(g, class, place)) return false;
            result->list.data[g->first_list + list].count++;
        }
        g->list_of.data[g->list_of.size++] = list;
    }
    uint32_t start = (uint32_t)result->event.size;
    for (size_t i = g->first_list; i < result->list.size; i++) {
        result->list.data[i].start = start;
        start += result->list.data[i].count;
        result->list.data[i].count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (g->list_of.data[i] == HD_NONE) continue;
        struct hd_access_list *list = &result->list.data[g->first_list + g->list_of.data[i]];
        result->event.data[list->start + list->count++] = event[i];
    }
    result->event.size = start;
    return true;
}

/* ---- bundles ----------------------------------------------------------------------------------
 */

/* For each event of one list, the events of the other that are not ordered with it are a run,
 * and the runs only move forward. */
static bool find_unordered(const struct hd_conflicts *result, const struct hd_access_list *a,
                           const struct hd_access_list *b, uint32_t found[2]) {
    const uint32_t *left = result->event.data + a->start, *right = result->event.data + b->start;
    for (uint32_t i = 0, from = 0; i < a->count; i++) {
        while (from < b->count && hd_clocks_before(result->fork_clocks, right[from], left[i]))
            from++;
        if (from == b->count) return false;
        if (hd_clocks_before(result->fork_clocks, left[i], right[from])) continue;
        found[0] = left[i];
        found[1] = right[from];
        return true;
    }
    return false;
}

static bool add_bundle(struct generator *g, uint32_t a, uint32_t b) {
    struct hd_conflicts *result = g->result;
    if (!first_common(g, g->place.data[a], g->place.data[b])) return true;
    a += g->first_list;
    b += g->first_list;
    if (result->list.data[a].site > result->list.data[b].site) {
        uint32_t swapped = a;
        a = b;
        b = swapped;
    }
    struct hd_conflict_bundle bundle = {.location = g->location, .list = {a, b}};
    const struct hd_access_list *left = &result->list.data[a], *right = &result->list.data[b];
    if (!find_unordered(result, left, right, bundle.event)) return true;
    uint32_t fresh = (uint32_t)result->group.size;
    uint32_t *slot =
        hd_map_slot(&result->group_number, (uint64_t)left->site << 32 | right->site, fresh);
    if (slot == NULL) return false;
    bundle.group = *slot;
    if (*slot == fresh) {
        struct hd_conflict_group group = {.site = {left->site, right->site}};
        if (!hd_vector_push(&result->group, group)) return false;
    }
    result->group.data[bundle.group].count++;
    return hd_vector_push(&result->bundle, bundle);
}

static bool make_bundles(struct generator *g) {
    for (size_t i = 0; i < g->partners.size; i++) {
        uint32_t a = (uint32_t)(g->partners.data[i] >> 32), b = (uint32_t)g->partners.data[i];
        for (uint32_t x = g->class.data[a].lists; x != HD_NONE; x = g->next.data[x])
            for (uint32_t y = g->class.data[b].lists; y != HD_NONE; y = g->next.data[y])
                if (!add_bundle(g, x, y)) return false;
    }
    return true;
}

static int compare_bundles(const void *left, const void *right) {
    const struct hd_conflict_bundle *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    uint32_t last_a = a->event[0] > a->event[1] ? a->event[0] : a->event[1];
    uint32_t last_b = b->event[0] > b->event[1] ? b->event[0] : b->event[1];
    return last_a < last_b ? -1 : last_a > last_b;
}

static void sort_bundles(struct hd_conflicts *result) {
    if (result->bundle.size > 1)
        qsort(result->bundle.data, result->bundle.size, sizeof *result->bundle.data,
              compare_bundles);
    uint32_t start = 0;
    for (size_t i = 0; i < result->group.size; i++) {
        result->group.data[i].start = start;
        start += result->group.data[i].count;
    }
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool build_fork_clocks(struct hd_conflicts *candidates) {
    const struct hd_model *model = candidates->model;
    candidates->fork_edge = malloc((model->edges + (size_t)1) * sizeof *candidates->fork_edge);
    if (candidates->fork_edge == NULL) return false;
    candidates->forks = *model;
    candidates->forks.edge = candidates->fork_edge;
    candidates->forks.edges = 0;
    for (uint32_t i = 0; i < model->edges; i++)
        if (model->edge[i].type == HD_EDGE_FORK || model->edge[i].type == HD_EDGE_JOIN)
            candidates->fork_edge[candidates->forks.edges++] = model->edge[i];
    candidates->fork_clocks = hd_clocks_build(&candidates->forks);
    return candidates->fork_clocks != NULL;
}

static bool generate(struct generator *g, struct hd_progress *progress) {
    const struct hd_model *model = g->model;
    hd_progress_start(progress, "looking for candidates", model->locations);
    for (uint32_t l = 0; l < model->locations; l++) {
        hd_progress_step(progress, l);
        if (!model->location[l].shared) continue;
        g->result->shared_locations++;
        const uint32_t *event = model->location_event + model->location_start[l];
        uint32_t count = model->location_start[l + 1] - model->location_start[l];
        if (has_guard(g, event, count)) continue;
        g->location = l;
        if (!classify(g, event, count) || !pair_classes(g)) return false;
        if (g->partners.size == 0) continue;
        if (!make_lists(g, event, count) || !make_bundles(g)) return false;
    }
    sort_bundles(g->result);
    return true;
}

bool hd_conflicts_build(const struct hd_model *model, enum hd_reading reading,
                        struct hd_progress *progress, struct hd_conflicts *candidates,
                        struct hd_error *error) {
    memset(candidates, 0, sizeof *candidates);
    candidates->model = model;
    if (!hd_segments_build(model, reading, &candidates->segments, error)) return false;
    struct generator g = {.result = candidates, .model = model};
    candidates->clocks = hd_clocks_build(model);
    bool done =
        candidates->clocks != NULL && build_fork_clocks(candidates) && generate(&g, progress);
    candidates->sites = candidates->site_number.count;
    hd_vector_free(&g.class);
    hd_vector_free(&g.class_of);
    hd_vector_free(&g.next);
    hd_vector_free(&g.list_of);
    hd_vector_free(&g.partners);
    hd_vector_free(&g.place);
    hd_map_free(&g.range);
    hd_map_free(&g.placed);
    free(g.slot);
    free(g.place_info);
    if (done) return true;
    hd_conflicts_free(candidates);
    return hd_fail(error, HD_ERR_MEMORY, "out of memory: too many candidates");
}

void hd_conflicts_free(struct hd_conflicts *candidates) {
    hd_segments_free(&candidates->segments);
    hd_clocks_free(candidates->clocks);
    hd_clocks_free(candidates->fork_clocks);
    free(candidates->fork_edge);
    hd_vector_free(&candidates->event);
    hd_vector_free(&candidates->list);
    hd_vector_free(&candidates->bundle);
    hd_vector_free(&candidates->group);
    hd_map_free(&candidates->site_number);
    hd_map_free(&candidates->group_number);
    candidates->clocks = candidates->fork_clocks = NULL;
    candidates->fork_edge = NULL;
}

uint64_t hd_conflicts_instances(const struct hd_conflicts *candidates, uint32_t group) {
    const struct hd_conflict_group *each = &candidates->group.data[group];
    uint64_t count = 0;
    for (uint32_t n = each->start; n < each->start + each->count; n++) {
        const struct hd_conflict_bundle *bundle = &candidates->bundle.data[n];
        const struct hd_access_list *a = &candidates->list.data[bundle->list[0]];
        const struct hd_access_list *b = &candidates->list.data[bundle->list[1]];
        const uint32_t *left = candidates->event.data + a->start;
        const uint32_t *right = candidates->event.data + b->start;
        for (uint32_t i = 0, from = 0, to = 0; i < a->count; i++) {
            while (from < b->count &&
                   hd_clocks_before(candidates->fork_clocks, right[from], left[i]))
                from++;
            if (to < from) to = from;
            while (to < b->count && !hd_clocks_before(candidates->fork_clocks, left[i], right[to]))
                to++;
            count += to - from;
        }
    }
    return count;
}
