/* The report for programs: schema heddle-findings/1. */
#include "report/report.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static json_t *json_frames(const struct hd_finding_event *event) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < event->frames; i++) {
        const struct hd_frame *frame = &event->frame[i];
        json_t *object = json_object();
        json_object_set_new(object, "function", hd_json_text(frame->function));
        json_object_set_new(object, "file", hd_json_text_or_null(frame->file));
        json_object_set_new(object, "line",
                            frame->line > 0 ? hd_json_number(frame->line) : json_null());
        json_object_set_new(object, "column",
                            frame->column > 0 ? hd_json_number(frame->column) : json_null());
        json_object_set_new(object, "module", hd_json_text_or_null(frame->module));
        json_object_set_new(object, "inlined", json_boolean(frame->inlined));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_locks(const struct hd_finding_event *event, bool reading_only) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < event->locks; i++)
        if (!reading_only || event->lock[i].reading)
            json_array_append_new(list, hd_json_text(event->lock[i].name));
    return list;
}

static json_t *json_event(const struct hd_finding_event *event) {
    json_t *object = json_object();
    json_object_set_new(object, "event", hd_json_number(event->event));
    json_object_set_new(object, "thread", hd_json_text(event->thread));
    json_object_set_new(object, "op", hd_json_text(event->op));
    json_object_set_new(object, "variable", hd_json_text(event->variable));
    json_object_set_new(object, "site", hd_json_text(event->site));
    json_object_set_new(object, "file", hd_json_text_or_null(event->file));
    json_object_set_new(object, "line",
                        event->line > 0 ? hd_json_number(event->line) : json_null());
    json_object_set_new(object, "function", hd_json_text_or_null(event->function));
    json_object_set_new(object, "locks", json_locks(event, false));
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
    for (uint32_t i = 0; i < lines; i++) {
        json_t *object = json_object();
        json_object_set_new(object, "thread", hd_json_text(line[i].thread));
        json_object_set_new(object, "does", hd_json_text(line[i].text));
        json_object_set_new(object, "site", hd_json_text(line[i].site));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_forced(const struct hd_finding_forced *forced) {
    json_t *object = json_object();
    json_object_set_new(object, "outcome", hd_json_text(forced->outcome));
    json_object_set_new(object, "words", hd_json_text(forced->words));
    json_object_set_new(object, "failed", json_boolean(forced->failed));
    json_object_set_new(object, "same_as", hd_json_text_or_null(forced->same_as));
    json_object_set_new(object, "runs", hd_json_number(forced->runs));
    json_object_set_new(object, "reproduced", hd_json_number(forced->reproduced));
    json_object_set_new(object, "switches", hd_json_number(forced->switches));
    json_object_set_new(object, "switches_before", hd_json_number(forced->switches_before));
    json_object_set_new(object, "reproducer", hd_json_text_or_null(forced->reproducer));
    json_object_set_new(object, "command", hd_json_text_or_null(forced->command));
    json_object_set_new(object, "passing_order", json_order(forced->good, forced->goods));
    json_object_set_new(object, "failing_order", json_order(forced->bad, forced->bads));
    return object;
}

static json_t *json_finding(const struct hd_finding *finding) {
    json_t *object = json_object();
    json_object_set_new(object, "kind", hd_json_text(hd_finding_kind_name(finding->kind)));
    json_object_set_new(object, "verdict", hd_json_text(hd_finding_verdict_name(finding->verdict)));
    json_object_set_new(object, "engine", hd_json_text(finding->engine));
    json_object_set_new(object, "fingerprint", hd_json_text(finding->fingerprint));
    json_object_set_new(object, "instances", hd_json_number(finding->instances));
    json_object_set_new(object, "variable", hd_json_text(finding->variable));
    json_object_set_new(object, "pattern", hd_json_text_or_null(finding->pattern));
    json_object_set_new(object, "harm", hd_json_text(hd_finding_harm_name(finding->harm)));
    if (finding->harm != HD_HARM_ITSELF) {
        json_object_set_new(object, "score", hd_json_number(finding->score));
        json_object_set_new(object, "ranking", hd_json_text_or_null(finding->ranking));
    }
    if (finding->observed) json_object_set_new(object, "observed", json_true());
    if (*finding->seen != '\0') json_object_set_new(object, "seen", hd_json_text(finding->seen));
    if (*finding->possible != '\0')
        json_object_set_new(object, "possible", hd_json_text(finding->possible));
    json_t *events = json_array();
    for (uint32_t i = 0; i < finding->events; i++)
        json_array_append_new(events, json_event(&finding->event[i]));
    json_object_set_new(object, "events", events);
    json_object_set_new(object, "explanation", hd_json_text_or_null(finding->conclusion));
    json_t *manifestation = json_object();
    json_object_set_new(manifestation, "threads", hd_json_number(finding->threads_involved));
    json_object_set_new(manifestation, "variables", hd_json_number(finding->variables_involved));
    json_object_set_new(manifestation, "accesses", hd_json_number(finding->accesses_involved));
    json_object_set_new(object, "manifestation", manifestation);
    json_object_set_new(object, "repair", hd_json_text_or_null(hd_finding_repair(finding)));
    if (finding->forced != NULL)
        json_object_set_new(object, "forced", json_forced(finding->forced));
    return object;
}

static json_t *json_input(const struct hd_report_input *input) {
    json_t *object = json_object();
    json_object_set_new(object, "path", hd_json_text(input->path));
    json_object_set_new(object, "format", hd_json_text(input->format));
    json_object_set_new(object, "command", hd_json_text_or_null(input->command));
    json_object_set_new(object, "events", hd_json_number(input->events));
    json_object_set_new(object, "threads", hd_json_number(input->threads));
    json_t *list = json_array();
    for (uint32_t i = 0; i < input->warnings; i++)
        json_array_append_new(list, hd_json_text(input->warning[i]));
    json_object_set_new(object, "warnings", list);
    return object;
}

static json_t *json_determinism(const struct hd_report_input *input) {
    json_t *object = json_object();
    json_object_set_new(object, "verdict", json_string(input->determinism));
    for (uint32_t i = 0; i < input->reads; i++)
        json_object_set_new(object, input->read[i].name, hd_json_number(input->read[i].value));
    return object;
}

static json_t *json_effort(const struct hd_report_input *input) {
    json_t *object = json_object();
    for (uint32_t i = 0; i < input->efforts; i++)
        json_object_set_new(object, input->effort[i].name, hd_json_number(input->effort[i].value));
    return object;
}

static json_t *json_counts(const struct hd_finding_summary *summary) {
    json_t *object = json_object();
    json_object_set_new(object, "candidates", hd_json_number(summary->candidates));
    for (unsigned verdict = HD_VERDICT_INFEASIBLE; verdict < HD_VERDICT_COUNT; verdict++)
        json_object_set_new(object, hd_finding_verdict_name(verdict),
                            hd_json_number(summary->verdict[verdict]));
    json_object_set_new(object, "hidden", hd_json_number(summary->hidden));
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

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Writes an object, every line but the first indented, without its closing brace. */
static bool write_open(FILE *out, json_t *object, const char *indent) {
    char *dumped = object != NULL ? json_dumps(object, JSON_INDENT(2)) : NULL;
    json_decref(object);
    if (dumped == NULL) return false;
    size_t length = strlen(dumped);
    while (length > 0 && (dumped[length - 1] == '}' || dumped[length - 1] == '\n')) {
        length--;
        if (dumped[length] == '}') break;
    }
    while (length > 0 && dumped[length - 1] == '\n') length--;
    for (size_t i = 0; i < length; i++) {
        fputc(dumped[i], out);
        if (dumped[i] == '\n') fputs(indent, out);
    }
    free(dumped);
    return true;
}

/* A witness may have millions of events, and a report thousands of witnesses: they are written
 * number by number, never held as JSON. */
static void write_witness(FILE *out, const struct hd_finding *finding) {
    if (finding->witness == NULL) {
        fputs("null", out);
        return;
    }
    const char *separator = "";
    fputc('[', out);
    for (uint32_t r = 0; r < finding->witness_spans; r++)
        for (uint32_t i = 0; i < finding->witness[r].count; i++) {
            fprintf(out, "%s%u", separator, finding->witness[r].first + i);
            separator = ", ";
        }
    fputc(']', out);
}

bool hd_report_json(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_input *input, const char *version) {
    json_t *root = json_object(), *tool = json_object();
    if (root == NULL || tool == NULL) return false;
    json_object_set_new(root, "schema", json_string("heddle-findings/1"));
    json_object_set_new(tool, "name", json_string("heddle"));
    json_object_set_new(tool, "version", json_string(version));
    json_object_set_new(root, "tool", tool);
    json_object_set_new(root, "input", json_input(input));
    json_object_set_new(root, "summary", json_counts(&findings->summary));
    json_object_set_new(root, "kinds", json_kinds(findings));
    if (input->determinism != NULL)
        json_object_set_new(root, "determinism", json_determinism(input));
    if (input->efforts > 0) json_object_set_new(root, "effort", json_effort(input));
    if (!write_open(out, root, "")) return false;
    fputs(",\n  \"findings\": [", out);
    for (size_t i = 0; i < findings->list.size; i++) {
        fputs(i == 0 ? "\n    " : ",\n    ", out);
        if (!write_open(out, json_finding(&findings->list.data[i]), "    ")) return false;
        fputs(",\n      \"witness\": ", out);
        write_witness(out, &findings->list.data[i]);
        fputs("\n    }", out);
    }
    fputs(findings->list.size > 0 ? "\n  ]\n}\n" : "]\n}\n", out);
    return !ferror(out);
}
