/* The generator of conflicts: location by location, coarse classes before fine ones, so that a hot
 * location whose accesses are protected costs one look at each. */
#include "facts/conflicts.h"

#include "base/alloc.h"
#include "facts/guards.h"
#include "facts/sane.h"
#include "facts/scratch_table.h"
#include "facts/site.h"

/* Accesses of the location at hand by one thread under one lock set in one mode. */
struct lock_class {
    uint16_t thread;
    uint8_t mode;
    bool live; /* has a partner */
    uint32_t lockset;
    uint32_t first, last; /* events */
    uint32_t lists;       /* chain of its lists; HD_NONE ends it */
    uint32_t list_count;
};

/* Where a list of the location at hand comes from. */
struct origin {
    uint32_t class, extent;
    uint32_t next; /* list of the class */
};

struct generator {
    struct hd_conflicts *result;
    const struct hd_model *model;
    uint32_t location;
    uint64_t most; /* groups */
    HD_VECTOR(struct lock_class) class;
    HD_VECTOR(uint32_t) class_of; /* of each access of the location */
    HD_VECTOR(uint64_t) partners; /* pairs of classes */
    HD_VECTOR(struct origin) origin;
    uint32_t first_list;         /* of the location */
    HD_VECTOR(uint32_t) list_of; /* of each access, HD_NONE if its class has no partner */
    struct hd_scratch_table table;
    struct hd_map range;         /* first location << 32 | count -> number */
    struct hd_map extent_number; /* site << 32 | range -> extent */
    struct hd_map site_number;
    struct hd_map group_number; /* two site numbers -> group */
};

/* ---- extents ----------------------------------------------------------------------------------
 */

static uint32_t extent_of(struct generator *g, uint32_t event) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(g->model, event, &location), range = 0;
    uint32_t site = hd_site_number(g->model, &g->site_number, event, location[0]);
    if (count > 1) {
        /* Lists of locations that are not one run are told apart by their event. */
        bool run = location[count - 1] - location[0] == count - 1;
        uint64_t key = run ? (uint64_t)location[0] << 32 | count : (uint64_t)1 << 63 | event;
        range = *hd_map_slot(&g->range, key, g->range.count + 1);
    }
    uint32_t fresh = (uint32_t)g->result->extent.size;
    uint32_t number = *hd_map_slot(&g->extent_number, (uint64_t)site << 32 | range, fresh);
    if (number == fresh) {
        struct hd_access_extent extent = {site, count > 1 ? location[0] : HD_NONE, event};
        hd_vector_push(&g->result->extent, extent);
    }
    return number;
}

/* ---- classes ----------------------------------------------------------------------------------
 */

static bool is_class(const struct lock_class *class, uint32_t lockset, uint16_t thread,
                     uint8_t mode) {
    return class->lockset == lockset && class->thread == thread && class->mode == mode;
}

static void classify(struct generator *g, const uint32_t *event, uint32_t count) {
    hd_scratch_clear(&g->table, count);
    g->class.size = g->class_of.size = 0;
    hd_vector_reserve(&g->class_of, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t e = event[i], set = hd_lockset_at(g->result->segments, e);
        uint16_t thread = g->model->thread[e];
        uint8_t mode = (uint8_t)hd_access_mode(g->model, e);
        struct hd_scratch_slot *slot =
            hd_scratch_find(&g->table, (uint64_t)set << 32 | (uint32_t)thread << 2 | mode, at,
                            is_class(&g->class.data[at], set, thread, mode));
        if (hd_scratch_is_empty(&g->table, slot)) {
            struct lock_class fresh = {
                .thread = thread, .mode = mode, .lockset = set, .first = e, .lists = HD_NONE};
            hd_scratch_put(&g->table, slot, (uint32_t)g->class.size);
            hd_vector_push(&g->class, fresh);
        }
        g->class.data[slot->value].last = e;
        g->class_of.data[g->class_of.size++] = slot->value;
    }
}

/* Classes whose accesses might race with each other. */
static void pair_classes(struct generator *g) {
    const struct hd_conflicts *result = g->result;
    g->partners.size = 0;
    for (uint32_t i = 0; i < g->class.size; i++) {
        struct lock_class *a = &g->class.data[i];
        for (uint32_t k = i + 1; k < g->class.size; k++) {
            struct lock_class *b = &g->class.data[k];
            if (a->thread == b->thread || !hd_modes_race(a->mode, b->mode) ||
                hd_locksets_exclude(&result->segments->locksets, a->lockset, b->lockset) ||
                hd_clocks_before(result->fork_clocks, a->last, b->first) ||
                hd_clocks_before(result->fork_clocks, b->last, a->first))
                continue;
            a->live = b->live = true;
            hd_vector_push(&g->partners, (uint64_t)i << 32 | k);
        }
    }
}

/* ---- lists ------------------------------------------------------------------------------------
 */

/* The list of an access of a class, by number within the location. */
static uint32_t list_for(struct generator *g, uint32_t class, uint32_t event) {
    uint32_t extent = extent_of(g, event);
    struct hd_scratch_slot *slot =
        hd_scratch_find(&g->table, (uint64_t) class << 32 | extent, at,
                        g->origin.data[at].class == class && g->origin.data[at].extent == extent);
    if (hd_scratch_is_empty(&g->table, slot)) {
        struct lock_class *owner = &g->class.data[class];
        struct origin origin = {class, extent, owner->lists};
        struct hd_access_list list = {.site = g->result->extent.data[extent].site,
                                      .location = g->location,
                                      .lockset = owner->lockset,
                                      .extent = extent,
                                      .thread = owner->thread,
                                      .mode = owner->mode};
        owner->lists = (uint32_t)g->origin.size;
        owner->list_count++;
        hd_scratch_put(&g->table, slot, owner->lists);
        hd_vector_push(&g->origin, origin);
        hd_vector_push(&g->result->list, list);
    }
    return slot->value;
}

/* The accesses of live classes, sorted into lists. */
static void make_lists(struct generator *g, const uint32_t *event, uint32_t count) {
    struct hd_conflicts *result = g->result;
    g->first_list = (uint32_t)result->list.size;
    g->list_of.size = g->origin.size = 0;
    uint32_t live = 0, start = (uint32_t)result->event.size;
    for (uint32_t i = 0; i < count; i++) live += g->class.data[g->class_of.data[i]].live;
    hd_scratch_clear(&g->table, live);
    hd_vector_reserve(&g->list_of, count);
    hd_vector_reserve(&result->event, live);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = g->class_of.data[i], list = HD_NONE;
        if (g->class.data[class].live) {
            list = list_for(g, class, event[i]);
            result->list.data[g->first_list + list].count++;
        }
        g->list_of.data[g->list_of.size++] = list;
    }
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
}

/* ---- bundles ----------------------------------------------------------------------------------
 */

/* Is a location the first that accesses of two extents have in common? Pairs that overlap in
 * several are taken up once. */
static bool first_common(const struct hd_conflicts *conflicts, uint32_t location, uint32_t x,
                         uint32_t y) {
    const struct hd_access_extent *a = &conflicts->extent.data[x], *b = &conflicts->extent.data[y];
    if (a->first == HD_NONE || b->first == HD_NONE) return true; /* one touches this one only */
    const uint32_t *left, *right;
    uint32_t count_a = hd_model_locations(conflicts->model, a->event, &left);
    uint32_t count_b = hd_model_locations(conflicts->model, b->event, &right);
    bool runs =
        left[count_a - 1] - left[0] == count_a - 1 && right[count_b - 1] - right[0] == count_b - 1;
    if (runs) return location == (a->first > b->first ? a->first : b->first);
    for (uint32_t i = 0, k = 0; i < count_a && k < count_b;) { /* both ascend */
        if (left[i] == right[k]) return location == left[i];
        if (left[i] < right[k])
            i++;
        else
            k++;
    }
    return false;
}

/* The run of the right list's events that forks and joins do not order with left[i]; `from` and
 * `to` are those of an earlier event of the left list (or 0) and only move forward. */
static void advance(const struct hd_conflicts *result, uint32_t event, const uint32_t *right,
                    uint32_t rights, uint32_t *from, uint32_t *to) {
    const struct hd_clocks *clocks = result->fork_clocks;
    while (*from < rights && hd_clocks_before(clocks, right[*from], event)) (*from)++;
    if (*to < *from) *to = *from;
    while (*to < rights && !hd_clocks_before(clocks, event, right[*to])) (*to)++;
}

static bool find_unordered(const struct hd_conflicts *result, struct hd_conflict_bundle *bundle) {
    const struct hd_access_list *a = &result->list.data[bundle->list[0]];
    const struct hd_access_list *b = &result->list.data[bundle->list[1]];
    const struct hd_clocks *clocks = result->fork_clocks;
    const uint32_t *left = result->event.data + a->start, *right = result->event.data + b->start;
    for (uint32_t i = 0, from = 0; i < a->count; i++) {
        while (from < b->count && hd_clocks_before(clocks, right[from], left[i])) from++;
        if (from == b->count) return false;
        if (hd_clocks_before(clocks, left[i], right[from])) continue;
        bundle->event[0] = left[i];
        bundle->event[1] = right[from];
        return true;
    }
    return false;
}

/* Can accesses of two lists of one location race, as far as all but forks and joins tell? */
static bool may_race(const struct hd_conflicts *conflicts, const struct hd_access_list *a,
                     const struct hd_access_list *b) {
    return a->thread != b->thread && hd_modes_race(a->mode, b->mode) &&
           !hd_locksets_exclude(&conflicts->segments->locksets, a->lockset, b->lockset) &&
           first_common(conflicts, a->location, a->extent, b->extent);
}

static uint32_t later_of(const uint32_t event[2]) {
    return event[0] > event[1] ? event[0] : event[1];
}

static int compare_bundles(const void *left, const void *right) {
    const struct hd_conflict_bundle *a = left, *b = right;
    uint32_t last_a = later_of(a->event), last_b = later_of(b->event);
    return last_a < last_b ? -1 : last_a > last_b;
}

/* In the order of locations and lists. */
static void list_bundles(const struct hd_conflicts *conflicts, uint32_t group,
                         struct hd_conflict_bundles *bundles) {
    const uint32_t *site = conflicts->group.data[group].site, *list = conflicts->site_list;
    uint32_t x = conflicts->site_start[site[0]], last_x = conflicts->site_start[site[0] + 1];
    uint32_t y = conflicts->site_start[site[1]], last_y = conflicts->site_start[site[1] + 1];
    bundles->list.size = 0;
    for (; x < last_x; x++) {
        const struct hd_access_list *a = &conflicts->list.data[list[x]];
        while (y < last_y && conflicts->list.data[list[y]].location < a->location) y++;
        for (uint32_t z = site[0] == site[1] ? x + 1 : y; z < last_y; z++) {
            const struct hd_access_list *b = &conflicts->list.data[list[z]];
            if (b->location != a->location) break;
            struct hd_conflict_bundle bundle = {.location = a->location,
                                                .list = {list[x], list[z]}};
            if (may_race(conflicts, a, b) && find_unordered(conflicts, &bundle))
                hd_vector_push(&bundles->list, bundle);
        }
    }
}

void hd_conflicts_bundles(const struct hd_conflicts *conflicts, uint32_t group,
                          struct hd_conflict_bundles *bundles) {
    list_bundles(conflicts, group, bundles);
    if (bundles->list.size > 1)
        qsort(bundles->list.data, bundles->list.size, sizeof *bundles->list.data, compare_bundles);
}

/* ---- groups -----------------------------------------------------------------------------------
 */

/* Two lists of the location at hand, of classes that may race: a new group, or another bundle of a
 * known one. There may be very many pairs of lists for each group. */
static void add_lists(struct generator *g, uint32_t a, uint32_t b) {
    struct hd_conflicts *result = g->result;
    a += g->first_list;
    b += g->first_list;
    const struct hd_access_list *left = &result->list.data[a], *right = &result->list.data[b];
    bool swap = left->site > right->site;
    struct hd_conflict_bundle bundle = {.location = g->location,
                                        .list = {swap ? b : a, swap ? a : b}};
    uint32_t site[2] = {swap ? right->site : left->site, swap ? left->site : right->site};
    uint64_t key = (uint64_t)site[0] << 32 | site[1];
    uint32_t known = hd_map_get(&g->group_number, key, HD_NONE);
    if (known != HD_NONE) {
        struct hd_conflict_bundle *first = &result->group.data[known].first;
        uint32_t start[2] = {result->event.data[left->start], result->event.data[right->start]};
        if (later_of(start) < later_of(first->event) && may_race(result, left, right) &&
            find_unordered(result, &bundle) && compare_bundles(&bundle, first) < 0)
            *first = bundle;
        return;
    }
    if (!may_race(result, left, right) || !find_unordered(result, &bundle)) return;
    struct hd_conflict_group group = {.site = {site[0], site[1]}, .first = bundle};
    hd_map_slot(&g->group_number, key, (uint32_t)result->group.size);
    hd_vector_push(&result->group, group);
}

/* Of a location with very many pairs of lists: the nearest in the trace first, up to so many new
 * groups. */
static void add_nearest(struct generator *g, uint64_t pairs, uint64_t share) {
    struct hd_conflicts *result = g->result;
    uint32_t lists = (uint32_t)g->origin.size;
    size_t full = result->group.size + share;
    uint64_t seen = 0;
    for (uint32_t distance = 1; distance < lists; distance++)
        for (uint32_t a = 0; a + distance < lists; a++) {
            const struct hd_access_list *list = &result->list.data[g->first_list];
            if (list[a].thread == list[a + distance].thread ||
                !hd_modes_race(list[a].mode, list[a + distance].mode))
                continue;
            if (result->group.size == full) {
                result->left += pairs > seen ? pairs - seen : 1;
                return;
            }
            seen++;
            add_lists(g, a, a + distance);
        }
}

/* So many pairs of lists of one location are always looked at. */
#define FEW_PAIRS 10000u

static void make_groups(struct generator *g) {
    uint64_t pairs = 0,
             left = g->most > g->result->group.size ? g->most - g->result->group.size : 0;
    for (size_t i = 0; i < g->partners.size; i++)
        pairs += (uint64_t)g->class.data[g->partners.data[i] >> 32].list_count *
                 g->class.data[(uint32_t)g->partners.data[i]].list_count;
    if (pairs > FEW_PAIRS && pairs > left / 2) {
        /* half of what is left for all, so that later ones come to something too */
        add_nearest(g, pairs, left / 2);
        return;
    }
    for (size_t i = 0; i < g->partners.size; i++) {
        uint32_t a = (uint32_t)(g->partners.data[i] >> 32), b = (uint32_t)g->partners.data[i];
        for (uint32_t x = g->class.data[a].lists; x != HD_NONE; x = g->origin.data[x].next)
            for (uint32_t y = g->class.data[b].lists; y != HD_NONE; y = g->origin.data[y].next)
                add_lists(g, x, y);
    }
}

/* The lists of each site; they are in the order of locations. */
static void index_sites(struct hd_conflicts *conflicts, uint32_t sites) {
    size_t lists = conflicts->list.size;
    uint32_t *start = hd_zalloc(sites + 2, sizeof *start), *list = hd_alloc(lists, sizeof *list);
    for (size_t i = 0; i < lists; i++) start[conflicts->list.data[i].site + 2]++;
    for (uint32_t site = 0; site < sites; site++) start[site + 2] += start[site + 1];
    for (size_t i = 0; i < lists; i++)
        list[start[conflicts->list.data[i].site + 1]++] = (uint32_t)i;
    conflicts->site_start = start;
    conflicts->site_list = list;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static void look_at(struct generator *g, uint32_t location) {
    const struct hd_model *model = g->model;
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    uint32_t guard[HD_MOST_GUARDS];
    if (hd_find_guards(model, g->result->segments, event, count, guard) > 0) return;
    g->location = location;
    classify(g, event, count);
    pair_classes(g);
    if (g->partners.size == 0) return;
    make_lists(g, event, count);
    make_groups(g);
}

static void *build(struct hd_analysis *analysis, unsigned reading) {
    const struct hd_model *model = analysis->model;
    struct hd_conflicts *conflicts = hd_zalloc(1, sizeof *conflicts);
    struct generator g = {
        .result = conflicts, .model = model, .most = hd_most_candidates(analysis)};
    conflicts->model = model;
    conflicts->segments = hd_segments(analysis, (enum hd_reading)reading);
    conflicts->clocks = hd_must_clocks(analysis);
    conflicts->fork_clocks = hd_fork_clocks(analysis);
    hd_progress_start(analysis->progress, "looking for candidates", model->locations);
    for (uint32_t l = 0; l < model->locations; l++) {
        hd_progress_step(analysis->progress, l);
        if (model->location[l].shared) look_at(&g, l);
    }
    index_sites(conflicts, (uint32_t)g.site_number.count);
    hd_vector_free(&g.class);
    hd_vector_free(&g.class_of);
    hd_vector_free(&g.partners);
    hd_vector_free(&g.origin);
    hd_vector_free(&g.list_of);
    free(g.table.slot);
    hd_map_free(&g.range);
    hd_map_free(&g.extent_number);
    hd_map_free(&g.site_number);
    hd_map_free(&g.group_number);
#ifdef HEDDLE_DEBUG
    hd_check_conflicts(conflicts);
#endif
    return conflicts;
}

static void free_conflicts(void *fact) {
    struct hd_conflicts *conflicts = fact;
    hd_vector_free(&conflicts->event);
    hd_vector_free(&conflicts->list);
    hd_vector_free(&conflicts->extent);
    hd_vector_free(&conflicts->group);
    free(conflicts->site_start);
    free(conflicts->site_list);
    free(conflicts);
}

static const struct hd_fact_kind kind = {build, free_conflicts, false};

const struct hd_conflicts *hd_conflicts(struct hd_analysis *analysis, enum hd_reading reading) {
    return hd_analysis_fact(analysis, &kind, reading == HD_CSR ? HD_CSR : HD_CDSR);
}

uint64_t hd_conflicts_instances(const struct hd_conflicts *conflicts, uint32_t group) {
    struct hd_conflict_bundles bundles = {0};
    uint64_t count = 0;
    list_bundles(conflicts, group, &bundles);
    for (size_t n = 0; n < bundles.list.size; n++) {
        const struct hd_access_list *a = &conflicts->list.data[bundles.list.data[n].list[0]];
        const struct hd_access_list *b = &conflicts->list.data[bundles.list.data[n].list[1]];
        const uint32_t *left = conflicts->event.data + a->start;
        for (uint32_t i = 0, from = 0, to = 0; i < a->count; i++) {
            advance(conflicts, left[i], conflicts->event.data + b->start, b->count, &from, &to);
            count += to - from;
        }
    }
    hd_vector_free(&bundles.list);
    return count;
}
