/* The first write of a location, and what other threads do to it that might come before: a read
 * that would find the initial value (Mozilla's mThread), a write that would be undone (dissertation
 * 3.3, Figs 3.2 and 3.4). One look at each access of a shared location. */
#include "base/alloc.h"
#include "predict/order_violations.h"

#include <stdlib.h>

/* What is known of a thread at the location at hand. */
struct visitor {
    uint32_t location; /* that this is about */
    bool has_read;     /* what someone wrote: no initial value any more */
    bool has_written;
};

struct pass {
    struct hd_order_candidates *candidates;
    const struct hd_model *model;
    struct visitor *visitor; /* per thread */
};

/* The initialisation: the first write, unless it is the end of the block. */
static uint32_t first_write(const struct hd_model *model, const uint32_t *event, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!hd_model_is_write(model, event[i])) continue;
        return model->kind[event[i]] == HD_EV_FREE ? count : i;
    }
    return count;
}

static void visit(struct pass *pass, uint32_t location, uint32_t write, uint32_t event) {
    const struct hd_model *model = pass->model;
    struct hd_order_candidates *candidates = pass->candidates;
    struct visitor *visitor = &pass->visitor[model->thread[event]];
    if (visitor->location != location) *visitor = (struct visitor){.location = location};
    if (model->thread[event] == model->thread[write] || visitor->has_written) return;
    bool ordered = hd_order_follows(candidates, event, write);
    if (ordered || model->kind[event] == HD_EV_FREE) {
        visitor->has_read = visitor->has_written = true; /* nothing of it can come before */
        return;
    }
    if (hd_model_is_read(model, event) && !visitor->has_read) {
        bool raw = hd_block_is_raw(model, model->location[location].block);
        hd_order_add(candidates, HD_ORDER_EARLY_READ, raw, event, write, location);
    }
    if (hd_model_is_write(model, event)) {
        hd_order_add(candidates, HD_ORDER_LATE_INITIALISATION, false, event, write, location);
        visitor->has_written = true;
    }
    if (hd_model_is_read(model, event)) visitor->has_read = true;
}

/* Reads that this run did before the initialisation, of memory that nobody has set to anything. The
 * thread that allocated the block must be the one that initialises it: what fills a block unseen (a
 * library) is no reader's fault. */
static void visit_raw(struct pass *pass, uint32_t location, const uint32_t *event, uint32_t first) {
    const struct hd_model *model = pass->model;
    uint32_t block = model->location[location].block, write = event[first];
    if (!hd_block_is_raw(model, block) ||
        model->thread[model->block[block].alloc] != model->thread[write])
        return;
    for (uint32_t i = 0; i < first; i++)
        if (model->thread[event[i]] != model->thread[write])
            hd_order_add(pass->candidates, HD_ORDER_EARLY_READ, true, event[i], write, location);
}

void hd_order_find_initialisations(struct hd_order_candidates *candidates) {
    const struct hd_model *model = candidates->model;
    struct pass pass = {.candidates = candidates, .model = model};
    pass.visitor = hd_alloc(model->threads + (size_t)1, sizeof *pass.visitor);
    for (uint32_t t = 0; t < model->threads; t++)
        pass.visitor[t] = (struct visitor){.location = HD_NONE};
    for (uint32_t l = 0; l < model->locations; l++) {
        /* A descriptor is not initialised; who uses it too early has no number yet. */
        if (!model->location[l].shared ||
            hd_trace_is_descriptor(model->trace, model->location[l].address))
            continue;
        const uint32_t *event = model->location_event + model->location_start[l];
        uint32_t count = model->location_start[l + 1] - model->location_start[l];
        uint32_t first = first_write(model, event, count);
        if (first < count) visit_raw(&pass, l, event, first);
        for (uint32_t i = first + 1; i < count; i++) visit(&pass, l, event[first], event[i]);
    }
    free(pass.visitor);
}
