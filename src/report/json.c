/* The report for programs: schema heddle-findings/1. */
#include "report/report.h"

#include "base/alloc.h"
#include "base/json.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

static json_t *number_or_null(uint32_t number) {
    return number > 0 ? hd_json_number(number) : json_null();
}

static json_t *json_frames(const struct hd_finding_event *event) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < event->frames; i++) {
        const struct hd_frame *frame = &event->frame[i];
        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "function", hd_json_text(frame->function),
                      "file", hd_json_text_or_null(frame->file), "line",
                      number_or_null(frame->line), "column", number_or_null(frame->column),
                      "module", hd_json_text_or_null(frame->module), "inlined", frame->inlined));
    }
    return list;
}

static json_t *json_locks(const struct hd_finding_event *event, bool reading_only) {
    if (event->lock == NULL) return json_null();
    json_t *list = json_array();
    for (uint32_t i = 0; i < event->locks; i++)
        if (!reading_only || event->lock[i].reading)
            json_array_append_new(list, hd_json_text(event->lock[i].name));
    return list;
}

/* An access in source code has no thread and no number in a trace. */
static json_t *json_event(const struct hd_finding_event *event) {
    bool ran = *event->thread != '\0';
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "event",
        ran && event->event != HD_NONE ? hd_json_number(event->number) : json_null(), "thread",
        hd_json_text_or_null(event->thread), "op", hd_json_text(event->op), "verb",
        hd_json_text(event->verb), "variable", hd_json_text(event->variable), "site",
        hd_json_text(event->site), "file", hd_json_text_or_null(event->file), "line",
        number_or_null(event->line), "column", number_or_null(event->column), "function",
        hd_json_text_or_null(event->function), "locks", json_locks(event, false));
    if (event->put_in) json_object_set_new(object, "put_in", json_true());
    if (strcmp(event->about, event->variable) != 0)
        json_object_set_new(object, "about", hd_json_text(event->about));
    if (event->role != HD_FINDING_ROLE_NONE)
        json_object_set_new(object, "role", hd_json_text(hd_finding_role_name(event->role)));
    json_t *reading = json_locks(event, true);
    if (json_array_size(reading) > 0)
        json_object_set_new(object, "locks_for_reading", reading);
    else
        json_decref(reading);
    json_object_set_new(object, "stack", json_frames(event));
    return object;
}

static json_t *json_order(const struct hd_finding_line *line, uint32_t lines) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < lines; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "thread", hd_json_text(line[i].thread), "does",
                            hd_json_text(line[i].text), "site", hd_json_text(line[i].site)));
    return list;
}

static json_t *json_experiment(const struct hd_finding_forced *forced) {
    if (forced->flipped_runs == 0) return json_null();
    return json_pack("{s:o, s:I, s:I, s:b}", "order", hd_json_text(forced->flipped), "runs",
                     HD_INT(forced->flipped_runs), "passed", HD_INT(forced->flipped_passed),
                     "holds", hd_finding_is_proved(forced));
}

static json_t *json_forced(const struct hd_finding_forced *forced) {
    return json_pack("{s:o, s:o, s:b, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "outcome",
                     hd_json_text(forced->outcome), "words", hd_json_text(forced->words), "failed",
                     forced->failed, "same_as", hd_json_text_or_null(forced->same_as), "runs",
                     HD_INT(forced->runs), "reproduced", HD_INT(forced->reproduced), "switches",
                     HD_INT(forced->switches), "switches_before", HD_INT(forced->switches_before),
                     "reproducer", hd_json_text_or_null(forced->reproducer), "command",
                     hd_json_text_or_null(forced->command), "passing_order",
                     json_order(forced->good, forced->goods), "failing_order",
                     json_order(forced->bad, forced->bads), "experiment", json_experiment(forced));
}

static json_t *json_steps(const struct hd_finding *finding, const struct hd_finding_step *step,
                          uint32_t count) {
    json_t *steps = json_array();
    for (uint32_t i = 0; i < count; i++, step++) {
        json_t *object =
            json_pack("{s:o, s:o, s:o, s:o}", "thread",
                      step->lane != HD_NONE ? hd_json_text(finding->lane[step->lane]) : json_null(),
                      "event", step->event != HD_NONE ? hd_json_number(step->number) : json_null(),
                      "does", hd_json_text(step->text), "site", hd_json_text_or_null(step->site));
        if (step->file != NULL)
            json_object_update_new(object,
                                   json_pack("{s:o, s:o, s:o}", "file", hd_json_text(step->file),
                                             "line", number_or_null(step->line), "column",
                                             number_or_null(step->column)));
        if (step->op != NULL && *step->op != '\0')
            json_object_set_new(object, "op", hd_json_text(step->op));
        if (step->folded > 0) json_object_set_new(object, "folded", hd_json_number(step->folded));
        if (step->put_in) json_object_set_new(object, "put_in", json_true());
        if (step->next) json_object_set_new(object, "next", json_true());
        json_array_append_new(steps, object);
    }
    return steps;
}

static json_t *json_arrows(const struct hd_finding_arrow *arrow, uint32_t count) {
    json_t *arrows = json_array();
    for (uint32_t i = 0; i < count; i++) {
        uint64_t from = arrow[i].from_number, to = arrow[i].to_number;
        json_t *object = json_pack("{s:I, s:I, s:o}", "from", HD_INT(from & ~HD_PUT_IN), "to",
                                   HD_INT(to & ~HD_PUT_IN), "what", hd_json_text(arrow[i].what));
        if (from & HD_PUT_IN) json_object_set_new(object, "from_put_in", json_true());
        if (to & HD_PUT_IN) json_object_set_new(object, "to_put_in", json_true());
        json_array_append_new(arrows, object);
    }
    return arrows;
}

static json_t *json_sections(const struct hd_finding *finding) {
    const struct hd_finding_picture *picture = finding->picture;
    json_t *sections = json_array();
    for (uint32_t i = 0; i < picture->sections; i++) {
        const struct hd_finding_section *section = &picture->section[i];
        json_array_append_new(
            sections, json_pack("{s:o, s:o, s:b, s:I, s:o, s:b}", "thread",
                                hd_json_text(finding->lane[section->lane]), "lock",
                                hd_json_text(section->lock), "reading", section->reading, "acquire",
                                HD_INT(section->acquire), "release",
                                section->release != HD_NO_NUMBER ? hd_json_number(section->release)
                                                                 : json_null(),
                                "open", section->open));
    }
    return sections;
}

/* The schedule that a person reads: the steps that matter, the others folded. */
static json_t *json_schedule(const struct hd_finding *finding) {
    json_t *threads = json_array();
    for (uint32_t i = 0; i < finding->lanes; i++)
        json_array_append_new(threads, hd_json_text(finding->lane[i]));
    json_t *schedule = json_pack("{s:I, s:I, s:o, s:o}", "events", HD_INT(finding->witness_count),
                                 "next", HD_INT(finding->witness_next), "threads", threads, "steps",
                                 json_steps(finding, finding->step, finding->steps));
    const struct hd_finding_picture *picture = finding->picture;
    if (picture == NULL) return schedule;
    json_object_update_new(
        schedule,
        json_pack("{s:o, s:o, s:{s:o, s:o}}", "arrows",
                  json_arrows(picture->arrow, picture->arrows), "sections", json_sections(finding),
                  "observed", "steps",
                  json_steps(finding, picture->observed, picture->observed_steps), "arrows",
                  json_arrows(picture->observed_arrow, picture->observed_arrows)));
    return schedule;
}

static json_t *json_rules(const struct hd_finding *finding) {
    json_t *rules = json_array();
    for (uint32_t i = 0; i < finding->rules; i++) {
        const struct hd_finding_rule *rule = &finding->rule[i];
        json_t *keepers = json_array();
        for (uint32_t k = 0; k < rule->keepers; k++)
            json_array_append_new(keepers, json_pack("{s:o, s:o, s:o}", "function",
                                                     hd_json_text(rule->keeper[k].function), "file",
                                                     hd_json_text_or_null(rule->keeper[k].file),
                                                     "line", number_or_null(rule->keeper[k].line)));
        json_array_append_new(
            rules, json_pack("{s:o, s:o, s:I, s:I, s:o}", "first", hd_json_text(rule->first),
                             "second", hd_json_text(rule->second), "support", HD_INT(rule->support),
                             "functions", HD_INT(rule->functions), "kept_by", keepers));
    }
    return rules;
}

static void add_text(json_t *object, const char *name, const char *text) {
    if (*text != '\0') json_object_set_new(object, name, hd_json_text(text));
}

json_t *hd_report_finding_json(const struct hd_finding *finding) {
    json_t *events = json_array();
    for (uint32_t i = 0; i < finding->events; i++)
        json_array_append_new(events, json_event(&finding->event[i]));
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:s, s:I, s:o, s:o, s:s}", "kind", hd_finding_kind_name(finding->kind),
        "verdict", hd_finding_verdict_name(finding->verdict), "engine",
        hd_json_text(finding->engine), "fingerprint", finding->fingerprint, "instances",
        HD_INT(finding->instances), "variable", hd_json_text(finding->variable), "pattern",
        hd_json_text_or_null(finding->pattern), "harm", hd_finding_harm_name(finding->harm));
    if (finding->variable_count > 0) {
        json_t *variables = json_array();
        for (uint32_t i = 0; i < finding->variable_count; i++)
            json_array_append_new(variables, hd_json_text(finding->variables[i]));
        json_object_set_new(object, "variables", variables);
    }
    if (finding->harm != HD_HARM_ITSELF) {
        json_object_set_new(object, "score", hd_json_number(finding->score));
        json_object_set_new(object, "ranking", hd_json_text_or_null(finding->ranking));
    }
    if (finding->observed) json_object_set_new(object, "observed", json_true());
    add_text(object, "seen", finding->seen);
    add_text(object, "possible", finding->possible);
    add_text(object, "support", finding->support);
    add_text(object, "how", finding->how);
    json_object_update_new(object,
                           json_pack("{s:o, s:o, s:{s:I, s:I, s:I}, s:o}", "events", events,
                                     "explanation", hd_json_text_or_null(finding->conclusion),
                                     "manifestation", "threads", HD_INT(finding->threads_involved),
                                     "variables", HD_INT(finding->variables_involved), "accesses",
                                     HD_INT(finding->accesses_involved), "repair",
                                     hd_json_text_or_null(hd_finding_repair(finding))));
    if (finding->rules > 0) json_object_set_new(object, "rules", json_rules(finding));
    if (finding->steps > 0) json_object_set_new(object, "schedule", json_schedule(finding));
    if (finding->forced != NULL)
        json_object_set_new(object, "forced", json_forced(finding->forced));
    return object;
}

static json_t *json_input(const struct hd_report_input *input) {
    json_t *warnings = json_array();
    for (uint32_t i = 0; i < input->warnings; i++)
        json_array_append_new(warnings, hd_json_text(input->warning[i]));
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:o}", "path", hd_json_text(input->path), "format",
        hd_json_text(input->format), "command", hd_json_text_or_null(input->command), "events",
        HD_INT(input->events), "threads", HD_INT(input->threads), "warnings", warnings);
    if (input->loaded != 0 && input->loaded != input->events)
        json_object_set_new(object, "loaded", json_integer((json_int_t)input->loaded));
    return object;
}

static json_t *json_numbers(const struct hd_report_number *number, uint32_t count) {
    json_t *object = json_object();
    for (uint32_t i = 0; i < count; i++)
        json_object_set_new(object, number[i].name, hd_json_number(number[i].value));
    return object;
}

static json_t *json_counts(const struct hd_finding_summary *summary) {
    json_t *object = json_pack("{s:I}", "candidates", HD_INT(summary->candidates));
    for (unsigned verdict = HD_VERDICT_INFEASIBLE; verdict < HD_VERDICT_COUNT; verdict++)
        json_object_set_new(object, hd_finding_verdict_name(verdict),
                            hd_json_number(summary->verdict[verdict]));
    json_object_set_new(object, "hidden", hd_json_number(summary->hidden));
    json_object_set_new(object, "left", hd_json_number(summary->left));
    return object;
}

static json_t *json_kinds(const struct hd_findings *findings) {
    json_t *kinds = json_object();
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++)
        if (findings->looked_for[kind])
            json_object_set_new(kinds, hd_finding_kind_name(kind),
                                json_counts(&findings->of_kind[kind]));
    return kinds;
}

/* ---- what is hidden --------------------------------------------------------------------------
 */

static json_t *json_suppressions(const struct hd_suppressions *suppressions, uint64_t hidden) {
    json_t *entries = json_array();
    for (size_t i = 0; i < suppressions->list.size; i++) {
        const struct hd_suppression *entry = &suppressions->list.data[i];
        json_array_append_new(
            entries,
            json_pack("{s:o, s:I, s:o, s:o, s:I}", "file", hd_json_text(entry->file), "line",
                      HD_INT(entry->line), "text", hd_json_text(entry->text), "reason",
                      hd_json_text_or_null(entry->reason), "hidden", HD_INT(entry->hits)));
    }
    return json_pack("{s:I, s:o}", "hidden", HD_INT(hidden), "entries", entries);
}

static json_t *json_baseline(const struct hd_baseline *baseline) {
    json_t *gone = json_array();
    for (uint32_t i = 0; i < baseline->gones; i++)
        json_array_append_new(gone, json_string(baseline->gone[i]->fingerprint));
    return json_pack("{s:o, s:I, s:o}", "file", hd_json_text(baseline->path), "hidden",
                     HD_INT(baseline->hidden), "gone", gone);
}

static void add_hiding(json_t *root, const struct hd_findings *findings,
                       const struct hd_hiding *hiding) {
    if (hiding == NULL) return;
    if (hiding->suppressions.list.size > 0)
        json_object_set_new(
            root, "suppressions",
            json_suppressions(&hiding->suppressions, hd_findings_suppressed(findings)));
    if (hiding->baseline.path != NULL)
        json_object_set_new(root, "baseline", json_baseline(&hiding->baseline));
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Writes an object, every line but the first indented, without its closing brace. */
static void write_open(FILE *out, json_t *object, const char *indent) {
    char *dumped = json_dumps(object, JSON_INDENT(2));
    if (dumped == NULL) hd_out_of_memory();
    size_t length = strlen(dumped) - 1; /* the brace */
    while (length > 0 && dumped[length - 1] == '\n') length--;
    for (size_t i = 0; i < length; i++) {
        fputc(dumped[i], out);
        if (dumped[i] == '\n') fputs(indent, out);
    }
    free(dumped);
    json_decref(object);
}

/* A witness may have millions of events, and a report thousands of witnesses: they are written
 * number by number, never held as JSON. */
static void write_witness(FILE *out, const struct hd_finding *finding, bool turns) {
    if (turns && finding->turns > 0) {
        fputs("null,\n      \"turns\": [", out);
        for (uint32_t i = 0; i < finding->turns; i++) {
            json_t *turn = json_pack("{s:o, s:I}", "thread", hd_json_text(finding->turn[i].thread),
                                     "events", HD_INT(finding->turn[i].events));
            if (i > 0) fputs(", ", out);
            json_dumpf(turn, out, 0);
            json_decref(turn);
        }
        fputc(']', out);
        return;
    }
    if (finding->witness == NULL && finding->witness_number == NULL) {
        fputs("null", out);
        return;
    }
    const char *separator = "";
    fputc('[', out);
    if (finding->witness_number != NULL) {
        for (uint32_t i = 0; i < finding->witness_count; i++)
            fprintf(out, "%s%llu", i > 0 ? ", " : "",
                    (unsigned long long)finding->witness_number[i]);
        fputc(']', out);
        return;
    }
    for (uint32_t r = 0; r < finding->witness_spans; r++)
        for (uint32_t i = 0; i < finding->witness[r].count; i++) {
            fprintf(out, "%s%u", separator, finding->witness[r].first + i);
            separator = ", ";
        }
    fputc(']', out);
}

void hd_report_json_error(FILE *out, const char *message, const char *version) {
    hd_report_json_value(out, json_pack("{s:s, s:{s:s, s:s}, s:o}", "schema", "heddle-findings/1",
                                        "tool", "name", "heddle", "version", version, "error",
                                        hd_json_text(message)));
}

bool hd_report_json(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_input *input, const struct hd_report_size *size,
                    const char *version) {
    size_t count = findings->list.size;
    if (size->most > 0 && count > size->most) count = size->most;
    json_t *root =
        json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:o}", "schema", "heddle-findings/1", "tool",
                  "name", "heddle", "version", version, "input", json_input(input), "summary",
                  json_counts(&findings->summary), "kinds", json_kinds(findings));
    if (input->determinism != NULL) {
        json_t *reads = json_pack("{s:s}", "verdict", input->determinism);
        json_object_update_new(reads, json_numbers(input->read, input->reads));
        json_object_set_new(root, "determinism", reads);
    }
    if (input->efforts > 0)
        json_object_set_new(root, "effort", json_numbers(input->effort, input->efforts));
    if (input->more_name != NULL) json_object_set(root, input->more_name, input->more);
    add_hiding(root, findings, input->hiding);
    if (count < findings->list.size)
        json_object_set_new(root, "not_shown", hd_json_number(findings->list.size - count));
    write_open(out, root, "");
    fputs(",\n  \"findings\": [", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "\n    " : ",\n    ", out);
        write_open(out, hd_report_finding_json(&findings->list.data[i]), "    ");
        fputs(",\n      \"witness\": ", out);
        write_witness(out, &findings->list.data[i], size->turns);
        fputs("\n    }", out);
    }
    fputs(findings->list.size > 0 ? "\n  ]\n}\n" : "]\n}\n", out);
    return !ferror(out);
}
