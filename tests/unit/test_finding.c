/* Findings from plain structs, as an analysis of source code makes them: no model, no trace. */
#include "finding/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <string.h>

static struct hd_finding_event write_of(const char *variable, const char *function, uint32_t line) {
    return (struct hd_finding_event){.op = "w",
                                     .verb = "writes",
                                     .variable = variable,
                                     .site = "cache.c",
                                     .file = "cache.c",
                                     .line = line,
                                     .function_line = 10,
                                     .function = function};
}

static struct hd_finding update_of(struct hd_finding_event *event, const char **variables) {
    return (struct hd_finding){.kind = HD_FINDING_INCONSISTENT_UPDATE,
                               .verdict = HD_VERDICT_POSSIBLE,
                               .engine = "mine",
                               .variables = variables,
                               .variable_count = 2,
                               .event = event,
                               .events = 1};
}

static void a_draft_is_completed(void **state) {
    (void)state;
    struct hd_findings findings = {0};
    const char *variables[] = {"cache.size", "cache.data"};
    struct hd_finding_event event = write_of("cache.size", "shrink", 12);
    struct hd_finding draft = update_of(&event, variables);
    struct hd_finding *finding = hd_finding_add(&findings, &draft);
    assert_int_equal(findings.list.size, 1);
    assert_int_equal(finding->instances, 1);
    assert_string_equal(finding->variable, "cache.size");
    assert_string_equal(finding->conclusion, "");
    assert_string_equal(finding->event[0].about, "cache.size");
    assert_string_equal(finding->event[0].thread, "");
    assert_string_equal(hd_finding_repair(finding),
                        "update the variables that belong together in one place");
    struct hd_finding *apart = hd_finding_keep(&findings, &draft);
    assert_int_equal(findings.list.size, 1);
    assert_string_equal(apart->variable, "cache.size");
    hd_findings_free(&findings);
}

/* The fingerprint of an update at a place, of a pair of variables. */
static const char *print_of(struct hd_finding_event event, const char *other, char room[32]) {
    struct hd_findings findings = {0};
    const char *variables[] = {event.variable, other};
    struct hd_finding draft = update_of(&event, variables);
    struct hd_finding *finding = hd_finding_add(&findings, &draft);
    hd_finding_fingerprint(finding);
    memcpy(room, finding->fingerprint, 32);
    hd_findings_free(&findings);
    return room;
}

static void a_fingerprint_needs_no_model(void **state) {
    (void)state;
    char a[32], b[32];
    struct hd_finding_event event = write_of("cache.size", "shrink", 12), moved = event;
    print_of(event, "cache.data", a);
    assert_int_equal(strlen(a), 16);
    moved.line += 30; /* the whole function went down */
    moved.function_line += 30;
    assert_string_equal(print_of(moved, "cache.data", b), a);
    moved.line++; /* another place in it */
    assert_string_not_equal(print_of(moved, "cache.data", b), a);
    assert_string_not_equal(print_of(event, "cache.free", b), a);
    assert_string_not_equal(print_of(write_of("cache.size", "grow", 12), "cache.data", b), a);
}

static void findings_that_agree_are_numbered(void **state) {
    (void)state;
    struct hd_findings findings = {0};
    struct hd_finding_event event[2] = {write_of("x", "f", 20), write_of("x", "f", 12)};
    event[0].function_line = event[1].function_line = 0;
    for (unsigned i = 0; i < 2; i++)
        hd_finding_add(
            &findings,
            &(struct hd_finding){.kind = HD_FINDING_STALE_VALUE, .event = &event[i], .events = 1});
    hd_findings_fingerprint(&findings);
    const char *later = findings.list.data[0].fingerprint;
    const char *earlier = findings.list.data[1].fingerprint;
    assert_int_equal(strlen(earlier), 16);
    assert_memory_equal(earlier, later, 16);
    assert_string_equal(later + 16, "-2");
    hd_finding_number(&findings.list.data[0], 13);
    assert_string_equal(later + 16, "-13");
    hd_findings_free(&findings);
}

static void without_events_the_place_counts(void **state) {
    (void)state;
    struct hd_findings findings = {0};
    static const char *const place[] = {"crashed in f", "crashed in g", "crashed in f"};
    for (unsigned i = 0; i < 3; i++)
        hd_finding_fingerprint(hd_finding_add(
            &findings, &(struct hd_finding){.kind = HD_FINDING_FAILURE, .place = place[i]}));
    const struct hd_finding *list = findings.list.data;
    assert_string_not_equal(list[0].fingerprint, list[1].fingerprint);
    assert_string_equal(list[0].fingerprint, list[2].fingerprint);
    hd_findings_free(&findings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_draft_is_completed),
                                       cmocka_unit_test(a_fingerprint_needs_no_model),
                                       cmocka_unit_test(findings_that_agree_are_numbered),
                                       cmocka_unit_test(without_events_the_place_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
