/* From access sets to correlations of pairs. Sets of three and more are in correlate_sets.c. */
#define _GNU_SOURCE /* qsort_r */
#include "mine/correlate.h"

#include "base/alloc.h"
#include "mine/closed.h"
#include "mine/correlate_work.h"
#include "mine/numbers.h"

#include <string.h>

/* More patterns than this are not worth their time: of pairs there are far fewer. */
#define MOST_PATTERNS 1000000u

/* ---- together ---------------------------------------------------------------------------------
 */

unsigned hd_mine_mask(uint8_t a1, uint8_t a2) {
    unsigned x = (a1 & HD_MINE_READ ? 3u : 0) | (a1 & HD_MINE_WRITE ? 12u : 0);
    unsigned y = (a2 & HD_MINE_READ ? 5u : 0) | (a2 & HD_MINE_WRITE ? 10u : 0);
    return x & y;
}

unsigned hd_mine_together(const struct hd_access_sets *sets, uint32_t function, uint32_t x,
                          uint32_t y, uint32_t max_distance) {
    uint32_t x_first, y_first, bits = 0;
    uint32_t x_end = hd_access_sets_find(sets, function, x, &x_first) + x_first;
    uint32_t y_end = hd_access_sets_find(sets, function, y, &y_first) + y_first;
    const struct hd_access *access = sets->access.data;
    for (uint32_t i = x_first; i < x_end; i++) {
        while (y_first < y_end && access[y_first].line + (uint64_t)max_distance <= access[i].line)
            y_first++;
        for (uint32_t k = y_first; k < y_end; k++) {
            if (access[k].line >= access[i].line + (uint64_t)max_distance) break;
            unsigned mask = hd_mine_mask(access[i].mode, access[k].mode);
            bool direct = access[i].by == HD_BY_TEXT && access[k].by == HD_BY_TEXT;
            bits |= direct ? mask | mask << 4 : mask;
        }
    }
    return bits;
}

/* ---- which functions access a variable --------------------------------------------------------
 */

uint32_t hd_mine_max_functions(const struct hd_mine_options *options, uint32_t functions) {
    if (options->max_functions > 0) return options->max_functions;
    return functions / 20 > 100 ? functions / 20 : 100;
}

static void index_functions(struct hd_correlate_work *work) {
    const struct hd_access_sets *sets = work->sets;
    for (int round = 0; round < 2; round++) {
        for (uint32_t f = 0; f < sets->functions; f++) {
            uint32_t end = sets->start.data[f + 1];
            for (uint32_t i = sets->start.data[f], next; i < end; i = next) {
                uint32_t variable = sets->access.data[i].variable;
                unsigned modes = 0;
                for (next = i; next < end && sets->access.data[next].variable == variable; next++)
                    modes |= sets->access.data[next].mode;
                if ((modes & HD_MINE_ANY) == 0) continue;
                if (round == 1) {
                    work->function[work->start[variable]++] = f;
                    continue;
                }
                work->start[variable + 1]++;
                for (unsigned a = 1; a <= 3; a++) work->functions[variable][a] += (modes & a) != 0;
            }
        }
        if (round == 0) {
            for (uint32_t v = 0; v < sets->variables; v++) work->start[v + 1] += work->start[v];
            work->function = hd_alloc(work->start[sets->variables], sizeof *work->function);
        }
    }
    memmove(work->start + 1, work->start, sets->variables * sizeof *work->start);
    work->start[0] = 0;
}

static void begin(struct hd_correlate_work *work, const struct hd_access_sets *sets,
                  const struct hd_mine_options *options, struct hd_correlations *out) {
    *work = (struct hd_correlate_work){.sets = sets, .options = options, .out = out};
    work->start = hd_zalloc((size_t)sets->variables + 2, sizeof *work->start);
    work->functions = hd_zalloc((size_t)sets->variables + 1, sizeof *work->functions);
    index_functions(work);
    uint32_t most = hd_mine_max_functions(options, sets->functions);
    work->popular = hd_zalloc((size_t)sets->variables + 1, sizeof *work->popular);
    for (uint32_t v = 0; v < sets->variables; v++) {
        work->popular[v] = work->functions[v][HD_MINE_ANY] > most;
        out->popular += work->popular[v];
    }
}

static void end(struct hd_correlate_work *work) {
    free(work->start);
    free(work->function);
    free(work->functions);
    free(work->popular);
    hd_map_free(&work->pair_seen);
    hd_closed_sets_free(&work->patterns);
}

/* ---- patterns ---------------------------------------------------------------------------------
 */

/* The variables of each function, without popular ones. */
static void mine_patterns(struct hd_correlate_work *work) {
    const struct hd_access_sets *sets = work->sets;
    HD_VECTOR(uint32_t) item = {0};
    uint32_t *start = hd_zalloc((size_t)sets->functions + 1, sizeof *start);
    uint32_t *last = hd_zalloc((size_t)sets->variables + 1, sizeof *last);
    for (uint32_t f = 0; f < sets->functions; f++) {
        start[f] = (uint32_t)item.size;
        for (uint32_t i = sets->start.data[f]; i < sets->start.data[f + 1]; i++) {
            uint32_t variable = sets->access.data[i].variable;
            if (last[variable] == f + 1 || work->popular[variable] ||
                !(sets->access.data[i].mode & HD_MINE_ANY))
                continue;
            last[variable] = f + 1;
            hd_vector_push(&item, variable);
        }
    }
    start[sets->functions] = (uint32_t)item.size;
    struct hd_transactions transactions = {start, item.data, sets->functions, sets->variables};
    hd_closed_mine(&transactions, work->options->min_support, MOST_PATTERNS, &work->patterns);
    work->out->cut_short = work->patterns.cut_short;
    hd_vector_free(&item);
    free(start);
    free(last);
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

struct pair_counts {
    uint32_t support[4][4], direct[4][4]; /* by mode of x and of y */
};

static void count_pair(const struct hd_correlate_work *work, uint32_t x, uint32_t y,
                       struct pair_counts *counts) {
    memset(counts, 0, sizeof *counts);
    uint32_t i = work->start[x], k = work->start[y];
    while (i < work->start[x + 1] && k < work->start[y + 1]) {
        uint32_t f = work->function[i], g = work->function[k];
        i += f <= g;
        k += g <= f;
        if (f != g) continue;
        unsigned bits = hd_mine_together(work->sets, f, x, y, work->options->max_distance);
        for (uint8_t a1 = 1; a1 <= 3; a1++)
            for (uint8_t a2 = 1; a2 <= 3; a2++) {
                unsigned mask = hd_mine_mask(a1, a2);
                counts->support[a1][a2] += (bits & mask) != 0;
                counts->direct[a1][a2] += (bits >> 4 & mask) != 0;
            }
    }
}

static void consider(struct hd_correlate_work *work, const struct hd_correlation *candidate) {
    const struct hd_mine_options *options = work->options;
    if (candidate->support < options->min_support || candidate->direct < options->min_direct ||
        hd_correlation_confidence(candidate) < options->min_confidence)
        return;
    hd_vector_push(&work->out->list, *candidate);
}

static void consider_pair(struct hd_correlate_work *work, uint32_t x, uint32_t y) {
    uint64_t key = (uint64_t)x << 32 | y;
    uint32_t *seen = hd_map_slot(&work->pair_seen, key, 0);
    if ((*seen)++ > 0) return;
    work->out->candidates++;
    struct pair_counts counts;
    count_pair(work, x, y, &counts);
    for (uint8_t a1 = 1; a1 <= 3; a1++)
        for (uint8_t a2 = 1; a2 <= 3; a2++) {
            consider(work, &(struct hd_correlation){x, y, a1, a2, counts.support[a1][a2],
                                                    counts.direct[a1][a2], work->functions[x][a1]});
            consider(work, &(struct hd_correlation){y, x, a1, a2, counts.support[a2][a1],
                                                    counts.direct[a2][a1], work->functions[y][a1]});
        }
}

static void consider_pairs_of(struct hd_correlate_work *work, const uint32_t *list,
                              uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count; k++) consider_pair(work, list[i], list[k]);
}

/* Every frequent pair is part of a closed frequent set, its closure. */
static void pairs_of_patterns(struct hd_correlate_work *work) {
    for (uint32_t s = 0; s < hd_closed_sets_count(&work->patterns); s++) {
        uint32_t first = work->patterns.start.data[s];
        uint32_t count = work->patterns.start.data[s + 1] - first;
        work->out->patterns += count >= 2;
        consider_pairs_of(work, work->patterns.item.data + first, count);
    }
}

/* Where there are too many patterns: the frequent pairs, counted one variable at a time. */
static void pairs_by_counting(struct hd_correlate_work *work) {
    const struct hd_access_sets *sets = work->sets;
    uint32_t *count = hd_zalloc((size_t)sets->variables + 1, sizeof *count);
    for (uint32_t x = 0; x < sets->variables; x++) {
        uint32_t found = work->start[x + 1] - work->start[x];
        if (work->popular[x] || found < work->options->min_support) continue;
        for (int round = 0; round < 2; round++)
            for (uint32_t i = work->start[x]; i < work->start[x + 1]; i++) {
                uint32_t f = work->function[i], before = UINT32_MAX;
                for (uint32_t a = sets->start.data[f]; a < sets->start.data[f + 1]; a++) {
                    uint32_t y = sets->access.data[a].variable;
                    if (y <= x || y == before || !(sets->access.data[a].mode & HD_MINE_ANY))
                        continue;
                    before = y;
                    if (round == 0) {
                        count[y]++;
                        continue;
                    }
                    if (count[y] >= work->options->min_support && !work->popular[y])
                        consider_pair(work, x, y);
                    count[y] = 0;
                }
            }
    }
    free(count);
}

/* ---- ranking ----------------------------------------------------------------------------------
 */

/* Confidence means something only if there are enough functions; otherwise their number counts. */
static int compare_figures(uint32_t high, uint32_t support_a, uint32_t of_a, uint32_t support_b,
                           uint32_t of_b) {
    bool high_a = support_a >= high, high_b = support_b >= high;
    if (high_a != high_b) return high_a ? -1 : 1;
    uint64_t a = (uint64_t)support_a * of_b, b = (uint64_t)support_b * of_a;
    if (high_a && a != b) return a > b ? -1 : 1;
    if (support_a != support_b) return support_a > support_b ? -1 : 1;
    return a != b ? (a > b ? -1 : 1) : 0;
}

/* write, any, read: of equals, the rule that says most about inconsistency comes first. */
static int weight(uint8_t mode) { return mode == HD_MINE_WRITE ? 0 : mode == HD_MINE_ANY ? 1 : 2; }

static int compare_correlations(const void *left, const void *right, void *context) {
    const struct hd_correlation *a = left, *b = right;
    const struct hd_mine_options *options = context;
    int order =
        compare_figures(options->high_support, a->support, a->functions, b->support, b->functions);
    if (order != 0) return order;
    if (a->direct != b->direct) return a->direct > b->direct ? -1 : 1;
    if (a->a1 != b->a1) return weight(a->a1) - weight(b->a1);
    if (a->a2 != b->a2) return weight(a->a2) - weight(b->a2);
    if (a->x != b->x) return a->x < b->x ? -1 : 1;
    return a->y < b->y ? -1 : a->y > b->y;
}

static int compare_sets(const void *left, const void *right, void *context) {
    const struct hd_correlated_set *a = left, *b = right;
    const struct hd_mine_options *options = context;
    int order =
        compare_figures(options->high_support, a->support, a->functions, b->support, b->functions);
    if (order != 0) return order;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    if (a->mode != b->mode) return weight(a->mode) - weight(b->mode);
    return a->first < b->first ? -1 : a->first > b->first;
}

void hd_correlate(const struct hd_access_sets *sets, const struct hd_mine_options *options,
                  struct hd_correlations *correlations) {
    *correlations = (struct hd_correlations){.patterns = 0};
    struct hd_correlate_work work;
    begin(&work, sets, options, correlations);
    mine_patterns(&work);
    pairs_of_patterns(&work);
    if (correlations->cut_short) pairs_by_counting(&work);
    hd_correlate_sets(&work);
    struct hd_mine_options context = *options;
    if (correlations->list.size > 0)
        qsort_r(correlations->list.data, correlations->list.size, sizeof *correlations->list.data,
                compare_correlations, &context);
    if (correlations->set.size > 0)
        qsort_r(correlations->set.data, correlations->set.size, sizeof *correlations->set.data,
                compare_sets, &context);
    end(&work);
}

void hd_correlations_free(struct hd_correlations *correlations) {
    hd_vector_free(&correlations->list);
    hd_vector_free(&correlations->set);
    hd_vector_free(&correlations->member);
}
