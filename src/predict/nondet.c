/* Nondeterminism as a kind of prediction: puts the parts together, compares the models. */
#include "predict/nondet.h"

#include <string.h>

void hd_nondet_take(struct hd_nondet *nondet, const struct hd_triplet *found, size_t count) {
    if (count == 0) return;
    if (!hd_vector_reserve(&nondet->found, count)) {
        nondet->out_of_memory = true;
        return;
    }
    memcpy(nondet->found.data + nondet->found.size, found, count * sizeof *found);
    nondet->found.size += count;
}

bool hd_nondet_is_late(const struct hd_predict *predict, struct hd_nondet_stats *stats) {
    if (!hd_budget_is_over(&predict->options.budget)) return false;
    stats->late++;
    stats->triplets++;
    stats->verdict[HD_UNDECIDED]++;
    return true;
}

void hd_nondet_stats_add(struct hd_nondet_stats *total, const struct hd_nondet_stats *part) {
    total->reads += part->reads;
    total->final_reads += part->final_reads;
    total->loose += part->loose;
    total->doubtful += part->doubtful;
    total->late += part->late;
    total->triplets += part->triplets;
    for (unsigned i = 0; i <= HD_POSSIBLE; i++) total->verdict[i] += part->verdict[i];
    total->by_clocks += part->by_clocks;
    total->by_locks += part->by_locks;
    total->by_orders += part->by_orders;
    total->asked += part->asked;
    total->cyclic += part->cyclic;
    total->acyclic += part->acyclic;
    total->chosen += part->chosen;
    total->possible_graphs += part->possible_graphs;
    total->explored_graphs += part->explored_graphs;
    total->feasible += part->feasible;
    total->infeasible += part->infeasible;
    total->undecided += part->undecided;
    total->seconds += part->seconds;
}

/* ---- which reads -------------------------------------------------------------------------------
 */

/* A site is named in full ("src/queue.c:12") or by its end ("queue.c:12", "queue.c"). */
static bool names_site(const char *site, const char *wanted) {
    size_t length = strlen(site), part = strlen(wanted);
    const char *found = strstr(site, wanted);
    for (; found != NULL; found = strstr(found + 1, wanted)) {
        size_t at = (size_t)(found - site);
        bool starts = at == 0 || site[at - 1] == '/';
        bool ends = at + part == length || site[at + part] == ':';
        if (starts && ends) return true;
    }
    return false;
}

struct wanted {
    struct hd_predict *predict;
    uint32_t found;
};

static bool is_wanted(void *context, uint32_t event) {
    struct wanted *wanted = context;
    struct hd_predict *predict = wanted->predict;
    if (!names_site(hd_describe_site(predict->describe, event), predict->options.read_site))
        return false;
    wanted->found++;
    return true;
}

/* ---- deciding ----------------------------------------------------------------------------------
 */

static int by_read(const void *left, const void *right) {
    const struct hd_triplet *a = left, *b = right;
    if (a->read != b->read) return a->read < b->read ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* How many reads have something that was found, and how many only something undecided. */
static void count_reads(struct hd_nondet *nondet) {
    struct hd_nondet_stats *stats = &nondet->stats;
    stats->reads = nondet->couples.read.size;
    stats->doubtful = stats->late;
    for (size_t i = 0; i < nondet->couples.read.size; i++)
        stats->final_reads += nondet->couples.read.data[i].event == HD_NONE;
    for (size_t i = 0; i < nondet->found.size;) {
        uint32_t read = nondet->found.data[i].read;
        bool loose = false;
        for (; i < nondet->found.size && nondet->found.data[i].read == read; i++)
            loose |= nondet->found.data[i].verdict == HD_FEASIBLE;
        stats->loose += loose;
        stats->doubtful += !loose;
    }
}

bool hd_nondet_decide(struct hd_predict *predict, bool paper, struct hd_nondet *nondet,
                      struct hd_error *error) {
    struct wanted wanted = {.predict = predict};
    struct hd_read_filter filter = {0};
    memset(nondet, 0, sizeof *nondet);
    if (predict->options.read_site != NULL)
        filter = (struct hd_read_filter){.keep = is_wanted, .context = &wanted};
    double start = hd_seconds_now();
    nondet->ground = hd_ground_build(predict->model);
    if (nondet->ground == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (!hd_couples_build(predict->model, nondet->ground, predict->options.final_state, &filter,
                          &nondet->couples, error)) {
        hd_ground_free(nondet->ground);
        return false;
    }
    double listed = hd_seconds_now();
    bool done;
    if (filter.keep != NULL && wanted.found == 0)
        done = hd_fail(error, HD_ERR_USAGE, "no read of a shared variable is at '%s'",
                       predict->options.read_site);
    else
        done = paper ? hd_nondet_paper(predict, nondet, error)
                     : hd_nondet_sound(predict, nondet, error);
    if (done && nondet->out_of_memory) done = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (!done) {
        hd_nondet_free(nondet);
        return false;
    }
    if (nondet->found.size > 1)
        qsort(nondet->found.data, nondet->found.size, sizeof *nondet->found.data, by_read);
    count_reads(nondet);
    nondet->stats.seconds = hd_seconds_now() - start;
    predict->stats.candidate_seconds += listed - start;
    predict->stats.decide_seconds += hd_seconds_now() - listed;
    return true;
}

void hd_nondet_free(struct hd_nondet *nondet) {
    hd_vector_free(&nondet->found);
    hd_couples_free(&nondet->couples);
    if (nondet->ground != NULL) hd_ground_free(nondet->ground);
    nondet->ground = NULL;
}

bool hd_predict_nondeterminism(struct hd_predict *predict, struct hd_findings *findings,
                               struct hd_error *error) {
    struct hd_nondet nondet;
    if (!hd_nondet_decide(predict, predict->options.paper, &nondet, error)) return false;
    double decided = hd_seconds_now();
    bool done = hd_nondet_report(predict, &nondet, findings, error);
    if (predict->nondet != NULL) *predict->nondet = nondet.stats;
    predict->stats.report_seconds += hd_seconds_now() - decided;
    hd_nondet_free(&nondet);
    return done;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static bool is_loose(const struct hd_nondet *nondet, uint32_t read, size_t at) {
    while (at > 0 && nondet->found.data[at - 1].read == read) at--;
    for (; at < nondet->found.size && nondet->found.data[at].read <= read; at++)
        if (nondet->found.data[at].read == read && nondet->found.data[at].verdict == HD_FEASIBLE)
            return true;
    return false;
}

static bool add_difference(struct hd_nondet_comparison *comparison, struct hd_triplet triplet,
                           uint8_t paper, uint8_t sound, size_t at_paper, size_t at_sound) {
    struct hd_nondet_difference difference = {.triplet = triplet, .sound = sound};
    difference.triplet.verdict = paper;
    difference.same_read = is_loose(&comparison->paper, triplet.read, at_paper) ==
                           is_loose(&comparison->sound, triplet.read, at_sound);
    return hd_vector_push(&comparison->list, difference);
}

bool hd_nondet_compare(struct hd_predict *predict, struct hd_nondet_comparison *comparison,
                       struct hd_error *error) {
    memset(comparison, 0, sizeof *comparison);
    if (!hd_nondet_decide(predict, false, &comparison->sound, error)) return false;
    if (!hd_nondet_decide(predict, true, &comparison->paper, error)) {
        hd_nondet_free(&comparison->sound);
        return false;
    }
    const struct hd_nondet *paper = &comparison->paper, *sound = &comparison->sound;
    bool done = true;
    for (size_t i = 0, k = 0; done && (i < paper->found.size || k < sound->found.size);) {
        const struct hd_triplet *left = paper->found.data + i, *right = sound->found.data + k;
        int order = i == paper->found.size ? 1 : k == sound->found.size ? -1 : by_read(left, right);
        if (order < 0)
            done = add_difference(comparison, *left, left->verdict, HD_INFEASIBLE, i, k);
        else if (order > 0)
            done = add_difference(comparison, *right, HD_INFEASIBLE, right->verdict, i, k);
        else if (left->verdict != right->verdict)
            done = add_difference(comparison, *left, left->verdict, right->verdict, i, k);
        i += order <= 0;
        k += order >= 0;
    }
    if (done) return true;
    hd_nondet_comparison_free(comparison);
    return hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

void hd_nondet_comparison_free(struct hd_nondet_comparison *comparison) {
    hd_nondet_free(&comparison->sound);
    hd_nondet_free(&comparison->paper);
    hd_vector_free(&comparison->list);
}
