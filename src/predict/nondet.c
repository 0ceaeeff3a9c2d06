/* Nondeterminism as a kind of prediction: puts the parts together. */
#include "predict/nondet.h"

#include "facts/site.h"

#include <string.h>

void hd_nondet_take(struct hd_nondet *nondet, const struct hd_triplet *found, size_t count) {
    if (count == 0) return;
    hd_vector_reserve(&nondet->found, count);
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
    total->left += part->left;
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

int hd_triplet_compare(const void *left, const void *right) {
    const struct hd_triplet *a = left, *b = right;
    if (a->read != b->read) return a->read < b->read ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

#define NO_EVENT_SITE 0xfffffffeu /* of the initial value and of a final read */

static uint32_t site_of(struct hd_triplet_sites *sites, uint32_t event, uint32_t location) {
    if (event == HD_NONE) return NO_EVENT_SITE;
    return hd_site_number(sites->couples->model, &sites->site, event, location);
}

/* The sites of read and write seen, and that of the other. */
static void sites_of(struct hd_triplet_sites *sites, const struct hd_triplet *triplet,
                     uint64_t *pair, uint32_t *other) {
    const struct hd_read *read = &sites->couples->read.data[triplet->read];
    uint32_t of_read = read->event == HD_NONE ? 0x80000000u | read->location
                                              : site_of(sites, read->event, read->location);
    *pair = (uint64_t)of_read << 32 | site_of(sites, triplet->seen, read->location);
    *other = site_of(sites, triplet->other, read->location);
}

uint32_t hd_triplet_number(struct hd_triplet_sites *sites, const struct hd_triplet *triplet) {
    uint64_t two;
    uint32_t other;
    sites_of(sites, triplet, &two, &other);
    uint32_t pair = *hd_map_slot(&sites->pair, two, sites->pair.count);
    return *hd_map_slot(&sites->triple, (uint64_t)pair << 32 | other, sites->triple.count);
}

uint32_t hd_triplet_find(struct hd_triplet_sites *sites, const struct hd_triplet *triplet) {
    uint64_t two;
    uint32_t other;
    sites_of(sites, triplet, &two, &other);
    uint32_t pair = hd_map_get(&sites->pair, two, HD_NONE);
    if (pair == HD_NONE) return HD_NONE;
    return hd_map_get(&sites->triple, (uint64_t)pair << 32 | other, HD_NONE);
}

void hd_triplet_sites_free(struct hd_triplet_sites *sites) {
    hd_map_free(&sites->site);
    hd_map_free(&sites->pair);
    hd_map_free(&sites->triple);
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

bool hd_nondet_decide(struct hd_predict *predict, const struct hd_nondet_model *model,
                      struct hd_nondet *nondet, struct hd_error *error) {
    struct wanted wanted = {.predict = predict};
    struct hd_read_filter filter = {0};
    memset(nondet, 0, sizeof *nondet);
    if (predict->options.read_site != NULL)
        filter = (struct hd_read_filter){.keep = is_wanted, .context = &wanted};
    double start = hd_seconds_now();
    nondet->base = hd_engine_base(predict->analysis);
    hd_couples_build(predict->model, nondet->base, predict->options.final_state, &filter,
                     &nondet->couples);
    double listed = hd_seconds_now();
    bool done;
    if (filter.keep != NULL && wanted.found == 0)
        done = hd_fail(error, HD_ERR_USAGE, "no read of a shared variable is at '%s'",
                       predict->options.read_site);
    else
        done = model != NULL ? model->decide(predict, nondet, error)
                             : hd_nondet_sound(predict, nondet, error);
    if (!done) {
        hd_nondet_free(nondet);
        return false;
    }
    if (nondet->found.size > 1)
        qsort(nondet->found.data, nondet->found.size, sizeof *nondet->found.data,
              hd_triplet_compare);
    count_reads(nondet);
    nondet->stats.seconds = hd_seconds_now() - start;
    predict->stats.candidate_seconds += listed - start;
    predict->stats.decide_seconds += hd_seconds_now() - listed;
    return true;
}

void hd_nondet_free(struct hd_nondet *nondet) {
    hd_vector_free(&nondet->found);
    hd_couples_free(&nondet->couples);
}

bool hd_predict_nondeterminism(struct hd_predict *predict, struct hd_findings *findings,
                               struct hd_error *error) {
    struct hd_nondet nondet;
    if (!hd_nondet_decide(predict, predict->options.nondet_model, &nondet, error)) return false;
    double decided = hd_seconds_now();
    bool done = hd_nondet_report(predict, &nondet, findings, error);
    if (predict->nondet != NULL) *predict->nondet = nondet.stats;
    predict->stats.report_seconds += hd_seconds_now() - decided;
    hd_nondet_free(&nondet);
    return done;
}
