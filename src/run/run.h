/* One run of the program under test: started, steered, drained, judged.
 *
 *   job                    what is run (struct hd_program) and how it is steered (struct
 *     |                    hd_steering). A plain value: job.h writes it as JSON and reads it.
 *     v
 *   start.c                makes the channel (shared memory, trace/wire.h), forks, gives the child
 *     |                    its process group, descriptors and environment, and executes the
 * program; |                    or has it forked by one that waits before its main (server.h)
 *     v
 *   drain.c, session.c     the program's runtime asks for a session; its events are drained into
 *     |                    the trace file while it runs. What is read from shared memory may have
 *     |                    been overwritten by the program: it is checked like a file
 *     v
 *   record.c               waits for the end: of the program, of the time limit, of the output that
 *     |                    it may write, or for a deadlock (standstill.h), or until somebody asks
 *     |                    this process to stop. Then it ends whatever the program left running
 *     v
 *   run.c, judge.c         how did it end (outcome.h), what does the oracle say (oracle.h), did it
 *     |                    follow its schedule (replay.h)?
 *     v
 *   result                 outcome, verdict, counts, trace. Also a plain value, but for the three
 *                          files that hold the program's output, its error output and the trace
 *
 *     struct hd_job job = {.program = {.argv = argv},
 *                          .steering = {.scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_RANDOM,
 *                                       .seed = 7, .quantum = 2000}};
 *     struct hd_result result;
 *     if (!hd_run(&job, &host, &result, &error)) ... could not be run
 *     if (result.interrupted) ... stop, clean up, and end by that signal
 *     if (hd_outcome_failed(&result.outcome)) ... result.outcome.words
 *     hd_trace_load(result.trace_path, ...)        while it is not freed
 *     hd_result_free(&result);
 *
 * All state of a run is its own: any number of threads may be in hd_run at once. The program has a
 * process group of its own; it and whatever it started are dead when hd_run returns. Its files have
 * no name: nothing is left behind, even if this process is killed. */
#ifndef HEDDLE_RUN_RUN_H
#define HEDDLE_RUN_RUN_H

#include "base/status.h"
#include "run/outcome.h"
#include "run/replay.h"
#include "run/steering.h"
#include "trace/trace.h"
#include "trace/wire.h"

#include <signal.h>

/* ---- what is run ---------------------------------------------------------------------------- */

/* Zeroed fields mean what is said in brackets. */
struct hd_program {
    char **argv;             /* NULL-terminated; argv[0] is looked up in PATH */
    char **environment;      /* "NAME=VALUE", set on top of this process's own; NULL-terminated */
    const char *directory;   /* where it runs (here) */
    const char *input;       /* file that is its standard input (/dev/null) */
    uint64_t limit_ms;       /* time limit; beyond it the run hangs (none) */
    uint64_t most_output;    /* bytes of output beyond which it is taken for endless (256 MB) */
    int good_status;         /* exit status that is no failure (0) */
    const char *oracle;      /* shell command that judges a run (none): see below */
    const char *output_like; /* standard output has to be that of this file (any) */
    const char *good_output; /* or to have this mark, see hd_output_mark (any) */
    bool keep_aslr;          /* leave address space randomisation on (off) */
};
/* The oracle is run by the shell after the program has ended, with the program's standard output as
 * its input and HEDDLE_STATUS (exit status), HEDDLE_STDOUT and HEDDLE_STDERR (files) in its
 * environment. Status 0 means good, 1 to 125 bad; anything else that it could not judge, which is
 * an error. Signals, deadlocks and hangs are failures whatever it would say. */

struct hd_job {
    struct hd_program program;
    struct hd_steering steering; /* a zeroed one is a plain run, as if started by hand, no trace */
    void *own;                   /* of a job that was read from text (job.h): its memory */
};

struct hd_server;

/* ---- where it is run: what a job can't carry to another machine ----------------------------- */

/* Somebody asks for the end: a signal handler of cli/, or another thread. */
struct hd_interrupt {
    volatile sig_atomic_t signal; /* its number; 0: go on */
    volatile sig_atomic_t times;  /* counts signals: a second one is another request */
    int runs;                     /* going on now (atomic; kept by hd_run) */
};

/* Zeroed, or no host at all (NULL): the usual. */
struct hd_host {
    const char *library_directory; /* where the runtime is (hd_runtime_directory in toolchain/) */
    struct hd_interrupt *stop;     /* looked at every few milliseconds */
    /* Standard input is this process's own; the program has the terminal too if there is one. */
    bool inherit_input;
    /* Gets what the program writes, as it writes it: `stream` is 1 or 2. May be NULL. */
    void (*echo)(void *context, int stream, const char *bytes, size_t count);
    void *context;
    /* Where the words go if heddle's own runtime crashes in a run (HD_FAULT_WORDS); may be NULL. */
    char *runtime_fault;
    /* Runs are forked from a program that waits before main, once it is there (server.h); NULL: the
     * program is executed for each. */
    struct hd_server *server;
    uint64_t until; /* hd_run_times: by hd_now_ns, no run is begun or goes on later; 0: any time */
};
#define HD_FAULT_WORDS 256

/* ---- what came of it ------------------------------------------------------------------------ */

struct hd_result {
    struct hd_outcome outcome;
    struct hd_replay replay; /* policy HD_POLICY_REPLAY: was the schedule followed? */
    int interrupted;         /* the signal that asked to stop: the outcome means nothing */
    bool recorded;           /* the program carries the runtime, and a trace was asked for */
    bool forked;             /* it made a child process... */
    bool child_threads;      /* ...that made threads and was not recorded */
    uint32_t process;        /* what follows is about this one of the recorded processes, from 0 */
    uint64_t wire_events;    /* that were recorded, bookkeeping included */
    uint32_t threads;
    struct hd_trace_end end;
    int wait_status;
    uint64_t nanoseconds;
    uint64_t answer[HD_ANSWER_WORDS]; /* what the policy reported (wire.h) */
    uint64_t output_bytes, error_bytes;
    uint64_t output_hash; /* runs with the same output have the same */
    char trace_path[256]; /* opens the trace until hd_result_free; "" if there is none */
    /* Standard output and error, whole, and the trace, as descriptors to pread from; -1: none. */
    int output, error, trace;
    /* The traces of further processes (the steering's `children`), with the paths that open them;
     * "": it is the one above. malloc'ed, not sent elsewhere. */
    struct hd_result_trace {
        int fd;
        char path[32];
        uint64_t wire_events;
    } * other;
    uint32_t others;
};

/* False if the program could not be run (not found, not linked with `heddle cc`, no oracle):
 * *error says why and *result needs no freeing. */
bool hd_run(const struct hd_job *job, const struct hd_host *host, struct hd_result *result,
            struct hd_error *error);
void hd_result_free(struct hd_result *result);

/* Gives the trace a name; an existing file is replaced. */
bool hd_result_keep_trace(const struct hd_result *result, const char *path, struct hd_error *error);
/* What the program wrote to standard output (stream 1) or error (2): the first `most` bytes,
 * NUL-terminated, malloc'ed; *bytes is how many. */
char *hd_result_text(const struct hd_result *result, int stream, size_t most, size_t *bytes);

/* What tells an output from others, for a file that should stay small: "bytes:" or "lines:" and a
 * hash. Of lines their order does not count. Of an open file; false if it can't be read. */
#define HD_OUTPUT_MARK 32u
bool hd_output_mark(int fd, bool lines, char mark[HD_OUTPUT_MARK]);
/* Text that may be one? */
bool hd_is_output_mark(const char *text);

/* argv as words that a shell would read back as the same arguments; malloc'ed. */
char *hd_quote_command(char *const *argv);

/* ---- the same job many times ---------------------------------------------------------------- */

struct hd_rate {
    uint32_t runs;
    uint32_t reproduced; /* failed in the same way as `like` */
    uint32_t failed;     /* failed in any way, the schedule (if any) followed */
    uint32_t reached, diverged;
    int interrupted;
    bool late;                       /* the time was over before all runs were done */
    struct hd_outcome outcome;       /* of the first failure; of the last run if none failed */
    struct hd_divergence divergence; /* the first one */
    int wait_status;                 /* of the last run */
    uint64_t nanoseconds;
};

/* Runs a job `times` times. `like` is the failure to be reproduced; NULL: the first that comes.
 * `step` is called after every run, and may be NULL; false: that is enough. */
bool hd_run_times(const struct hd_job *job, const struct hd_host *host, uint32_t times,
                  const struct hd_outcome *like,
                  bool (*step)(void *context, const struct hd_rate *rate), void *context,
                  struct hd_rate *rate, struct hd_error *error);

#endif
