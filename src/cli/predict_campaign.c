/* See predict_campaign.h. The subject of the campaign is all that the answers depend on: files, and
 * words that say how they are looked at. */
#include "cli/predict_campaign.h"

#include "base/alloc.h"
#include "campaign/mpi.h"
#include "campaign/share.h"
#include "cli/commands.h"
#include "cli/names_option.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND HD_PREDICT_COMMAND

/* Behind the traces: files of correlations, invariants and names (each "" if there is none), kinds,
 * options. */
enum { WORD_CORRELATIONS, WORD_INVARIANTS, WORD_NAMES, WORD_KINDS, WORD_OPTIONS, WORDS };

/* ---- the subject ----------------------------------------------------------------------------- */

static char *kinds_word(const struct hd_predict_request *request) {
    char *word = hd_strdup("");
    for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT; k++) {
        if (!request->kind[k]) continue;
        char *longer =
            hd_format("%s%s%s", word, *word != '\0' ? "," : "", hd_predict_kinds[k].word);
        free(word);
        word = longer;
    }
    return word;
}

/* All options that can change what is decided. */
static char *options_word(const struct hd_predict_request *request) {
    const struct hd_predict_options *options = &request->options;
    return hd_format("%s reading %d model %u budget %llu %llu instances %d all %d %d patterns %d "
                     "relax %d %d final %d strict %d full %d candidates %llu",
                     options->method->name, (int)options->reading, request->model,
                     (unsigned long long)options->budget.choices,
                     (unsigned long long)options->budget.nanoseconds, options->instances,
                     options->all, options->found_only, options->all_patterns,
                     options->relax_branches, (int)options->branches, options->final_state,
                     request->strict, request->full, (unsigned long long)request->candidates);
}

/* The path with a slash in it: a name without one would be looked for in PATH. */
static char *with_slash(const char *path) {
    return strchr(path, '/') != NULL ? hd_strdup(path) : hd_format("./%s", path);
}

static char **subject_of(const struct hd_predict_request *request) {
    size_t files = 1 + (size_t)request->passings;
    char **word = hd_zalloc(files + WORDS + 1, sizeof *word), **more = word + files;
    word[0] = with_slash(request->path);
    for (uint32_t i = 0; i < request->passings; i++) word[i + 1] = hd_strdup(request->passing[i]);
    more[WORD_CORRELATIONS] = hd_strdup(request->correlations != NULL ? request->correlations : "");
    more[WORD_INVARIANTS] = hd_strdup(request->invariants != NULL ? request->invariants : "");
    more[WORD_NAMES] = hd_strdup(request->names != NULL ? request->names : "");
    more[WORD_KINDS] = kinds_word(request);
    more[WORD_OPTIONS] = options_word(request);
    return word;
}

static void free_words(char **word) {
    for (size_t i = 0; word[i] != NULL; i++) free(word[i]);
    free(word);
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

/* What can't be done by many: a complaint. */
static bool can_share(const struct hd_predict_request *request) {
    const char *wrong = NULL;
    if (strcmp(request->path, "-") == 0)
        wrong = "--campaign needs a trace in a file: other ranks read it too";
    else if (request->compare)
        wrong = "--compare can't be used with --campaign";
    else if (request->options.read_site != NULL)
        wrong = "--read can't be used with --campaign: what is where is known to rank 0 only";
    else if ((request->correlations != NULL && hd_store_looks_like_one(request->correlations)) ||
             (request->invariants != NULL && hd_store_looks_like_one(request->invariants)))
        wrong = "with --campaign correlations and invariants are files, not stores";
    if (wrong != NULL) hd_complain(COMMAND, "%s", wrong);
    return wrong == NULL;
}

/* Without MPI this process does all of it, with all cores. */
static unsigned at_once(const struct hd_predict_request *request) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (request->options.jobs > 0) return request->options.jobs;
    return hd_mpi_is_there() || cores < 1 ? 1 : (unsigned)cores;
}

int hd_predict_with_campaign(struct hd_predict_request *request,
                             const struct hd_campaign_option *option,
                             hd_predict_function *predict) {
    if (!can_share(request)) return HD_EXIT_FAILED;
    struct hd_share_options how = {.until_ns = request->options.budget.until};
    struct hd_share *share = hd_share_new(&how);
    char **word = subject_of(request);
    struct hd_program subject = {.argv = word};
    struct hd_host host = {.library_directory = NULL};
    char *title =
        hd_format("heddle predict %s %s", word[1 + request->passings + WORD_KINDS], request->path);
    struct hd_campaign_options options = {.program = &subject,
                                          .host = &host,
                                          .kind = hd_share_kind(share),
                                          .title = title,
                                          .at_once = at_once(request)};
    int status = HD_EXIT_FAILED;
    struct hd_campaign *campaign = hd_campaign_option_begin(COMMAND, option, &options);
    if (campaign != NULL) {
        hd_share_use(share, campaign);
        request->options.sharing = hd_share_sharing(share);
        status = predict(request);
        bool late = hd_budget_is_over(&request->options.budget);
        if (!hd_campaign_option_end(COMMAND, campaign,
                                    late ? "ended: the time was up"
                                         : hd_campaign_option_words(status)))
            status = HD_EXIT_FAILED;
    }
    free_words(word);
    free(title);
    hd_share_free(share);
    return status;
}

/* ---- the others ------------------------------------------------------------------------------ */

struct helper {
    struct hd_predict_request *request;
    hd_predict_function *predict;
};

static void analyse(void *context, const struct hd_program *subject) {
    const struct helper *helper = context;
    struct hd_predict_request *request = helper->request;
    int words = 0;
    while (subject->argv[words] != NULL) words++;
    if (words <= WORDS) return;
    int files = words - WORDS;
    char **more = subject->argv + files;
    request->correlations = *more[WORD_CORRELATIONS] != '\0' ? more[WORD_CORRELATIONS] : NULL;
    request->invariants = *more[WORD_INVARIANTS] != '\0' ? more[WORD_INVARIANTS] : NULL;
    char **operand = hd_alloc((size_t)files + 1, sizeof *operand);
    operand[0] = more[WORD_KINDS];
    for (int i = 0; i < files; i++) operand[i + 1] = subject->argv[i];
    const char *names = *more[WORD_NAMES] != '\0' ? more[WORD_NAMES] : NULL;
    if (hd_names_option_use(COMMAND, names) &&
        hd_predict_understand_operands(request, files + 1, operand)) {
        char *options = options_word(request);
        if (strcmp(options, more[WORD_OPTIONS]) == 0) helper->predict(request);
        free(options);
    }
    free(operand);
}

int hd_predict_help_campaign(struct hd_predict_request *request,
                             const struct hd_campaign_option *option,
                             hd_predict_function *predict) {
    struct helper helper = {request, predict};
    struct hd_share_options how = {
        .until_ns = request->options.budget.until, .analyse = analyse, .context = &helper};
    struct hd_share *share = hd_share_new(&how);
    unsigned jobs = request->options.jobs > 0 ? request->options.jobs : 1;
    request->options.jobs = jobs;
    request->options.sharing = hd_share_sharing(share);
    request->silent = true;
    int status = hd_campaign_option_work(COMMAND, option, hd_share_kind(share), jobs, true);
    hd_share_free(share);
    return status;
}
