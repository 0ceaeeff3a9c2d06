/* See read.h. Members that are missing are as if a command had not known them; members of another
 * type, or with values that can't be, are an error that names them. */
#include "finding/read.h"

#include "base/json.h"
#include "base/whole_file.h"

#include <stdio.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 30)
#define SCHEMA "heddle-findings/"

struct reader {
    const char *name; /* of the file */
    struct hd_findings *findings;
    struct hd_error *error;
    size_t finding; /* that is read now, from 1; 0: none */
    bool good;
};

static void fail(struct reader *reader, const char *member, const char *what) {
    if (!reader->good) return;
    char where[48] = "";
    if (reader->finding > 0) snprintf(where, sizeof where, "finding %zu: ", reader->finding);
    reader->good =
        hd_fail(reader->error, HD_ERR_FORMAT, "%s: %s'%s' %s", reader->name, where, member, what);
}

/* ---- values --------------------------------------------------------------------------------- */

static bool is_missing(const json_t *value) { return value == NULL || json_is_null(value); }

/* A member that is a string; NULL if it is null or missing. */
static const char *text_or_null(struct reader *reader, const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (is_missing(value)) return NULL;
    if (!json_is_string(value)) {
        fail(reader, name, "is not a string");
        return NULL;
    }
    return hd_arena_copy(&reader->findings->arena, json_string_value(value),
                         json_string_length(value));
}

static const char *text(struct reader *reader, const json_t *object, const char *name) {
    const char *value = text_or_null(reader, object, name);
    return value != NULL ? value : "";
}

static uint64_t number(struct reader *reader, const json_t *object, const char *name,
                       uint64_t most) {
    const json_t *value = json_object_get(object, name);
    if (is_missing(value)) return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most) {
        fail(reader, name, "is not a number that can be");
        return 0;
    }
    return (uint64_t)json_integer_value(value);
}

static uint64_t large(struct reader *reader, const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (is_missing(value)) return 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        return (uint64_t)json_integer_value(value);
    fail(reader, name, "is not a number of an event");
    return 0;
}

static uint32_t small(struct reader *reader, const json_t *object, const char *name) {
    return (uint32_t)number(reader, object, name, UINT32_MAX - 1);
}

static bool flag(struct reader *reader, const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (!is_missing(value) && !json_is_boolean(value)) fail(reader, name, "is not true or false");
    return json_is_true(value);
}

/* A member that is an array, with its length; NULL (and 0) if it is null or missing. */
static const json_t *array(struct reader *reader, const json_t *object, const char *name,
                           uint32_t *count) {
    const json_t *value = json_object_get(object, name);
    *count = 0;
    if (is_missing(value)) return NULL;
    if (!json_is_array(value)) {
        fail(reader, name, "is not a list");
        return NULL;
    }
    *count = (uint32_t)json_array_size(value);
    return value;
}

static const json_t *object_in(struct reader *reader, const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (is_missing(value)) return NULL;
    if (!json_is_object(value)) {
        fail(reader, name, "is not an object");
        return NULL;
    }
    return value;
}

/* A list of strings. */
static const char **texts(struct reader *reader, const json_t *object, const char *name,
                          uint32_t *count) {
    const json_t *list = array(reader, object, name, count);
    const char **item = hd_arena_zalloc(&reader->findings->arena, *count, sizeof *item);
    for (uint32_t i = 0; i < *count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_string(value)) fail(reader, name, "has something that is not a string");
        item[i] = json_is_string(value)
                      ? hd_arena_copy(&reader->findings->arena, json_string_value(value),
                                      json_string_length(value))
                      : "";
    }
    return list != NULL ? item : NULL;
}

/* The index of a member's word; fails if it is none of them. */
static unsigned word(struct reader *reader, const json_t *object, const char *name,
                     const char *(*word_of)(unsigned), unsigned count) {
    const char *value = text(reader, object, name);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(word_of(i), value) == 0) return i;
    char what[96];
    snprintf(what, sizeof what, "is '%.40s', which this heddle does not know", value);
    fail(reader, name, what);
    return 0;
}
static const char *kind_word(unsigned i) { return hd_finding_kind_name(i); }
static const char *verdict_word(unsigned i) { return hd_finding_verdict_name(i); }
static const char *harm_word(unsigned i) { return hd_finding_harm_name(i); }
static const char *role_word(unsigned i) { return hd_finding_role_name(i); }

/* ---- events --------------------------------------------------------------------------------- */

static void read_locks(struct reader *reader, const json_t *object,
                       struct hd_finding_event *event) {
    uint32_t count, reading;
    const char **name = texts(reader, object, "locks", &count);
    const char **shared = texts(reader, object, "locks_for_reading", &reading);
    if (name == NULL) return;
    event->lock = hd_arena_zalloc(&reader->findings->arena, count, sizeof *event->lock);
    event->locks = count;
    for (uint32_t i = 0, next = 0; i < count; i++) {
        event->lock[i] = (struct hd_finding_lock){.name = name[i], .about = name[i]};
        /* both lists are outermost first */
        if (next < reading && strcmp(shared[next], name[i]) == 0) {
            event->lock[i].reading = true;
            next++;
        }
    }
}

static void read_stack(struct reader *reader, const json_t *object,
                       struct hd_finding_event *event) {
    const json_t *list = array(reader, object, "stack", &event->frames);
    if (event->frames == 0) return;
    event->frame = hd_arena_zalloc(&reader->findings->arena, event->frames, sizeof *event->frame);
    for (uint32_t i = 0; i < event->frames; i++) {
        const json_t *frame = json_array_get(list, i);
        if (!json_is_object(frame)) fail(reader, "stack", "has something that is not a frame");
        event->frame[i] = (struct hd_frame){.function = text(reader, frame, "function"),
                                            .file = text_or_null(reader, frame, "file"),
                                            .line = small(reader, frame, "line"),
                                            .column = small(reader, frame, "column"),
                                            .module = text_or_null(reader, frame, "module"),
                                            .inlined = flag(reader, frame, "inlined")};
    }
}

static void read_event(struct reader *reader, const json_t *object,
                       struct hd_finding_event *event) {
    if (!json_is_object(object)) {
        fail(reader, "events", "has something that is not an event");
        return;
    }
    event->number = large(reader, object, "event");
    event->event = is_missing(json_object_get(object, "event")) ? HD_NONE : 0;
    event->put_in = flag(reader, object, "put_in");
    event->thread = text(reader, object, "thread");
    event->role = word(reader, object, "role", role_word, HD_FINDING_ROLE_COUNT);
    event->op = text(reader, object, "op");
    event->verb = text(reader, object, "verb");
    event->variable = text(reader, object, "variable");
    event->about = text_or_null(reader, object, "about");
    event->site = text(reader, object, "site");
    event->file = text_or_null(reader, object, "file");
    event->line = small(reader, object, "line");
    event->column = small(reader, object, "column");
    event->function = text(reader, object, "function");
    event->site_is_name = event->file == NULL && *event->site != '\0';
    read_locks(reader, object, event);
    read_stack(reader, object, event);
}

static void read_events(struct reader *reader, const json_t *object, struct hd_finding *finding) {
    const json_t *list = array(reader, object, "events", &finding->events);
    finding->event =
        hd_arena_zalloc(&reader->findings->arena, finding->events, sizeof *finding->event);
    for (uint32_t i = 0; i < finding->events && reader->good; i++)
        read_event(reader, json_array_get(list, i), &finding->event[i]);
}

/* ---- schedules ------------------------------------------------------------------------------ */

static void read_witness(struct reader *reader, const json_t *object, struct hd_finding *finding) {
    uint32_t count;
    const json_t *list = array(reader, object, "witness", &count);
    if (list == NULL) return;
    uint64_t *number = hd_arena_zalloc(&reader->findings->arena, count, sizeof *number);
    for (uint32_t i = 0; i < count && reader->good; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            fail(reader, "witness", "has something that is no event");
        else
            number[i] = (uint64_t)json_integer_value(value);
    }
    finding->witness_number = number;
    finding->witness_count = count;
}

static void read_turns(struct reader *reader, const json_t *object, struct hd_finding *finding) {
    const json_t *list = array(reader, object, "turns", &finding->turns);
    finding->turn =
        hd_arena_zalloc(&reader->findings->arena, finding->turns, sizeof *finding->turn);
    for (uint32_t i = 0; i < finding->turns && reader->good; i++) {
        const json_t *turn = json_array_get(list, i);
        finding->turn[i].thread = text(reader, turn, "thread");
        finding->turn[i].events = small(reader, turn, "events");
    }
}

static uint32_t lane_of(const struct hd_finding *finding, const char *thread) {
    for (uint32_t i = 0; i < finding->lanes; i++)
        if (strcmp(finding->lane[i], thread) == 0) return i;
    return HD_NONE;
}

static void read_step(struct reader *reader, const json_t *object, struct hd_finding *finding,
                      struct hd_finding_step *step) {
    const char *thread = text_or_null(reader, object, "thread");
    step->lane = thread != NULL ? lane_of(finding, thread) : HD_NONE;
    step->number = large(reader, object, "event");
    step->event = is_missing(json_object_get(object, "event")) ? HD_NONE : 0;
    step->put_in = flag(reader, object, "put_in");
    step->folded = small(reader, object, "folded");
    step->next = flag(reader, object, "next");
    step->op = text(reader, object, "op");
    step->text = text(reader, object, "does");
    step->site = text(reader, object, "site");
    step->file = text_or_null(reader, object, "file");
    step->line = small(reader, object, "line");
    step->column = small(reader, object, "column");
}

static struct hd_finding_step *read_steps(struct reader *reader, const json_t *object,
                                          struct hd_finding *finding, uint32_t *count) {
    const json_t *list = array(reader, object, "steps", count);
    struct hd_finding_step *step = hd_arena_zalloc(&reader->findings->arena, *count, sizeof *step);
    for (uint32_t i = 0; i < *count && reader->good; i++)
        read_step(reader, json_array_get(list, i), finding, &step[i]);
    return step;
}

static struct hd_finding_arrow *read_arrows(struct reader *reader, const json_t *object,
                                            uint32_t *count) {
    const json_t *list = array(reader, object, "arrows", count);
    struct hd_finding_arrow *arrow =
        hd_arena_zalloc(&reader->findings->arena, *count, sizeof *arrow);
    for (uint32_t i = 0; i < *count && reader->good; i++) {
        const json_t *one = json_array_get(list, i);
        uint64_t from = flag(reader, one, "from_put_in") ? HD_PUT_IN : 0;
        uint64_t to = flag(reader, one, "to_put_in") ? HD_PUT_IN : 0;
        arrow[i] = (struct hd_finding_arrow){.from_number = large(reader, one, "from") | from,
                                             .to_number = large(reader, one, "to") | to,
                                             .what = text(reader, one, "what")};
    }
    return arrow;
}

static void read_sections(struct reader *reader, const json_t *object, struct hd_finding *finding,
                          struct hd_finding_picture *picture) {
    const json_t *list = array(reader, object, "sections", &picture->sections);
    picture->section =
        hd_arena_zalloc(&reader->findings->arena, picture->sections, sizeof *picture->section);
    for (uint32_t i = 0; i < picture->sections && reader->good; i++) {
        const json_t *one = json_array_get(list, i);
        struct hd_finding_section *section = &picture->section[i];
        section->lane = lane_of(finding, text(reader, one, "thread"));
        if (section->lane == HD_NONE) fail(reader, "thread", "of a section is not in 'threads'");
        section->lock = text(reader, one, "lock");
        section->reading = flag(reader, one, "reading");
        section->acquire = large(reader, one, "acquire");
        section->release = is_missing(json_object_get(one, "release"))
                               ? HD_NO_NUMBER
                               : large(reader, one, "release");
        section->open = flag(reader, one, "open");
    }
}

static void read_picture(struct reader *reader, const json_t *schedule,
                         struct hd_finding *finding) {
    const json_t *observed = object_in(reader, schedule, "observed");
    if (observed == NULL) return;
    struct hd_finding_picture *picture =
        hd_arena_zalloc(&reader->findings->arena, 1, sizeof *picture);
    picture->arrow = read_arrows(reader, schedule, &picture->arrows);
    read_sections(reader, schedule, finding, picture);
    picture->observed = read_steps(reader, observed, finding, &picture->observed_steps);
    picture->observed_arrow = read_arrows(reader, observed, &picture->observed_arrows);
    finding->picture = picture;
}

static void read_schedule(struct reader *reader, const json_t *object, struct hd_finding *finding) {
    const json_t *schedule = object_in(reader, object, "schedule");
    if (schedule == NULL) return;
    finding->lane = texts(reader, schedule, "threads", &finding->lanes);
    finding->step = read_steps(reader, schedule, finding, &finding->steps);
    read_picture(reader, schedule, finding);
    uint32_t events = small(reader, schedule, "events");
    finding->witness_next = small(reader, schedule, "next");
    if (finding->witness_number == NULL) finding->witness_count = events;
    if (finding->witness_next > finding->witness_count)
        fail(reader, "next", "is more than there are events");
}

static void read_rule(struct reader *reader, const json_t *object, struct hd_finding_rule *rule) {
    const json_t *list = array(reader, object, "kept_by", &rule->keepers);
    rule->first = text(reader, object, "first");
    rule->second = text(reader, object, "second");
    rule->support = small(reader, object, "support");
    rule->functions = small(reader, object, "functions");
    rule->keeper = hd_arena_zalloc(&reader->findings->arena, rule->keepers, sizeof *rule->keeper);
    for (uint32_t i = 0; i < rule->keepers && reader->good; i++) {
        const json_t *keeper = json_array_get(list, i);
        rule->keeper[i] = (struct hd_finding_keeper){.function = text(reader, keeper, "function"),
                                                     .file = text_or_null(reader, keeper, "file"),
                                                     .line = small(reader, keeper, "line")};
    }
}

static void read_rules(struct reader *reader, const json_t *object, struct hd_finding *finding) {
    const json_t *list = array(reader, object, "rules", &finding->rules);
    finding->rule =
        hd_arena_zalloc(&reader->findings->arena, finding->rules, sizeof *finding->rule);
    for (uint32_t i = 0; i < finding->rules && reader->good; i++)
        read_rule(reader, json_array_get(list, i), &finding->rule[i]);
}

static struct hd_finding_line *read_order(struct reader *reader, const json_t *object,
                                          const char *name, uint32_t *count) {
    const json_t *list = array(reader, object, name, count);
    struct hd_finding_line *line = hd_arena_zalloc(&reader->findings->arena, *count, sizeof *line);
    for (uint32_t i = 0; i < *count; i++) {
        const json_t *one = json_array_get(list, i);
        line[i] = (struct hd_finding_line){.thread = text(reader, one, "thread"),
                                           .text = text(reader, one, "does"),
                                           .site = text(reader, one, "site")};
    }
    return line;
}

static void read_forced(struct reader *reader, const json_t *object, struct hd_finding *finding) {
    const json_t *from = object_in(reader, object, "forced");
    if (from == NULL) return;
    struct hd_finding_forced *forced = hd_arena_zalloc(&reader->findings->arena, 1, sizeof *forced);
    *forced = (struct hd_finding_forced){.outcome = text(reader, from, "outcome"),
                                         .words = text(reader, from, "words"),
                                         .failed = flag(reader, from, "failed"),
                                         .same_as = text(reader, from, "same_as"),
                                         .runs = small(reader, from, "runs"),
                                         .reproduced = small(reader, from, "reproduced"),
                                         .switches = small(reader, from, "switches"),
                                         .switches_before = small(reader, from, "switches_before"),
                                         .reproducer = text(reader, from, "reproducer"),
                                         .command = text(reader, from, "command"),
                                         .flipped = ""};
    const json_t *experiment = object_in(reader, from, "experiment");
    if (experiment != NULL) {
        forced->flipped = text(reader, experiment, "order");
        forced->flipped_runs = small(reader, experiment, "runs");
        forced->flipped_passed = small(reader, experiment, "passed");
    }
    forced->good = read_order(reader, from, "passing_order", &forced->goods);
    forced->bad = read_order(reader, from, "failing_order", &forced->bads);
    finding->forced = forced;
}

/* ---- findings ------------------------------------------------------------------------------- */

static void read_fingerprint(struct reader *reader, const json_t *object,
                             struct hd_finding *finding) {
    const char *value = text(reader, object, "fingerprint");
    if (*value == '\0' || strlen(value) >= sizeof finding->fingerprint)
        fail(reader, "fingerprint", "is missing, or too long for one");
    else
        snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s", value);
}

static void read_finding(struct reader *reader, const json_t *object) {
    struct hd_finding finding = {0};
    if (!json_is_object(object)) {
        fail(reader, "findings", "has something that is not a finding");
        return;
    }
    finding.kind = word(reader, object, "kind", kind_word, HD_FINDING_KIND_COUNT);
    finding.verdict = word(reader, object, "verdict", verdict_word, HD_VERDICT_COUNT);
    if (!is_missing(json_object_get(object, "harm")))
        finding.harm = word(reader, object, "harm", harm_word, HD_HARM_COUNT);
    read_fingerprint(reader, object, &finding);
    finding.engine = text(reader, object, "engine");
    finding.instances = number(reader, object, "instances", INT64_MAX);
    finding.variable = text(reader, object, "variable");
    finding.variables = texts(reader, object, "variables", &finding.variable_count);
    finding.pattern = text_or_null(reader, object, "pattern");
    finding.score = small(reader, object, "score");
    finding.ranking = text(reader, object, "ranking");
    finding.observed = flag(reader, object, "observed");
    finding.seen = text(reader, object, "seen");
    finding.possible = text(reader, object, "possible");
    finding.support = text(reader, object, "support");
    finding.how = text(reader, object, "how");
    finding.conclusion = text(reader, object, "explanation");
    finding.repair = text(reader, object, "repair");
    const json_t *manifestation = object_in(reader, object, "manifestation");
    finding.threads_involved = small(reader, manifestation, "threads");
    finding.variables_involved = small(reader, manifestation, "variables");
    finding.accesses_involved = small(reader, manifestation, "accesses");
    read_events(reader, object, &finding);
    read_witness(reader, object, &finding);
    read_turns(reader, object, &finding);
    read_schedule(reader, object, &finding);
    read_forced(reader, object, &finding);
    read_rules(reader, object, &finding);
    if (reader->good) hd_finding_add(reader->findings, &finding);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void read_counts(struct reader *reader, const json_t *object,
                        struct hd_finding_summary *summary) {
    summary->candidates = number(reader, object, "candidates", INT64_MAX);
    summary->hidden = number(reader, object, "hidden", INT64_MAX);
    for (unsigned i = 0; i < HD_VERDICT_COUNT; i++)
        summary->verdict[i] = number(reader, object, hd_finding_verdict_name(i), INT64_MAX);
}

static void read_kinds(struct reader *reader, const json_t *root) {
    const json_t *kinds = object_in(reader, root, "kinds");
    for (unsigned i = 0; i < HD_FINDING_KIND_COUNT; i++) {
        const json_t *counts = object_in(reader, kinds, hd_finding_kind_name(i));
        if (counts == NULL) continue;
        reader->findings->looked_for[i] = true;
        read_counts(reader, counts, &reader->findings->of_kind[i]);
    }
}

static void read_input(struct reader *reader, const json_t *root, struct hd_findings_file *file) {
    const json_t *input = object_in(reader, root, "input");
    file->version = text(reader, object_in(reader, root, "tool"), "version");
    file->path = text(reader, input, "path");
    file->format = text(reader, input, "format");
    file->command = text_or_null(reader, input, "command");
    file->events = small(reader, input, "events");
    file->threads = small(reader, input, "threads");
    file->warning = texts(reader, input, "warnings", &file->warnings);
    file->not_shown = number(reader, root, "not_shown", INT64_MAX);
}

/* Is it a list of findings that this program can read? */
static bool check_schema(struct reader *reader, const json_t *root) {
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema == NULL || strncmp(schema, SCHEMA, strlen(SCHEMA)) != 0)
        return hd_fail(reader->error, HD_ERR_FORMAT,
                       "%s is no list of findings: heddle writes one with --format json",
                       reader->name);
    if (strcmp(schema, SCHEMA "1") != 0)
        return hd_fail(reader->error, HD_ERR_UNSUPPORTED,
                       "%s was written by a newer heddle (%.40s); this one reads %s1", reader->name,
                       schema, SCHEMA);
    const char *failed = json_string_value(json_object_get(root, "error"));
    if (failed != NULL)
        return hd_fail(reader->error, HD_ERR_FORMAT,
                       "%s has no findings: the command that wrote it failed (%.200s)",
                       reader->name, failed);
    return true;
}

static void read_root(struct reader *reader, const json_t *root, struct hd_findings_file *file) {
    uint32_t count;
    if (!json_is_array(json_object_get(root, "findings"))) fail(reader, "findings", "is no list");
    read_input(reader, root, file);
    read_counts(reader, object_in(reader, root, "summary"), &file->findings.summary);
    read_kinds(reader, root);
    const json_t *list = array(reader, root, "findings", &count);
    for (uint32_t i = 0; i < count && reader->good; i++) {
        reader->finding = i + 1;
        read_finding(reader, json_array_get(list, i));
    }
}

bool hd_findings_parse(const char *name, const char *bytes_of, size_t bytes,
                       struct hd_findings_file *file, struct hd_error *error) {
    *file = (struct hd_findings_file){.events = 0};
    json_error_t where;
    json_t *root = json_loadb(bytes_of, bytes, 0, &where);
    if (root == NULL)
        return hd_fail(error, HD_ERR_FORMAT, "%s:%d: this is not JSON: %.200s", name,
                       where.line > 0 ? where.line : 1, where.text);
    struct reader reader = {
        .name = name, .findings = &file->findings, .error = error, .good = true};
    reader.good = check_schema(&reader, root);
    if (reader.good) read_root(&reader, root, file);
    json_decref(root);
    if (!reader.good) hd_findings_file_free(file);
    return reader.good;
}

bool hd_findings_read(const char *path, struct hd_findings_file *file, struct hd_error *error) {
    size_t bytes;
    char *content = hd_whole_file_read(path, MOST_BYTES, &bytes, error);
    if (content == NULL) return false;
    bool good = hd_findings_parse(path, content, bytes, file, error);
    free(content);
    return good;
}

void hd_findings_file_free(struct hd_findings_file *file) {
    hd_findings_free(&file->findings);
    *file = (struct hd_findings_file){.events = 0};
}
