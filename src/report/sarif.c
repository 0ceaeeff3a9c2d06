/* The report for code scanning and editors: SARIF 2.1.0. One result a line, written as it is made:
 * there may be thousands. */
#define _GNU_SOURCE /* get_current_dir_name */
#include "report/kinds.h"
#include "report/sarif_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- rules ---------------------------------------------------------------------------------- */

/* "Atomicity violation": "AtomicityViolation" */
static void pascal_case(const char *title, char *text, size_t room) {
    size_t used = 0;
    for (bool upper = true; *title != '\0' && used + 1 < room; title++) {
        if (!isalnum((unsigned char)*title)) {
            upper = true;
            continue;
        }
        text[used++] = (char)(upper ? toupper((unsigned char)*title) : *title);
        upper = false;
    }
    text[used] = '\0';
}

static json_t *rule_of(enum hd_finding_kind kind) {
    const struct hd_kind_help *help = hd_kind_help(kind);
    struct hd_finding none = {.kind = kind, .repair = ""};
    const char *repair = hd_finding_repair(&none);
    bool repairs = *repair != '\0';
    char name[64];
    pascal_case(hd_finding_title(kind), name, sizeof name);
    return json_pack("{s:s, s:s, s:o, s:o, s:{s:o, s:o}, s:{s:s}, s:{s:[s, s]}}", "id",
                     hd_finding_kind_name(kind), "name", name, "shortDescription",
                     hd_sarif_message("%s", help->what), "fullDescription",
                     hd_sarif_message("%s %s", help->what, help->wrong), "help", "text",
                     json_sprintf("%s %s%s%s", help->what, help->wrong,
                                  repairs ? " Usual repairs: " : "", repair),
                     "markdown",
                     json_sprintf("**%s** %s%s%s", help->what, help->wrong,
                                  repairs ? "\n\n*Usual repairs:* " : "", repair),
                     "defaultConfiguration", "level", "warning", "properties", "tags",
                     "concurrency", "correctness");
}

static json_t *tool(const char *version) {
    json_t *rules = json_array();
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++)
        json_array_append_new(rules, rule_of((enum hd_finding_kind)kind));
    return json_pack("{s:{s:s, s:s, s:s, s:o}}", "driver", "name", "heddle", "version", version,
                     "semanticVersion", version, "rules", rules);
}

/* ---- what was done -------------------------------------------------------------------------- */

static void notify(json_t *list, const char *level, json_t *message) {
    json_array_append_new(list, json_pack("{s:s, s:o}", "level", level, "message", message));
}

/* What was not looked at, or not to the end. */
static json_t *notifications(const struct hd_findings *findings,
                             const struct hd_report_input *input, size_t not_shown) {
    json_t *list = json_array();
    if (input->failed != NULL) notify(list, "error", hd_sarif_message("%s", input->failed));
    for (uint32_t i = 0; i < input->warnings; i++)
        notify(list, "warning", hd_sarif_message("%s", input->warning[i]));
    for (uint32_t i = 0; i < input->notes; i++)
        notify(list, "note", hd_sarif_message("%s", input->note[i]));
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        uint64_t open = findings->of_kind[kind].verdict[HD_VERDICT_UNDECIDED];
        if (open > 0)
            notify(list, "warning",
                   hd_sarif_message("%s: not decided within the budget: %llu of %llu candidates",
                                    hd_finding_kind_name(kind), (unsigned long long)open,
                                    (unsigned long long)findings->of_kind[kind].candidates));
        uint64_t hidden = findings->of_kind[kind].hidden;
        if (hidden > 0)
            notify(list, "note",
                   hd_sarif_message("%s: not reported because it may be intended: %llu",
                                    hd_finding_kind_name(kind), (unsigned long long)hidden));
    }
    if (not_shown > 0)
        notify(list, "note", hd_sarif_message("not reported because of --max: %zu", not_shown));
    return list;
}

/* Suppressions that hid nothing. */
static json_t *unused(const struct hd_hiding *hiding) {
    json_t *list = json_array();
    for (size_t i = 0; hiding != NULL && i < hiding->suppressions.list.size; i++) {
        const struct hd_suppression *entry = &hiding->suppressions.list.data[i];
        if (entry->hits > 0) continue;
        struct hd_sarif_place place = {.file = entry->file, .line = entry->line};
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:[o]}", "level", "note", "message",
                            hd_sarif_message("the suppression '%s' hid nothing", entry->text),
                            "locations", hd_sarif_location(&place, NULL)));
    }
    return list;
}

static json_t *invocation(const struct hd_findings *findings, const struct hd_report_input *input,
                          const char *directory, size_t not_shown) {
    return json_pack("{s:b, s:i, s:o, s:o, s:o}", "executionSuccessful", input->failed == NULL,
                     "exitCode", input->status, "workingDirectory", hd_sarif_directory(directory),
                     "toolExecutionNotifications", notifications(findings, input, not_shown),
                     "toolConfigurationNotifications", unused(input->hiding));
}

/* ---- the log -------------------------------------------------------------------------------- */

static void write_member(FILE *out, const char *name, json_t *value) {
    fprintf(out, "      \"%s\": ", name);
    json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
    fputs(",\n", out);
    json_decref(value);
}

static void write_result(FILE *out, bool *any, json_t *result) {
    fputs(*any ? ",\n        " : "\n        ", out);
    json_dumpf(result, out, JSON_COMPACT);
    json_decref(result);
    *any = true;
}

static void write_results(FILE *out, const struct hd_findings *findings, size_t shown,
                          const struct hd_hiding *hiding) {
    bool any = false, suppressible = hiding != NULL && hiding->suppressions.list.size > 0;
    bool compared = hiding != NULL && hiding->baseline.path != NULL;
    fputs("      \"results\": [", out);
    for (size_t i = 0; i < shown; i++)
        write_result(
            out, &any,
            hd_sarif_result(&findings->list.data[i], compared ? "new" : NULL, suppressible));
    for (size_t i = 0; i < findings->hidden.size; i++) {
        const struct hd_finding *finding = &findings->hidden.data[i];
        const char *state = !compared ? NULL : finding->known ? "unchanged" : "new";
        write_result(out, &any, hd_sarif_result(finding, state, suppressible));
    }
    for (uint32_t i = 0; compared && i < hiding->baseline.gones; i++)
        write_result(out, &any, hd_sarif_result(hiding->baseline.gone[i], "absent", suppressible));
    fputs(any ? "\n      ]\n" : "]\n", out);
}

bool hd_report_sarif(FILE *out, const struct hd_findings *findings,
                     const struct hd_report_input *input, const struct hd_report_size *size,
                     const char *version) {
    size_t shown = findings->list.size;
    if (size->most > 0 && shown > size->most) shown = size->most;
    char *directory = get_current_dir_name();
    const char *here = directory != NULL ? directory : "/";
    fputs("{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n"
          "  \"version\": \"2.1.0\",\n  \"runs\": [\n    {\n",
          out);
    write_member(out, "tool", tool(version));
    write_member(out, "automationDetails",
                 json_pack("{s:o}", "id", json_sprintf("heddle/%s/", input->tool)));
    write_member(out, "invocations",
                 json_pack("[o]", invocation(findings, input, here, findings->list.size - shown)));
    write_member(out, "originalUriBaseIds",
                 json_pack("{s:o}", HD_SARIF_ROOT, hd_sarif_directory(here)));
    write_member(out, "columnKind", json_string("unicodeCodePoints"));
    write_results(out, findings, shown, input->hiding);
    fputs("    }\n  ]\n}\n", out);
    free(directory);
    return !ferror(out);
}
