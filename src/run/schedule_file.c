/* Schedules as JSON files (heddle-schedule/1): written so that a person can read and edit them,
 * read as untrusted input. The format is in docs/replay.md. */
#define _GNU_SOURCE
#include "run/schedule_fields.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/whole_file.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA "heddle-schedule/1"
#define MOST_BYTES (256u << 20)
#define MOST_CALLS ((json_int_t)1 << 53) /* in all: what every JSON reader can hold */
#define MOST_THREADS 65535

/* ---- threads and turns ---------------------------------------------------------------------- */

static bool read_thread(struct hd_fields_in *in, const json_t *value, const char *where,
                        uint32_t *thread) {
    const char *word = json_string_value(value);
    char *end = NULL;
    unsigned long number = MOST_THREADS;
    if (word != NULL && word[0] == 'T' && word[1] >= '0' && word[1] <= '9' && strlen(word) <= 6 &&
        (word[1] != '0' || word[2] == '\0'))
        number = strtoul(word + 1, &end, 10);
    if (number >= MOST_THREADS || *end != '\0')
        return hd_fields_refuse(in, where, "must be a thread, \"T0\" to \"T65534\"");
    *thread = (uint32_t)number;
    return true;
}

static bool read_turn_thread(struct hd_fields_in *in, const json_t *value, const char *where,
                             void *object) {
    return read_thread(in, value, where, &((struct hd_turn *)object)->thread);
}
static json_t *write_turn_thread(const void *object) {
    char thread[16];
    snprintf(thread, sizeof thread, "T%u", ((const struct hd_turn *)object)->thread);
    return json_string(thread);
}

/* The calls of all turns together must stay countable. */
static bool read_count(struct hd_fields_in *in, const json_t *value, const char *where,
                       uint64_t *count) {
    json_int_t number = json_integer_value(value), *all = in->context;
    if (!json_is_integer(value) || number < 0 || number > MOST_CALLS)
        return hd_fields_refuse(in, where, "must be a whole number, 0 or more");
    *all += number;
    if (*all > MOST_CALLS) return hd_fields_refuse(in, where, "makes the schedule too long");
    *count = (uint64_t)number;
    return true;
}
static bool read_calls(struct hd_fields_in *in, const json_t *value, const char *where,
                       void *object) {
    return read_count(in, value, where, &((struct hd_turn *)object)->calls);
}
static bool read_beyond(struct hd_fields_in *in, const json_t *value, const char *where,
                        void *object) {
    return read_count(in, value, where, &((struct hd_turn *)object)->beyond);
}
static json_t *write_calls(const void *object) {
    return json_integer((json_int_t)((const struct hd_turn *)object)->calls);
}
static json_t *write_calls_but_one(const void *object) {
    return ((const struct hd_turn *)object)->calls == 1 ? NULL : write_calls(object);
}
static json_t *write_beyond(const void *object) {
    uint64_t beyond = ((const struct hd_turn *)object)->beyond;
    return beyond == 0 ? NULL : json_integer((json_int_t)beyond);
}

static const struct hd_field turn_fields[] = {
    HD_FIELD_NEEDED("thread", read_turn_thread, write_turn_thread),
    HD_FIELD_NEEDED("calls", read_calls, write_calls), HD_FIELD_TEXT(struct hd_turn, to),
    HD_FIELD_OTHER("beyond", read_beyond, write_beyond), HD_FIELDS_END};

/* The error condition's turns are one call each as a rule. */
static const struct hd_field then_fields[] = {
    HD_FIELD_NEEDED("thread", read_turn_thread, write_turn_thread),
    HD_FIELD_OTHER("calls", read_calls, write_calls_but_one),
    {.name = "at", .type = HD_FIELD_IS_TEXT, HD_FIELD_AT(struct hd_turn, to)},
    HD_FIELDS_END};

static bool read_turns(struct hd_fields_in *in, const json_t *list, const char *where, bool then,
                       struct hd_schedule *schedule) {
    if (!json_is_array(list)) return hd_fields_refuse(in, where, "must be a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct hd_turn turn = {.calls = then ? 1 : 0, .to = ""};
        char place[160];
        snprintf(place, sizeof place, "%.120s[%zu]", where, i);
        if (!hd_fields_read(in, json_array_get(list, i), place, then ? then_fields : turn_fields,
                            &turn))
            return false;
        if (then)
            hd_vector_push(&schedule->then, turn);
        else
            hd_vector_push(&schedule->turn, turn);
    }
    return true;
}

static bool read_choice_thread(struct hd_fields_in *in, const json_t *value, const char *where,
                               void *object) {
    return read_thread(in, value, where, &((struct hd_run_choice *)object)->thread);
}
static json_t *write_choice_thread(const void *object) {
    char thread[16];
    snprintf(thread, sizeof thread, "T%u", ((const struct hd_run_choice *)object)->thread);
    return json_string(thread);
}
static bool read_wakes(struct hd_fields_in *in, const json_t *value, const char *where,
                       void *object) {
    return read_thread(in, value, where, &((struct hd_run_choice *)object)->wakes);
}
static json_t *write_wakes(const void *object) {
    char thread[16];
    if (((const struct hd_run_choice *)object)->wakes == UINT32_MAX) return NULL;
    snprintf(thread, sizeof thread, "T%u", ((const struct hd_run_choice *)object)->wakes);
    return json_string(thread);
}
static bool read_timeout(struct hd_fields_in *in, const json_t *value, const char *where,
                         void *object) {
    if (!json_is_true(value)) return hd_fields_refuse(in, where, "must be true");
    ((struct hd_run_choice *)object)->wakes = UINT32_MAX;
    return true;
}
static json_t *write_timeout(const void *object) {
    return ((const struct hd_run_choice *)object)->wakes == UINT32_MAX ? json_true() : NULL;
}
static bool read_call(struct hd_fields_in *in, const json_t *value, const char *where,
                      void *object) {
    json_int_t call = json_integer_value(value);
    if (!json_is_integer(value) || call < 1 || call > MOST_CALLS)
        return hd_fields_refuse(in, where, "must be a whole number, 1 or more");
    ((struct hd_run_choice *)object)->call = (uint64_t)call;
    return true;
}
static json_t *write_call(const void *object) {
    return json_integer((json_int_t)((const struct hd_run_choice *)object)->call);
}

static const struct hd_field choice_fields[] = {
    HD_FIELD_NEEDED("thread", read_choice_thread, write_choice_thread),
    HD_FIELD_NEEDED("call", read_call, write_call),
    HD_FIELD_OTHER("wakes", read_wakes, write_wakes),
    HD_FIELD_OTHER("timeout", read_timeout, write_timeout), HD_FIELDS_END};

static bool read_choices(struct hd_fields_in *in, const json_t *list, const char *where,
                         void *object) {
    struct hd_schedule *schedule = object;
    if (!json_is_array(list)) return hd_fields_refuse(in, where, "must be a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct hd_run_choice choice = {0};
        char place[160];
        snprintf(place, sizeof place, "%.120s[%zu]", where, i);
        if (!hd_fields_read(in, json_array_get(list, i), place, choice_fields, &choice))
            return false;
        const json_t *item = json_array_get(list, i);
        if ((json_object_get(item, "wakes") != NULL) == (json_object_get(item, "timeout") != NULL))
            return hd_fields_refuse(in, place, "must have either \"wakes\" or \"timeout\"");
        hd_vector_push(&schedule->choice, choice);
    }
    return true;
}
static json_t *write_choices(const void *object) {
    const struct hd_schedule *schedule = object;
    if (schedule->choice.size == 0) return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < schedule->choice.size; i++)
        json_array_append_new(list, hd_fields_write(choice_fields, &schedule->choice.data[i]));
    return list;
}

static bool read_schedule(struct hd_fields_in *in, const json_t *list, const char *where,
                          void *object) {
    return read_turns(in, list, where, false, object);
}
static bool read_then(struct hd_fields_in *in, const json_t *list, const char *where,
                      void *object) {
    return read_turns(in, list, where, true, object);
}

/* ---- who makes the threads: {"T0": ["T1", "T2"], "T1": ["T3"]} ------------------------------- */

static bool read_child(struct hd_fields_in *in, const json_t *value, const char *where,
                       struct hd_made made, struct hd_schedule *s) {
    uint32_t thread;
    if (!read_thread(in, value, where, &thread)) return false;
    if (thread == 0)
        return hd_fields_refuse(in, where, "must not have \"T0\" made by another thread");
    while (s->made.size <= thread) hd_vector_push(&s->made, ((struct hd_made){UINT32_MAX, 0}));
    if (s->made.data[thread].by != UINT32_MAX)
        return hd_fields_refuse(in, where, "must not have a thread made twice");
    s->made.data[thread] = made;
    return true;
}

static bool read_makers(struct hd_fields_in *in, const json_t *object, const char *where,
                        void *schedule) {
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return hd_fields_refuse(in, where, "must be an object");
    json_object_foreach((json_t *)object, key, value) {
        struct hd_made made = {0, 0};
        json_t *name = json_string(key);
        bool good = read_thread(in, name, where, &made.by);
        json_decref(name);
        if (!good) return false;
        if (!json_is_array(value)) return hd_fields_refuse(in, where, "must have lists of threads");
        for (; made.as < json_array_size(value); made.as++)
            if (!read_child(in, json_array_get(value, made.as), where, made, schedule))
                return false;
    }
    return true;
}

static void write_makers(FILE *to, const struct hd_schedule *schedule) {
    json_t *makers = json_object(), *children;
    for (uint32_t i = 0; i < schedule->made.size; i++) { /* they are numbered in this order */
        char by[16], name[16];
        if (schedule->made.data[i].by == UINT32_MAX) continue;
        snprintf(by, sizeof by, "T%u", schedule->made.data[i].by);
        snprintf(name, sizeof name, "T%u", i);
        json_t *list = json_object_get(makers, by);
        if (list == NULL) json_object_set_new(makers, by, list = json_array());
        json_array_append_new(list, json_string(name));
    }
    const char *by, *before = "  \"made_by\": {";
    json_object_foreach(makers, by, children) {
        char *line = json_dumps(children, 0);
        fprintf(to, "%s\n    \"%s\": %s", before, by, line);
        free(line);
        before = ",";
    }
    if (json_object_size(makers) > 0) fputs("\n  },\n", to);
    json_decref(makers);
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool read_control(struct hd_fields_in *in, const json_t *value, const char *where,
                         void *object) {
    struct hd_schedule *schedule = object;
    schedule->has_control = true;
    if (!hd_steering_read(in, value, where, &schedule->control, &schedule->places)) return false;
    return schedule->control.policy != HD_POLICY_REPLAY ||
           hd_fields_refuse(in, where, "must not have the policy of a file with turns");
}
static json_t *write_control(const void *object) {
    const struct hd_schedule *schedule = object;
    return schedule->has_control ? hd_steering_write(&schedule->control, &schedule->places) : NULL;
}

static bool read_mark(struct hd_fields_in *in, const json_t *value, const char *where,
                      void *object) {
    const char **mark = &((struct hd_schedule *)object)->good_output;
    if (!hd_fields_text(in, value, where, mark)) return false;
    return **mark == '\0' || hd_is_output_mark(*mark) ||
           hd_fields_refuse(in, where,
                            "must be \"bytes:\" or \"lines:\" and 16 hexadecimal digits");
}
static json_t *write_mark(const void *object) {
    const char *mark = ((const struct hd_schedule *)object)->good_output;
    return mark != NULL && *mark != '\0' ? hd_json_text(mark) : NULL;
}

static json_t *write_schema(const void *object) {
    (void)object;
    return json_string(SCHEMA);
}
static json_t *write_later(const void *object) {
    (void)object;
    return NULL;
}

/* Turns and makers are written apart, one a line. */
static const struct hd_field fields[] = {HD_FIELD_OTHER("schema", hd_fields_skip, write_schema),
                                         HD_FIELD_TEXT(struct hd_schedule, kind),
                                         HD_FIELD_TEXT(struct hd_schedule, variable),
                                         HD_FIELD_TEXT(struct hd_schedule, fingerprint),
                                         HD_FIELD_TEXT(struct hd_schedule, about),
                                         HD_FIELD_TEXT(struct hd_schedule, command),
                                         HD_FIELD_TEXT(struct hd_schedule, outcome),
                                         HD_FIELD_OTHER("good_output", read_mark, write_mark),
                                         HD_FIELD_NUMBER(struct hd_schedule, process, UINT16_MAX),
                                         HD_FIELD_OTHER("control", read_control, write_control),
                                         HD_FIELD_OTHER("choices", read_choices, write_choices),
                                         HD_FIELD_OTHER("made_by", read_makers, write_later),
                                         HD_FIELD_OTHER("schedule", read_schedule, write_later),
                                         HD_FIELD_OTHER("then", read_then, write_later),
                                         HD_FIELDS_END};

static void write_turn(FILE *to, const struct hd_field *table, const struct hd_turn *turn,
                       bool last) {
    json_t *object = hd_fields_write(table, turn);
    char *line = json_dumps(object, JSON_PRESERVE_ORDER);
    json_decref(object);
    if (line == NULL) hd_out_of_memory();
    fprintf(to, "    %s%s\n", line, last ? "" : ",");
    free(line);
}

char *hd_schedule_write(const struct hd_schedule *schedule) {
    json_t *object = hd_fields_write(fields, schedule);
    char *head = json_dumps(object, JSON_INDENT(2) | JSON_PRESERVE_ORDER), *text = NULL;
    json_decref(object);
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (head == NULL || to == NULL) hd_out_of_memory();
    if (schedule->has_control) {
        fprintf(to, "%s\n", head);
    } else {
        fprintf(to, "%.*s,\n", (int)strlen(head) - 2, head); /* but "\n}" */
        write_makers(to, schedule);
        fprintf(to, "  \"schedule\": [\n");
        for (size_t i = 0; i < schedule->turn.size; i++)
            write_turn(to, turn_fields, &schedule->turn.data[i], i + 1 == schedule->turn.size);
        fprintf(to, "  ],\n  \"then\": [\n");
        for (size_t i = 0; i < schedule->then.size; i++)
            write_turn(to, then_fields, &schedule->then.data[i], i + 1 == schedule->then.size);
        fprintf(to, "  ]\n}\n");
    }
    if (fclose(to) != 0) hd_out_of_memory();
    free(head);
    return text;
}

bool hd_schedule_save(const struct hd_schedule *schedule, const char *path,
                      struct hd_error *error) {
    char *text = hd_schedule_write(schedule);
    bool done = hd_whole_file_write(path, text, error);
    free(text);
    return done;
}

static bool read_root(struct hd_fields_in *in, const json_t *root, struct hd_schedule *schedule) {
    if (!hd_fields_schema(in, root, SCHEMA, "schedule") ||
        !hd_fields_read(in, root, "", fields, schedule))
        return false;
    bool turns = json_object_get(root, "schedule") != NULL;
    if (schedule->has_control &&
        (turns || schedule->then.size > 0 || schedule->made.size > 0 || schedule->choice.size > 0))
        return hd_fields_refuse(in, "control", "and turns can't be in one file");
    return turns || schedule->has_control ||
           hd_fields_refuse(in, "this",
                            "is no schedule: it has no \"schedule\" and no \"control\"");
}

bool hd_schedule_from_json(const json_t *root, const char *name, struct hd_schedule *schedule,
                           struct hd_error *error) {
    json_int_t calls = 0;
    memset(schedule, 0, sizeof *schedule);
    schedule->kind = schedule->variable = schedule->fingerprint = schedule->about = "";
    schedule->command = schedule->outcome = schedule->good_output = "";
    struct hd_fields_in in = {
        .name = name, .arena = &schedule->arena, .error = error, .context = &calls};
    if (read_root(&in, root, schedule)) return true;
    hd_schedule_free(schedule);
    return false;
}

bool hd_schedule_read(const char *text, size_t bytes, const char *name,
                      struct hd_schedule *schedule, struct hd_error *error) {
    struct hd_fields_in in = {.name = name, .error = error};
    memset(schedule, 0, sizeof *schedule);
    json_t *root = hd_fields_parse(&in, text, bytes);
    if (root == NULL) return false;
    bool good = hd_schedule_from_json(root, name, schedule, error);
    json_decref(root);
    return good;
}

bool hd_schedule_load(const char *path, struct hd_schedule *schedule, struct hd_error *error) {
    memset(schedule, 0, sizeof *schedule);
    size_t bytes;
    char *text = hd_whole_file_read(path, MOST_BYTES, &bytes, error);
    if (text == NULL) return false;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    bool good = hd_schedule_read(text, bytes, name, schedule, error);
    free(text);
    return good;
}
