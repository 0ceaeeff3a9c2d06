/* How far an exploration got: in words, and as JSON. See explored.h. */
#include "report/explored.h"
#include "report/page.h"

#include <jansson.h>

#define MOST_REASONS 4u /* lines */

static const char *end_words(const struct hd_exploration *exploration) {
    if (exploration->failures > 0) return "what fails is above, and nothing else does";
    if (exploration->flaky || exploration->plain_failed > 0) return "some fail, as plain runs do";
    switch (exploration->closed.races) {
    case HD_CLOSED_NO_RACES:
        return "none fails, none races, none deadlocks";
    case HD_CLOSED_RACES:
        return "none fails, none deadlocks, but there are races";
    default:
        return "none fails, none deadlocks";
    }
}

static void print_complete(FILE *out, const struct hd_exploration *exploration,
                           const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    unsigned long long classes = exploration->closed.classes, runs = exploration->closed.runs;
    char all[48], text[512];
    snprintf(all, sizeof all, classes == 1 ? "The one way" : "All %llu ways", classes);
    snprintf(text, sizeof text,
             "%s in which this program's reads can see its writes %s run, for this input, under "
             "sequential consistency, in %llu run%s: %s. Not covered: weak memory, code that is "
             "not instrumented, other inputs.",
             all, classes == 1 ? "was" : "were", runs, hd_page_plural(runs),
             end_words(exploration));
    hd_page_paragraph(&page, 0, text);
}

void hd_report_closed(FILE *out, const struct hd_exploration *exploration,
                      const struct hd_report_style *style) {
    const struct hd_closing_end *closed = &exploration->closed;
    if (!closed->there) return;
    if (closed->complete) {
        print_complete(out, exploration, style);
        return;
    }
    unsigned long long classes = closed->classes, left = closed->left;
    if (closed->runs == 0)
        fprintf(out, "Not complete: it was not begun to run all ways in which reads see writes\n");
    else
        fprintf(
            out,
            "Not complete: %llu way%s in which reads see writes %s run, %llu known one%s left\n",
            classes, hd_page_plural(classes), classes == 1 ? "was" : "were", left,
            left == 1 ? " is" : "s are");
    for (size_t i = 0; i < closed->reason.size && i < MOST_REASONS; i++)
        fprintf(out, "    %s\n", closed->reason.data[i]);
    if (closed->reason.size > MOST_REASONS)
        fprintf(out, "    and %zu more reasons\n", closed->reason.size - MOST_REASONS);
}

struct json_t *hd_report_closed_json(const struct hd_exploration *exploration) {
    const struct hd_closing_end *closed = &exploration->closed;
    json_t *reasons = json_array();
    for (size_t i = 0; i < closed->reason.size; i++)
        json_array_append_new(reasons, hd_json_text(closed->reason.data[i]));
    uint64_t first = exploration->failures > 0 ? exploration->until_failure.closing : 0;
    return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "complete", closed->complete, "classes",
                     hd_json_number(closed->classes), "runs", hd_json_number(closed->runs),
                     "first_failure", hd_json_number(first), "left", hd_json_number(closed->left),
                     "reasons", reasons);
}
