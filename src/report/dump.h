/* The events of a trace as a person reads them, one line each, or as JSON lines. */
#ifndef HEDDLE_REPORT_DUMP_H
#define HEDDLE_REPORT_DUMP_H

#include "model/describe.h"
#include "report/lines.h"

/* What to show, and how. */
struct hd_dump {
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_lines out; /* its stream must be set */
    bool *threads;       /* NULL: all of them */
    bool kinds[HD_EV_KINDS];
    uint64_t from, to; /* numbers of events */
    bool json, addresses, stacks;
    int number_width, thread_width, object_width, site_width; /* measured */
};

/* Chooses events by comma-separated words: operations of the text format, kinds or classes;
 * threads. False with the first word that means nothing in *bad. */
bool hd_dump_choose_kinds(struct hd_dump *dump, const char *words, const char **bad);
bool hd_dump_choose_threads(struct hd_dump *dump, const char *words, const char **bad);
void hd_dump_print(struct hd_dump *dump);
void hd_dump_free(struct hd_dump *dump);

#endif
