/* See sarif_parts.h: a finding as a SARIF result. */
#include "finding/words.h"
#include "report/sarif_parts.h"

#include <string.h>

static struct hd_sarif_place place_of(const struct hd_finding_event *event) {
    return (struct hd_sarif_place){event->file, event->function, event->site, event->line,
                                   event->column};
}

static json_t *event_words(const struct hd_finding_event *event) {
    return hd_sarif_message("%s%s%s %s", event->thread, *event->thread != '\0' ? " " : "",
                            *event->verb != '\0' ? event->verb : event->op, event->variable);
}

/* ---- how bad it is -------------------------------------------------------------------------- */

static const char *kind_of(const struct hd_finding *finding) {
    switch (finding->verdict) {
    case HD_VERDICT_INFEASIBLE:
        return "pass";
    case HD_VERDICT_UNDECIDED:
        return "open";
    default:
        return "fail";
    }
}

static const char *level_of(const struct hd_finding *finding) {
    if (strcmp(kind_of(finding), "fail") != 0) return "none";
    if (finding->forced != NULL && finding->forced->failed) return "error";
    switch (finding->harm) {
    case HD_HARM_ITSELF:
        return "error";
    case HD_HARM_LIKELY:
        return "warning";
    default:
        return "note";
    }
}

/* ---- code flows ----------------------------------------------------------------------------- */

/* One thread flow for each thread, in the order in which they appear. */
struct flows {
    json_t *threads; /* threadFlows */
};

static json_t *flow_of(struct flows *flows, const char *thread) {
    for (size_t i = 0; i < json_array_size(flows->threads); i++) {
        json_t *flow = json_array_get(flows->threads, i);
        if (strcmp(json_string_value(json_object_get(flow, "id")), thread) == 0) return flow;
    }
    /* a name that is not UTF-8 gets a number in its place */
    char number[32];
    snprintf(number, sizeof number, "thread %zu", json_array_size(flows->threads) + 1);
    json_t *name = json_string(thread);
    json_t *flow = json_pack("{s:o, s:o, s:[]}", "id", name != NULL ? name : json_string(number),
                             "message", hd_sarif_message("thread %s", thread), "locations");
    json_array_append_new(flows->threads, flow);
    return flow;
}

static void add_step(struct flows *flows, const char *thread, json_t *location, uint32_t order,
                     const char *importance) {
    json_t *step = json_pack("{s:o, s:I, s:s}", "location", location, "executionOrder",
                             HD_INT(order), "importance", importance);
    json_array_append_new(json_object_get(flow_of(flows, thread), "locations"), step);
}

static void flow_from_steps(struct flows *flows, const struct hd_finding *finding) {
    uint32_t order = 0;
    for (uint32_t i = 0; i < finding->steps; i++) {
        const struct hd_finding_step *step = &finding->step[i];
        if (i == 0 || !step->next || !step[-1].next) order++; /* next at the same time */
        if (step->folded > 0 || step->lane == HD_NONE) continue;
        struct hd_sarif_place place = {step->file, NULL, step->site, step->line, step->column};
        json_t *words = hd_sarif_message("%s%s", step->text, step->next ? " is next" : "");
        bool essential = step->next;
        for (uint32_t k = 0; k < finding->events; k++)
            essential |= finding->event[k].number == step->number;
        add_step(flows, finding->lane[step->lane], hd_sarif_location(&place, words), order,
                 essential ? "essential" : "important");
    }
}

/* The order that failed; its places are those of the finding's events. */
static void flow_from_lines(struct flows *flows, const struct hd_finding *finding) {
    const struct hd_finding_forced *forced = finding->forced;
    for (uint32_t i = 0; i < forced->bads; i++) {
        const struct hd_finding_line *line = &forced->bad[i];
        struct hd_sarif_place place = {NULL, NULL, line->site, 0, 0};
        for (uint32_t k = 0; k < finding->events; k++)
            if (strcmp(hd_finding_short_site(finding->event[k].site),
                       hd_finding_short_site(line->site)) == 0)
                place = place_of(&finding->event[k]);
        add_step(flows, line->thread, hd_sarif_location(&place, hd_sarif_message("%s", line->text)),
                 i + 1, "essential");
    }
}

static void flow_from_events(struct flows *flows, const struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->events; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        struct hd_sarif_place place = place_of(event);
        if (*event->thread == '\0') continue; /* source code */
        add_step(flows, event->thread, hd_sarif_location(&place, event_words(event)), i + 1,
                 "essential");
    }
}

static void add_flows(json_t *result, const struct hd_finding *finding) {
    struct flows flows = {json_array()};
    if (finding->steps > 0)
        flow_from_steps(&flows, finding);
    else if (finding->forced != NULL && finding->forced->bads > 0)
        flow_from_lines(&flows, finding);
    else
        flow_from_events(&flows, finding);
    if (json_array_size(flows.threads) > 0)
        json_object_set_new(
            result, "codeFlows",
            json_pack("[{s:o, s:O}]", "message",
                      hd_sarif_message("%s", finding->steps > 0 ? "the schedule that leads there"
                                                                : "the accesses in their order"),
                      "threadFlows", flows.threads));
    json_decref(flows.threads);
}

/* ---- places --------------------------------------------------------------------------------- */

static void add_locations(json_t *result, const struct hd_finding *finding) {
    json_t *first = json_array(), *related = json_array();
    for (uint32_t i = 0; i < finding->events; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        struct hd_sarif_place place = place_of(event);
        json_t *location = hd_sarif_location(&place, event_words(event));
        if (i > 0) json_object_set_new(location, "id", json_integer(i));
        json_array_append_new(i == 0 ? first : related, location);
    }
    json_object_set_new(result, "locations", first);
    if (json_array_size(related) > 0)
        json_object_set_new(result, "relatedLocations", related);
    else
        json_decref(related);
}

static json_t *stack_of(const struct hd_finding_event *event) {
    json_t *frames = json_array();
    for (uint32_t i = 0; i < event->frames; i++) {
        const struct hd_frame *frame = &event->frame[i];
        struct hd_sarif_place place = {frame->file, frame->function, "", frame->line,
                                       frame->column};
        json_t *value = json_pack("{s:o}", "location", hd_sarif_location(&place, NULL));
        if (frame->module != NULL)
            json_object_set_new(value, "module", hd_json_text(frame->module));
        if (frame->inlined)
            json_object_set_new(value, "properties", json_pack("{s:b}", "inlined", 1));
        json_array_append_new(frames, value);
    }
    return json_pack("{s:o, s:o}", "message", event_words(event), "frames", frames);
}

static bool contains(const json_t *list, const json_t *value) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value)) return true;
    return false;
}

static void add_stacks(json_t *result, const struct hd_finding *finding) {
    json_t *stacks = json_array();
    for (uint32_t i = 0; i < finding->events; i++) {
        if (finding->event[i].frames == 0) continue;
        json_t *stack = stack_of(&finding->event[i]);
        if (contains(stacks, stack)) /* they must be different */
            json_decref(stack);
        else
            json_array_append_new(stacks, stack);
    }
    if (json_array_size(stacks) > 0)
        json_object_set_new(result, "stacks", stacks);
    else
        json_decref(stacks);
}

/* ---- the result ----------------------------------------------------------------------------- */

static json_t *words_of(const struct hd_finding *finding) {
    const struct hd_finding_forced *forced = finding->forced;
    bool failed = forced != NULL && forced->failed;
    char cause[2300] = "";
    if (failed) hd_words_cause(forced, cause, sizeof cause);
    return hd_sarif_message(
        "%s%s%s%s%s%s%s%s%s%s%s%s%s", hd_finding_title(finding->kind),
        *finding->variable != '\0' ? " on " : "", finding->variable,
        finding->pattern != NULL ? " (" : "", finding->pattern != NULL ? finding->pattern : "",
        finding->pattern != NULL ? ")" : "", *finding->conclusion != '\0' ? ": " : ".",
        finding->conclusion, failed ? " The program fails: " : "", failed ? forced->words : "",
        failed ? "." : "", *cause != '\0' ? " " : "", cause);
}

static json_t *properties_of(const struct hd_finding *finding) {
    json_t *properties =
        json_pack("{s:s, s:s, s:o, s:I}", "verdict", hd_finding_verdict_name(finding->verdict),
                  "harm", hd_finding_harm_name(finding->harm), "engine",
                  hd_json_text(finding->engine), "instances", HD_INT(finding->instances));
    json_object_set_new(properties, "repair", hd_json_text(hd_finding_repair(finding)));
    if (*finding->ranking != '\0')
        json_object_set_new(properties, "ranking", hd_json_text(finding->ranking));
    if (finding->forced != NULL && *finding->forced->command != '\0')
        json_object_set_new(properties, "replay", hd_json_text(finding->forced->command));
    return properties;
}

json_t *hd_sarif_result(const struct hd_finding *finding, const char *state, bool suppressible) {
    json_t *result =
        json_pack("{s:s, s:I, s:s, s:s, s:o, s:{s:s}}", "ruleId",
                  hd_finding_kind_name(finding->kind), "ruleIndex", HD_INT(finding->kind), "kind",
                  kind_of(finding), "level", level_of(finding), "message", words_of(finding),
                  "partialFingerprints", "heddleFinding/v1", finding->fingerprint);
    add_locations(result, finding);
    add_flows(result, finding);
    add_stacks(result, finding);
    if (finding->harm != HD_HARM_ITSELF)
        json_object_set_new(result, "rank", json_real(finding->score > 100 ? 100 : finding->score));
    if (finding->instances <= INT32_MAX)
        json_object_set_new(result, "occurrenceCount", hd_json_number(finding->instances));
    if (state != NULL) json_object_set_new(result, "baselineState", json_string(state));
    if (finding->suppressed != NULL)
        json_object_set_new(result, "suppressions",
                            json_pack("[{s:s, s:o}]", "kind", "external", "justification",
                                      hd_json_text(finding->suppressed)));
    else if (suppressible)
        json_object_set_new(result, "suppressions", json_array());
    json_object_set_new(result, "properties", properties_of(finding));
    return result;
}
