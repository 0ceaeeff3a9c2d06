/* See html_page.h: which lines of which files a page shows. */
#include "base/intern.h"
#include "base/json.h"
#include "report/html_page.h"

#include <stdlib.h>

#define AROUND_EVENT 5u /* lines before and after */
#define AROUND_FRAME 2u
#define MOST_LINES 200000u /* of a page */

struct window {
    uint32_t file, first, last;
};

struct places {
    struct hd_intern files;
    HD_VECTOR(struct window) window;
};

static void add(struct places *places, const char *file, uint32_t line, uint32_t around) {
    if (file == NULL || *file == '\0' || line == 0 || line > UINT32_MAX - around) return;
    struct window window = {.file = hd_intern(&places->files, file, strlen(file)),
                            .first = line > around ? line - around : 1,
                            .last = line + around};
    size_t size = places->window.size;
    /* most are the same as the one before */
    if (size > 0 && memcmp(&places->window.data[size - 1], &window, sizeof window) == 0) return;
    hd_vector_push(&places->window, window);
}

static void add_steps(struct places *places, const struct hd_finding_step *step, uint32_t steps) {
    for (uint32_t i = 0; i < steps; i++) add(places, step[i].file, step[i].line, AROUND_EVENT);
}

static void add_finding(struct places *places, const struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->events; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        add(places, event->file, event->line, AROUND_EVENT);
        for (uint32_t k = 0; k < event->frames; k++)
            add(places, event->frame[k].file, event->frame[k].line, AROUND_FRAME);
    }
    add_steps(places, finding->step, finding->steps);
    if (finding->picture != NULL)
        add_steps(places, finding->picture->observed, finding->picture->observed_steps);
    for (uint32_t i = 0; i < finding->rules; i++)
        for (uint32_t k = 0; k < finding->rule[i].keepers; k++)
            add(places, finding->rule[i].keeper[k].file, finding->rule[i].keeper[k].line,
                AROUND_FRAME);
}

static int compare(const void *left, const void *right) {
    const struct window *a = left, *b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Windows that overlap or touch become one. */
static void merge(struct places *places) {
    size_t kept = 0;
    struct window *window = places->window.data;
    if (places->window.size == 0) return;
    qsort(window, places->window.size, sizeof *window, compare);
    for (size_t i = 1; i < places->window.size; i++) {
        if (window[i].file == window[kept].file && window[i].first <= window[kept].last + 1) {
            if (window[i].last > window[kept].last) window[kept].last = window[i].last;
        } else
            window[++kept] = window[i];
    }
    places->window.size = kept + 1;
}

static json_t *lines_of(struct hd_excerpts *excerpts, const char *path, struct window window,
                        uint32_t *left) {
    json_t *lines = json_array();
    for (uint32_t line = window.first; line <= window.last && *left > 0; line++, --*left) {
        char *text = hd_excerpt_line(excerpts, path, line);
        if (text == NULL) break;
        json_array_append_new(lines, hd_json_text(text));
        free(text);
    }
    return lines;
}

json_t *hd_html_sources(const struct hd_findings *findings, size_t count, time_t newest) {
    struct places places = {.files = {0}};
    struct hd_excerpts excerpts = {.newest = newest};
    uint32_t left = MOST_LINES;
    json_t *sources = json_object();
    for (size_t i = 0; i < count; i++) add_finding(&places, &findings->list.data[i]);
    merge(&places);
    for (size_t i = 0; i < places.window.size; i++) {
        const char *path = places.files.name.data[places.window.data[i].file];
        if (hd_excerpt_changed(&excerpts, path)) {
            json_object_set_new(sources, path, json_pack("{s:b}", "changed", 1));
            continue;
        }
        json_t *lines = lines_of(&excerpts, path, places.window.data[i], &left);
        if (json_array_size(lines) == 0) {
            json_decref(lines);
            continue;
        }
        json_t *file = json_object_get(sources, path);
        if (file == NULL) {
            file = json_pack("{s:[]}", "lines");
            if (json_object_set_new(sources, path, file) != 0) { /* its name is not UTF-8 */
                json_decref(lines);
                continue;
            }
        }
        json_array_append_new(json_object_get(file, "lines"),
                              json_pack("[I, o]", HD_INT(places.window.data[i].first), lines));
    }
    hd_vector_free(&places.window);
    hd_intern_free(&places.files);
    hd_excerpts_free(&excerpts);
    return sources;
}
