/* Reports of events that a well-formed trace does not have: an error, or a warning and a repair. */
#include "model/rules.h"

#include "base/alloc.h"
#include "model/build.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *wrong, *repair;
} rule_table[HD_RULES] = {
#define X(id, name, wrong, repair) {name, wrong, repair},
    HD_RULE_TABLE(X)
#undef X
};

static void warn(struct hd_build *build, char *line) {
    build->memory->warning[build->model->warnings++] = line;
}

bool hd_rule_broken(struct hd_build *build, enum hd_rule rule, uint32_t event) {
    const struct hd_trace *trace = build->trace;
    uint32_t thread = trace->thread[event];
    unsigned long long number = hd_trace_number(trace, event);
    char name[80];
    if (trace->thread_names != NULL)
        snprintf(name, sizeof name, "%s", trace->thread_names[thread]);
    else
        snprintf(name, sizeof name, "T%u", thread);
    const char *operation = hd_kind_text(trace->kind[event]);
    if (*operation == '\0') operation = hd_kind_name(trace->kind[event]);
    if (!build->lenient)
        return hd_fail(build->error, HD_ERR_FORMAT,
                       "event %llu (%s by %s) %s (rule %s): the trace is not well-formed", number,
                       operation, name, rule_table[rule].wrong, rule_table[rule].name);
    if (build->broken[rule]++ < HD_RULE_LINES)
        warn(build,
             hd_format("event %llu (%s by %s) %s (rule %s): %s", number, operation, name,
                       rule_table[rule].wrong, rule_table[rule].name, rule_table[rule].repair));
    return true;
}

void hd_rules_finish(struct hd_build *build) {
    for (int rule = 0; rule < HD_RULES; rule++)
        if (build->broken[rule] > HD_RULE_LINES)
            warn(build,
                 hd_format("%u more events break rule %s: %s", build->broken[rule] - HD_RULE_LINES,
                           rule_table[rule].name, rule_table[rule].repair));
}
