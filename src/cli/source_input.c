/* Sources as the input of a command: see source_input.h. */
#include "cli/source_input.h"

#include "base/alloc.h"
#include "campaign/mpi.h"
#include "cli/campaign_option.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "source/unit.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WARNINGS 10

int hd_source_input_flags(struct hd_source_input *input, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0) continue;
        input->flag = argv + i + 1;
        input->flags = (unsigned)(argc - i - 1);
        return i;
    }
    return argc;
}

static char *default_cache(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base != NULL && *base == '/') return hd_format("%s/heddle/source", base);
    if (home != NULL && *home == '/') return hd_format("%s/.cache/heddle/source", home);
    return NULL;
}

/* ---- over ranks -------------------------------------------------------------------------------
 */

static bool read_unit(void *context, const struct hd_errand *errand, struct hd_errand_done *done,
                      struct hd_error *error) {
    return hd_unit_read(context, errand->job, errand->bytes, &done->result, error);
}

static const struct hd_errand_kind units = {.name = "units ", .perform = read_unit};
static const struct hd_campaign_option nothing_kept = {.path = NULL};

/* All that a rank but the first does. */
static int read_for_others(const struct hd_source_input *input, const char *command) {
    struct hd_error error;
    struct hd_errand_kind kind = units;
    struct hd_unit_readers *readers = hd_unit_readers_new(&error);
    if (readers == NULL) return hd_complain_error(command, &error);
    kind.context = readers;
    unsigned at_once = input->jobs > 0 ? (unsigned)input->jobs : 1;
    int status = hd_campaign_option_work(command, &nothing_kept, &kind, at_once, true);
    hd_unit_readers_free(readers);
    return status;
}

/* Has the units read by all ranks. */
static bool load_with_others(const struct hd_source_request *request, const char *command,
                             struct hd_source *source, struct hd_error *error) {
    char *word[] = {(char[]){"source"}, NULL};
    struct hd_program subject = {.argv = word};
    struct hd_host host = {.library_directory = NULL};
    struct hd_campaign_options options = {.program = &subject, .host = &host, .kind = &units};
    struct hd_campaign *campaign = hd_campaign_option_begin(command, &nothing_kept, &options);
    if (campaign == NULL) return hd_fail(error, HD_ERR_IO, "nothing can be asked of other ranks");
    struct hd_source_request shared = *request;
    shared.elsewhere = hd_campaign_errands(campaign);
    bool good = hd_source_load(&shared, source, error);
    return hd_campaign_option_end(command, campaign, "complete: nothing is left") && good;
}

/* ---- loading ----------------------------------------------------------------------------------
 */

static bool load(const struct hd_source_input *input, const char *command, int argc, char **argv,
                 int first, struct hd_source *source, int *status) {
    struct hd_error error;
    *status = HD_EXIT_FAILED;
    if (input->database == NULL && first == argc) {
        hd_complain(command, "no sources: give compile_commands.json with -p, or C files "
                             "(their compiler flags behind --)");
        return false;
    }
    if (input->database != NULL && input->flag != NULL) {
        hd_complain(command, "flags behind -- go with files; -p %s has its own", input->database);
        return false;
    }
    char *cache = input->no_cache        ? NULL
                  : input->cache != NULL ? hd_strdup(input->cache)
                                         : default_cache();
    struct hd_progress_bar bar;
    hd_progress_bar_begin(&bar);
    struct hd_source_request request = {.database = input->database,
                                        .file = (const char *const *)argv + first,
                                        .files = (unsigned)(argc - first),
                                        .flag = (const char *const *)input->flag,
                                        .flags = input->flags,
                                        .include = input->include.item,
                                        .includes = input->include.count,
                                        .exclude = input->exclude.item,
                                        .excludes = input->exclude.count,
                                        .jobs = (unsigned)input->jobs,
                                        .cache = cache,
                                        .progress = &bar.progress};
    bool good = hd_mpi_is_there() ? load_with_others(&request, command, source, &error)
                                  : hd_source_load(&request, source, &error);
    hd_progress_bar_end(&bar);
    free(cache);
    if (!good) {
        hd_complain_error(command, &error);
        hd_source_free(source);
        return false;
    }
    *status = HD_EXIT_CLEAN;
    return true;
}

bool hd_source_input_load(struct hd_source_input *input, const char *command, int argc, char **argv,
                          int first, struct hd_source *source, int *status) {
    bool helps = hd_campaign_is_worker();
    if (helps) *status = read_for_others(input, command);
    bool good = !helps && load(input, command, argc, argv, first, source, status);
    free(input->include.item);
    free(input->exclude.item);
    input->include = input->exclude = (struct hd_option_list){0};
    return good;
}

bool hd_source_input_whole(const struct hd_source *source) {
    for (size_t i = 0; i < source->unit.size; i++) {
        enum hd_unit_state state = source->unit.data[i].state;
        if (state == HD_UNIT_DEGRADED || state == HD_UNIT_LOST) return false;
    }
    return true;
}

void hd_source_input_warn(const char *command, const struct hd_source *source) {
    unsigned shown = 0, more = 0, left_out = 0;
    for (size_t i = 0; i < source->unit.size; i++) {
        const struct hd_source_unit *unit = &source->unit.data[i];
        left_out += unit->left_out;
        if (unit->state == HD_UNIT_GOOD) continue;
        if (shown++ >= MOST_WARNINGS) {
            more++;
            continue;
        }
        const char *path = hd_source_text(source, source->file.data[unit->file].path);
        if (unit->state == HD_UNIT_LOST)
            hd_warn(command, "%s could not be read: %s", path,
                    hd_source_text(source, unit->message));
        else
            hd_warn(command, "%s has %u error%s, what was read of it may be wrong: %s", path,
                    unit->errors, unit->errors == 1 ? "" : "s",
                    hd_source_text(source, unit->message));
    }
    if (more > 0) hd_warn(command, "%u more files with errors", more);
    if (source->read_here > 0)
        hd_warn(command,
                "%u of %zu units were read by this process alone: other machines have not the same "
                "files, or could not read them without errors",
                source->read_here, source->unit.size);
    if (left_out > 0) hd_warn(command, "%u C++ templates and lambdas were left out", left_out);
}
