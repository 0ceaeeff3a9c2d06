/* One run of the program under test under a given control: which scheduler, which policy, which
 * plan. The program has a process group of its own; it and whatever it started are dead when
 * hd_run_program returns, also if the user pressed Ctrl-C. Its output is captured, its trace goes
 * to a nameless temporary file: nothing is left behind, even if this process is killed.
 *
 *     struct hd_program program = {.argv = argv, .library_directory = directory};
 *     struct hd_control control = {.scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_RANDOM,
 *                                  .seed = 7, .quantum = 2000};
 *     struct hd_program_run run;
 *     if (!hd_run_program(&program, &control, &run, &error)) ... could not be run
 *     if (run.interrupted) ... stop, clean up, and end by that signal
 *     if (hd_outcome_failed(&run.outcome)) ... run.outcome.words
 *     hd_trace_load(run.trace_path, ...)        while it is not freed
 *     hd_program_run_free(&run);
 */
#ifndef HEDDLE_RUN_RUN_H
#define HEDDLE_RUN_RUN_H

#include "base/status.h"
#include "run/outcome.h"
#include "trace/trace.h"
#include "trace/wire.h"

struct hd_schedule;

/* ---- what to run ---------------------------------------------------------------------------- */

/* Zeroed fields mean what is said in brackets. */
struct hd_program {
    char **argv;         /* NULL-terminated; argv[0] is looked up in PATH */
    const char *command; /* the same as text, for the trace (made from argv) */
    const char
        *library_directory; /* where the runtime is (hd_runtime_directory in cli/); or NULL */
    /* Standard input: a file that each run reads from its beginning (none: /dev/null); or this
     * process's own, then the program has the terminal too if there is one. */
    const char *input;
    bool inherit_input;
    uint64_t limit_ms;       /* time limit; the run is a hang beyond it (0: none) */
    uint64_t most_output;    /* bytes of output beyond which it is taken for endless (256 MB) */
    int good_status;         /* exit status that is no failure (0) */
    const char *oracle;      /* shell command that judges a run, or NULL: see below */
    const char *output_like; /* standard output has to be that of this file, or NULL */
    const char *good_output; /* or to have this mark (hd_output_mark), or NULL */
    bool keep_aslr;          /* leave address space randomisation on (off) */
    /* Told what the program writes, as it writes it: `stream` is 1 or 2. May be NULL. */
    void (*echo)(void *context, int stream, const char *bytes, size_t count);
    void *context;
};
/* The oracle is run by the shell after the program has ended, with the program's standard output as
 * its input and HEDDLE_STATUS (exit status), HEDDLE_STDOUT and HEDDLE_STDERR (files) in its
 * environment. Status 0 means good, 1 to 125 bad; anything else that it could not judge, which is
 * an error. Signals, deadlocks and hangs are failures whatever it would say. */

/* ---- how to run it -------------------------------------------------------------------------- */

struct hd_control {
    enum hd_scheduler scheduler; /* HD_SCHED_OFF: a plain run, as if started by hand, no trace */
    enum hd_policy policy;       /* serial */
    uint64_t seed;
    uint32_t quantum;                   /* hook calls between preemptions (0: the policy's usual) */
    const struct hd_schedule *schedule; /* HD_POLICY_REPLAY: what to follow */
    uint32_t patience_ms; /* replay: how long to wait for a thread in a system call (0: 2000) */
    const void *plan;     /* other policies: their plan for the runtime (wire.h), or NULL */
    size_t plan_bytes;
    bool full;            /* record every access */
    bool no_trace;        /* write none: the run counts, not what happened in it */
    uint32_t watchdog_ms; /* (5) */
};

/* ---- what came of it ------------------------------------------------------------------------ */

struct hd_program_run {
    struct hd_outcome outcome;
    int interrupted;     /* the signal that asked this process to stop: the outcome means nothing */
    bool recorded;       /* the program carries the runtime, and a trace was asked for */
    char trace_path[40]; /* opens the trace until hd_program_run_free; "" if there is none */
    uint64_t wire_events;
    uint32_t threads;
    struct hd_trace_end end;
    int wait_status;
    uint64_t nanoseconds;
    uint64_t answer[HD_ANSWER_WORDS]; /* what the policy reported (wire.h) */
    /* Standard output and error, whole, as descriptors to pread from; -1 after freeing. */
    int output, error;
    uint64_t output_bytes, error_bytes;
    uint64_t output_hash; /* runs with the same output have the same */
    int trace;            /* descriptor behind trace_path */
};

/* False if the program could not be run (not found, not linked with `heddle cc`, no oracle, no
 * memory): *error says why and *run needs no freeing. */
bool hd_run_program(const struct hd_program *program, const struct hd_control *control,
                    struct hd_program_run *run, struct hd_error *error);
void hd_program_run_free(struct hd_program_run *run);

/* Gives the trace a name; an existing file is replaced. */
bool hd_program_run_keep_trace(const struct hd_program_run *run, const char *path,
                               struct hd_error *error);
/* What the program wrote to standard output (stream 1) or error (2): the first `most` bytes,
 * NUL-terminated, malloc'ed; *bytes is how many. NULL when memory is out. */
char *hd_program_run_text(const struct hd_program_run *run, int stream, size_t most, size_t *bytes);

/* What tells an output from others, for a file that should stay small: "bytes:" or "lines:" and a
 * hash. Of lines their order does not count. Of an open file; false if it can't be read. */
#define HD_OUTPUT_MARK 32u
bool hd_output_mark(int fd, bool lines, char mark[HD_OUTPUT_MARK]);
/* Text that may be one? */
bool hd_is_output_mark(const char *text);

/* argv as words that a shell would read back as the same arguments; malloc'ed, NULL when memory is
 * out. */
char *hd_quote_command(char *const *argv);

#endif
