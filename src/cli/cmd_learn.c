/* heddle learn: which pairs of accesses are meant to be atomic, learned from runs that passed. */
#include "base/alloc.h"
#include "cli/campaign_option.h"
#include "cli/commands.h"
#include "cli/correlations_option.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/store_option.h"
#include "cli/training.h"
#include "report/page.h"
#include "toolchain/compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "learn"
#define MOST_SLICES 20000u /* of a serial run */
#define AHEAD 256u         /* runs that others know of before they are wanted */

/* in the order of --sched's choices */
enum training { TRAIN_SERIAL, TRAIN_FREE, TRAIN_BOTH };

static const struct hd_errand_kind training = {
    .name = "training ", .runs = true, .perform = hd_training_perform};

struct training_job {
    const char *path;                    /* of the file, or of the store */
    const struct hd_store_option *store; /* its path is NULL: a file */
    struct hd_program program;
    struct hd_host host;
    unsigned sched; /* enum training */
    uint64_t runs, stable, seed;
    enum hd_granularity granularity;
    struct hd_learner learner;
    const struct hd_correlated_rules *rules; /* variables that belong together; NULL */
    uint64_t events;                         /* of the first run under serial */
    uint32_t failed, spoiled; /* runs that failed; in which heddle's own runtime crashed */
    int interrupted;
    const struct hd_errands *others; /* who do the runs; NULL: nobody */
    HD_VECTOR(uint32_t) ticket;      /* of their runs, from the first */
    size_t taken;                    /* of them */
};

/* ---- one run ----------------------------------------------------------------------------------
 */

/* Short and long time slices bring different interleavings; so many that a run takes long are of
 * no use. */
static uint32_t quantum_of(const struct training_job *job, uint64_t number) {
    static const uint32_t quantum[] = {200, 20, 5, 50, 2, 10, 1000, 3};
    uint64_t wanted = quantum[number % (sizeof quantum / sizeof *quantum)];
    uint64_t least = job->events / MOST_SLICES;
    return (uint32_t)(wanted > least ? wanted : least < UINT32_MAX ? least : UINT32_MAX);
}

static struct hd_packed job_of(const struct training_job *job, uint64_t number) {
    bool serial = job->sched == TRAIN_BOTH ? number % 2 == 0 : job->sched == TRAIN_SERIAL;
    struct hd_training_run run = {.serial = serial,
                                  .seed = serial ? job->seed + number : 0,
                                  .quantum = serial ? quantum_of(job, number) : 0,
                                  .granularity = job->granularity};
    struct hd_packed packed = {.bytes = {0}};
    hd_training_job(&packed, &run);
    return packed;
}

static bool take(struct training_job *job, uint64_t number, const char *result, size_t bytes,
                 struct hd_error *error) {
    struct hd_trained trained;
    if (!hd_training_take(&job->learner, job->path, result, bytes, &trained, error)) return false;
    if (number == 0) job->events = trained.events;
    struct hd_outcome outcome = {.kind = trained.outcome};
    bool failed = hd_outcome_failed(&outcome), spoiled = trained.outcome == HD_OUTCOME_RUNTIME;
    job->failed += failed;
    job->spoiled += spoiled;
    hd_learner_end_run(&job->learner, !failed && !spoiled);
    return true;
}

static bool run_here(struct training_job *job, uint64_t number, struct hd_error *error) {
    struct hd_packed packed = job_of(job, number);
    struct hd_errand errand = {.subject = &job->program,
                               .host = &job->host,
                               .job = packed.bytes.data,
                               .bytes = packed.bytes.size};
    struct hd_errand_done done = {.outcome = NULL};
    bool good = hd_training_perform((void *)job->rules, &errand, &done, error);
    if (good && done.stopped)
        job->interrupted = job->host.stop->signal;
    else
        good = good && take(job, number, done.result.bytes.data, done.result.bytes.size, error);
    hd_vector_free(&done.result.bytes);
    hd_vector_free(&packed.bytes);
    return good;
}

/* ---- by others --------------------------------------------------------------------------------
 */

/* Asks for the runs that will be wanted. How they are steered depends on how long the first one is.
 */
static void ask_ahead(struct training_job *job, uint64_t number) {
    const struct hd_errands *others = job->others;
    uint64_t until = number == 0 ? 1 : number + AHEAD;
    for (; job->ticket.size < job->runs && job->ticket.size < until;) {
        struct hd_packed packed = job_of(job, job->ticket.size);
        uint32_t ticket = others->ask(others->context, packed.bytes.data, packed.bytes.size);
        hd_vector_push(&job->ticket, ticket);
        hd_vector_free(&packed.bytes);
    }
}

static bool run_elsewhere(struct training_job *job, uint64_t number, struct hd_error *error) {
    char *result;
    size_t bytes;
    ask_ahead(job, number);
    enum hd_taken taken = job->others->take(job->others->context, job->ticket.data[number],
                                            INFINITY, &result, &bytes, error);
    job->taken++;
    if (taken == HD_TAKEN_NOT) job->interrupted = job->host.stop->signal;
    if (taken != HD_TAKEN) return taken == HD_TAKEN_NOT;
    bool good = take(job, number, result, bytes, error);
    free(result);
    return good;
}

static void drop_rest(struct training_job *job) {
    for (; job->taken < job->ticket.size; job->taken++)
        job->others->drop(job->others->context, job->ticket.data[job->taken]);
    hd_vector_free(&job->ticket);
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static void draw(struct hd_status_line *line, const struct training_job *job, uint64_t done) {
    if (!hd_status_line_due(line, "learning")) return;
    char text[256];
    snprintf(text, sizeof text,
             "learning: run %llu of %llu, %u passed, %u hold, nothing changed in the last %u",
             (unsigned long long)done + 1, (unsigned long long)job->runs,
             job->learner.invariants->runs, hd_learner_holding(&job->learner), job->learner.stable);
    hd_status_line_draw(line, text);
}

static bool train(struct training_job *job, struct hd_error *error) {
    struct hd_status_line line;
    hd_status_line_begin(&line);
    bool good = true;
    for (uint64_t done = 0; good && done < job->runs; done++) {
        draw(&line, job, done);
        good = (job->others != NULL ? run_elsewhere : run_here)(job, done, error);
        if (job->interrupted != 0 || job->host.stop->signal != 0) {
            job->interrupted = job->interrupted != 0 ? job->interrupted : job->host.stop->signal;
            break;
        }
        if (job->stable > 0 && job->learner.stable >= job->stable) break;
    }
    hd_status_line_wipe(&line);
    if (job->others != NULL) drop_rest(job);
    return good;
}

static void say_what_was_learned(const struct training_job *job) {
    const struct hd_invariants *set = job->learner.invariants;
    uint32_t holding = hd_learner_holding(&job->learner), all = (uint32_t)set->list.size;
    printf("%s: atomic: %u of %u accesses, after %u passing run%s", job->path, holding, all,
           set->runs, hd_page_plural(set->runs));
    if (job->failed > 0) printf(" (%u failed)", job->failed);
    printf("\n");
    if (job->learner.stable > 0)
        printf("Nothing changed in the last %u run%s.\n", job->learner.stable,
               hd_page_plural(job->learner.stable));
    else
        printf("The last run still changed something: more runs may help.\n");
}

/* Adds what was learned to what the store has of the program; the sum is in context. */
struct addition {
    const struct hd_invariants *learned;
    struct hd_invariants sum;
};

static char *add_learned(const char *old, size_t bytes, void *context, struct hd_error *error) {
    struct addition *addition = context;
    const char *program = addition->learned->program;
    if ((old != NULL && !hd_invariants_read(old, bytes, program, &addition->sum, error)) ||
        !hd_invariants_merge(&addition->sum, addition->learned, program, error))
        return NULL;
    return hd_invariants_write(&addition->sum);
}

static bool keep(struct training_job *job) {
    struct hd_invariants *set = job->learner.invariants;
    struct addition addition = {.learned = set};
    bool good = hd_store_option_keep(COMMAND, job->store, HD_STORE_INVARIANTS, set->program,
                                     add_learned, &addition);
    hd_invariants_free(set);
    *set = addition.sum;
    return good;
}

static bool save(struct training_job *job) {
    struct hd_error error;
    if (job->store->path != NULL) return keep(job);
    if (hd_invariants_save(job->path, job->learner.invariants, &error)) return true;
    hd_complain_error(COMMAND, &error);
    return false;
}

static int learn(struct training_job *job) {
    struct hd_error error;
    const struct hd_invariants *set = job->learner.invariants;
    uint32_t before = set->runs;
    if (!train(job, &error)) return hd_complain_error(COMMAND, &error);
    if (job->spoiled > 0)
        hd_warn(COMMAND, "in %u runs heddle's own runtime crashed; they were left out",
                job->spoiled);
    if (set->runs == before) {
        if (job->interrupted == 0)
            hd_complain(COMMAND, "none of %u runs passed: nothing was learned", job->failed);
        return HD_EXIT_FAILED;
    }
    if (!save(job)) return HD_EXIT_FAILED;
    say_what_was_learned(job);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

/* With the help of a campaign, whose jobs are runs. */
static int learn_with_campaign(struct training_job *job, const struct hd_campaign_option *option,
                               unsigned at_once) {
    struct hd_campaign_options options = {
        .program = &job->program, .host = &job->host, .kind = &training, .at_once = at_once};
    struct hd_campaign *campaign = hd_campaign_option_begin(COMMAND, option, &options);
    if (campaign == NULL) return HD_EXIT_FAILED;
    job->others = hd_campaign_errands(campaign);
    int status = learn(job);
    const char *words =
        job->interrupted != 0 ? "ended by a signal" : hd_campaign_option_words(status);
    return hd_campaign_option_end(COMMAND, campaign, words) ? status : HD_EXIT_FAILED;
}

/* ---- files ------------------------------------------------------------------------------------
 */

static int compare_support(const void *left, const void *right) {
    const struct hd_invariant *a = left, *b = right;
    if (a->executed != b->executed) return a->executed < b->executed ? 1 : -1;
    int order = strcmp(a->place.where, b->place.where);
    return order != 0 ? order : (int)a->place.does - (int)b->place.does;
}

static void show_line(const struct hd_invariant *invariant) {
    static const char *const does[] = {"", "read", "write", "update"};
    printf("  %8u %8u  %-6s %s", invariant->executed, invariant->violated,
           does[invariant->place.does], invariant->place.where);
    if (*invariant->place.function != '\0')
        printf(" in %s %s", invariant->place.function, invariant->place.within);
    if (*invariant->place.module != '\0') printf(" of %s", invariant->place.module);
    if (*invariant->with != '\0') printf(" with %s", invariant->with);
    if (invariant->atomic != HD_ATOMIC_LEARNED)
        printf("  (atomic: %s)", hd_atomic_word(invariant->atomic));
    printf("\n");
}

static void show_part(struct hd_invariants *set, bool holding, const char *title) {
    bool first = true;
    for (size_t i = 0; i < set->list.size; i++) {
        if (hd_invariant_holds(set, &set->list.data[i]) != holding) continue;
        if (first) printf("\n%s\n  executed violated  access\n", title);
        first = false;
        show_line(&set->list.data[i]);
    }
}

static int show(int count, char **path) {
    for (int i = 0; i < count; i++) {
        struct hd_invariants set;
        struct hd_error error;
        if (!hd_invariants_load(path[i], &set, &error)) return hd_complain_error(COMMAND, &error);
        struct hd_learner learner = {.invariants = &set};
        uint32_t holding = hd_learner_holding(&learner);
        /* the map of the set is not asked any more */
        qsort(set.list.data, set.list.size, sizeof *set.list.data, compare_support);
        printf("%s%s: %s, %u passing run%s, threshold %u; atomic: %u of %u accesses\n",
               i > 0 ? "\n" : "", path[i], set.program != NULL ? set.program : "text traces",
               set.runs, hd_page_plural(set.runs), set.threshold, holding, (uint32_t)set.list.size);
        show_part(&set, true, "Atomic with the thread's previous access to the same memory:");
        show_part(&set, false, "Not atomic:");
        hd_invariants_free(&set);
    }
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

static int merge(int count, char **path, const char *output) {
    struct hd_invariants all = {.runs = 0}, one;
    struct hd_error error;
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        good = hd_invariants_load(path[i], &one, &error);
        if (!good) break;
        good = hd_invariants_merge(&all, &one, path[i], &error);
        hd_invariants_free(&one);
    }
    if (good) good = hd_invariants_save(output, &all, &error);
    hd_invariants_free(&all);
    return good ? HD_EXIT_CLEAN : hd_complain_error(COMMAND, &error);
}

/* ---- the command ------------------------------------------------------------------------------
 */

int hd_cmd_learn(int argc, char **argv) {
    const char *output = NULL, *oracle = NULL, *input = NULL, *names = NULL, *correlations = NULL;
    uint64_t runs = 20, threshold = 0, stable = 0, seed = 1, limit = 60, good_status = 0;
    unsigned sched = TRAIN_SERIAL, granularity = HD_GRANULARITY_BYTE;
    struct hd_store_option store = {.path = NULL};
    struct hd_campaign_option campaign = {.path = NULL};
    uint64_t jobs = 1;
    bool add = false, shows = false, merges = false, aslr = false;
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &output, "the file of invariants"),
        HD_NUMBER("runs", 0, "N", &runs, 1, UINT32_MAX, "run the program N times (default 20)"),
        HD_NUMBER("stable", 0, "M", &stable, 1, UINT32_MAX,
                  "stop when M passing runs in a row changed nothing (default: run all)"),
        HD_NUMBER("threshold", 0, "T", &threshold, 0, UINT32_MAX,
                  "an invariant holds if at most T passing runs violated it (default 0)"),
        HD_CHOICE("sched", 0, "S", &sched, "serial|free|both",
                  "serial: one thread at a time, random schedules (default); free: in parallel; "
                  "both: by turns"),
        HD_NUMBER("seed", 's', "N", &seed, 0, UINT64_MAX, "serial: seed of the first run"),
        HD_TEXT("oracle", 0, "CMD", &oracle,
                "shell command that judges a run: reads its output, fails if that is wrong"),
        HD_NUMBER("good-status", 0, "N", &good_status, 0, 255,
                  "exit status of a good run (default 0)"),
        HD_NUMBER("limit", 'l', "SECONDS", &limit, 1, 1000000,
                  "a run that takes longer has failed (default 60)"),
        HD_TEXT("input", 0, "FILE", &input, "the program's standard input (default: none)"),
        HD_CHOICE("granularity", 0, "G", &granularity, "byte|word|line",
                  "what counts as the same memory (default byte)"),
        HD_STORE_OPTIONS(&store, "add to what FILE, a store, has learned of the program"),
        HD_FLAG("add", 0, &add, "add to the runs that FILE has already"),
        HD_FLAG("show", 0, &shows, "print the invariants of files, and learn nothing"),
        HD_FLAG("merge", 0, &merges, "make one file of several, and learn nothing"),
        HD_CORRELATIONS_OPTION(&correlations),
        HD_FLAG("aslr", 0, &aslr, "leave address space randomisation on"),
        HD_NAMES_OPTION(&names),
        HD_NUMBER("jobs", 'j', "N", &jobs, 1, 1024, "with --campaign: N runs at once (default 1)"),
        HD_CAMPAIGN_OPTIONS(&campaign),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands =
            "-o FILE|--store FILE [--] CMD [ARG]... | --show FILE... | --merge -o FILE FILE...",
        .about = "Runs CMD, which `heddle cc` or `heddle c++` has linked, many times, and learns\n"
                 "which accesses were never separated from their thread's previous access to the\n"
                 "same memory by another thread, in runs that passed. FILE is text to read and to\n"
                 "edit; `heddle check` reports what breaks it, `heddle predict` and `heddle hunt`\n"
                 "look for it first.\n",
        .example = "  heddle cc -g -O1 -o app app.c -pthread\n"
                   "  heddle learn -o app.inv --runs 50 --stable 10 -- ./app\n"
                   "  heddle learn --show app.inv\n"
                   "  heddle check --invariants app.inv -- ./app\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int operands, status;
    if (!hd_options_parse(&usage, argc, argv, &operands, &status)) return status;
    if (shows && merges) return hd_complain(COMMAND, "--show and --merge are two things");
    if (shows) return show(argc - operands, argv + operands);
    if ((output == NULL) == (store.path == NULL) || (store.path != NULL && (merges || add)))
        return hd_complain(COMMAND, store.path == NULL
                                        ? "-o FILE or --store FILE is missing: where to write to"
                                        : "--store adds to what it has: no -o, --add or --merge");
    if (merges) return merge(argc - operands, argv + operands, output);
    if (campaign.path != NULL && correlations != NULL)
        return hd_complain(COMMAND, "--correlations can't be used with --campaign");
    if (campaign.path == NULL && jobs > 1) return hd_complain(COMMAND, "-j needs --campaign");
    if (hd_campaign_option_is_worker(&campaign))
        return hd_campaign_option_work(COMMAND, &campaign, &training, (unsigned)jobs, true);
    if (!hd_names_option_use(COMMAND, names)) return HD_EXIT_FAILED;
    if (correlations != NULL && sched != TRAIN_SERIAL)
        return hd_complain(COMMAND, "--correlations needs --sched serial: it looks at traces");
    struct hd_correlated_rules rules = {.rule = {0}};
    if (correlations != NULL &&
        !hd_correlations_option_use(COMMAND, correlations, store.project, &rules)) {
        hd_correlated_rules_free(&rules);
        return HD_EXIT_FAILED;
    }
    if (!hd_store_option_check(COMMAND, &store)) return HD_EXIT_FAILED;
    struct hd_error error;
    struct hd_invariants set = {.runs = 0};
    if (add && !hd_invariants_load(output, &set, &error)) return hd_complain_error(COMMAND, &error);
    set.threshold = (uint32_t)threshold;
    char *library = hd_runtime_directory(&error);
    if (library == NULL) return hd_complain_error(COMMAND, &error);
    char fault[HD_FAULT_WORDS] = "";
    struct training_job job = {.path = output != NULL ? output : store.path,
                               .store = &store,
                               .program = {.argv = argv + operands,
                                           .input = input,
                                           .limit_ms = limit * 1000,
                                           .good_status = (int)good_status,
                                           .oracle = oracle,
                                           .keep_aslr = aslr},
                               .host = {.library_directory = library,
                                        .stop = hd_stop_on_signals(HD_STOP_ALL),
                                        .runtime_fault = fault},
                               .sched = sched,
                               .runs = runs,
                               .stable = stable,
                               .seed = seed,
                               .granularity = granularity,
                               .learner = {.invariants = &set},
                               .rules = correlations != NULL ? &rules : NULL};
    status =
        campaign.path != NULL ? learn_with_campaign(&job, &campaign, (unsigned)jobs) : learn(&job);
    hd_learner_free(&job.learner);
    hd_correlated_rules_free(&rules);
    hd_invariants_free(&set);
    free(library);
    return hd_end_by_signal(job.interrupted, hd_complain_runtime(COMMAND, fault, status));
}
