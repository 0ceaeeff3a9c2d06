/* Segments of all events in one pass: see segments.h for what they are and why they help. */
#include "facts/segments.h"

#include "base/bitset.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* Threads hold few locks at once; more than this many grow the list. */
struct holder {
    HD_VECTOR(uint32_t) section; /* open, oldest first */
    uint32_t interval;           /* counts what other threads need, unique over all threads */
    uint32_t next_end;           /* least release among the open sections */
    uint32_t segment;            /* present one; HD_NONE: to be looked up */
};

struct pass {
    const struct hd_model *model;
    struct hd_segments *segments;
    struct hd_bitset needed; /* events that another thread needs */
    struct holder *holder;   /* per thread */
    struct hd_map known;     /* interval << 32 | innermost section -> segment */
    uint32_t intervals;
    HD_VECTOR(uint32_t) sorted;
};

/* ---- what other threads need ----------------------------------------------------------------- */

static bool mark_needed(struct pass *pass, enum hd_reading reading) {
    const struct hd_model *model = pass->model;
    if (!hd_bitset_reserve(&pass->needed, model->events)) return false;
    for (uint32_t i = 0; i < model->edges; i++)
        if (!hd_bitset_add(&pass->needed, model->edge[i].from)) return false;
    for (uint32_t e = 0; e < model->events; e++) {
        uint8_t kind = model->kind[e];
        if (kind == HD_EV_TRY_FAILED) {
            uint32_t section = hd_model_failed_by(model, e);
            if (section != HD_NONE &&
                !hd_bitset_add(&pass->needed, model->section[section].acquire))
                return false;
            continue;
        }
        if (reading == HD_CSR) continue;
        if (kind != HD_EV_READ && kind != HD_EV_ATOMIC_READ && kind != HD_EV_ATOMIC_UPDATE)
            continue;
        const uint32_t *write;
        uint32_t writes = hd_model_reads_from(model, e, &write);
        for (uint32_t i = 0; i < writes; i++)
            if (write[i] != HD_NONE && model->thread[write[i]] != model->thread[e] &&
                !hd_bitset_add(&pass->needed, write[i]))
                return false;
    }
    return true;
}

/* ---- locks ------------------------------------------------------------------------------------
 */

static int compare_held(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static uint32_t lockset_of(struct pass *pass, const struct holder *holder) {
    const struct hd_model *model = pass->model;
    pass->sorted.size = 0;
    if (!hd_vector_reserve(&pass->sorted, holder->section.size)) return HD_NONE;
    for (size_t i = 0; i < holder->section.size; i++) {
        const struct hd_section *section = &model->section[holder->section.data[i]];
        pass->sorted.data[pass->sorted.size++] = section->lock * 2 + section->read_mode;
    }
    if (pass->sorted.size > 1)
        qsort(pass->sorted.data, pass->sorted.size, sizeof *pass->sorted.data, compare_held);
    return hd_locksets_number(&pass->segments->locksets, pass->sorted.data,
                              (uint32_t)pass->sorted.size);
}

static bool open_section(struct pass *pass, struct holder *holder, uint32_t section) {
    uint32_t end = pass->model->section[section].release;
    if (!hd_vector_push(&holder->section, section)) return false;
    if (end < holder->next_end) holder->next_end = end;
    holder->segment = HD_NONE;
    return true;
}

/* Sections that end at an event. One that is not the innermost (hand over hand) ends the interval
 * too: the innermost section alone would not tell which others are open. */
static void close_sections(struct pass *pass, struct holder *holder, uint32_t event) {
    const struct hd_section *all = pass->model->section;
    size_t kept = 0, count = holder->section.size;
    holder->next_end = HD_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t section = holder->section.data[i], end = all[section].release;
        if (end == event) {
            if (i + 1 < count) holder->interval = ++pass->intervals;
            continue;
        }
        holder->section.data[kept++] = section;
        if (end < holder->next_end) holder->next_end = end;
    }
    holder->section.size = kept;
    holder->segment = HD_NONE;
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static uint32_t find_segment(struct pass *pass, struct holder *holder, uint32_t event) {
    uint32_t innermost =
        holder->section.size > 0 ? holder->section.data[holder->section.size - 1] : HD_NONE;
    uint32_t fresh = (uint32_t)pass->segments->segment.size;
    uint32_t *slot = hd_map_slot(&pass->known, (uint64_t)holder->interval << 32 | innermost, fresh);
    if (slot == NULL) return HD_NONE;
    if (*slot == fresh) {
        struct hd_segment segment = {.first = event, .lockset = lockset_of(pass, holder)};
        if (segment.lockset == HD_NONE || !hd_vector_push(&pass->segments->segment, segment))
            return HD_NONE;
    }
    return *slot;
}

static bool walk(struct pass *pass) {
    const struct hd_model *model = pass->model;
    uint32_t next_section = 0;
    for (uint32_t e = 0; e < model->events; e++) {
        struct holder *holder = &pass->holder[model->thread[e]];
        while (next_section < model->sections && model->section[next_section].acquire == e)
            if (!open_section(pass, holder, next_section++)) return false;
        if (holder->segment == HD_NONE &&
            (holder->segment = find_segment(pass, holder, e)) == HD_NONE)
            return false;
        pass->segments->of[e] = holder->segment;
        if (e == holder->next_end) close_sections(pass, holder, e);
        if (hd_bitset_has(&pass->needed, e)) {
            holder->interval = ++pass->intervals;
            holder->segment = HD_NONE;
        }
    }
    return true;
}

bool hd_segments_build(const struct hd_model *model, enum hd_reading reading,
                       struct hd_segments *segments, struct hd_error *error) {
    memset(segments, 0, sizeof *segments);
    struct pass pass = {.model = model, .segments = segments};
    segments->of = malloc((model->events + (size_t)1) * sizeof *segments->of);
    pass.holder = calloc(model->threads + (size_t)1, sizeof *pass.holder);
    bool done =
        segments->of != NULL && pass.holder != NULL && hd_locksets_init(&segments->locksets);
    for (uint32_t t = 0; done && t < model->threads; t++) {
        pass.holder[t].interval = ++pass.intervals;
        pass.holder[t].next_end = pass.holder[t].segment = HD_NONE;
    }
    done = done && mark_needed(&pass, reading) && walk(&pass);
    for (uint32_t t = 0; pass.holder != NULL && t < model->threads; t++)
        hd_vector_free(&pass.holder[t].section);
    free(pass.holder);
    hd_bitset_free(&pass.needed);
    hd_map_free(&pass.known);
    hd_vector_free(&pass.sorted);
    if (done) return true;
    hd_segments_free(segments);
    return hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

void hd_segments_free(struct hd_segments *segments) {
    hd_vector_free(&segments->segment);
    hd_locksets_free(&segments->locksets);
    free(segments->of);
    segments->of = NULL;
}
