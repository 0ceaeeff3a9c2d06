/* heddle predict nondet: verdict, --stats and --compare. */
#include "base/json.h"
#include "report/page.h"
#include "report/tables.h"

#include <inttypes.h>
#include <string.h>

#define LISTED 60 /* differences that are listed one by one */

/* ---- the verdict -------------------------------------------------------------------------------
 */

void hd_report_determinism(FILE *out, const struct hd_nondet_stats *stats,
                           const struct hd_predict_options *options) {
    const char *which = options->read_site != NULL ? " chosen" : "";
    if (stats->reads == 0)
        fprintf(out, "deterministic over this trace: no read of a shared variable\n");
    else if (stats->loose == 0 && stats->doubtful == 0 && stats->left == 0)
        fprintf(out,
                "deterministic over this trace: each of %" PRIu64 "%s read%s sees the same write"
                " in every correct reordering\n",
                stats->reads, which, hd_page_plural(stats->reads));
    else
        fprintf(out, "%s%" PRIu64 " of %" PRIu64 "%s read%s may see another write\n",
                stats->left > 0 ? "at least " : "", stats->loose, stats->reads, which,
                hd_page_plural(stats->reads));
    if (stats->doubtful > 0)
        fprintf(out, "%" PRIu64 " more read%s undecided: the budget ran out (--budget)\n",
                stats->doubtful, hd_page_plural(stats->doubtful));
}

/* ---- the paper's tables ------------------------------------------------------------------------
 */

struct figures {
    uint32_t lock_events, locks, accesses, variables, waits;
};

static struct figures count(const struct hd_model *model) {
    struct figures f = {0};
    for (uint32_t l = 0; l < model->locations; l++) f.variables += model->location[l].shared;
    for (uint32_t e = 0; e < model->events; e++) {
        enum hd_event_kind kind = model->kind[e];
        f.lock_events += hd_kind_class(kind) == HD_CLASS_LOCK;
        f.waits += kind == HD_EV_SIGNAL || kind == HD_EV_BROADCAST || kind == HD_EV_WAIT ||
                   kind == HD_EV_POST || kind == HD_EV_SEM_WAIT;
        const uint32_t *location;
        uint32_t locations =
            hd_model_is_access(model, e) ? hd_model_locations(model, e, &location) : 0;
        bool shared = false;
        for (uint32_t i = 0; i < locations; i++) shared |= model->location[location[i]].shared;
        f.accesses += shared;
    }
    f.locks = model->locks;
    return f;
}

static double percent(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void row(FILE *out, const char *label, uint64_t number, uint64_t whole) {
    fprintf(out, "  %-48s %12" PRIu64 "  %5.1f %%\n", label, number, percent(number, whole));
}

static void print_paper(FILE *out, const struct hd_nondet_stats *stats) {
    uint64_t all = 3 * stats->triplets;
    row(out, "cycle in the witness order graph (infeasible)", stats->cyclic, all);
    row(out, "no choice edges (feasible)", stats->acyclic, all);
    row(out, "choice edges", stats->chosen, all);
    if (stats->chosen > 0) {
        fprintf(out, "  %-48s %12.4g\n", "choice graphs possible, per witness with them",
                stats->possible_graphs / (double)stats->chosen);
        fprintf(out, "  %-48s %12.2f\n", "choice graphs explored, per witness with them",
                (double)stats->explored_graphs / (double)stats->chosen);
    }
    row(out, "feasible witnesses", stats->feasible, all);
    row(out, "infeasible witnesses", stats->infeasible, all);
    if (stats->undecided > 0) row(out, "undecided witnesses", stats->undecided, all);
    /* one witness order graph each, and the choice graphs in place of it */
    fprintf(out, "  %-48s %12.3f\n", "graphs per witness",
            all == 0
                ? 0.0
                : (double)(stats->cyclic + stats->acyclic + stats->explored_graphs) / (double)all);
}

static void print_sound(FILE *out, const struct hd_nondet_stats *stats) {
    uint64_t all = stats->triplets;
    row(out, "infeasible by comparing clocks", stats->by_clocks, all);
    row(out, "infeasible by comparing sections", stats->by_locks, all);
    row(out, "feasible by going straight on", stats->by_orders, all);
    row(out, "asked of the exact engine", stats->asked, all);
    row(out, "feasible", stats->verdict[HD_FEASIBLE], all);
    row(out, "infeasible", stats->verdict[HD_INFEASIBLE], all);
    if (stats->verdict[HD_UNDECIDED] > 0) row(out, "undecided", stats->verdict[HD_UNDECIDED], all);
    if (stats->left > 0) row(out, "not looked at (--candidates 0 looks at all)", stats->left, all);
}

void hd_table_nondet_stats(FILE *out, const struct hd_predict *predict,
                           const struct hd_nondet_stats *stats) {
    const struct hd_model *model = predict->model;
    struct figures f = count(model);
    bool paper = predict->options.nondet_model != NULL;
    fprintf(out, "thrds: %u, evs: %u, l-evs: %u, l-vars: %u, rw-evs: %u, rw-vars: %u, wn-evs: %u\n",
            model->threads, model->events, f.lock_events, f.locks, f.accesses, f.variables,
            f.waits);
    fprintf(out,
            "model %s: %" PRIu64 " read%s, %" PRIu64 " triplet%s, %" PRIu64
            " possible witnesses (three of each)\n",
            paper ? "paper" : "sound", stats->reads, hd_page_plural(stats->reads), stats->triplets,
            hd_page_plural(stats->triplets), 3 * stats->triplets);
    if (paper)
        print_paper(out, stats);
    else
        print_sound(out, stats);
    fprintf(out, "  %-48s %12.4f s\n", "time taken", stats->seconds);
}

/* ---- where the models differ -------------------------------------------------------------------
 */

static const char *verdict_word(uint8_t verdict) {
    static const char *const word[] = {[HD_INFEASIBLE] = "no",
                                       [HD_FEASIBLE] = "yes",
                                       [HD_UNDECIDED] = "undecided",
                                       [HD_POSSIBLE] = "possible"};
    return word[verdict];
}

/* "T1 f.c:3", "initial value" */
static const char *place(struct hd_describe *describe, const struct hd_model *model, uint32_t event,
                         char *text, size_t room) {
    if (event == HD_NONE) return "initial value";
    snprintf(text, room, "%s %s [%llu]", hd_describe_thread(describe, model->thread[event]),
             hd_describe_site(describe, event),
             (unsigned long long)hd_trace_number(model->trace, event));
    return text;
}

static const char *orders_of(uint8_t orders, char text[32]) {
    static const char *const word[HD_WITNESS_COUNT] = {"c-r-w", "w-c-r", "c-r"};
    text[0] = '\0';
    for (unsigned i = 0; i < HD_WITNESS_COUNT; i++) {
        if ((orders >> i & 1) == 0) continue;
        if (text[0] != '\0') strcat(text, " ");
        strcat(text, word[i]);
    }
    return text[0] == '\0' ? "none" : text;
}

void hd_table_nondet(FILE *out, const struct hd_nondet_comparison *comparison,
                     const struct hd_predict *predict) {
    const struct hd_nondet_stats *sound = &comparison->sound.stats,
                                 *paper = &comparison->paper.stats;
    fprintf(out, "%-8s %10s %10s %12s %12s %12s %10s\n", "model", "reads", "loose", "triplets",
            "feasible", "infeasible", "seconds");
    const struct hd_nondet_stats *both[] = {sound, paper};
    for (int i = 0; i < 2; i++)
        fprintf(out,
                "%-8s %10" PRIu64 " %10" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
                " %10.4f\n",
                i == 0 ? "sound" : "paper", both[i]->reads, both[i]->loose, both[i]->triplets,
                both[i]->verdict[HD_FEASIBLE], both[i]->verdict[HD_INFEASIBLE], both[i]->seconds);
    size_t reads = 0;
    for (size_t i = 0; i < comparison->list.size; i++) reads += !comparison->list.data[i].same_read;
    fprintf(
        out,
        "%zu triplet%s on which the models differ, %zu of them about reads on which they differ\n",
        comparison->list.size, hd_page_plural(comparison->list.size), reads);
    if (comparison->list.size == 0) return;
    fprintf(out, "\n%-14s %-22s %-22s %-22s %-6s %-6s %s\n", "variable", "read", "saw", "may see",
            "sound", "paper", "paper's witnesses");
    for (size_t i = 0; i < comparison->list.size && i < LISTED; i++) {
        const struct hd_nondet_difference *each = &comparison->list.data[i];
        const struct hd_read *read = &comparison->sound.couples.read.data[each->triplet.read];
        char reader[128], seen[128], other[128], orders[32];
        fprintf(out, "%-14s %-22s %-22s %-22s %-6s %-6s %s%s\n",
                hd_describe_location(predict->describe, read->location, HD_SHORT),
                read->event == HD_NONE
                    ? "in the end"
                    : place(predict->describe, predict->model, read->event, reader, sizeof reader),
                place(predict->describe, predict->model, each->triplet.seen, seen, sizeof seen),
                place(predict->describe, predict->model, each->triplet.other, other, sizeof other),
                verdict_word(each->sound), verdict_word(each->triplet.verdict),
                orders_of(each->triplet.orders, orders), each->same_read ? "" : " *");
    }
    if (comparison->list.size > LISTED)
        fprintf(out, "... and %zu more\n", comparison->list.size - LISTED);
    if (reads > 0)
        fprintf(out, "* the models differ on whether this read may see any other write\n");
}

static json_t *event_number(const struct hd_predict *predict, uint32_t event) {
    return event == HD_NONE ? json_null()
                            : hd_json_number(hd_trace_number(predict->model->trace, event));
}

static json_t *model_object(const struct hd_nondet_stats *stats) {
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "reads", HD_INT(stats->reads), "loose",
                     HD_INT(stats->loose), "triplets", HD_INT(stats->triplets), "feasible",
                     HD_INT(stats->verdict[HD_FEASIBLE]), "infeasible",
                     HD_INT(stats->verdict[HD_INFEASIBLE]), "undecided",
                     HD_INT(stats->verdict[HD_UNDECIDED]), "seconds", stats->seconds);
}

void hd_table_nondet_json(FILE *out, const struct hd_nondet_comparison *comparison,
                          const struct hd_predict *predict, const char *path) {
    json_t *list = json_array();
    for (size_t i = 0; i < comparison->list.size; i++) {
        const struct hd_nondet_difference *each = &comparison->list.data[i];
        const struct hd_read *read = &comparison->sound.couples.read.data[each->triplet.read];
        char orders[32];
        json_array_append_new(
            list,
            json_pack(
                "{s:o,s:o,s:o,s:o,s:s,s:s,s:s,s:b}", "variable",
                hd_json_text(hd_describe_location(predict->describe, read->location, HD_SHORT)),
                "read", event_number(predict, read->event), "seen",
                event_number(predict, each->triplet.seen), "other",
                event_number(predict, each->triplet.other), "sound", verdict_word(each->sound),
                "paper", verdict_word(each->triplet.verdict), "orders",
                orders_of(each->triplet.orders, orders), "read_differs", !each->same_read));
    }
    hd_report_json_value(
        out, json_pack("{s:s,s:o,s:o,s:o,s:o}", "schema", "heddle-nondet-comparison/1", "input",
                       hd_json_text(path), "sound", model_object(&comparison->sound.stats), "paper",
                       model_object(&comparison->paper.stats), "differences", list));
}
