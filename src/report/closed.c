/* How far an exploration got: in words, and as JSON. See explored.h. */
#include "report/explored.h"
#include "report/page.h"

#include <jansson.h>

#define MOST_REASONS 8u /* lines */

void hd_report_closed(FILE *out, const struct hd_exploration *exploration) {
    const struct hd_closed *closed = &exploration->closed;
    if (!closed->there) return;
    unsigned long long classes = closed->classes, runs = closed->runs, left = closed->left;
    if (closed->complete) {
        const char *end = exploration->failures > 0 ? "what fails is above, and nothing else does"
                          : exploration->flaky || exploration->plain_failed > 0
                              ? "some fail, as plain runs do"
                              : "none fails, none deadlocks";
        if (classes == 1)
            fprintf(out, "The one way");
        else
            fprintf(out, "All %llu ways", classes);
        fprintf(out,
                " in which this program's reads can see its writes %s run, for this input, under\n"
                "sequential consistency, in %llu run%s: %s. Not covered: weak memory, code that is "
                "not\ninstrumented, other inputs.\n",
                classes == 1 ? "was" : "were", runs, hd_page_plural(runs), end);
        return;
    }
    fprintf(out,
            "Not complete: %llu way%s in which reads see writes %s run, %llu known run%s left\n",
            classes, hd_page_plural(classes), classes == 1 ? "was" : "were", left,
            left == 1 ? " is" : "s are");
    for (size_t i = 0; i < closed->reason.size && i < MOST_REASONS; i++)
        fprintf(out, "    %s\n", closed->reason.data[i]);
    if (closed->reason.size > MOST_REASONS)
        fprintf(out, "    and %zu more reasons\n", closed->reason.size - MOST_REASONS);
}

struct json_t *hd_report_closed_json(const struct hd_exploration *exploration) {
    const struct hd_closed *closed = &exploration->closed;
    json_t *reasons = json_array();
    for (size_t i = 0; i < closed->reason.size; i++)
        json_array_append_new(reasons, hd_json_text(closed->reason.data[i]));
    uint64_t first = exploration->failures > 0 ? exploration->until_failure.closing : 0;
    return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "complete", closed->complete, "classes",
                     hd_json_number(closed->classes), "runs", hd_json_number(closed->runs),
                     "first_failure", hd_json_number(first), "left", hd_json_number(closed->left),
                     "reasons", reasons);
}
