/* From wire events to the events of a trace: bookkeeping ones (THREAD, EXT, COUNT, PUSH, POP) are
 * folded into the columns and the call tree. */
#ifndef HEDDLE_TRACE_FOLD_H
#define HEDDLE_TRACE_FOLD_H

#include "base/map.h"
#include "trace/build.h"

struct hd_fold_frame {
    uint64_t depth;
    uint32_t node;
};

/* What is known of a thread between two of its events. */
struct hd_fold_thread {
    HD_VECTOR(struct hd_fold_frame) frame;
    uint32_t stack; /* node of the innermost frame */
    bool pending;   /* any of the following is set */
    bool has_extra;
    uint64_t extra;
    uint64_t calls, branches;
};

struct hd_fold {
    struct hd_builder *builder;
    HD_VECTOR(struct hd_fold_thread) thread;
    uint32_t thread_limit;  /* highest thread number seen anywhere, plus one */
    struct hd_map children; /* parent node << 32 | site -> node */
    struct hd_map blocks;   /* address -> index of its ALLOC's extra */
    size_t stack_capacity;
    char reason[128]; /* why hd_fold_events stopped: the events are corrupt */
};

void hd_fold_start(struct hd_fold *fold, struct hd_builder *builder);
/* Folds events of one stream, whose current thread is *thread, up to the next STAMP or the end.
 * *taken says how many it took. False with error->code HD_ERR_DAMAGED if the events are corrupt:
 * those before *taken are good. */
bool hd_fold_events(struct hd_fold *fold, const struct hd_wire_event *event, size_t count,
                    uint32_t *thread, size_t *taken, struct hd_error *error);
void hd_fold_finish(struct hd_fold *fold);
void hd_fold_free(struct hd_fold *fold);

#endif
