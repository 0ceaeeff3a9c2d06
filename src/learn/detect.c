/* Detection over a trace: see detect.h. The state of a cell is its last write and, for each thread
 * that accessed it, that thread's last access with the access that came next. */
#include "learn/detect.h"

#include "base/alloc.h"
#include "facts/site.h"
#include "learn/cells.h"

#include <string.h>

enum hd_pattern hd_detect_case(unsigned first, unsigned last_write, unsigned first_remote,
                               unsigned second, bool *by_write) {
    enum hd_pattern pattern = hd_pattern_of(first, last_write, second, false);
    *by_write = true;
    if (pattern == HD_PATTERN_RWR || pattern == HD_PATTERN_WWR || pattern == HD_PATTERN_RWW)
        return pattern;
    *by_write = false;
    pattern = hd_pattern_of(first, first_remote, second, false);
    return pattern == HD_PATTERN_WRW ? pattern : HD_PATTERN_NONE;
}

/* ---- state ------------------------------------------------------------------------------------
 */

/* A thread's last access to a cell. */
struct local {
    uint32_t event;
    uint32_t next; /* the access that came next, by whomever; HD_NONE */
    uint32_t thread;
};

struct cell {
    uint32_t latest; /* who accessed it last: index of local, HD_NONE */
    uint32_t last_write;
    uint32_t since; /* events before this one are forgotten */
    uint32_t only;  /* the one thread that accessed it, HD_NONE: none or several */
    bool several;
};

#define SEVERAL (HD_NONE - 1)

struct detector {
    const struct hd_model *model;
    struct hd_cells cells;
    HD_VECTOR(uint32_t) user; /* of each cell: the one thread that accesses it, or SEVERAL */
    HD_VECTOR(struct cell) cell;
    HD_VECTOR(struct local) local;
    struct hd_map local_of; /* cell and thread -> local */
    struct hd_map site;
    HD_VECTOR(uint32_t) access;        /* site and what it does -> executed, HD_NONE */
    HD_VECTOR(uint32_t) last_violated; /* of each executed access: the latest event */
    struct hd_map group;               /* three accesses and a pattern -> violation */
    HD_VECTOR(uint32_t) last;          /* of each violation: the latest I that was counted */
    struct hd_detected *out;
    hd_violated violated;
    void *context;
};

static const struct cell fresh_cell = {HD_NONE, HD_NONE, 0, HD_NONE, false};

static struct cell *cell_at(struct detector *d, uint32_t number) {
    while (d->cell.size <= number) hd_vector_push(&d->cell, fresh_cell);
    return &d->cell.data[number];
}

static uint32_t local_at(struct detector *d, const struct cell *cell, uint32_t number,
                         uint32_t thread) {
    if (cell->latest != HD_NONE && d->local.data[cell->latest].thread == thread)
        return cell->latest;
    uint32_t fresh = (uint32_t)d->local.size;
    uint32_t at = *hd_map_slot(&d->local_of, (uint64_t)number << 16 | thread, fresh);
    if (at == fresh) {
        struct local local = {HD_NONE, HD_NONE, thread};
        hd_vector_push(&d->local, local);
    }
    return at;
}

/* ---- what is found ----------------------------------------------------------------------------
 */

/* An access in the code as a number: its site and what it does. */
static uint32_t access_number(struct detector *d, uint32_t event) {
    const uint32_t *location;
    hd_model_locations(d->model, event, &location);
    return hd_site_number(d->model, &d->site, event, location[0]) * 4 +
           hd_access_does(d->model, event);
}

static uint32_t executed(struct detector *d, uint32_t event) {
    uint32_t number = access_number(d, event);
    while (d->access.size <= number) hd_vector_push(&d->access, HD_NONE);
    uint32_t *index = &d->access.data[number];
    if (*index == HD_NONE) {
        *index = (uint32_t)d->out->executed.size;
        struct hd_detected_access access = {.event = event};
        hd_vector_push(&d->out->executed, access);
        hd_vector_push(&d->last_violated, HD_NONE);
    }
    return *index;
}

static void violated(struct detector *d, uint32_t access, uint32_t first, uint32_t remote,
                     uint32_t second, enum hd_pattern pattern) {
    uint64_t pair = (uint64_t)access_number(d, first) << 32 | access_number(d, remote);
    uint64_t key = hd_mix64(hd_mix64(pair) ^ ((uint64_t)access << 3 | (uint64_t)pattern));
    uint32_t fresh = (uint32_t)d->out->violation.size;
    uint32_t index = *hd_map_slot(&d->group, key, fresh);
    if (index == fresh) {
        struct hd_detected_violation group = {first, remote, second, pattern, access, 0};
        hd_vector_push(&d->out->violation, group);
        hd_vector_push(&d->last, HD_NONE);
    }
    if (d->last.data[index] == second) return; /* at another cell of the same access */
    d->last.data[index] = second;
    d->out->violation.data[index].instances++;
    if (d->last_violated.data[access] != second) d->out->executed.data[access].violations++;
    d->last_violated.data[access] = second;
    if (d->violated != NULL) d->violated(d->context, first, remote, second, pattern);
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static unsigned does_at(const struct hd_model *model, uint32_t event) {
    return event == HD_NONE ? 0 : hd_access_does(model, event);
}

/* Was I separated from P? */
static void check(struct detector *d, const struct cell *cell, const struct local *p,
                  uint32_t event) {
    const struct hd_model *model = d->model;
    uint32_t access = executed(d, event);
    if (cell->several || cell->only != p->thread) d->out->executed.data[access].met = true;
    uint32_t write = cell->last_write, first = p->next;
    if (write != HD_NONE && (write < p->event || model->thread[write] == p->thread))
        write = HD_NONE;
    bool by_write;
    enum hd_pattern pattern =
        hd_detect_case(hd_access_does(model, p->event), does_at(model, write),
                       does_at(model, first), hd_access_does(model, event), &by_write);
    if (pattern != HD_PATTERN_NONE)
        violated(d, access, p->event, by_write ? write : first, event, pattern);
}

static void access_cell(struct detector *d, uint32_t number, uint32_t event) {
    uint32_t thread = d->model->thread[event];
    struct cell *cell = cell_at(d, number);
    uint32_t own = local_at(d, cell, number, thread);
    struct local *local = &d->local.data[own];
    if (local->event == event) return; /* a coarse cell that has several of its locations */
    bool known = local->event != HD_NONE && local->event >= cell->since;
    if (cell->latest != HD_NONE && cell->latest != own) {
        struct local *before = &d->local.data[cell->latest];
        if (before->next == HD_NONE) before->next = event;
    }
    if (known) check(d, cell, local, event);
    local->event = event;
    local->next = HD_NONE;
    cell->latest = own;
    if (cell->only == HD_NONE && !cell->several) cell->only = thread;
    if (cell->only != thread) cell->several = true;
    if (hd_access_does(d->model, event) & HD_DOES_WRITE) cell->last_write = event;
}

static void step(struct detector *d, uint32_t event) {
    const uint32_t *list;
    uint32_t count = hd_cells_reborn(&d->cells, event, &list);
    for (uint32_t i = 0; i < count; i++) {
        struct cell *cell = cell_at(d, list[i]);
        *cell = fresh_cell;
        cell->since = event;
    }
    if (hd_access_does(d->model, event) == 0) return;
    count = hd_cells_of(&d->cells, event, &list);
    for (uint32_t i = 0; i < count; i++)
        if (d->user.data[list[i]] == SEVERAL) access_cell(d, list[i], event);
}

/* Who accesses each cell. Nearly all memory is of one thread, and of no interest. */
static void find_users(struct detector *d) {
    for (uint32_t event = 0; event < d->model->events; event++) {
        const uint32_t *list;
        if (hd_access_does(d->model, event) == 0) continue;
        uint32_t count = hd_cells_of(&d->cells, event, &list), thread = d->model->thread[event];
        for (uint32_t i = 0; i < count; i++) {
            while (d->user.size <= list[i]) hd_vector_push(&d->user, HD_NONE);
            uint32_t *user = &d->user.data[list[i]];
            *user = *user == HD_NONE || *user == thread ? thread : SEVERAL;
        }
    }
}

void hd_detect(const struct hd_model *model, enum hd_granularity granularity,
               struct hd_detected *detected, hd_violated each, void *context) {
    struct detector d = {.model = model,
                         .cells = {.model = model, .granularity = granularity},
                         .out = detected,
                         .violated = each,
                         .context = context};
    memset(detected, 0, sizeof *detected);
    find_users(&d);
    for (uint32_t event = 0; event < model->events; event++) step(&d, event);
    hd_vector_free(&d.user);
    hd_cells_free(&d.cells);
    hd_vector_free(&d.cell);
    hd_vector_free(&d.local);
    hd_map_free(&d.local_of);
    hd_map_free(&d.site);
    hd_vector_free(&d.access);
    hd_vector_free(&d.last_violated);
    hd_map_free(&d.group);
    hd_vector_free(&d.last);
}

void hd_detected_free(struct hd_detected *detected) {
    hd_vector_free(&detected->executed);
    hd_vector_free(&detected->violation);
    memset(detected, 0, sizeof *detected);
}
