/* See html_page.h: a finding as the page's script wants it. A report of one trace has thousands of
 * findings with the same few events and steps: each is written once, and findings have its number.
 */
#include "base/alloc.h"
#include "base/json.h"
#include "report/html_page.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 400u
#define LANES 24u

/* ---- what is shared -------------------------------------------------------------------------- */

static json_t *share(struct hd_intern *shared, json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    if (text == NULL) hd_out_of_memory();
    uint32_t number = hd_intern(shared, text, strlen(text));
    free(text);
    return hd_json_number(number);
}

static void share_each(struct hd_intern *shared, json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_set_new(list, i, share(shared, json_array_get(list, i)));
}

static void share_order(struct hd_intern *shared, json_t *order) {
    share_each(shared, json_object_get(order, "steps"));
    share_each(shared, json_object_get(order, "arrows"));
}

static void share_parts(struct hd_intern *shared, json_t *finding) {
    json_t *schedule = json_object_get(finding, "schedule");
    json_t *events = json_object_get(finding, "events");
    share_order(shared, schedule);
    share_order(shared, json_object_get(schedule, "observed"));
    share_each(shared, json_object_get(schedule, "sections"));
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i);
        json_object_set_new(event, "stack", share(shared, json_object_get(event, "stack")));
    }
    share_each(shared, events);
}

/* ---- a whole witness ------------------------------------------------------------------------- */

/* Who runs when: the witness in columns of as many events, and for each thread a digit a column, 0
 * (not at all) to 9 (alone). */
struct strip {
    const char *thread[LANES];
    uint32_t lanes;
    uint64_t count[LANES][COLUMNS];
};

static uint32_t lane_of(struct strip *strip, const char *thread) {
    for (uint32_t i = 0; i < strip->lanes; i++)
        if (strcmp(strip->thread[i], thread) == 0) return i;
    if (strip->lanes == LANES) return LANES;
    strip->thread[strip->lanes] = thread;
    return strip->lanes++;
}

static void add_turn(struct strip *strip, uint32_t lane, uint64_t first, uint64_t end,
                     uint64_t total) {
    while (first < end) {
        uint64_t column = first * COLUMNS / total;
        /* the first event of the next column */
        uint64_t next = ((column + 1) * total + COLUMNS - 1) / COLUMNS;
        uint64_t stop = next < end ? next : end;
        strip->count[lane][column] += stop - first;
        first = stop;
    }
}

static json_t *json_strip(const struct hd_finding *finding) {
    struct strip *strip = hd_zalloc(1, sizeof *strip);
    uint64_t total = 0, at = 0, all[COLUMNS] = {0};
    bool cut = false;
    for (uint32_t i = 0; i < finding->turns; i++) total += finding->turn[i].events;
    for (uint32_t i = 0; i < finding->turns; i++) {
        uint32_t lane = lane_of(strip, finding->turn[i].thread);
        if (lane < LANES)
            add_turn(strip, lane, at, at + finding->turn[i].events, total);
        else
            cut = true;
        at += finding->turn[i].events;
    }
    for (uint64_t column = 0; column < COLUMNS; column++)
        all[column] = (column + 1) * total / COLUMNS - column * total / COLUMNS;
    json_t *threads = json_array(), *levels = json_array();
    for (uint32_t lane = 0; lane < strip->lanes; lane++) {
        char digit[COLUMNS + 1];
        for (uint32_t column = 0; column < COLUMNS; column++) {
            uint64_t count = strip->count[lane][column];
            uint64_t most = all[column] > count ? all[column] : count;
            digit[column] = (char)('0' + (count == 0 ? 0 : 1 + 8 * count / most));
        }
        digit[COLUMNS] = '\0';
        json_array_append_new(threads, hd_json_text(strip->thread[lane]));
        json_array_append_new(levels, json_string(digit));
    }
    free(strip);
    return json_pack("{s:I, s:I, s:o, s:o, s:b}", "events", HD_INT(total), "turns",
                     HD_INT(finding->turns), "threads", threads, "levels", levels, "cut", cut);
}

json_t *hd_html_finding(const struct hd_finding *finding, struct hd_intern *shared) {
    json_t *object = hd_report_finding_json(finding);
    share_parts(shared, object);
    if (finding->turns > 0) json_object_set_new(object, "strip", json_strip(finding));
    return object;
}
