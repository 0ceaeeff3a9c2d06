/* The runs of a hunt that force nothing: plain ones, which say what is normal, and recorded ones,
 * which are predicted from. */
#include "explore/hunt_work.h"

#include "base/memory.h"
#include "run/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_LIMIT_MS 60000u
#define LEAST_LIMIT_MS 3000u
#define SLOW 4u             /* times what runs take at most may still be slow, not hanging */
#define BYTES_AN_EVENT 100u /* while a model is made and predicted from, at most */
#define MOST_PATIENCE_MS 2000u
#define LEAST_PATIENCE_MS 100u

/* ---- output --------------------------------------------------------------------------------- */

static char *read_all(int fd, size_t *bytes) {
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = size < 0 || size > (64 << 20) ? NULL : malloc((size_t)size + 1);
    *bytes = 0;
    while (text != NULL && *bytes < (size_t)size) {
        ssize_t n = pread(fd, text + *bytes, (size_t)size - *bytes, (off_t)*bytes);
        if (n <= 0) break;
        *bytes += (size_t)n;
    }
    return text;
}

/* Threads that print may do so in any order. */
static bool same_lines(int a, int b) {
    char first[HD_OUTPUT_MARK], second[HD_OUTPUT_MARK];
    return hd_output_mark(a, true, first) && hd_output_mark(b, true, second) &&
           strcmp(first, second) == 0;
}

bool hunt_failed(struct hunt_work *work, const struct hd_result *run) {
    if (!hd_outcome_failed(&run->outcome)) return false;
    if (run->outcome.kind != HD_OUTCOME_OUTPUT || work->reference < 0 ||
        !same_lines(run->output, work->reference))
        return true;
    work->lines_vary = true;
    return false;
}

/* ---- plain runs ----------------------------------------------------------------------------- */

static bool keep_output(struct hunt_work *work, const struct hd_result *run) {
    size_t bytes;
    char *text = read_all(run->output, &bytes);
    work->reference = text != NULL ? hd_temporary_file() : -1;
    size_t done = 0;
    while (work->reference >= 0 && done < bytes) {
        ssize_t n = write(work->reference, text + done, bytes - done);
        if (n <= 0) {
            close(work->reference);
            work->reference = -1;
        } else {
            done += (size_t)n;
        }
    }
    free(text);
    snprintf(work->reference_path, sizeof work->reference_path, "/proc/self/fd/%d",
             work->reference);
    return work->reference >= 0;
}

static void forget_output(struct hunt_work *work) {
    if (work->reference >= 0) close(work->reference);
    work->reference = -1;
    work->program.output_like = NULL;
    work->hunt->output_counts = false;
}

/* Nothing is known yet; a plain run may take a good part of the hunt's time. */
static uint64_t plain_limit(const struct hunt_work *work) {
    uint64_t quarter = (uint64_t)((work->deadline - work->start) * 250);
    if (quarter < 2 * LEAST_LIMIT_MS) return 2 * LEAST_LIMIT_MS;
    return quarter < MOST_LIMIT_MS ? quarter : MOST_LIMIT_MS;
}

/* What forced runs may take, but the machine may be busy. */
static void set_limit(struct hunt_work *work, uint64_t limit) {
    if (work->options->program.limit_ms != 0) return;
    work->hangs_again_ms = limit < MOST_LIMIT_MS ? limit : MOST_LIMIT_MS;
    work->program.limit_ms = SLOW * work->hangs_again_ms;
}

bool hunt_plain_runs(struct hunt_work *work, struct hd_error *error) {
    struct hd_job plain = {.steering = {.scheduler = HD_SCHED_OFF}};
    struct hd_hunt *hunt = work->hunt;
    uint32_t runs = work->options->plain_runs ? work->options->plain_runs : 3;
    bool same = !work->options->any_output && work->options->program.oracle == NULL &&
                work->options->program.output_like == NULL;
    uint64_t hash = 0, longest = 0;
    bool hung = false;
    if (work->program.limit_ms == 0) work->program.limit_ms = plain_limit(work);
    plain.program = work->program;
    /* One that fails may be the bug itself: there are always two. */
    for (uint32_t i = 0; i < runs && !hunt->interrupted && (i < 2 || !hunt_is_over(work)); i++) {
        struct hd_result run;
        hunt_tell(work, "plain runs", i, runs);
        if (!hd_run(&plain, work->options->host, &run, error)) return false;
        hunt->interrupted = run.interrupted;
        if (!run.interrupted) {
            hunt->plain++;
            if (run.nanoseconds / 1000000u > longest) longest = run.nanoseconds / 1000000u;
            if (hd_outcome_failed(&run.outcome)) {
                hunt->plain_failed++;
                hung = run.outcome.kind == HD_OUTCOME_HANG;
                snprintf(hunt->plain_words, sizeof hunt->plain_words, "%s", run.outcome.words);
            } else if (same && work->reference < 0 && hash == 0) {
                hash = run.output_hash;
                same = keep_output(work, &run);
            } else if (run.output_hash != hash) {
                same = false;
            }
        }
        hd_result_free(&run);
    }
    if (hunt->plain_failed == hunt->plain && hunt->plain > 0)
        return hd_fail(error, HD_ERR_USAGE,
                       "%s fails without any schedule being forced on it (%s); a hunt begins with "
                       "a run that passes%s",
                       work->program.argv[0], hunt->plain_words,
                       hung ? " (--limit gives it more time)" : "");
    if (!same) forget_output(work);
    if (work->reference >= 0) {
        work->program.output_like = work->reference_path;
        hunt->output_counts = true;
    }
    set_limit(work, LEAST_LIMIT_MS + 100 * longest); /* until a recorded run tells */
    return true;
}

/* ---- recorded runs -------------------------------------------------------------------------- */

void hunt_run_free(struct hunt_run *run) {
    for (size_t i = 0; i < sizeof run->findings / sizeof *run->findings; i++)
        hd_findings_free(&run->findings[i]);
    hd_describe_close(run->describe);
    hd_model_free(&run->model);
    free(run);
}

bool hunt_repeats(struct hunt_work *work, struct hunt_run *run, bool *repeats,
                  struct hd_error *error) {
    if (!run->asked && !work->hunt->interrupted) {
        struct hd_schedule schedule;
        struct hd_result again;
        if (!hd_schedule_from_run(&schedule, &run->model, run->describe, error)) return false;
        struct hd_job job = {.program = work->program, .steering = hd_schedule_steering(&schedule)};
        bool ran = hd_run(&job, work->options->host, &again, error);
        hd_schedule_free(&schedule);
        if (!ran) return false;
        work->hunt->interrupted = again.interrupted;
        run->repeats = !again.interrupted && again.replay.verdict == HD_REPLAYED_DID_NOT_FAIL;
        run->asked = true;
        hd_result_free(&again);
    }
    *repeats = run->asked && run->repeats;
    return true;
}

/* Forced runs may take ten times as long as a run that is recorded; and a thread that is away for
 * several times as long as the whole of that run will not come. */
static void learn_limits(struct hunt_work *work, const struct hd_result *run) {
    uint64_t took = run->nanoseconds / 1000000u, patience = LEAST_PATIENCE_MS + 4 * took;
    work->patience_ms = (uint32_t)(patience < MOST_PATIENCE_MS ? patience : MOST_PATIENCE_MS);
    if (run->outcome.kind != HD_OUTCOME_HANG) set_limit(work, LEAST_LIMIT_MS + 10 * took);
}

static bool fails_as_recorded(struct hunt_work *work, const struct hunt_run *recorded,
                              const struct hd_result *run, struct hd_error *error) {
    struct hd_schedule schedule;
    if (!hd_schedule_from_run(&schedule, &recorded->model, recorded->describe, error)) return false;
    bool good = hunt_failure(work, NULL, &schedule, run, error);
    hd_schedule_free(&schedule);
    return good;
}

static bool load(struct hunt_work *work, const struct hd_result *run, struct hunt_run **added,
                 uint32_t *news, struct hd_error *error) {
    struct hunt_run *recorded = calloc(1, sizeof *recorded);
    if (recorded == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct hd_model_options lenient = {.lenient = true};
    if (!hd_model_load(run->trace_path, NULL, &lenient, &recorded->model, error)) {
        free(recorded);
        return false;
    }
    recorded->describe = hd_describe_open(&recorded->model);
    recorded->passed = !hunt_failed(work, run);
    struct hd_hunt *hunt = work->hunt;
    if (recorded->model.threads > hunt->threads) hunt->threads = recorded->model.threads;
    if (recorded->model.events > hunt->events) hunt->events = recorded->model.events;
    if (work->calls == 0) work->calls = recorded->model.trace->hook_calls;
    bool good = true;
    if (!recorded->passed) {
        hunt->recorded_failed++;
        good = fails_as_recorded(work, recorded, run, error);
    } else if (!hd_seen_add(&work->seen, &recorded->model, news)) {
        good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    if (good && recorded->passed && *news > 0) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers, since findings point into runs */
        if (hd_vector_push(&work->run, recorded)) {
            *added = recorded;
            return true;
        }
        good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    hunt_run_free(recorded);
    return good;
}

/* All runs that are predicted from are kept: half of the memory has to be enough. */
static bool fits(const struct hunt_work *work, const struct hd_result *run) {
    return work->bytes + run->wire_events * BYTES_AN_EVENT < hd_memory_limit() / 2;
}

bool hunt_record(struct hunt_work *work, uint32_t n, struct hunt_run **added, uint32_t *news,
                 struct hd_error *error) {
    struct hd_job job = {.program = work->program,
                         .steering = hd_seed_steering(n, work->options->seed, work->calls)};
    struct hd_result run;
    *added = NULL;
    *news = 0;
    if (!hd_run(&job, work->options->host, &run, error)) return false;
    work->hunt->interrupted = run.interrupted;
    bool good = true;
    if (!run.interrupted) {
        work->hunt->recorded++;
        if (n == 0) {
            learn_limits(work, &run);
            /* Regular, and still another output: it depends on who comes first. */
            if (run.outcome.kind == HD_OUTCOME_OUTPUT && hunt_failed(work, &run)) {
                forget_output(work);
                run.outcome.kind = HD_OUTCOME_PASSED;
            }
        }
        if (fits(work, &run))
            good = load(work, &run, added, news, error);
        else if (n == 0)
            good = hd_fail(error, HD_ERR_LIMIT,
                           "a run has %.0f million events, too many for the memory there is; give "
                           "the program less to do",
                           (double)run.wire_events * 1e-6);
        if (good && n == 0 && run.outcome.kind == HD_OUTCOME_HANG && work->hunt->failures == 0)
            good = hd_fail(error, HD_ERR_LIMIT,
                           "a recorded run %s, though plain ones end; --limit gives it more time",
                           run.outcome.words);
        if (*added != NULL) work->bytes += (*added)->model.bytes;
    }
    hd_result_free(&run);
    return good;
}
