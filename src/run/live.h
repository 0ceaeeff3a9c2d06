/* A run while it goes on: what start.c, session.c, drain.c and record.c share. Private to src/run/.
 */
#ifndef HEDDLE_RUN_LIVE_H
#define HEDDLE_RUN_LIVE_H

#include "run/process.h"
#include "run/record.h"
#include "run/standstill.h"

/* A process that is recorded. */
struct hd_session {
    struct hd_wire_session *memory; /* NULL when it is done */
    size_t bytes;
    uint32_t chunk_count; /* copied when it was opened: the target can't change it afterwards */
    pid_t pid;
    int pidfd; /* -1: there is none, or it is the program itself */
    struct hd_writer *writer;
    uint32_t modules_written;
    uint16_t *written; /* by chunk: its events, or bytes of records, that are in the file already */
    HD_VECTOR(uint32_t) next_sequence; /* by stream: of the chunk that is to be written next */
    bool has_branches;
    uint32_t violations_seen;         /* of a checked run */
    struct hd_standstill child_still; /* of a child process that waits for a lock */
    bool child_stuck;                 /* it does so for ever */
};

struct hd_live {
    const struct hd_record_options *options;
    const struct hd_host *host;
    struct hd_record_result *result;
    struct hd_error *error;
    bool failed; /* *error is filled in: the trace is lost, the program may go on */
    struct hd_wire_channel *channel;
    int channel_fd;
    sigset_t mask; /* of the calling thread before the run */
    struct hd_registered registered;
    pid_t child;
    int pidfd; /* -1: an old kernel */
    bool child_done;
    int64_t child_done_at, start, kill_at; /* milliseconds; kill_at 0: not asked to end */
    int asked;   /* stop->times when we looked last, plus one; 0: not asked */
    bool killed; /* the program's group was (apart) */
    bool forked; /* the program made processes, as far as is known */
    bool direct; /* the process that was recorded is the program itself, not what that executed */
    int serve;   /* it is to wait for requests at this socket; -1: it is not */
    int startup; /* the events that it has in common with other runs are in this file; -1: none */
    const struct hd_snapshot_place *place; /* where it is to wait; NULL: before main */
    HD_VECTOR(struct hd_session) session;  /* as result->recorded */
    double running;                        /* threads of the machine that could run, on average */
    uint32_t looked;
    uint32_t first; /* of these, the first since the program was started last (record.h, `again`) */
};

/* The entry of a function in a program's file, as in struct hd_wire_channel. */
struct hd_snapshot_place {
    uint64_t module, address;
};

/* start.c */
bool hd_live_start(struct hd_live *live);
void hd_live_close(struct hd_live *live); /* the channel and what belongs to the child */

/* server.c: starts the program of a run by a fork of one that waits. False: there is none. */
bool hd_server_fork(struct hd_live *live);
/* A process that was recorded has ended, and its session is still there: where is the function? */
void hd_server_find(const struct hd_live *live, const struct hd_session *session);
/* A run is over that was started anew: can the next ones be forked? */
void hd_server_learn(const struct hd_live *live);

/* session.c: answers processes that ask to be recorded. */
void hd_live_answer(struct hd_live *live);
/* Writes the rest of a session whose process has ended; wait_status NULL: not known. */
void hd_session_finish(struct hd_live *live, struct hd_session *session, const int *wait_status);
/* The trace can't be written: the program goes on without. */
void hd_session_fail(struct hd_live *live, struct hd_session *session);

/* children.c: does a child process that is not recorded wait for ever for a lock? And what its
 * children took, as notes at the end of the session's trace. */
bool hd_session_child_is_stuck(struct hd_session *session, uint64_t now);
void hd_session_end_children(struct hd_live *live, struct hd_session *session); /* that wait */
bool hd_session_note_children(struct hd_live *live, struct hd_session *session);

/* drain.c */
enum hd_drain {
    HD_DRAIN_FULL,   /* chunks that the target has done with */
    HD_DRAIN_SO_FAR, /* and those it is writing into, as far as they are written */
    HD_DRAIN_REST    /* the target is gone */
};
/* Writes what there is; true if there was something. */
bool hd_session_drain(struct hd_live *live, struct hd_session *session, enum hd_drain what);
bool hd_session_modules(struct hd_live *live, struct hd_session *session);
/* What the run has in common with others comes first in its trace. */
bool hd_session_startup(struct hd_live *live, struct hd_session *session);
/* The modules that a session has entered so far, as a trace has them; the path is put there. */
#define HD_MODULE_PATH 4096u
uint32_t hd_session_module_count(const struct hd_session *session);
struct hd_trace_module hd_session_module(const struct hd_session *session, uint32_t number,
                                         char path[HD_MODULE_PATH]);

/* observer.c: hands what a checked run has found so far to the run's observer. False: somebody has
 * seen enough. */
bool hd_session_observe(struct hd_live *live, struct hd_session *session);
void hd_session_observe_end(struct hd_live *live, struct hd_session *session);

#endif
