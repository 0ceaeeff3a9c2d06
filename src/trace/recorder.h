/* The recording parent: starts a program, answers its runtime's request for a session, drains the
 * session's shared memory into a trace file while the program runs, and closes the file when the
 * program has ended, however it ended. */
#ifndef HEDDLE_TRACE_RECORDER_H
#define HEDDLE_TRACE_RECORDER_H

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
    unsigned refused; /* instrumented processes that ran unrecorded */
};

/* False if the command could not be started or the trace could not be written. */
bool hd_record(const struct hd_record_options *options, struct hd_record_result *result,
               struct hd_error *error);
void hd_record_result_free(struct hd_record_result *result);

#endif
