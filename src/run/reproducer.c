/* Reproducers as JSON files: a failure, and the control that leads to it. See steering.h. */
#define _GNU_SOURCE
#include "run/steering.h"

#include "base/json.h"
#include "base/whole_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "heddle-schedule/1"
#define MOST_BYTES (16u << 20)

static const char *const policy_word[] = {[HD_POLICY_ROUND_ROBIN] = "round-robin",
                                          [HD_POLICY_RANDOM] = "random",
                                          [HD_POLICY_REPLAY] = "replay",
                                          [HD_POLICY_PCT] = "pct",
                                          [HD_POLICY_POS] = "pos",
                                          [HD_POLICY_FORCE] = "force",
                                          [HD_POLICY_NOISE] = "noise"};
#define POLICIES (sizeof policy_word / sizeof *policy_word)
static const char *const scheduler_word[] = {
    [HD_SCHED_OFF] = "plain", [HD_SCHED_SERIAL] = "serial", [HD_SCHED_FREE] = "free"};
#define SCHEDULERS (sizeof scheduler_word / sizeof *scheduler_word)

/* The numbers of a control: name, field, largest value. */
#define NUMBERS(X)                        \
    X("seed", seed, UINT64_MAX)           \
    X("quantum", quantum, UINT32_MAX)     \
    X("length", length, INT64_MAX)        \
    X("depth", depth, 64)                 \
    X("per_mille", per_mille, 1000)       \
    X("most_us", most_us, 10000000)       \
    X("most", most, UINT32_MAX)           \
    X("timeout_us", timeout_us, 60000000) \
    X("timeouts", timeouts, 1000000)      \
    X("hits", hits, 1000000)              \
    X("strict", strict, HD_FORCE_R_FIRST)

/* The places of a target. */
#define PLACES(X) X(p) X(c) X(r) X(c_stop) X(r_stop) X(c_caller) X(r_caller)

void hd_reproducer_free(struct hd_reproducer *reproducer) {
    hd_steering_free(&reproducer->steering);
    hd_places_free(&reproducer->places);
    hd_arena_free(&reproducer->arena);
    memset(reproducer, 0, sizeof *reproducer);
}

/* ---- writing -------------------------------------------------------------------------------- */

static json_t *place_of(const struct hd_places *places, uint32_t number) {
    const struct hd_place *place = hd_place(places, number);
    json_t *object = json_object();
    json_object_set_new(object, "module", hd_json_text(place->module));
    json_object_set_new(object, "offset", json_integer((json_int_t)place->offset));
    if (place->where[0] != '\0') json_object_set_new(object, "where", hd_json_text(place->where));
    if (place->function[0] != '\0')
        json_object_set_new(object, "function", hd_json_text(place->function));
    return object;
}

static json_t *target_of(const struct hd_steering *s, const struct hd_force_target *target) {
    json_t *object = json_object();
#define X(name) \
    if (target->name != 0) json_object_set_new(object, #name, place_of(s->places, target->name));
    PLACES(X)
#undef X
    if (target->c_thread != HD_NONE)
        json_object_set_new(object, "c_thread", json_integer(target->c_thread));
    if (target->r_thread != HD_NONE)
        json_object_set_new(object, "r_thread", json_integer(target->r_thread));
    if (target->skip != 0) json_object_set_new(object, "skip", json_integer(target->skip));
    return object;
}

static json_t *control_of(const struct hd_steering *s) {
    json_t *object = json_object();
    json_object_set_new(object, "strategy", json_string(hd_strategy_name(s->strategy)));
    json_object_set_new(object, "scheduler", json_string(scheduler_word[s->scheduler]));
    if (s->scheduler != HD_SCHED_OFF)
        json_object_set_new(object, "policy", json_string(policy_word[s->policy]));
#define X(name, field, most_value) \
    if (s->field != 0) json_object_set_new(object, name, json_integer((json_int_t)s->field));
    NUMBERS(X)
#undef X
    if (s->target.size == 0) return object;
    json_t *targets = json_array();
    for (size_t i = 0; i < s->target.size; i++)
        json_array_append_new(targets, target_of(s, &s->target.data[i]));
    json_object_set_new(object, "targets", targets);
    return object;
}

char *hd_reproducer_write(const struct hd_reproducer *reproducer) {
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_string(SCHEMA));
    json_object_set_new(root, "kind", json_string("failure"));
    json_object_set_new(root, "variable", hd_json_text(reproducer->variable));
    json_object_set_new(root, "about", hd_json_text(reproducer->about));
    json_object_set_new(root, "command", hd_json_text(reproducer->command));
    json_object_set_new(root, "outcome", hd_json_text(reproducer->outcome));
    if (*reproducer->good_output != '\0')
        json_object_set_new(root, "good_output", json_string(reproducer->good_output));
    json_object_set_new(root, "control", control_of(&reproducer->steering));
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (text == NULL) return NULL;
    size_t bytes = strlen(text);
    char *line = realloc(text, bytes + 2);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    strcpy(line + bytes, "\n");
    return line;
}

bool hd_reproducer_save(const struct hd_reproducer *reproducer, const char *path,
                        struct hd_error *error) {
    char *text = hd_reproducer_write(reproducer);
    if (text == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    bool done = hd_whole_file_write(path, text, error);
    free(text);
    return done;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
    const char *name;
    struct hd_reproducer *reproducer;
    struct hd_error *error;
};

static bool bad(const struct reader *r, const char *field, const char *what) {
    return hd_fail(r->error, HD_ERR_FORMAT, "%s: \"%s\" %s", r->name, field, what);
}

static bool read_text(struct reader *r, const json_t *from, const char *field, const char **to) {
    const json_t *value = json_object_get(from, field);
    *to = "";
    if (value == NULL) return true;
    if (!json_is_string(value)) return bad(r, field, "is not a text");
    for (const char *c = json_string_value(value); *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127) return bad(r, field, "has control characters");
    *to = hd_arena_copy(&r->reproducer->arena, json_string_value(value), json_string_length(value));
    return *to != NULL || hd_fail(r->error, HD_ERR_MEMORY, "out of memory");
}

static bool read_number(struct reader *r, const json_t *from, const char *field, uint64_t most,
                        uint64_t *to) {
    const json_t *value = json_object_get(from, field);
    if (value == NULL) return true;
    if (!json_is_integer(value)) return bad(r, field, "is not a whole number");
    json_int_t number = json_integer_value(value);
    /* a seed may have its highest bit set */
    if (most != UINT64_MAX && (number < 0 || (uint64_t)number > most))
        return bad(r, field, "is too large or negative");
    *to = (uint64_t)number;
    return true;
}

static bool read_word(struct reader *r, const json_t *from, const char *field,
                      const char *const *word, unsigned count, unsigned *to) {
    const char *text = json_string_value(json_object_get(from, field));
    for (unsigned i = 0; text != NULL && i < count; i++) {
        if (word[i] == NULL || strcmp(word[i], text) != 0) continue;
        *to = i;
        return true;
    }
    return bad(r, field, "is missing, or none that this heddle knows");
}

static bool read_place(struct reader *r, const json_t *from, const char *field, uint32_t *to) {
    const json_t *object = json_object_get(from, field);
    *to = 0;
    if (object == NULL) return true;
    if (!json_is_object(object)) return bad(r, field, "is not a place");
    const char *module, *where, *function;
    uint64_t offset = UINT64_MAX;
    if (!read_text(r, object, "module", &module) || !read_text(r, object, "where", &where) ||
        !read_text(r, object, "function", &function) ||
        !read_number(r, object, "offset", HD_SITE_LIMIT, &offset))
        return false;
    if (module[0] == '\0' || offset == UINT64_MAX)
        return bad(r, field, "is a place without a module or an offset");
    *to = hd_place_make(&r->reproducer->places, module, offset, where, function);
    return *to != 0 || hd_fail(r->error, HD_ERR_MEMORY, "out of memory");
}

static bool read_target(struct reader *r, const json_t *from) {
    struct hd_force_target target = {.c_thread = HD_NONE, .r_thread = HD_NONE};
    if (!json_is_object(from)) return bad(r, "targets", "holds something that is no target");
#define X(name) \
    if (!read_place(r, from, #name, &target.name)) return false;
    PLACES(X)
#undef X
    if (target.c == 0 || target.r == 0) return bad(r, "targets", "holds one without c or r");
    if (target.c_stop == 0) target.c_stop = target.c;
    if (target.r_stop == 0) target.r_stop = target.r;
    uint64_t c_thread = HD_NONE, r_thread = HD_NONE, skip = 0;
    if (!read_number(r, from, "c_thread", UINT32_MAX, &c_thread) ||
        !read_number(r, from, "r_thread", UINT32_MAX, &r_thread) ||
        !read_number(r, from, "skip", UINT32_MAX, &skip))
        return false;
    target.c_thread = (uint32_t)c_thread;
    target.r_thread = (uint32_t)r_thread;
    target.skip = (uint32_t)skip;
    return hd_vector_push(&r->reproducer->steering.target, target) ||
           hd_fail(r->error, HD_ERR_MEMORY, "out of memory");
}

static bool read_control(struct reader *r, const json_t *from) {
    struct hd_steering *s = &r->reproducer->steering;
    static const char *const strategy_word[] = {
#define X(name, word, about) word,
        HD_STRATEGIES(X)
#undef X
    };
    unsigned strategy = 0, scheduler = 0, policy = 0;
    if (!json_is_object(from)) return bad(r, "control", "is missing, or not an object");
    if (!read_word(r, from, "strategy", strategy_word, HD_STRATEGY_COUNT, &strategy) ||
        !read_word(r, from, "scheduler", scheduler_word, SCHEDULERS, &scheduler) ||
        (scheduler != HD_SCHED_OFF &&
         !read_word(r, from, "policy", policy_word, POLICIES, &policy)))
        return false;
    if (policy == HD_POLICY_REPLAY) return bad(r, "policy", "belongs to a file with turns");
    s->strategy = (enum hd_strategy)strategy;
    s->scheduler = (enum hd_scheduler)scheduler;
    s->policy = (enum hd_policy)policy;
    s->places = &r->reproducer->places;
    uint64_t number;
#define X(field_name, field, most_value)                                      \
    number = 0;                                                               \
    if (!read_number(r, from, field_name, most_value, &number)) return false; \
    s->field = (__typeof__(s->field))number;
    NUMBERS(X)
#undef X
    const json_t *targets = json_object_get(from, "targets");
    if (targets == NULL) return true;
    if (!json_is_array(targets) || json_array_size(targets) > HD_FORCE_MOST)
        return bad(r, "targets", "is no list, or too long");
    for (size_t i = 0; i < json_array_size(targets); i++)
        if (!read_target(r, json_array_get(targets, i))) return false;
    return true;
}

static bool read_root(struct reader *r, const json_t *root) {
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema == NULL || strcmp(schema, SCHEMA) != 0) return bad(r, "schema", "is not " SCHEMA);
    struct hd_reproducer *to = r->reproducer;
    return read_text(r, root, "variable", &to->variable) &&
           read_text(r, root, "about", &to->about) && read_text(r, root, "command", &to->command) &&
           read_text(r, root, "outcome", &to->outcome) &&
           read_text(r, root, "good_output", &to->good_output) &&
           (*to->good_output == '\0' || hd_is_output_mark(to->good_output) ||
            bad(r, "good_output", "is no mark of an output")) &&
           read_control(r, json_object_get(root, "control"));
}

bool hd_reproducer_read(const char *text, size_t bytes, const char *name,
                        struct hd_reproducer *reproducer, struct hd_error *error) {
    memset(reproducer, 0, sizeof *reproducer);
    json_error_t where;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return hd_fail(error, HD_ERR_FORMAT, "%s:%d: %s", name, where.line, where.text);
    struct reader reader = {name, reproducer, error};
    bool good = read_root(&reader, root);
    json_decref(root);
    if (!good) hd_reproducer_free(reproducer);
    return good;
}

bool hd_reproducer_is(const char *text, size_t bytes) {
    json_t *root = json_loadb(text, bytes, 0, NULL);
    bool has = json_object_get(root, "control") != NULL;
    json_decref(root);
    return has;
}

bool hd_reproducer_load(const char *path, struct hd_reproducer *reproducer,
                        struct hd_error *error) {
    size_t bytes;
    char *text = hd_whole_file_read(path, MOST_BYTES, &bytes, error);
    if (text == NULL) return false;
    bool good = hd_reproducer_read(text, bytes, path, reproducer, error);
    free(text);
    return good;
}
