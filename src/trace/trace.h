/* A trace in memory, as read from a binary (.hdt), text (STD) or RapidBin file: columns of events
 * in one total order, with bookkeeping events folded in (threads, order, counts, call stacks). It
 * says what happened and judges nothing; src/model/ makes an execution of it. */
#ifndef HEDDLE_TRACE_TRACE_H
#define HEDDLE_TRACE_TRACE_H

#include "base/progress.h"
#include "base/status.h"
#include "trace/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_NONE UINT32_MAX

struct hd_trace_module {
    char *path;
    uint64_t text_lo, text_hi, bias, image_lo, image_hi;
    uint32_t site_base;
    uint32_t build_id_length;
    uint8_t build_id[32];
};

/* How the run ended. A trace that is cut short has `whole` false and says in `missing` what is not
 * there. */
struct hd_trace_end {
    bool whole;
    bool exited, signaled; /* neither: unknown */
    int status;            /* exit status or signal number */
    bool deadlocked;
    bool child_stuck;   /* a child process did, at a lock; only in the run's own process */
    bool runtime_fault; /* the runtime itself crashed, see `missing`; only in the run's own process
                         */
    bool misused;       /* memory that was freed, or beyond its block: see `misuse`; likewise */
    uint64_t lost_events;
    char missing[256];
    char misuse[256];
};

/* Of a thread, whatever of it was loaded. */
struct hd_trace_recorded {
    uint64_t kinds[HD_EV_KINDS]; /* events that the file has */
    uint64_t other_calls;        /* hook calls that the column of no loaded event has */
};

enum hd_trace_format { HD_FORMAT_BINARY = 0, HD_FORMAT_TEXT, HD_FORMAT_RAPIDBIN };

/* What of a recording, which has every access, is loaded. Traces of text, and what was made from a
 * part of a recording, are read as they are. */
enum hd_trace_keep {
    /* every step: what adds none is left out (trace/filter.h), and counted as hook calls */
    HD_KEEP_STEPS = 0,
    /* of these, accesses that touch memory which two threads access, one of them writing */
    HD_KEEP_SHARED,
    /* the same without what is ordered in every run: two accesses of these, at least, are not
     * ordered by forks, joins and barriers (trace/sharing.h) */
    HD_KEEP_CONCURRENT,
    HD_KEEP_ALL
};

struct hd_trace {
    enum hd_trace_format format;
    uint32_t events;
    uint32_t threads;
    /* columns, `events` long */
    uint16_t *thread;
    uint8_t *kind;      /* enum hd_event_kind, none of the bookkeeping ones */
    uint8_t *flags;     /* as in wire.h */
    uint64_t *operand;  /* as in wire.h; text: see below */
    uint32_t *site;     /* binary: wire site; text: index into site_names */
    uint32_t *stack;    /* node of the call tree, 0 = empty */
    uint16_t *branches; /* since the thread's previous event, saturating */
    uint32_t *calls;    /* hook calls since the thread's previous event, elided ones included */
    /* The number of an event is its place in the whole recording, whatever of that was loaded
     * (hd_trace_number). NULL: all was, in its order. An access that the filter put in (filter.h)
     * has that of the event that it stands before, and HD_PUT_IN */
    uint64_t *number;
    /* 48-bit values of the events that have one (EXT), sorted by event */
    uint32_t extras;
    uint32_t *extra_event;
    uint64_t *extra_value;
    /* the call tree: node 0 is the empty stack */
    uint32_t stacks;
    uint32_t *stack_parent;
    uint32_t *stack_site; /* call site of the innermost frame */
    /* bytes from the next outer frame, or the stack's end, down to the innermost one (wire.h); 0:
     * not known; HD_STEP_VARIES: not always the same */
    uint32_t *stack_step;
    uint32_t modules;
    struct hd_trace_module *module;
    /* Text and RapidBin traces: threads, objects and sites have names instead of addresses. A
     * memory operand is a made-up address, index into variable_names << HD_TEXT_SHIFT plus an
     * offset; a lock, condition variable, barrier or semaphore operand is an index into
     * object_names. */
    char **thread_names;
    uint32_t variables;
    char **variable_names;
    uint32_t objects;
    char **object_names;
    uint32_t sites;
    char **site_names; /* NULL entries print as nothing */
    bool hex_offsets;  /* the text wrote offsets as 0x... */
    /* about the run (binary) */
    char *command; /* as given to record, shell-quoted */
    struct hd_wire_options options;
    bool has_branches;
    bool exact; /* total order is the order memory saw: serial, or text */
    struct hd_trace_end end;
    uint64_t file_bytes;     /* size of the file */
    uint64_t stored_bytes;   /* of its event chunks */
    uint64_t raw_events;     /* wire events stored, bookkeeping included */
    uint64_t hook_calls;     /* memory and synchronisation hooks the program ran */
    enum hd_trace_keep kept; /* what of the file is here */
    uint64_t recorded;       /* events that the file has */
    /* of each thread; NULL: all that was recorded is here */
    struct hd_trace_recorded *recorded_by;
    uint32_t warnings; /* lines a reader of this trace should see once */
    char **warning;
    void *memory; /* owner of everything above */
};

#define HD_STEP_VARIES UINT32_MAX
#define HD_TEXT_SHIFT 24

/* A call of a thread, counted from 1. */
struct hd_trace_mark {
    uint32_t thread;
    uint64_t call;
};

struct hd_trace_options {
    enum hd_trace_format format; /* used if format_given */
    bool format_given;
    enum hd_trace_keep keep;
    /* Calls whose events are loaded, whatever the filter says; in the order of threads and calls */
    const struct hd_trace_mark *mark;
    size_t marks;
    /* Events that may be put in where they came as expected: a small file can ask for many. 0: the
     * usual limit, which takes hours. */
    uint64_t most_expected;
    /* 1: the file is read by the calling thread alone; 2: another one takes the events that it
     * makes; 0: another one where there are many */
    unsigned threads;
    /* Events that may be loaded, and a few more; then HD_ERR_LIMIT. 0: as many as a trace can have
     */
    uint32_t most_events;
    uint64_t most_recorded; /* the same of events that the file has */
    /* Instead of that error, HD_KEEP_CONCURRENT of all of them: hd_trace.kept says so */
    bool or_concurrent;
    /* Instead of that error, what was loaded so far, which is as a trace that was cut short there;
     * a warning says so. Binary traces only: others have no limit then */
    bool or_first;
    double seconds;               /* likewise when a reading has taken so long; 0: for ever */
    struct hd_progress *progress; /* may be NULL; called by the calling thread */
};

/* Reads a trace of any format (told by its content; "-" is standard input). A damaged binary trace
 * is read up to its last good chunk: true, with end.whole false. On failure *error says why and
 * *trace needs no freeing. */
bool hd_trace_load(const char *path, const struct hd_trace_options *options, struct hd_trace *trace,
                   struct hd_error *error);
/* The same for a file that is in memory; `name` is for messages. Keeps no pointer into it. */
bool hd_trace_read(const void *bytes, size_t length, const char *name,
                   const struct hd_trace_options *options, struct hd_trace *trace,
                   struct hd_error *error);
/* The event, extra and call tree columns are each a malloc of their own: whoever is done with one
 * may free it early and set it to NULL. */
void hd_trace_free(struct hd_trace *trace);

/* What ran, in one word: the build ids of the program and of the libraries it had loaded. False if
 * the trace does not know them (text traces; a program without a build id). */
bool hd_trace_build(const struct hd_trace *trace, char build[33]);

/* What an event is called wherever a person sees it. */
#define HD_PUT_IN ((uint64_t)1 << 63)
static inline uint64_t hd_trace_name(const struct hd_trace *trace, uint32_t event) {
    return trace->number != NULL ? trace->number[event] : event; /* with HD_PUT_IN */
}
static inline uint64_t hd_trace_number(const struct hd_trace *trace, uint32_t event) {
    return hd_trace_name(trace, event) & ~HD_PUT_IN;
}
/* Is it an access that was left out earlier, and stands before the event of that number? */
static inline bool hd_trace_is_put_in(const struct hd_trace *trace, uint32_t event) {
    return (hd_trace_name(trace, event) & HD_PUT_IN) != 0;
}

/* The EXT value of an event, or `missing`. Sequential readers keep a cursor of their own. */
uint64_t hd_trace_extra(const struct hd_trace *trace, uint32_t event, uint64_t missing);

/* Bytes an access, atomic, ALLOC or FREE event touches (FREE: of the block it frees); 0 if it is a
 * FREE of a block that the trace does not know. */
uint64_t hd_trace_size(const struct hd_trace *trace, uint32_t event);

const char *hd_kind_name(enum hd_event_kind kind); /* "READ" */
const char *hd_kind_text(enum hd_event_kind kind); /* "r"; "" if the text format has no such line */
/* The same for one event: notes of an object's life have words of their own. */
const char *hd_event_text(enum hd_event_kind kind, unsigned flags);
enum hd_event_class {
    HD_CLASS_NONE,
    HD_CLASS_ACCESS,
    HD_CLASS_ATOMIC,
    HD_CLASS_LOCK,
    HD_CLASS_SYNC,
    HD_CLASS_THREAD,
    HD_CLASS_MEMORY,
    HD_CLASS_MARK,
    HD_CLASS_BOOK
};
enum hd_event_class hd_kind_class(enum hd_event_kind kind);
/* Is it of HD_CLASS_LOCK? For where each event is asked. */
static inline bool hd_kind_is_lock(unsigned kind) {
    return kind - HD_EV_ACQUIRE <= HD_EV_TRY_FAILED - HD_EV_ACQUIRE;
}

/* ---- writing binary traces ---------------------------------------------------------------- */

struct hd_writer;
struct hd_trace_about {
    const char *command;
    int32_t pid;
    struct hd_wire_options options;
};
/* Creates path and writes its header. The file becomes whole with hd_writer_finish; until then, or
 * if the process dies, it reads as cut short. */
struct hd_writer *hd_writer_open(const char *path, const struct hd_trace_about *about,
                                 struct hd_error *error);
/* Events of one stream, in their order; called for streams in any interleaving. */
bool hd_writer_events(struct hd_writer *writer, uint32_t stream, const struct hd_wire_event *event,
                      size_t count, struct hd_error *error);
/* Records of one stream (token.h), as they are in a chunk of a session. If a core is idle they are
 * compressed, else only if that takes hardly any time. */
bool hd_writer_records(struct hd_writer *writer, uint32_t stream, const uint8_t *record,
                       size_t length, bool idle, struct hd_error *error);
bool hd_writer_module(struct hd_writer *writer, const struct hd_trace_module *module,
                      struct hd_error *error);
/* Writes what is pending to the file (called now and then, so that little is lost if the recorder
 * itself is killed). */
bool hd_writer_flush(struct hd_writer *writer, struct hd_error *error);
/* Writes the closing chunk, closes and frees. end->whole is not looked at: the trace is whole
 * unless end->missing says something. */
bool hd_writer_finish(struct hd_writer *writer, const struct hd_trace_end *end, bool has_branches,
                      struct hd_error *error);
/* Closes and frees without the closing chunk. */
void hd_writer_abandon(struct hd_writer *writer);

/* Is the address a descriptor's (HD_DESCRIPTORS)? Those of text formats are numbers of names. */
static inline bool hd_trace_is_descriptor(const struct hd_trace *trace, uint64_t address) {
    return hd_is_descriptor(address) && trace->format == HD_FORMAT_BINARY &&
           trace->variable_names == NULL;
}

#endif
