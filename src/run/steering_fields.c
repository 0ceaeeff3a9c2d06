/* How a run is steered, as JSON: under "control" in schedule files, under "steering" in jobs. */
#include "run/schedule_fields.h"

#include <stdio.h>
#include <string.h>

static const char *const policy_word[] = {[HD_POLICY_ROUND_ROBIN] = "round-robin",
                                          [HD_POLICY_RANDOM] = "random",
                                          [HD_POLICY_REPLAY] = "replay",
                                          [HD_POLICY_PCT] = "pct",
                                          [HD_POLICY_POS] = "pos",
                                          [HD_POLICY_FORCE] = "force",
                                          [HD_POLICY_NOISE] = "noise"};
static const char *const scheduler_word[] = {
    [HD_SCHED_OFF] = "plain", [HD_SCHED_SERIAL] = "serial", [HD_SCHED_FREE] = "free"};
static const char *const granularity_word[] = {
    [HD_GRANULARITY_BYTE] = "byte", [HD_GRANULARITY_WORD] = "word", [HD_GRANULARITY_LINE] = "line"};
static const char *const strategy_word[] = {
#define X(name, word, about) word,
    HD_STRATEGIES(X)
#undef X
};

/* ---- targets -------------------------------------------------------------------------------- */

struct place {
    const char *module, *where, *function;
    uint64_t offset;
};
static const struct hd_field place_fields[] = {
    {.name = "module", .type = HD_FIELD_IS_TEXT, .needed = true, HD_FIELD_AT(struct place, module)},
    {.name = "offset",
     .type = HD_FIELD_IS_NUMBER,
     .needed = true,
     .most = HD_SITE_LIMIT,
     HD_FIELD_AT(struct place, offset)},
    HD_FIELD_TEXT(struct place, where),
    HD_FIELD_TEXT(struct place, function),
    HD_FIELDS_END};

static const struct hd_field target_fields[];

static bool read_place(struct hd_fields_in *in, const json_t *value, const char *where,
                       void *object) {
    struct place place = {.module = "", .where = "", .function = ""};
    if (!hd_fields_read(in, value, where, place_fields, &place)) return false;
    if (*place.module == '\0') return hd_fields_refuse(in, where, "must have a module");
    const struct hd_field *field = target_fields;
    while (strcmp(field->name, strrchr(where, '.') + 1) != 0) field++;
    uint32_t number =
        hd_site_make(in->context, place.module, place.offset, place.where, place.function);
    memcpy((char *)object + field->offset, &number, sizeof number);
    return true;
}

/* For reading only: what is written, and what not, depends on the table of places. */
#define PLACE(member, is_needed)                                                               \
    {                                                                                          \
        .name = #member, .type = HD_FIELD_IS_OTHER, .needed = (is_needed), .read = read_place, \
        HD_FIELD_AT(struct hd_force_target, member)                                            \
    }
static const struct hd_field target_fields[] = {
    PLACE(p, false),
    PLACE(c, true),
    PLACE(r, true),
    PLACE(c_stop, false),
    PLACE(r_stop, false),
    PLACE(c_caller, false),
    PLACE(r_caller, false),
    HD_FIELD_NUMBER(struct hd_force_target, c_thread, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_force_target, r_thread, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_force_target, skip, UINT32_MAX),
    HD_FIELDS_END};
#undef PLACE

static json_t *write_place(const struct hd_sites *places, uint32_t number) {
    const struct hd_site *at = hd_site(places, number);
    struct place place = {at->module, at->where, at->function, at->offset};
    json_t *object = hd_fields_write(place_fields, &place);
    if (place.offset == 0) json_object_set_new(object, "offset", json_integer(0));
    return object;
}

static json_t *write_target(const struct hd_sites *places, const struct hd_force_target *target) {
    json_t *object = json_object();
    for (const struct hd_field *field = target_fields; field->type == HD_FIELD_IS_OTHER; field++) {
        uint32_t number;
        memcpy(&number, (const char *)target + field->offset, sizeof number);
        if (number != 0) json_object_set_new(object, field->name, write_place(places, number));
    }
    if (target->c_thread != HD_NONE)
        json_object_set_new(object, "c_thread", json_integer(target->c_thread));
    if (target->r_thread != HD_NONE)
        json_object_set_new(object, "r_thread", json_integer(target->r_thread));
    if (target->skip != 0) json_object_set_new(object, "skip", json_integer(target->skip));
    return object;
}

static bool read_targets(struct hd_fields_in *in, const json_t *list, const char *where,
                         void *object) {
    struct hd_steering *steering = object;
    if (!json_is_array(list) || json_array_size(list) > HD_FORCE_MOST)
        return hd_fields_refuse(in, where, "must be a list of at most 200 targets");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct hd_force_target target = {.c_thread = HD_NONE, .r_thread = HD_NONE};
        char place[160];
        snprintf(place, sizeof place, "%.120s[%zu]", where, i);
        if (!hd_fields_read(in, json_array_get(list, i), place, target_fields, &target))
            return false;
        if (target.c_stop == 0) target.c_stop = target.c;
        if (target.r_stop == 0) target.r_stop = target.r;
        hd_vector_push(&steering->target, target);
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static json_t *write_policy(const void *object) {
    const struct hd_steering *s = object;
    return s->scheduler != HD_SCHED_OFF ? json_string(policy_word[s->policy]) : NULL;
}

static json_t *write_granularity(const void *object) {
    const struct hd_steering *s = object;
    return s->check ? json_string(granularity_word[s->granularity]) : NULL;
}

static json_t *write_targets(const void *object) {
    const struct hd_steering *s = object;
    if (s->target.size == 0) return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < s->target.size; i++)
        json_array_append_new(list, write_target(s->places, &s->target.data[i]));
    return list;
}

static const struct hd_field fields[] = {
    HD_FIELD_WORD(struct hd_steering, strategy, strategy_word),
    HD_FIELD_WORD(struct hd_steering, scheduler, scheduler_word),
    {.name = "policy",
     .type = HD_FIELD_IS_WORD,
     .word = policy_word,
     .most = sizeof policy_word / sizeof *policy_word,
     .write = write_policy,
     HD_FIELD_AT(struct hd_steering, policy)},
    HD_FIELD_NUMBER(struct hd_steering, seed, UINT64_MAX),
    HD_FIELD_NUMBER(struct hd_steering, quantum, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_steering, watchdog_ms, UINT32_MAX),
    HD_FIELD_FLAG(struct hd_steering, no_trace),
    HD_FIELD_FLAG(struct hd_steering, direct),
    HD_FIELD_FLAG(struct hd_steering, states),
    HD_FIELD_FLAG(struct hd_steering, children),
    HD_FIELD_FLAG(struct hd_steering, check),
    HD_FIELD_FLAG(struct hd_steering, check_waits),
    {.name = "granularity",
     .type = HD_FIELD_IS_WORD,
     .word = granularity_word,
     .most = sizeof granularity_word / sizeof *granularity_word,
     .write = write_granularity,
     HD_FIELD_AT(struct hd_steering, granularity)},
    HD_FIELD_NUMBER(struct hd_steering, patience_ms, UINT32_MAX),
    HD_FIELD_FLAG(struct hd_steering, unchecked),
    HD_FIELD_NUMBER(struct hd_steering, length, INT64_MAX),
    HD_FIELD_NUMBER(struct hd_steering, depth, 64),
    HD_FIELD_NUMBER(struct hd_steering, per_mille, 1000),
    HD_FIELD_NUMBER(struct hd_steering, most_us, 10000000),
    HD_FIELD_NUMBER(struct hd_steering, most, UINT32_MAX),
    HD_FIELD_NUMBER(struct hd_steering, timeout_us, 60000000),
    HD_FIELD_NUMBER(struct hd_steering, timeouts, 1000000),
    HD_FIELD_NUMBER(struct hd_steering, hits, 1000000),
    HD_FIELD_NUMBER(struct hd_steering, strict, HD_FORCE_R_FIRST),
    HD_FIELD_OTHER("targets", read_targets, write_targets),
    HD_FIELDS_END};

json_t *hd_steering_write(const struct hd_steering *steering, const struct hd_sites *places) {
    struct hd_steering with_places = *steering;
    with_places.places = places;
    return hd_fields_write(fields, &with_places);
}

bool hd_steering_read(struct hd_fields_in *in, const json_t *value, const char *where,
                      struct hd_steering *steering, struct hd_sites *places) {
    struct hd_fields_in own = *in;
    own.context = places;
    steering->places = places;
    if (!hd_fields_read(&own, value, where, fields, steering)) return false;
    return steering->scheduler == HD_SCHED_OFF || json_object_get(value, "policy") != NULL ||
           hd_fail(in->error, HD_ERR_FORMAT, "%s: %s has no \"policy\"", in->name, where);
}
