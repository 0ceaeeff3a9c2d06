/* Judges: the methods behind one interface, what one answer says about other pairs, and the check
 * of every witness. */
#include "predict/judge.h"

#include "engine/ground.h"
#include "predict/asker.h"
#include "predict/order.h"
#include "predict/ucg.h"

#include <stdlib.h>
#include <string.h>

/* What is known of two segments. */
enum known { ONE_INFEASIBLE = 1, ALL_INFEASIBLE, MIXED };

struct hd_judge {
    const struct hd_court *court;
    struct hd_asker *asker; /* POLY */
    struct hd_ucg *ucg;     /* UCG */
    struct hd_map known;    /* two segments -> enum known */
    uint64_t checks, dominated;
};

/* ---- what is shared ---------------------------------------------------------------------------
 */

static bool mark_asked(const struct hd_conflicts *candidates, struct hd_bitset *asked) {
    if (!hd_bitset_reserve(asked, candidates->model->events)) return false;
    for (size_t i = 0; i < candidates->event.size; i++)
        if (!hd_bitset_add(asked, candidates->event.data[i])) return false;
    return true;
}

static bool open_order(struct hd_court *court, enum hd_order_type type, struct hd_error *error) {
    struct hd_bitset asked = {0};
    if (!mark_asked(court->candidates, &asked)) {
        hd_bitset_free(&asked);
        return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    court->order = hd_order_build(court->candidates->model, type, &asked, error);
    hd_bitset_free(&asked);
    return court->order != NULL;
}

bool hd_court_open(struct hd_court *court, const struct hd_conflicts *candidates,
                   enum hd_method method, enum hd_reading reading, struct hd_budget budget,
                   struct hd_error *error) {
    *court = (struct hd_court){.candidates = candidates,
                               .method = method,
                               .reading = method == HD_METHOD_UCG ? HD_CSR : reading,
                               .budget = budget};
    switch (method) {
    case HD_METHOD_HB:
        return open_order(court, HD_ORDER_HB, error);
    case HD_METHOD_CP:
        return open_order(court, HD_ORDER_CP, error);
    case HD_METHOD_UCG:
    case HD_METHOD_POLY:
        court->ground = hd_ground_build(candidates->model);
        if (court->ground != NULL && method == HD_METHOD_UCG)
            court->ucg_base = hd_ucg_base_build(court->ground);
        if (court->ground != NULL && (method == HD_METHOD_POLY || court->ucg_base != NULL))
            return true;
        hd_court_close(court);
        return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    default:
        return true;
    }
}

void hd_court_close(struct hd_court *court) {
    hd_ucg_base_free(court->ucg_base);
    if (court->ground != NULL) hd_ground_free(court->ground);
    hd_order_free(court->order);
    court->ucg_base = NULL;
    court->ground = NULL;
    court->order = NULL;
}

/* Must x be executed before y can be next? Reads-from counts for what comes before y, not for y
 * itself, which is not executed. */
static bool is_needed(const struct hd_court *court, uint32_t x, uint32_t y) {
    const struct hd_model *model = court->candidates->model;
    const struct hd_reach *reach =
        court->reading == HD_CSR ? &court->ground->must : &court->ground->kept;
    uint32_t position = hd_model_position(model, y);
    if (position == 0) return false;
    const uint32_t *clock = hd_reach_clock(reach, model->thread[y], position - 1);
    return clock != NULL && clock[model->thread[x]] > hd_model_position(model, x);
}

bool hd_court_before(const void *context, uint32_t x, uint32_t y) {
    const struct hd_court *court = context;
    if (court->method == HD_METHOD_LOCKSET)
        return hd_clocks_before(court->candidates->fork_clocks, x, y);
    if (hd_clocks_before(court->candidates->clocks, x, y)) return true;
    if (court->order != NULL) return hd_order_before(court->order, x, y);
    return court->ground != NULL && is_needed(court, x, y);
}

bool hd_court_is_order(const struct hd_court *court) {
    return court->method != HD_METHOD_UCG && court->method != HD_METHOD_POLY;
}

/* ---- one judge --------------------------------------------------------------------------------
 */

struct hd_judge *hd_judge_new(const struct hd_court *court) {
    struct hd_judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL) return NULL;
    judge->court = court;
    bool done = true;
    if (court->method == HD_METHOD_POLY) {
        judge->asker =
            hd_asker_new(court->ground, court->candidates->model, court->reading, court->budget);
        done = judge->asker != NULL;
    } else if (court->method == HD_METHOD_UCG) {
        judge->ucg = hd_ucg_new(court->ucg_base);
        done = judge->ucg != NULL;
    }
    if (done) return judge;
    hd_judge_free(judge);
    return NULL;
}

void hd_judge_free(struct hd_judge *judge) {
    if (judge == NULL) return;
    hd_asker_free(judge->asker);
    hd_ucg_free(judge->ucg);
    hd_map_free(&judge->known);
    free(judge);
}

const struct hd_witness *hd_judge_witness(const struct hd_judge *judge) {
    return hd_asker_witness(judge->asker);
}

void hd_judge_stats(const struct hd_judge *judge, struct hd_predict_stats *stats) {
    stats->checks += judge->checks;
    stats->dominated += judge->dominated;
    if (judge->asker != NULL) hd_asker_stats(judge->asker, stats);
}

static bool ask(struct hd_judge *judge, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                struct hd_error *error) {
    struct hd_stop stop[2] = {{a, false}, {b, false}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    const struct hd_court *court = judge->court;
    if (court->method == HD_METHOD_POLY) return hd_asker_ask(judge->asker, &query, verdict, error);
    judge->checks++;
    if (court->method == HD_METHOD_UCG)
        *verdict = hd_ucg_decide(judge->ucg, &query);
    else
        *verdict =
            hd_court_before(court, a < b ? a : b, a < b ? b : a) ? HD_INFEASIBLE : HD_POSSIBLE;
    return true;
}

/* Segments say (segments.h): if the first events of two segments can't both be next, then no two
 * events of them can. So the second infeasible pair of two segments asks about their first events.
 */
static bool look_up(struct hd_judge *judge, uint32_t a, uint32_t b, uint32_t **slot) {
    const uint32_t *segment = judge->court->candidates->segments.of;
    uint32_t low = segment[a] < segment[b] ? segment[a] : segment[b];
    uint32_t high = segment[a] < segment[b] ? segment[b] : segment[a];
    *slot = hd_map_slot(&judge->known, (uint64_t)low << 32 | high, 0);
    return *slot != NULL;
}

bool hd_judge_pair(struct hd_judge *judge, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                   struct hd_error *error) {
    if (hd_court_is_order(judge->court)) return ask(judge, a, b, verdict, error);
    const struct hd_segments *segments = &judge->court->candidates->segments;
    uint32_t *known;
    if (!look_up(judge, a, b, &known)) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    uint32_t first_a = segments->segment.data[segments->of[a]].first;
    uint32_t first_b = segments->segment.data[segments->of[b]].first;
    bool firsts = first_a == a && first_b == b;
    if (*known == ONE_INFEASIBLE && !firsts) {
        if (!ask(judge, first_a, first_b, verdict, error)) return false;
        *known = *verdict == HD_INFEASIBLE ? ALL_INFEASIBLE : MIXED;
    }
    if (*known == ALL_INFEASIBLE) {
        judge->dominated++;
        *verdict = HD_INFEASIBLE;
        return true;
    }
    if (!ask(judge, a, b, verdict, error)) return false;
    if (*verdict == HD_INFEASIBLE && *known != MIXED)
        *known = firsts ? ALL_INFEASIBLE : ONE_INFEASIBLE;
    return true;
}
