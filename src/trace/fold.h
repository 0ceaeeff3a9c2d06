/* From wire events to the events of a trace: bookkeeping ones (THREAD, EXT, COUNT, PUSH, POP) are
 * folded into the columns and the call tree. */
#ifndef HEDDLE_TRACE_FOLD_H
#define HEDDLE_TRACE_FOLD_H

#include "base/map.h"
#include "trace/block_sizes.h"
#include "trace/build.h"
#include "trace/filter.h"
#include "trace/loop.h"
#include "trace/sharing.h"

struct hd_fold_frame {
    uint64_t depth;
    uint32_t node;
};

/* A site and the call stack of the latest access from there, in a table of each thread. */
struct hd_fold_place {
    uint32_t site, stack;
};
enum { HD_FOLD_PLACE_BITS = 10 };

/* What is known of a thread between two of its events. */
struct hd_fold_thread {
    HD_VECTOR(struct hd_fold_frame) frame;
    uint32_t stack; /* node of the innermost frame */
    bool pending;   /* any of the following is set */
    bool has_extra;
    uint64_t extra;
    uint64_t calls, branches;
    struct hd_fold_place *place; /* with a filter; NULL until there is an access */
    /* if calls are marked: those that its events have; the next mark, and the end of its marks */
    uint64_t counted;
    const struct hd_trace_mark *mark, *mark_end;
    uint64_t kinds[HD_EV_KINDS]; /* events so far, whatever is kept of them */
    uint64_t beyond;             /* calls that the column of their event has no room for */
};

/* The latest two rounds of a loop that may only wait (fold_polling.c). */
struct hd_fold_poll {
    bool goes_on;
    uint32_t thread;
    uint64_t head; /* of the event that a round begins with */
    uint32_t site;
    uint32_t first, second; /* events that they begin with; the same: there is one */
};

struct hd_fold {
    struct hd_builder *builder;
    HD_VECTOR(struct hd_fold_thread) thread;
    uint32_t thread_limit;  /* highest thread number seen anywhere, plus one */
    struct hd_map children; /* parent node << 32 | site -> node */
    struct hd_map blocks;   /* address -> index of its ALLOC's extra */
    size_t stack_capacity;
    /* What is left out: by the filter; and before that, what touches nothing that is shared. NULL:
     * nothing. */
    struct hd_filter *filter;
    struct hd_sharing *sharing;
    bool nothing_shared; /* no plain access touches anything that is: all are left out */
    const struct hd_trace_mark *mark; /* calls that are kept all the same */
    size_t marks;
    struct hd_block_sizes sizes;
    struct hd_fold_poll poll;
    uint64_t polled;        /* rounds that were taken out */
    struct fold_loop *loop; /* the present one; NULL until there is one */
    size_t ahead;           /* events that are still to come in this call */
    uint64_t number;        /* of the present event, in the whole recording */
    struct hd_error error;  /* no room for what had to be put in */
    char reason[128];       /* why hd_fold_events stopped: the events are corrupt */
};

void hd_fold_start(struct hd_fold *fold, struct hd_builder *builder);
/* From now on accesses that add no step (filter.h) are left out; with `sharing`, which has seen all
 * of the trace once, also those of memory that nobody shares. Events of marked calls are kept. */
void hd_fold_filter(struct hd_fold *fold, struct hd_sharing *sharing,
                    const struct hd_trace_mark *mark, size_t marks);
/* The same for a trace in which nothing is shared, as far as is known: whoever finds out otherwise
 * begins again. */
void hd_fold_unshared(struct hd_fold *fold);
/* Folds events of one stream, whose current thread is *thread, up to the next STAMP or the end.
 * *taken says how many it took. False with error->code HD_ERR_DAMAGED if the events are corrupt:
 * those before *taken are good. */
bool hd_fold_events(struct hd_fold *fold, const struct hd_wire_event *event, size_t count,
                    uint32_t *thread, size_t *taken, struct hd_error *error);
/* Folds rounds of a loop, as hd_fold_events would: each event of the body, then each with its
 * stride added, and so on. The body is changed: afterwards it is that of the next round. */
bool hd_fold_loop(struct hd_fold *fold, struct hd_loop_event *body, size_t length, uint64_t rounds,
                  uint32_t *thread, struct hd_error *error);
/* After the last event. False if there is no room for what had to be put in. */
bool hd_fold_finish(struct hd_fold *fold, struct hd_error *error);
/* The same where there was no room: only so many events stay, and nothing is put in. */
void hd_fold_cut(struct hd_fold *fold, uint32_t events);
void hd_fold_free(struct hd_fold *fold);

#endif
