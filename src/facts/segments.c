/* Segments of all events in one pass: see segments.h for what they are and why they help. */
#include "facts/segments.h"

#include "base/alloc.h"
#include "base/map.h"
#include "facts/needs.h"
#include "facts/sane.h"

/* What is known of a thread during the pass. */
struct holder {
    HD_VECTOR(uint32_t) section; /* open, oldest first */
    uint32_t interval;           /* between events that others need; unique over all threads */
    uint32_t next_end;           /* least release among the open sections */
    uint32_t segment;            /* present one; HD_NONE: to be looked up */
};

struct pass {
    const struct hd_model *model;
    struct hd_segments *segments;
    struct holder *holder; /* per thread */
    struct hd_map known;   /* interval << 32 | innermost section -> segment */
    uint32_t intervals;
    HD_VECTOR(uint32_t) held;
};

static uint32_t lockset_of(struct pass *pass, const struct holder *holder) {
    pass->held.size = 0;
    for (size_t i = 0; i < holder->section.size; i++) {
        const struct hd_section *section = &pass->model->section[holder->section.data[i]];
        hd_vector_push(&pass->held, section->lock * 2 + section->read_mode);
    }
    return hd_locksets_number(&pass->segments->locksets, pass->held.data,
                              (uint32_t)pass->held.size);
}

static void open_section(struct pass *pass, struct holder *holder, uint32_t section) {
    uint32_t end = pass->model->section[section].release;
    hd_vector_push(&holder->section, section);
    if (end < holder->next_end) holder->next_end = end;
    holder->segment = HD_NONE;
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

static uint32_t find_segment(struct pass *pass, const struct holder *holder, uint32_t event) {
    uint32_t innermost =
        holder->section.size > 0 ? holder->section.data[holder->section.size - 1] : HD_NONE;
    uint32_t fresh = (uint32_t)pass->segments->segment.size;
    uint32_t *slot = hd_map_slot(&pass->known, (uint64_t)holder->interval << 32 | innermost, fresh);
    if (*slot == fresh) {
        struct hd_segment segment = {.first = event, .lockset = lockset_of(pass, holder)};
        hd_vector_push(&pass->segments->segment, segment);
    }
    return *slot;
}

static void walk(struct pass *pass, const struct hd_bitset *needed) {
    const struct hd_model *model = pass->model;
    uint32_t next_section = 0;
    for (uint32_t e = 0; e < model->events; e++) {
        struct holder *holder = &pass->holder[model->thread[e]];
        while (next_section < model->sections && model->section[next_section].acquire == e)
            open_section(pass, holder, next_section++);
        if (holder->segment == HD_NONE) holder->segment = find_segment(pass, holder, e);
        pass->segments->of[e] = holder->segment;
        if (e == holder->next_end) close_sections(pass, holder, e);
        if (hd_bitset_has(needed, e)) {
            holder->interval = ++pass->intervals;
            holder->segment = HD_NONE;
        }
    }
}

static void *build(struct hd_analysis *analysis, unsigned reading) {
    const struct hd_model *model = analysis->model;
    struct hd_segments *segments = hd_zalloc(1, sizeof *segments);
    struct pass pass = {.model = model, .segments = segments};
    segments->of = hd_alloc(model->events, sizeof *segments->of);
    pass.holder = hd_zalloc(model->threads, sizeof *pass.holder);
    hd_locksets_init(&segments->locksets);
    for (uint32_t t = 0; t < model->threads; t++) {
        pass.holder[t].interval = ++pass.intervals;
        pass.holder[t].next_end = pass.holder[t].segment = HD_NONE;
    }
    walk(&pass, hd_needed(analysis, (enum hd_reading)reading));
    for (uint32_t t = 0; t < model->threads; t++) hd_vector_free(&pass.holder[t].section);
    free(pass.holder);
    hd_map_free(&pass.known);
    hd_vector_free(&pass.held);
#ifdef HEDDLE_DEBUG
    hd_check_segments(analysis, segments, (enum hd_reading)reading);
#endif
    return segments;
}

static void free_segments(void *fact) {
    struct hd_segments *segments = fact;
    hd_vector_free(&segments->segment);
    hd_locksets_free(&segments->locksets);
    free(segments->of);
    free(segments);
}

static const struct hd_fact_kind kind = {build, free_segments, false};

struct hd_segments *hd_segments(struct hd_analysis *analysis, enum hd_reading reading) {
    return hd_analysis_fact(analysis, &kind, reading == HD_CSR ? HD_CSR : HD_CDSR);
}
