/* The recording parent: starts a program, answers its runtime's request for a session, drains the
 * session's shared memory into a trace file while the program runs, and closes the file when the
 * program has ended, however it ended. */
#ifndef HEDDLE_RUN_RECORDER_H
#define HEDDLE_RUN_RECORDER_H

#include "base/status.h"
#include "trace/trace.h"
#include "trace/wire.h"

#include <stdbool.h>
#include <sys/types.h>

struct hd_record_options {
    const char *output;
    const char *command; /* as text, for the trace */
    char **argv;         /* NULL-terminated */
    struct hd_wire_options wire;
    bool keep_aslr; /* leave address space randomisation on */
    const char
        *library_directory; /* where the loader may look for the runtime last of all, or NULL */
    const void *plan;       /* for the policy (wire.h), or NULL */
    size_t plan_bytes;
    const int *descriptors; /* the program's standard input, output and error; NULL: ours */
    /* The program gets a process group of its own, which is killed as a whole when the program has
     * ended or a signal asks us to stop, and leaves no core files. */
    bool apart;
    bool foreground; /* apart, and the group has the terminal while it runs */
    bool plain;      /* run it unrecorded, as if it had been started by hand */
    bool again;      /* record also a process that starts when the one before has ended (gdb) */
    /* Called every few milliseconds while the program runs, as the process that was started; false:
     * kill it. May be NULL. */
    bool (*look)(void *context, pid_t process);
    void *context;
};

#define HD_RECORD_MAX 256u

struct hd_recorded {
    char *path;
    pid_t pid;
    uint64_t wire_events;
    uint32_t threads;
    struct hd_trace_end end;
};

struct hd_record_result {
    bool ran;        /* the command was started, though perhaps not recorded */
    int wait_status; /* of the command itself, as from waitpid */
    unsigned count;
    struct hd_recorded recorded[HD_RECORD_MAX];
    unsigned refused;                 /* instrumented processes that ran unrecorded */
    bool stopped;                     /* `look` said so */
    int interrupted;                  /* the signal that asked us to stop (apart), 0 if none did */
    uint64_t answer[HD_ANSWER_WORDS]; /* of the process recorded last */
};

/* False if the command could not be started or the trace could not be written. */
bool hd_record(const struct hd_record_options *options, struct hd_record_result *result,
               struct hd_error *error);
void hd_record_result_free(struct hd_record_result *result);

#endif
