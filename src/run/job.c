/* Jobs and results as text. See job.h. */
#include "run/job.h"

#include "base/alloc.h"
#include "run/schedule_fields.h"

#include <stdio.h>
#include <string.h>

#define JOB_SCHEMA "heddle-job/1"
#define RESULT_SCHEMA "heddle-result/1"

/* ---- the program ---------------------------------------------------------------------------- */

static json_t *write_words(char **word) {
    if (word == NULL) return NULL;
    json_t *list = json_array();
    for (; *word != NULL; word++) json_array_append_new(list, hd_fields_bytes_write(*word));
    return list;
}
static bool read_words(struct hd_fields_in *in, const json_t *list, const char *where,
                       char ***words) {
    if (!json_is_array(list)) return hd_fields_refuse(in, where, "must be a list");
    size_t count = json_array_size(list);
    *words = hd_arena_zalloc(in->arena, count + 1, sizeof **words);
    for (size_t i = 0; i < count; i++) {
        char place[160];
        const char *word;
        snprintf(place, sizeof place, "%.120s[%zu]", where, i);
        if (!hd_fields_bytes(in, json_array_get(list, i), place, &word)) return false;
        (*words)[i] = (char *)word;
    }
    return true;
}

static json_t *write_argv(const void *object) {
    return write_words(((const struct hd_program *)object)->argv);
}
static bool read_argv(struct hd_fields_in *in, const json_t *list, const char *where,
                      void *object) {
    struct hd_program *program = object;
    return read_words(in, list, where, &program->argv) &&
           (program->argv[0] != NULL || hd_fields_refuse(in, where, "must name a program"));
}
static json_t *write_environment(const void *object) {
    return write_words(((const struct hd_program *)object)->environment);
}
static bool read_environment(struct hd_fields_in *in, const json_t *list, const char *where,
                             void *object) {
    struct hd_program *program = object;
    if (!read_words(in, list, where, &program->environment)) return false;
    for (char **word = program->environment; *word != NULL; word++)
        if (strchr(*word, '=') == NULL || **word == '=')
            return hd_fields_refuse(in, where, "must have words like \"NAME=VALUE\"");
    return true;
}
static bool read_mark(struct hd_fields_in *in, const json_t *value, const char *where,
                      void *object) {
    struct hd_program *program = object;
    return hd_fields_text(in, value, where, &program->good_output) &&
           (hd_is_output_mark(program->good_output) ||
            hd_fields_refuse(in, where,
                             "must be \"bytes:\" or \"lines:\" and 16 hexadecimal digits"));
}
static json_t *write_mark(const void *object) {
    const char *mark = ((const struct hd_program *)object)->good_output;
    return mark != NULL ? json_string(mark) : NULL;
}

static const struct hd_field program_fields[] = {
    HD_FIELD_NEEDED("argv", read_argv, write_argv),
    HD_FIELD_OTHER("environment", read_environment, write_environment),
    HD_FIELD_BYTES(struct hd_program, directory),
    HD_FIELD_BYTES(struct hd_program, input),
    HD_FIELD_NUMBER(struct hd_program, limit_ms, INT64_MAX / 1000000),
    HD_FIELD_NUMBER(struct hd_program, most_output, INT64_MAX),
    HD_FIELD_INT(struct hd_program, good_status),
    HD_FIELD_BYTES(struct hd_program, oracle),
    HD_FIELD_BYTES(struct hd_program, output_like),
    HD_FIELD_OTHER("good_output", read_mark, write_mark),
    HD_FIELD_FLAG(struct hd_program, keep_aslr),
    HD_FIELDS_END};

/* ---- the job -------------------------------------------------------------------------------- */

/* What a job that was read points to. */
struct own {
    struct hd_arena arena;
    struct hd_sites places;
    struct hd_schedule schedule; /* to follow */
};

static json_t *write_schema(const void *object) {
    (void)object;
    return json_string(JOB_SCHEMA);
}
static json_t *write_program(const void *object) {
    return hd_fields_write(program_fields, &((const struct hd_job *)object)->program);
}
static bool read_program(struct hd_fields_in *in, const json_t *value, const char *where,
                         void *object) {
    return hd_fields_read(in, value, where, program_fields, &((struct hd_job *)object)->program);
}
static json_t *write_steering(const void *object) {
    const struct hd_steering *steering = &((const struct hd_job *)object)->steering;
    return hd_steering_write(steering, steering->places);
}
static bool read_steering(struct hd_fields_in *in, const json_t *value, const char *where,
                          void *object) {
    struct hd_job *job = object;
    struct own *own = job->own;
    return hd_steering_read(in, value, where, &job->steering, &own->places);
}
static json_t *write_schedule(const void *object) {
    const struct hd_schedule *schedule = ((const struct hd_job *)object)->steering.schedule;
    if (schedule == NULL) return NULL;
    char *text = hd_schedule_write(schedule);
    json_t *value = json_loads(text, 0, NULL);
    free(text);
    return value;
}
static bool read_schedule(struct hd_fields_in *in, const json_t *value, const char *where,
                          void *object) {
    (void)where;
    struct own *own = ((struct hd_job *)object)->own;
    return hd_schedule_from_json(value, in->name, &own->schedule, in->error);
}

static const struct hd_field job_fields[] = {
    HD_FIELD_OTHER("schema", hd_fields_skip, write_schema),
    HD_FIELD_NEEDED("program", read_program, write_program),
    HD_FIELD_NEEDED("steering", read_steering, write_steering),
    HD_FIELD_OTHER("schedule", read_schedule, write_schedule), HD_FIELDS_END};

static char *one_line(json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(object);
    if (text == NULL) hd_out_of_memory();
    return text;
}

char *hd_job_write(const struct hd_job *job) { return one_line(hd_fields_write(job_fields, job)); }

/* A schedule is there if and only if it is to be followed, and has turns. */
static bool take_schedule(const struct hd_fields_in *in, const json_t *root, struct hd_job *job) {
    struct own *own = job->own;
    bool given = json_object_get(root, "schedule") != NULL;
    bool wanted =
        job->steering.scheduler != HD_SCHED_OFF && job->steering.policy == HD_POLICY_REPLAY;
    if (given != wanted || own->schedule.has_control)
        return hd_fields_refuse(in, "schedule",
                                "must be there, with turns, for the policy \"replay\" and only "
                                "for that");
    if (given) job->steering.schedule = &own->schedule;
    return true;
}

bool hd_job_read(const char *text, size_t bytes, const char *name, struct hd_job *job,
                 struct hd_error *error) {
    struct own *own = hd_zalloc(1, sizeof *own);
    *job = (struct hd_job){.own = own};
    struct hd_fields_in in = {.name = name, .arena = &own->arena, .error = error};
    json_t *root = hd_fields_parse(&in, text, bytes);
    bool good = root != NULL && hd_fields_schema(&in, root, JOB_SCHEMA, "job") &&
                hd_fields_read(&in, root, "", job_fields, job) && take_schedule(&in, root, job);
    json_decref(root);
    if (!good) hd_job_free(job);
    return good;
}

void hd_job_free(struct hd_job *job) {
    struct own *own = job->own;
    hd_steering_free(&job->steering);
    hd_schedule_free(&own->schedule);
    hd_sites_free(&own->places);
    hd_arena_free(&own->arena);
    free(own);
    memset(job, 0, sizeof *job);
}

/* ---- the result ----------------------------------------------------------------------------- */

static const char *const outcome_word[] = {
#define X(name, word) word,
    HD_OUTCOMES(X)
#undef X
};
static const char *const verdict_word[] = {
#define X(name, word) word,
    HD_REPLAY_VERDICTS(X)
#undef X
};

static const struct hd_field outcome_fields[] = {
    HD_FIELD_WORD(struct hd_outcome, kind, outcome_word), HD_FIELD_INT(struct hd_outcome, status),
    HD_FIELD_CHARS(struct hd_outcome, words), HD_FIELD_CHARS(struct hd_outcome, detail),
    HD_FIELDS_END};
static const struct hd_field divergence_fields[] = {
    HD_FIELD_FLAG(struct hd_divergence, there),
    HD_FIELD_NUMBER(struct hd_divergence, turn, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_divergence, thread, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_divergence, call, UINT64_MAX),
    HD_FIELD_NUMBER(struct hd_divergence, event, UINT64_MAX),
    HD_FIELD_CHARS(struct hd_divergence, expected),
    HD_FIELD_CHARS(struct hd_divergence, came),
    HD_FIELDS_END};
static const struct hd_field end_fields[] = {
    HD_FIELD_FLAG(struct hd_trace_end, whole),
    HD_FIELD_FLAG(struct hd_trace_end, exited),
    HD_FIELD_FLAG(struct hd_trace_end, signaled),
    HD_FIELD_INT(struct hd_trace_end, status),
    HD_FIELD_FLAG(struct hd_trace_end, deadlocked),
    HD_FIELD_FLAG(struct hd_trace_end, runtime_fault),
    HD_FIELD_NUMBER(struct hd_trace_end, lost_events, UINT64_MAX),
    HD_FIELD_CHARS(struct hd_trace_end, missing),
    HD_FIELD_FLAG(struct hd_trace_end, misused),
    HD_FIELD_CHARS(struct hd_trace_end, misuse),
    HD_FIELDS_END};

/* A struct in a struct. */
#define PART(function, structure, member, fields)                                                \
    static json_t *write_##function(const void *object) {                                        \
        return hd_fields_write(fields, &((const structure *)object)->member);                    \
    }                                                                                            \
    static bool read_##function(struct hd_fields_in *in, const json_t *value, const char *where, \
                                void *object) {                                                  \
        return hd_fields_read(in, value, where, fields, &((structure *)object)->member);         \
    }
PART(divergence, struct hd_replay, divergence, divergence_fields)
static const struct hd_field replay_fields[] = {
    HD_FIELD_WORD(struct hd_replay, verdict, verdict_word),
    HD_FIELD_FLAG(struct hd_replay, reached),
    HD_FIELD_NUMBER(struct hd_replay, turns, UINT32_MAX),
    HD_FIELD_FLAG(struct hd_replay, unchecked),
    HD_FIELD_CHARS(struct hd_replay, words),
    HD_FIELD_OTHER("divergence", read_divergence, write_divergence),
    HD_FIELDS_END};
PART(outcome, struct hd_result, outcome, outcome_fields)
PART(replay, struct hd_result, replay, replay_fields)
PART(end, struct hd_result, end, end_fields)
#undef PART

static json_t *write_answer(const void *object) {
    const struct hd_result *result = object;
    size_t words = HD_ANSWER_WORDS;
    while (words > 0 && result->answer[words - 1] == 0) words--;
    if (words == 0) return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < words; i++)
        json_array_append_new(list, json_integer((json_int_t)result->answer[i]));
    return list;
}
static bool read_answer(struct hd_fields_in *in, const json_t *list, const char *where,
                        void *object) {
    struct hd_result *result = object;
    if (!json_is_array(list) || json_array_size(list) > HD_ANSWER_WORDS)
        return hd_fields_refuse(in, where, "must be a list of at most 64 numbers");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!hd_fields_number(in, json_array_get(list, i), where, UINT64_MAX, &result->answer[i]))
            return false;
    return true;
}
/* A descriptor's path means nothing elsewhere. */
static json_t *write_trace_path(const void *object) {
    const struct hd_result *result = object;
    bool named = result->trace < 0 && result->trace_path[0] != '\0';
    return named ? hd_fields_bytes_write(result->trace_path) : NULL;
}
static json_t *write_result_schema(const void *object) {
    (void)object;
    return json_string(RESULT_SCHEMA);
}

static const struct hd_field result_fields[] = {
    HD_FIELD_OTHER("schema", hd_fields_skip, write_result_schema),
    HD_FIELD_NEEDED("outcome", read_outcome, write_outcome),
    HD_FIELD_OTHER("replay", read_replay, write_replay),
    HD_FIELD_INT(struct hd_result, interrupted),
    HD_FIELD_FLAG(struct hd_result, recorded),
    HD_FIELD_FLAG(struct hd_result, forked),
    HD_FIELD_FLAG(struct hd_result, child_threads),
    HD_FIELD_NUMBER(struct hd_result, process, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_result, wire_events, UINT64_MAX),
    HD_FIELD_NUMBER(struct hd_result, threads, UINT32_MAX),
    HD_FIELD_OTHER("end", read_end, write_end),
    HD_FIELD_INT(struct hd_result, wait_status),
    HD_FIELD_NUMBER(struct hd_result, nanoseconds, UINT64_MAX),
    HD_FIELD_OTHER("answer", read_answer, write_answer),
    HD_FIELD_NUMBER(struct hd_result, output_bytes, UINT64_MAX),
    HD_FIELD_NUMBER(struct hd_result, error_bytes, UINT64_MAX),
    HD_FIELD_NUMBER(struct hd_result, output_hash, UINT64_MAX),
    {.name = "trace_path",
     .type = HD_FIELD_IS_CHARS,
     .write = write_trace_path,
     HD_FIELD_AT(struct hd_result, trace_path)},
    HD_FIELDS_END};

char *hd_result_write(const struct hd_result *result) {
    return one_line(hd_fields_write(result_fields, result));
}

bool hd_result_read(const char *text, size_t bytes, const char *name, struct hd_result *result,
                    struct hd_error *error) {
    struct hd_arena arena = {0};
    struct hd_fields_in in = {.name = name, .arena = &arena, .error = error};
    *result = (struct hd_result){.output = -1, .error = -1, .trace = -1};
    json_t *root = hd_fields_parse(&in, text, bytes);
    bool good = root != NULL && hd_fields_schema(&in, root, RESULT_SCHEMA, "result") &&
                hd_fields_read(&in, root, "", result_fields, result);
    json_decref(root);
    hd_arena_free(&arena);
    return good;
}
