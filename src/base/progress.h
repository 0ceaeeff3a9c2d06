/* How far long work has come: filled in by whoever works, drawn by whoever started it. The worker
 * calls hd_progress_step as often as it likes; `report` runs only when there is something new to
 * see. */
#ifndef HEDDLE_BASE_PROGRESS_H
#define HEDDLE_BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct hd_progress {
    const char *what;     /* "reading app.hdt" */
    uint64_t done, total; /* total 0: unknown */
    uint64_t next_report; /* of `done` */
    void (*report)(struct hd_progress *progress);
    void *context;
};

static inline void hd_progress_start(struct hd_progress *progress, const char *what,
                                     uint64_t total) {
    if (progress == NULL) return;
    progress->what = what;
    progress->done = progress->next_report = 0;
    progress->total = total;
}

static inline void hd_progress_step(struct hd_progress *progress, uint64_t done) {
    if (progress == NULL) return;
    progress->done = done;
    if (done < progress->next_report && done != progress->total) return;
    progress->next_report = done + progress->total / 200 + 1;
    if (progress->report != NULL) progress->report(progress);
}

#endif
