/* Inconsistent updates as findings, in words. */
#include "mine/corr_file.h"
#include "mine/evidence.h"
#include "mine/mine.h"
#include "source/source.h"

#include <string.h>

#define SUPPORTERS 3 /* in the words */
#define KEEPERS 20u  /* in the table of a rule */
#define NAMES_SHOWN 4

struct writer {
    const struct hd_mine *mine;
    struct hd_findings *out;
    const char *base;
};

static const char *site(struct writer *writer, uint32_t function, uint32_t line) {
    uint32_t in_source = writer->mine->sets.function.data[function];
    return hd_finding_text(writer->out, "%s:%u",
                           hd_mine_path(writer->mine->source, in_source, writer->base), line);
}

static const char *function_name(const struct hd_mine *mine, uint32_t function) {
    uint32_t in_source = mine->sets.function.data[function];
    return hd_source_text(mine->source, mine->source->function.data[in_source].name);
}

/* Fields of one struct by the field alone. */
static const char *short_name(const struct hd_mine *mine, uint32_t variable, uint32_t beside) {
    return strcmp(mine->names.group[variable], mine->names.group[beside]) == 0
               ? mine->names.field[variable]
               : mine->names.name[variable];
}

/* "a", "a and b", "a, b and c", "a, b, c and 4 more". */
static const char *listed(struct writer *writer, const uint32_t *list, uint32_t count,
                          uint32_t beside) {
    const char *text = "";
    uint32_t shown = count > NAMES_SHOWN ? NAMES_SHOWN - 1 : count;
    for (uint32_t i = 0; i < shown; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        text = hd_finding_text(writer->out, "%s%s%s", text, between,
                               short_name(writer->mine, list[i], beside));
    }
    if (shown < count) text = hd_finding_text(writer->out, "%s and %u more", text, count - shown);
    return text;
}

/* The variables on one side of an update's pairs, each once, that of the best pair first. */
static uint32_t one_side(const struct hd_mine *mine, const struct hd_update *update, bool written,
                         uint32_t *list) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < update->count; i++) {
        const struct hd_update_pair *pair = &mine->updates.pair.data[update->first + i];
        const struct hd_correlation *rule = &mine->correlations.list.data[pair->correlation];
        uint32_t variable = written ? rule->x : rule->y;
        uint32_t k = 0;
        while (k < count && list[k] != variable) k++;
        if (k == count) list[count++] = variable;
    }
    return count;
}

/* What is done here: "here only x is", or all of it where there are more variables. */
static const char *here(struct writer *writer, const struct hd_update *update,
                        const struct hd_correlation *rule) {
    const struct hd_mine *mine = writer->mine;
    const char *x = short_name(mine, rule->x, rule->y);
    if (update->count == 1)
        return update->both_written ? hd_finding_text(writer->out, "here only %s is", x)
                                    : "here it is not";
    uint32_t *list = hd_arena_zalloc(&writer->out->arena, update->count, sizeof *list);
    uint32_t count = one_side(mine, update, true, list);
    const char *written = listed(writer, list, count, rule->y);
    const char *are = count == 1 ? "is" : "are";
    count = one_side(mine, update, false, list);
    return hd_finding_text(writer->out, "here %s %s updated without %s", written, are,
                           listed(writer, list, count, rule->x));
}

static const char *conclusion(struct writer *writer, const struct hd_update *update,
                              const struct hd_correlation *rule) {
    const struct hd_mine *mine = writer->mine;
    const char *x = short_name(mine, rule->x, rule->y), *y = short_name(mine, rule->y, rule->x);
    return update->both_written
               ? hd_finding_text(writer->out,
                                 "%s and %s are updated together in %u of %u functions; %s.", x, y,
                                 rule->support, rule->functions, here(writer, update, rule))
               : hd_finding_text(writer->out,
                                 "where %s is updated, %s is read or written nearby in %u of %u "
                                 "functions; %s.",
                                 x, y, rule->support, rule->functions, here(writer, update, rule));
}

static const char *support(struct writer *writer, const struct hd_correlation *rule) {
    struct hd_supporter supporter[SUPPORTERS];
    uint32_t count = hd_mine_supporters(&writer->mine->sets, rule,
                                        writer->mine->options.max_distance, supporter, SUPPORTERS);
    const char *text = "";
    for (uint32_t i = 0; i < count; i++)
        text = hd_finding_text(writer->out, "%s%s%s (%s)", text, i > 0 ? ", " : "together in ",
                               function_name(writer->mine, supporter[i].function),
                               site(writer, supporter[i].function, supporter[i].line));
    return text;
}

static const char *mode_of(struct writer *writer, uint8_t mode, uint32_t variable) {
    return hd_finding_text(writer->out, "%s(%s)", hd_mine_mode_name(mode),
                           writer->mine->names.name[variable]);
}

static void set_rules(struct writer *writer, const struct hd_update *update,
                      struct hd_finding *finding) {
    const struct hd_mine *mine = writer->mine;
    struct hd_arena *arena = &writer->out->arena;
    finding->rule = hd_arena_zalloc(arena, update->count, sizeof *finding->rule);
    finding->rules = update->count;
    for (uint32_t i = 0; i < update->count; i++) {
        const struct hd_update_pair *pair = &mine->updates.pair.data[update->first + i];
        const struct hd_correlation *from = &mine->correlations.list.data[pair->correlation];
        struct hd_finding_rule *rule = &finding->rule[i];
        struct hd_supporter supporter[KEEPERS];
        uint32_t count =
            hd_mine_supporters(&mine->sets, from, mine->options.max_distance, supporter, KEEPERS);
        *rule = (struct hd_finding_rule){.first = mode_of(writer, from->a1, from->x),
                                         .second = mode_of(writer, from->a2, from->y),
                                         .support = from->support,
                                         .functions = from->functions,
                                         .keepers = count};
        rule->keeper = hd_arena_zalloc(arena, count, sizeof *rule->keeper);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t in_source = mine->sets.function.data[supporter[k].function];
            rule->keeper[k] = (struct hd_finding_keeper){
                .function = function_name(mine, supporter[k].function),
                .file = hd_finding_text(writer->out, "%s",
                                        hd_mine_path(mine->source, in_source, writer->base)),
                .line = supporter[k].line};
        }
    }
}

static void set_variables(struct writer *writer, const struct hd_update *update,
                          struct hd_finding *finding) {
    struct hd_arena *arena = &writer->out->arena;
    uint32_t *list = hd_arena_zalloc(arena, update->count, sizeof *list);
    const char **name = hd_arena_zalloc(arena, 2 * (size_t)update->count, sizeof *name);
    for (int written = 1; written >= 0; written--) {
        uint32_t count = one_side(writer->mine, update, written != 0, list);
        for (uint32_t i = 0; i < count; i++)
            name[finding->variable_count++] = writer->mine->names.name[list[i]];
    }
    finding->variables = name;
    finding->variables_involved = finding->variable_count;
}

static void add(struct writer *writer, const struct hd_update *update,
                const struct hd_weighing *weighing) {
    const struct hd_mine *mine = writer->mine;
    const struct hd_update_pair *pair = &mine->updates.pair.data[update->first];
    const struct hd_correlation *rule = &mine->correlations.list.data[pair->correlation];
    uint32_t in_source = mine->sets.function.data[update->function];
    const struct hd_source_function *function = &mine->source->function.data[in_source];
    struct hd_finding_event *event = hd_arena_zalloc(&writer->out->arena, 1, sizeof *event);
    *event = (struct hd_finding_event){
        .thread = "",
        .op = "w",
        .verb = "updates",
        .variable = mine->names.name[rule->x],
        .site = site(writer, update->function, pair->line),
        .file =
            hd_finding_text(writer->out, "%s", hd_mine_path(mine->source, in_source, writer->base)),
        .line = pair->line,
        .function = function_name(mine, update->function),
        .function_line = function->line,
    };
    struct hd_finding draft = {
        .kind = HD_FINDING_INCONSISTENT_UPDATE,
        .verdict = HD_VERDICT_POSSIBLE,
        .engine = "muvi",
        .variable = mine->names.name[rule->x],
        .pattern = update->both_written ? "write => write" : "write => any",
        .event = event,
        .events = 1,
        .conclusion = conclusion(writer, update, rule),
        .support = support(writer, rule),
        .accesses_involved = 1,
    };
    set_variables(writer, update, &draft);
    set_rules(writer, update, &draft);
    hd_finding_set_intent(writer->out, &draft, weighing);
    hd_finding_add(writer->out, &draft);
}

void hd_mine_findings(const struct hd_mine *mine, const char *base, bool all,
                      struct hd_findings *findings) {
    struct writer writer = {mine, findings, base};
    struct hd_finding_summary before = findings->summary;
    for (uint32_t i = 0; i < mine->updates.list.size; i++) {
        const struct hd_update *update = &mine->updates.list.data[i];
        const struct hd_update_pair *pair = &mine->updates.pair.data[update->first];
        struct hd_weighing weighing =
            hd_update_weigh(update, pair, &mine->correlations.list.data[pair->correlation]);
        if (all || hd_weighing_harm(&weighing) == HD_HARM_LIKELY)
            add(&writer, update, &weighing);
        else
            findings->summary.hidden++;
    }
    findings->summary.candidates += mine->updates.list.size;
    findings->summary.verdict[HD_VERDICT_POSSIBLE] += mine->updates.list.size;
    hd_findings_looked_for(findings, HD_FINDING_INCONSISTENT_UPDATE, &before);
    hd_findings_fingerprint(findings);
}
