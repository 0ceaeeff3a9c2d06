/* Schedules as JSON files (heddle-schedule/1): written so that a person can read and edit them,
 * read as untrusted input. The format is in docs/replay.md. */
#define _GNU_SOURCE
#include "run/schedule.h"

#include "base/json.h"
#include "base/whole_file.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "heddle-schedule/1"
#define MOST_BYTES (256u << 20)
#define MOST_CALLS ((json_int_t)1 << 53) /* in all: what every JSON reader can hold */
#define MOST_THREADS 65535

/* ---- writing -------------------------------------------------------------------------------- */

static bool write_field(FILE *to, const char *name, const char *text) {
    if (text == NULL || *text == '\0') return true;
    json_t *value = hd_json_text(text);
    char *word = value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    if (word != NULL) fprintf(to, "  \"%s\": %s,\n", name, word);
    free(word);
    json_decref(value);
    return word != NULL;
}

static bool write_turn(FILE *to, const struct hd_turn *turn, bool then, bool last) {
    char thread[16];
    snprintf(thread, sizeof thread, "T%u", turn->thread);
    json_t *object = json_object();
    json_object_set_new(object, "thread", json_string(thread));
    if (!then || turn->calls != 1)
        json_object_set_new(object, "calls", json_integer((json_int_t)turn->calls));
    if (turn->to != NULL && *turn->to != '\0')
        json_object_set_new(object, then ? "at" : "to", hd_json_text(turn->to));
    if (turn->beyond != 0)
        json_object_set_new(object, "beyond", json_integer((json_int_t)turn->beyond));
    char *line = object != NULL ? json_dumps(object, JSON_PRESERVE_ORDER) : NULL;
    if (line != NULL) fprintf(to, "    %s%s\n", line, last ? "" : ",");
    free(line);
    json_decref(object);
    return line != NULL;
}

/* "made_by": {"T0": ["T1", "T2"], "T1": ["T3"]} */
static bool write_makers(FILE *to, const struct hd_schedule *schedule) {
    const struct hd_made *made = schedule->made.data;
    bool any = false;
    for (uint32_t by = 0; by < schedule->made.size; by++) {
        uint32_t as = 0;
        for (uint32_t i = 0; i < schedule->made.size; i++) { /* they are numbered in this order */
            if (made[i].by != by) continue;
            if (as++ == 0)
                fprintf(to, "%s    \"T%u\": [", any ? ",\n" : "  \"made_by\": {\n", by);
            else
                fputs(", ", to);
            fprintf(to, "\"T%u\"", i);
        }
        if (as > 0) fputc(']', to);
        any |= as > 0;
    }
    if (any) fputs("\n  },\n", to);
    return ferror(to) == 0;
}

static bool write_all(FILE *to, const struct hd_schedule *schedule) {
    fprintf(to, "{\n  \"schema\": \"" SCHEMA "\",\n");
    bool good = write_field(to, "kind", schedule->kind) &&
                write_field(to, "variable", schedule->variable) &&
                write_field(to, "fingerprint", schedule->fingerprint) &&
                write_field(to, "about", schedule->about) &&
                write_field(to, "command", schedule->command) &&
                write_field(to, "good_output", schedule->good_output) && write_makers(to, schedule);
    fprintf(to, "  \"schedule\": [\n");
    for (size_t i = 0; good && i < schedule->turn.size; i++)
        good = write_turn(to, &schedule->turn.data[i], false, i + 1 == schedule->turn.size);
    fprintf(to, "  ],\n  \"then\": [\n");
    for (size_t i = 0; good && i < schedule->then.size; i++)
        good = write_turn(to, &schedule->then.data[i], true, i + 1 == schedule->then.size);
    fprintf(to, "  ]\n}\n");
    return good;
}

char *hd_schedule_write(const struct hd_schedule *schedule) {
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (to == NULL) return NULL;
    bool good = write_all(to, schedule);
    if (fclose(to) == 0 && good) return text;
    free(text);
    return NULL;
}

bool hd_schedule_save(const struct hd_schedule *schedule, const char *path,
                      struct hd_error *error) {
    char *text = hd_schedule_write(schedule);
    if (text == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    bool done = hd_whole_file_write(path, text, error);
    free(text);
    return done;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
    const char *name;
    struct hd_schedule *schedule;
    struct hd_error *error;
    json_int_t calls; /* of all turns */
};

static bool refuse(const struct reader *r, const char *where, const char *what) {
    return hd_fail(r->error, HD_ERR_FORMAT, "%s: %s %s", r->name, where, what);
}

/* Text that will be shown: no control characters. */
static bool read_text(struct reader *r, const json_t *value, const char *where, const char **text) {
    if (!json_is_string(value)) return refuse(r, where, "must be a text");
    for (const char *c = json_string_value(value); *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return refuse(r, where, "must have no control characters");
    *text = hd_schedule_text(r->schedule, json_string_value(value));
    return true;
}

static bool read_thread(struct reader *r, const json_t *value, const char *where,
                        uint32_t *thread) {
    const char *word = json_string_value(value);
    if (word == NULL || word[0] != 'T' || word[1] < '0' || word[1] > '9' || strlen(word) > 6 ||
        (word[1] == '0' && word[2] != '\0'))
        return refuse(r, where, "must be a thread, \"T0\" to \"T65534\"");
    char *end;
    unsigned long number = strtoul(word + 1, &end, 10);
    if (*end != '\0' || number >= MOST_THREADS)
        return refuse(r, where, "must be a thread, \"T0\" to \"T65534\"");
    *thread = (uint32_t)number;
    return true;
}

static bool read_calls(struct reader *r, const json_t *value, const char *where, uint64_t *calls) {
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number > MOST_CALLS)
        return refuse(r, where, "must be a whole number, 0 or more");
    r->calls += number;
    if (r->calls > MOST_CALLS) return refuse(r, where, "makes the schedule too long");
    *calls = (uint64_t)number;
    return true;
}

static bool read_turn(struct reader *r, json_t *object, const char *list, size_t index, bool then,
                      struct hd_turn *turn) {
    char where[96];
    *turn = (struct hd_turn){.calls = then ? 1 : 0, .to = ""};
    snprintf(where, sizeof where, "%s[%zu]", list, index);
    if (!json_is_object(object)) return refuse(r, where, "must be an object");
    bool thread = false, calls = then;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        snprintf(where, sizeof where, "%s[%zu].%.40s", list, index, key);
        bool good;
        if (strcmp(key, "thread") == 0) {
            thread = good = read_thread(r, value, where, &turn->thread);
        } else if (strcmp(key, "calls") == 0) {
            calls = good = read_calls(r, value, where, &turn->calls);
        } else if (strcmp(key, then ? "at" : "to") == 0) {
            good = read_text(r, value, where, &turn->to);
        } else if (strcmp(key, "beyond") == 0 && !then) {
            good = read_calls(r, value, where, &turn->beyond);
        } else {
            return hd_fail(r->error, HD_ERR_FORMAT, "%s: %s[%zu] has an unknown field \"%.40s\"",
                           r->name, list, index, key);
        }
        if (!good) return false;
    }
    snprintf(where, sizeof where, "%s[%zu]", list, index);
    if (!thread) return refuse(r, where, "has no \"thread\"");
    if (!calls) return refuse(r, where, "has no \"calls\"");
    return true;
}

static bool read_turns(struct reader *r, json_t *list, const char *name, bool then) {
    if (!json_is_array(list)) return refuse(r, name, "must be a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct hd_turn turn;
        if (!read_turn(r, json_array_get(list, i), name, i, then, &turn)) return false;
        bool good = then ? hd_vector_push(&r->schedule->then, turn)
                         : hd_vector_push(&r->schedule->turn, turn);
        if (!good) return hd_fail(r->error, HD_ERR_MEMORY, "out of memory");
    }
    return true;
}

static bool read_child(struct reader *r, const json_t *value, uint32_t by, uint32_t as) {
    struct hd_schedule *s = r->schedule;
    uint32_t thread;
    if (!read_thread(r, value, "made_by", &thread)) return false;
    if (thread == 0) return refuse(r, "made_by", "must not have \"T0\" made by another thread");
    while (s->made.size <= thread)
        if (!hd_vector_push(&s->made, ((struct hd_made){UINT32_MAX, 0})))
            return hd_fail(r->error, HD_ERR_MEMORY, "out of memory");
    if (s->made.data[thread].by != UINT32_MAX)
        return refuse(r, "made_by", "must not have a thread made twice");
    s->made.data[thread] = (struct hd_made){by, as};
    return true;
}

static bool read_makers(struct reader *r, json_t *object) {
    if (!json_is_object(object)) return refuse(r, "made_by", "must be an object");
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        json_t *name = json_string(key);
        uint32_t by;
        bool good = name != NULL && read_thread(r, name, "made_by", &by);
        json_decref(name);
        if (!good) return false;
        if (!json_is_array(value)) return refuse(r, "made_by", "must have lists of threads");
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!read_child(r, json_array_get(value, i), by, (uint32_t)i)) return false;
    }
    return true;
}

static bool read_root(struct reader *r, json_t *root) {
    if (!json_is_object(root)) return refuse(r, "a schedule", "must be an object");
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema == NULL) return refuse(r, "this", "is no schedule: it has no \"schema\"");
    if (strcmp(schema, SCHEMA) != 0)
        return hd_fail(r->error, HD_ERR_UNSUPPORTED, "%s: schema \"%.60s\" is not \"" SCHEMA "\"",
                       r->name, schema);
    struct hd_schedule *s = r->schedule;
    bool turns = false;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        const char **text = strcmp(key, "kind") == 0          ? &s->kind
                            : strcmp(key, "variable") == 0    ? &s->variable
                            : strcmp(key, "fingerprint") == 0 ? &s->fingerprint
                            : strcmp(key, "about") == 0       ? &s->about
                            : strcmp(key, "command") == 0     ? &s->command
                            : strcmp(key, "good_output") == 0 ? &s->good_output
                                                              : NULL;
        bool good = true;
        if (text != NULL)
            good = read_text(r, value, key, text);
        else if (strcmp(key, "schedule") == 0)
            turns = good = read_turns(r, value, key, false);
        else if (strcmp(key, "then") == 0)
            good = read_turns(r, value, key, true);
        else if (strcmp(key, "made_by") == 0)
            good = read_makers(r, value);
        else if (strcmp(key, "schema") != 0)
            return hd_fail(r->error, HD_ERR_FORMAT, "%s: unknown field \"%.40s\"", r->name, key);
        if (!good) return false;
    }
    if (*s->good_output != '\0' && !hd_is_output_mark(s->good_output))
        return refuse(r, "good_output",
                      "must be \"bytes:\" or \"lines:\" and 16 hexadecimal digits");
    return turns || refuse(r, "this", "is no schedule: it has no \"schedule\"");
}

bool hd_schedule_read(const char *text, size_t bytes, const char *name,
                      struct hd_schedule *schedule, struct hd_error *error) {
    memset(schedule, 0, sizeof *schedule);
    schedule->kind = schedule->variable = schedule->fingerprint = "";
    schedule->about = schedule->command = schedule->good_output = "";
    struct reader r = {.name = name, .schedule = schedule, .error = error};
    json_error_t problem;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL)
        return hd_fail(error, HD_ERR_FORMAT, "%s: line %d: %s", name, problem.line, problem.text);
    bool good = read_root(&r, root);
    json_decref(root);
    if (!good) hd_schedule_free(schedule);
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
