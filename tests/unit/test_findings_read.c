/* The reader of heddle-findings/1: what is read is what was written; what is wrong is refused with
 * one line. And every kind of finding has its help text. */
#include "finding/read.h"
#include "report/kinds.h"
#include "support/written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <string.h>

static bool parse(const char *text, struct hd_findings_file *file, struct hd_error *error) {
    return hd_findings_parse("f.json", text, strlen(text), file, error);
}

/* A finding with something in every member. */
static void add_full(struct hd_findings *findings) {
    static struct hd_frame frame[] = {{.function = "inner",
                                       .file = "a.c",
                                       .line = 3,
                                       .column = 4,
                                       .module = "app",
                                       .inlined = true},
                                      {.function = "outer"}};
    static struct hd_finding_lock lock[] = {{"m", "m", false}, {"n", "n", true}};
    static struct hd_finding_event event[] = {{.event = 5,
                                               .number = 5000000000,
                                               .put_in = true,
                                               .thread = "T1",
                                               .op = "w",
                                               .verb = "writes",
                                               .variable = "x",
                                               .about = "x, in full",
                                               .site = "a.c:3",
                                               .file = "a.c",
                                               .line = 3,
                                               .column = 4,
                                               .function = "inner",
                                               .lock = lock,
                                               .locks = 2,
                                               .frame = frame,
                                               .frames = 2},
                                              {.event = 9,
                                               .number = 9,
                                               .thread = "T2",
                                               .op = "r",
                                               .verb = "reads",
                                               .variable = "x",
                                               .site = "l9"}};
    static struct hd_span witness[] = {{0, 3}, {7, 1}, {4, 2}};
    static struct hd_finding_step step[] = {
        {.lane = HD_NONE, .folded = 3, .event = HD_NONE, .text = "... 3 ...", .site = ""},
        {.lane = 1,
         .event = 7,
         .number = 7,
         .text = "r(x)",
         .site = "a.c:3",
         .file = "d/a.c",
         .line = 3},
        {.lane = 0, .number = 5, .put_in = true, .next = true, .text = "w(x)", .site = "a.c:3"}};
    static struct hd_finding_step observed[] = {
        {.lane = 0, .event = 5, .number = 5, .op = "w", .text = "w(x)", .site = "a.c:3"},
        {.lane = HD_NONE, .event = HD_NONE, .folded = 1, .text = "... 1 ...", .site = ""},
        {.lane = 1, .event = 7, .number = 7, .op = "r", .text = "r(x)", .site = "a.c:3"}};
    static struct hd_finding_arrow arrow[] = {{7, 5, 7, 5 | HD_PUT_IN, "signal"}},
                                   seen[] = {{5, 7, 5, 7, "reads-from"}};
    static struct hd_finding_section section[] = {
        {.lane = 1, .lock = "m", .reading = true, .acquire = 6, .release = 8, .open = true},
        {.lane = 0, .lock = "n", .acquire = 4, .release = HD_NO_NUMBER}};
    static struct hd_finding_picture picture = {.arrow = arrow,
                                                .arrows = 1,
                                                .section = section,
                                                .sections = 2,
                                                .observed = observed,
                                                .observed_steps = 3,
                                                .observed_arrow = seen,
                                                .observed_arrows = 1};
    static struct hd_finding_keeper keeper[] = {{"put", "a.c", 9}, {.function = "take"}};
    static struct hd_finding_rule rule[] = {{.first = "write(x)",
                                             .second = "any(y)",
                                             .support = 9,
                                             .functions = 10,
                                             .keeper = keeper,
                                             .keepers = 2}};
    static const char *lane[] = {"T1", "T2"}, *variables[] = {"x", "y"};
    static struct hd_finding_line good[] = {{"T1", "w(x)", "a.c:3"}}, bad[] = {{"T2", "r(x)", ""}};
    static struct hd_finding_forced forced = {.outcome = "signal",
                                              .words = "it crashed",
                                              .failed = true,
                                              .same_as = "0123456789abcdef",
                                              .runs = 20,
                                              .reproduced = 19,
                                              .switches = 2,
                                              .switches_before = 9,
                                              .reproducer = "r.json",
                                              .command = "heddle replay r.json",
                                              .good = good,
                                              .bad = bad,
                                              .goods = 1,
                                              .bads = 1};
    struct hd_finding draft = {.kind = HD_FINDING_ATOMICITY,
                               .verdict = HD_VERDICT_CONFIRMED,
                               .engine = "poly/cdsr",
                               .instances = 7,
                               .variable = "x",
                               .variables = variables,
                               .variable_count = 2,
                               .pattern = "R-W-R",
                               .event = event,
                               .events = 2,
                               .witness = witness,
                               .witness_spans = 3,
                               .witness_count = 6,
                               .witness_next = 1,
                               .picture = &picture,
                               .rule = rule,
                               .rules = 1,
                               .step = step,
                               .steps = 3,
                               .lane = lane,
                               .lanes = 2,
                               .conclusion = "It is wrong.",
                               .how = "by trying",
                               .support = "many",
                               .harm = HD_HARM_LIKELY,
                               .score = 70,
                               .ranking = "near",
                               .observed = true,
                               .seen = "so",
                               .possible = "otherwise",
                               .repair = "a lock",
                               .threads_involved = 2,
                               .variables_involved = 1,
                               .accesses_involved = 3,
                               .forced = &forced};
    hd_finding_add(findings, &draft);
    static struct hd_finding_turn turn[] = {{"T1", 1000}, {"T2", 4000}};
    draft = (struct hd_finding){.kind = HD_FINDING_RACE,
                                .verdict = HD_VERDICT_FEASIBLE,
                                .engine = "poly",
                                .witness = witness,
                                .witness_spans = 3,
                                .witness_count = 6,
                                .turn = turn,
                                .turns = 2,
                                .event = &event[1],
                                .events = 1};
    hd_finding_add(findings, &draft);
    findings->looked_for[HD_FINDING_RACE] = true;
    findings->summary.candidates = findings->of_kind[HD_FINDING_RACE].candidates = 12;
    hd_findings_fingerprint(findings);
}

static void read_is_written(void **state) {
    (void)state;
    struct hd_findings findings = {0};
    add_full(&findings);
    char *first = written(hd_report_json, &findings);
    struct hd_findings_file file;
    struct hd_error error;
    if (!parse(first, &file, &error)) fail_msg("%s", error.message);
    assert_int_equal(file.findings.list.size, 2);
    assert_string_equal(file.path, "t.std");
    assert_int_equal(file.findings.summary.candidates, 12);
    const struct hd_finding *one = &file.findings.list.data[0];
    assert_int_equal(one->witness_count, 6);
    assert_int_equal(one->witness_number[3], 7);
    assert_true(one->event[0].put_in);
    assert_true(one->event[0].number == 5000000000);
    assert_int_equal(one->witness_next, 1);
    assert_int_equal(one->step[1].lane, 1);
    assert_true(one->event[0].lock[1].reading);
    assert_false(one->event[0].lock[0].reading);
    assert_null(one->event[1].lock);
    char *second = written(hd_report_json, &file.findings);
    assert_string_equal(first, second);
    free(first);
    free(second);
    /* and the other formats are the same, too */
    static report_writer *const other[] = {hd_report_sarif, hd_report_html};
    for (size_t i = 0; i < 2; i++) {
        first = written(other[i], &findings);
        second = written(other[i], &file.findings);
        assert_string_equal(first, second);
        free(first);
        free(second);
    }
    hd_findings_file_free(&file);
    hd_findings_free(&findings);
}

#define HEAD "{\"schema\": \"heddle-findings/1\", "
#define ONE                                                           \
    HEAD "\"findings\": [{\"kind\": \"race\", \"fingerprint\": \"0\"" \
         ", \"verdict\": \"feasible\""

static void what_is_missing(void **state) {
    (void)state;
    struct hd_findings_file file;
    struct hd_error error;
    if (!parse(ONE "}]}", &file, &error)) fail_msg("%s", error.message);
    assert_string_equal(file.findings.list.data[0].variable, "");
    assert_int_equal(file.findings.list.data[0].instances, 1);
    assert_string_equal(file.path, "");
    hd_findings_file_free(&file);
}

static void mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } row[] = {{"", "f.json:1: this is not JSON"},
               {"{\n\"schema\": \n", "f.json:3: this is not JSON"},
               {"[]", "f.json is no list of findings: heddle writes one with --format json"},
               {"{\"schema\": \"heddle-schedule/1\"}", "f.json is no list of findings"},
               {"{\"schema\": \"heddle-findings/2\"}",
                "f.json was written by a newer heddle (heddle-findings/2); this one reads "
                "heddle-findings/1"},
               {HEAD "\"error\": \"no events\"}",
                "f.json has no findings: the command that wrote it failed (no events)"},
               {HEAD "\"findings\": 1}", "f.json: 'findings' is no list"},
               {HEAD "\"findings\": [1]}",
                "f.json: finding 1: 'findings' has something that is not a finding"},
               {HEAD "\"findings\": [{\"kind\": \"rac\"}]}",
                "f.json: finding 1: 'kind' is 'rac', which this heddle does not know"},
               {HEAD "\"findings\": [{\"kind\": \"race\", \"verdict\": \"feasible\"}]}",
                "f.json: finding 1: 'fingerprint' is missing, or too long for one"},
               {ONE ", \"instances\": -1}]}",
                "f.json: finding 1: 'instances' is not a number that can be"},
               {ONE ", \"variable\": {}}]}", "f.json: finding 1: 'variable' is not a string"},
               {ONE ", \"observed\": 1}]}", "f.json: finding 1: 'observed' is not true or false"},
               {ONE ", \"events\": [3]}]}",
                "f.json: finding 1: 'events' has something that is not an event"},
               {ONE ", \"events\": [{\"line\": 4294967296}]}]}",
                "f.json: finding 1: 'line' is not a number that can be"},
               {ONE ", \"witness\": [1, -2]}]}",
                "f.json: finding 1: 'witness' has something that is no event"},
               {ONE ", \"witness\": [1.5]}]}",
                "f.json: finding 1: 'witness' has something that is no event"},
               {ONE ", \"events\": [{\"event\": -1}]}]}",
                "f.json: finding 1: 'event' is not a number of an event"},
               {ONE ", \"schedule\": {\"events\": 1, \"next\": 2}}]}",
                "f.json: finding 1: 'next' is more than there are events"},
               {ONE ", \"schedule\": []}]}", "f.json: finding 1: 'schedule' is not an object"},
               {ONE ", \"variables\": [1]}]}",
                "f.json: finding 1: 'variables' has something that is not a string"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct hd_findings_file file;
        struct hd_error error;
        if (parse(row[i].text, &file, &error)) fail_msg("%s was read", row[i].text);
        if (strncmp(error.message, row[i].message, strlen(row[i].message)) != 0)
            fail_msg("%s: %s", row[i].text, error.message);
    }
}

static void every_kind_has_help(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        const struct hd_kind_help *help = hd_kind_help((enum hd_finding_kind)kind);
        if (help->what == NULL || help->wrong == NULL)
            fail_msg("%s has no help in src/report/kinds.c", hd_finding_kind_name(kind));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_is_written), cmocka_unit_test(what_is_missing),
        cmocka_unit_test(mistakes), cmocka_unit_test(every_kind_has_help)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
