/* The identity of programs and jobs. See programs.h. */
#include "campaign/programs.h"

#include "base/alloc.h"
#include "run/job.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define PROBE_MS 60000u

/* ---- files ----------------------------------------------------------------------------------- */

char *campaign_find_program(const char *name) {
    const char *at = getenv("PATH");
    if (strchr(name, '/') != NULL) return hd_strdup(name);
    while (at != NULL) {
        size_t length = strcspn(at, ":");
        char *file = hd_format("%.*s%s%s", (int)length, at, length > 0 ? "/" : "./", name);
        if (access(file, X_OK) == 0) return file;
        free(file);
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    return hd_strdup(name);
}

static void need(struct campaign_program *program, int word, const char *path) {
    struct campaign_needed needed = {.word = word};
    const char *directory = program->program.directory;
    bool here = directory == NULL || path[0] == '/';
    needed.path = here ? hd_strdup(path) : hd_format("%s/%s", directory, path);
    if (campaign_hash_file(needed.path, needed.hash))
        hd_vector_push(&program->needed, needed);
    else
        free(needed.path);
}

static void list_files(struct campaign_program *program) {
    const struct hd_program *p = &program->program;
    char *file = campaign_find_program(p->argv[0]);
    need(program, 0, file);
    free(file);
    for (int i = 1; p->argv[i] != NULL; i++) need(program, i, p->argv[i]);
    if (p->input != NULL) need(program, CAMPAIGN_INPUT, p->input);
    if (p->output_like != NULL) need(program, CAMPAIGN_REFERENCE, p->output_like);
}

void campaign_program_make(struct campaign_program *program, const struct hd_program *from,
                           const char *kind, const char *build) {
    *program = (struct campaign_program){.program = *from};
    list_files(program);
    char *words = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&words, &bytes);
    if (out == NULL) hd_out_of_memory();
    struct hd_job plain = {.program = *from};
    char *text = campaign_job_text(&plain);
    fprintf(out, "%s %s%s %s", HEDDLE_VERSION, kind, build, text);
    for (size_t i = 0; i < program->needed.size; i++)
        fprintf(out, " %d %s", program->needed.data[i].word, program->needed.data[i].hash);
    fclose(out);
    campaign_hash(words, bytes, 0, program->key);
    free(text);
    free(words);
}

void campaign_program_free(struct campaign_program *program) {
    for (size_t i = 0; i < program->needed.size; i++) free(program->needed.data[i].path);
    hd_vector_free(&program->needed);
}

bool campaign_program_is(const struct campaign_program *program, const struct hd_program *other) {
    const struct hd_program *p = &program->program;
    return p->argv == other->argv && p->environment == other->environment &&
           p->directory == other->directory && p->input == other->input &&
           p->oracle == other->oracle && p->output_like == other->output_like &&
           p->good_output == other->good_output && p->good_status == other->good_status &&
           p->most_output == other->most_output && p->keep_aslr == other->keep_aslr;
}

/* ---- the build ------------------------------------------------------------------------------- */

bool campaign_build(const struct hd_program *program, const struct hd_host *host, char build[33],
                    struct hd_error *error) {
    struct hd_job job = {.program = *program, .steering = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_result result;
    struct hd_trace trace;
    struct hd_error ignored;
    build[0] = '\0';
    job.program.oracle = NULL;
    if (job.program.limit_ms == 0) job.program.limit_ms = PROBE_MS;
    if (!hd_run(&job, host, &result, error)) return false;
    if (result.recorded && hd_trace_load(result.trace_path, NULL, &trace, &ignored)) {
        if (!hd_trace_build(&trace, build)) build[0] = '\0';
        hd_trace_free(&trace);
    }
    hd_result_free(&result);
    return true;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

char *campaign_job_text(const struct hd_job *job) {
    struct hd_job plain = *job;
    plain.program.limit_ms = 0;
    plain.program.output_like = NULL;
    plain.steering.patience_ms = 0;
    return hd_job_write(&plain);
}

void campaign_job_key(const struct campaign_program *program, const char *text, size_t bytes,
                      char key[HD_KEY_TEXT]) {
    campaign_hash(text, bytes, XXH3_64bits(program->key, sizeof program->key), key);
}
