/* Orders that runs which passed have shown, told by functions and places in the source: events of
 * two runs have nothing else in common. */
#include "base/alloc.h"
#include "base/intern.h"
#include "predict/order_violations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hd_shown_orders {
    struct hd_intern known;
};

/* The words of a place are looked up once for each site. */
struct reader {
    struct hd_shown_orders *shown;
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_map seen; /* sites of an order: already added */
};

static void place_words(struct hd_describe *describe, uint32_t event, char *text, size_t room) {
    snprintf(text, room, "%s@%s", hd_describe_function(describe, event),
             hd_describe_site(describe, event));
}

static size_t order_words(struct hd_describe *describe, char type, uint32_t first, uint32_t second,
                          char *text, size_t room) {
    char one[512], two[512] = "";
    place_words(describe, first, one, sizeof one);
    if (second != HD_NONE) place_words(describe, second, two, sizeof two);
    snprintf(text, room, "%c %s %s", type, one, two);
    return strlen(text);
}

static void add(struct reader *reader, char type, uint32_t first, uint32_t second) {
    const struct hd_model *model = reader->model;
    uint64_t key = (uint64_t)model->site[first] << 32 |
                   (second == HD_NONE ? 0x80000000u : model->site[second]);
    uint32_t fresh = reader->seen.count;
    uint32_t *slot = hd_map_slot(&reader->seen, key, fresh);
    if (*slot != fresh) return;
    char text[1100];
    size_t length = order_words(reader->describe, type, first, second, text, sizeof text);
    hd_intern(&reader->shown->known, text, length);
}

/* Reads that came before the first write of another thread, and pairs of the first write and those
 * of other threads. */
static void read_location(struct reader *reader, uint32_t location) {
    const struct hd_model *model = reader->model;
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location], i = 0;
    for (; i < count && !hd_model_is_write(model, event[i]); i++)
        add(reader, 'r', event[i], HD_NONE);
    uint32_t first = i;
    for (i++; i < count; i++)
        if (hd_model_is_write(model, event[i]) &&
            model->thread[event[i]] != model->thread[event[first]])
            add(reader, 'w', event[first], event[i]);
}

struct hd_shown_orders *hd_shown_orders_build(const struct hd_predict_options *options) {
    struct hd_shown_orders *shown = hd_zalloc(1, sizeof *shown);
    for (uint32_t p = 0; p < options->passings; p++) {
        const struct hd_model *model = options->passing[p];
        struct reader reader = {
            .shown = shown, .model = model, .describe = options->passing_describe[p]};
        for (uint32_t l = 0; l < model->locations; l++)
            if (model->location[l].shared) read_location(&reader, l);
        hd_map_free(&reader.seen);
    }
    return shown;
}

void hd_shown_orders_free(struct hd_shown_orders *shown) {
    if (shown == NULL) return;
    hd_intern_free(&shown->known);
    free(shown);
}

bool hd_order_was_shown(const struct hd_shown_orders *shown, struct hd_describe *describe,
                        const struct hd_order_candidate *candidate,
                        const struct hd_order_group *group) {
    char text[1100];
    size_t length = 0;
    if (group->type == HD_ORDER_EARLY_READ)
        length = order_words(describe, 'r', candidate->first, HD_NONE, text, sizeof text);
    else if (group->type == HD_ORDER_LATE_INITIALISATION)
        length = order_words(describe, 'w', candidate->first, candidate->second, text, sizeof text);
    return length > 0 && hd_intern_find(&shown->known, text, length) != HD_INTERN_NONE;
}
