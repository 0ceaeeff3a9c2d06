/* The lower half of a run: starts a program, answers its runtime's request for a session, drains
 * the session's shared memory into a trace file while the program runs, and closes the file when
 * the program has ended, however it ended. hd_run (run.h) captures and judges on top of it; `heddle
 * record`, gdb and oracles need no more than this. */
#ifndef HEDDLE_RUN_RECORD_H
#define HEDDLE_RUN_RECORD_H

#include "run/run.h"

#include <sys/types.h>

struct hd_observer;

struct hd_record_options {
    const struct hd_job *job;   /* what is run, how it is steered, how long it may take */
    const struct hd_host *host; /* NULL: the usual; its echo and input are hd_run's */
    const char *output;         /* the trace; further processes' have a number in their name */
    const char *command;        /* as text, for the trace (made from the job) */
    const int *descriptors;     /* the program's standard input, output and error; NULL: ours */
    /* The program gets a process group of its own, which is killed as a whole when the program has
     * ended, its time is over or somebody asks to stop, and leaves no core files. Otherwise it
     * shares ours: it is asked to end, by the same signal (SIGTERM if its time is over), and
     * killed only if it does not. */
    bool apart;
    bool foreground; /* apart, and the group has the terminal while it runs */
    bool again;      /* record also a process that starts when the one before has ended (gdb) */
    struct hd_observer *observer; /* gets what a checked run finds (observer.h), or NULL */
    const void *plan;             /* for the policy, in place of the steering's own, or NULL */
    size_t plan_bytes;
    /* Called every few milliseconds while the program runs, as the process that was started; false:
     * kill it. May be NULL. */
    bool (*look)(void *context, pid_t process);
    /* The malloc'ed name of the n-th process's trace, from 0, in place of the usual one; NULL: it
     * can't be recorded. May be NULL itself. */
    char *(*name_trace)(void *context, size_t number);
    void *context;
};

struct hd_recorded {
    char *path;
    pid_t pid;
    uint64_t wire_events; /* also those that came as expected, and are not stored */
    uint32_t threads;
    struct hd_trace_end end;
    uint64_t answer[HD_ANSWER_WORDS]; /* of its policy */
};

struct hd_record_result {
    bool ran;        /* the command was started, though perhaps not recorded */
    int wait_status; /* of the command itself, as from waitpid */
    HD_VECTOR(struct hd_recorded) recorded;
    unsigned refused;                 /* instrumented processes that ran unrecorded */
    bool forked;                      /* a recorded process made a child process */
    bool child_threads;               /* one that is not recorded, and has made threads */
    bool stopped;                     /* `look` said so */
    bool timed_out;                   /* the job's time limit was reached */
    int interrupted;                  /* the signal that asked to stop (apart), 0 if none did */
    uint64_t answer[HD_ANSWER_WORDS]; /* of the process recorded last */
};

/* False if the command could not be started or the trace could not be written. *result is the
 * caller's to free in any case. */
bool hd_record(const struct hd_record_options *options, struct hd_record_result *result,
               struct hd_error *error);
void hd_record_result_free(struct hd_record_result *result);

#endif
