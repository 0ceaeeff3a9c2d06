/* The sound model over all reads. Triplets grow with the square of the trace, so what need not be
 * decided one by one is summed up by sites before the engine is asked:
 *  - first, every read: clocks, sections and straight schedules settle most triplets. Where the
 *    stretches of writes that clocks leave are too long in sum, only the writes nearest to the read
 *    are looked at;
 *  - then, what waits for the engine. If that is much, it is asked for each triple of sites until
 *    one triplet is feasible; sites that have a feasible one already are not asked for at all.
 * What is left is counted. Nothing depends on the number of workers. */
#include "base/alloc.h"
#include "base/workers.h"
#include "predict/nondet_sound.h"

#include <string.h>

/* Triplets that are looked at beyond clocks, and asked about one by one: for each candidate that
 * the user wants to see. */
#define LOOKS_EACH 50
#define ASKED_EACH 10 /* the tenth part */

/* ---- workers -----------------------------------------------------------------------------------
 */

struct sums {
    struct hd_sound_shared shared;
    uint64_t length[32];
    HD_VECTOR(struct hd_triplet) waiting;
    uint32_t *first; /* per group of waiting ones: where it begins; and the end */
    uint64_t most_asked;
};

static void *begin(void *context) {
    const struct sums *sums = context;
    const struct hd_model *model = sums->shared.couples->model;
    struct hd_sound_worker *worker = hd_zalloc(1, sizeof *worker);
    uint32_t **of_threads[] = {&worker->past, &worker->cursor, &worker->cut, &worker->closed};
    uint32_t **of_locations[] = {&worker->past_write, &worker->past_stamp, &worker->run_write,
                                 &worker->run_stamp};
    for (size_t i = 0; i < 4; i++)
        *of_threads[i] = hd_zalloc(model->threads + (size_t)1, sizeof(uint32_t));
    for (size_t i = 0; i < 4; i++)
        *of_locations[i] = hd_zalloc(model->locations + (size_t)1, sizeof(uint32_t));
    worker->engine =
        hd_engine_new(sums->shared.base, HD_CDSR, sums->shared.predict->options.budget);
    return worker;
}

static void end(void *context, void *own) {
    struct sums *sums = context;
    struct hd_sound_worker *worker = own;
    struct hd_nondet *nondet = sums->shared.nondet;
    struct hd_predict *predict = sums->shared.predict;
    hd_nondet_stats_add(&nondet->stats, &worker->stats);
    hd_engine_stats_add(&predict->stats.asked.engine, hd_engine_stats(worker->engine));
    predict->stats.asked.checks += worker->stats.asked;
    hd_nondet_take(nondet, worker->found.data, worker->found.size);
    for (size_t i = 0; i < worker->waiting.size; i++)
        hd_vector_push(&sums->waiting, worker->waiting.data[i]);
    for (unsigned i = 0; i < 32; i++) sums->length[i] += worker->length[i];

    hd_engine_free(worker->engine);
    uint32_t *array[] = {worker->cut,       worker->closed,     worker->past,
                         worker->cursor,    worker->past_write, worker->past_stamp,
                         worker->run_write, worker->run_stamp};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) free(array[i]);
    hd_vector_free(&worker->open);
    hd_vector_free(&worker->open_in_past);
    hd_question_free(&worker->question);
    hd_vector_free(&worker->found);
    hd_vector_free(&worker->waiting);
    hd_vector_free(&worker->last);
    hd_vector_free(&worker->held);
    hd_challengers_free(&worker->challengers);
    free(worker);
}

typedef bool work(void *context, void *own, uint32_t item, struct hd_error *error);

/* ---- elsewhere ---------------------------------------------------------------------------------
 */

static void save_triplets(const struct hd_triplet *list, size_t count, struct hd_packed *to) {
    hd_pack_number(to, count);
    for (size_t i = 0; i < count; i++) {
        hd_pack_number(to, list[i].read);
        hd_pack_number(to, list[i].seen);
        hd_pack_number(to, list[i].other);
        hd_pack_number(to, list[i].verdict);
        hd_pack_number(to, list[i].orders);
    }
}

static bool is_write(const struct sums *sums, uint32_t event) {
    return event == HD_NONE || event < sums->shared.couples->model->events;
}

static bool restore_triplet(const struct sums *sums, struct hd_unpack *from,
                            struct hd_triplet *triplet) {
    triplet->read = (uint32_t)hd_unpack_most(from, sums->shared.couples->read.size - 1);
    triplet->seen = (uint32_t)hd_unpack_most(from, UINT32_MAX);
    triplet->other = (uint32_t)hd_unpack_most(from, UINT32_MAX);
    triplet->verdict = (uint8_t)hd_verdict_restore(from);
    triplet->orders = (uint8_t)hd_unpack_most(from, UINT8_MAX);
    return from->good && is_write(sums, triplet->seen) && is_write(sums, triplet->other);
}

/* The counters of one item, and then its triplets: what was found, and what waits. */
#define COUNTERS (sizeof(struct hd_nondet_stats) / sizeof(uint64_t))

static void save(void *context, void *own, uint32_t item, struct hd_packed *to) {
    struct hd_sound_worker *worker = own;
    uint64_t counter[COUNTERS];
    (void)context;
    (void)item;
    memcpy(counter, &worker->stats, sizeof counter);
    for (size_t i = 0; i < COUNTERS; i++) hd_pack_number(to, counter[i]);
    save_triplets(worker->found.data, worker->found.size, to);
    save_triplets(worker->waiting.data, worker->waiting.size, to);
    memset(&worker->stats, 0, sizeof worker->stats);
    worker->found.size = worker->waiting.size = 0;
}

static bool restore(void *context, uint32_t item, struct hd_unpack *from) {
    struct sums *sums = context;
    struct hd_nondet_stats stats;
    uint64_t counter[COUNTERS];
    (void)item;
    for (size_t i = 0; i < COUNTERS; i++) counter[i] = hd_unpack_number(from);
    memcpy(&stats, counter, sizeof stats);
    hd_nondet_stats_add(&sums->shared.nondet->stats, &stats);
    for (unsigned list = 0; list < 2; list++) {
        uint64_t count = hd_unpack_number(from);
        if (list == 1 && sums->first != NULL && count > 0) return false; /* nothing waits again */
        for (uint64_t i = 0; i < count; i++) {
            struct hd_triplet triplet;
            if (!restore_triplet(sums, from, &triplet)) return false;
            if (list == 0)
                hd_nondet_take(sums->shared.nondet, &triplet, 1);
            else
                hd_vector_push(&sums->waiting, triplet);
        }
    }
    return from->good;
}

static bool measure(void *context, void *own, uint32_t item, struct hd_error *error) {
    (void)error;
    hd_sound_measure(&((struct sums *)context)->shared, own, item);
    return true;
}

/* ---- all items ---------------------------------------------------------------------------------
 */

static bool run(struct sums *sums, const char *what, work *each, uint32_t items,
                struct hd_error *error) {
    struct hd_predict *predict = sums->shared.predict;
    struct hd_workers workers = {.items = items,
                                 .jobs = predict->options.jobs,
                                 .what = what,
                                 .progress = predict->options.progress,
                                 .context = sums,
                                 .begin = begin,
                                 .work = each,
                                 .end = end,
                                 .sharing = each != measure ? predict->options.sharing : NULL,
                                 .save = save,
                                 .restore = restore};
    unsigned jobs = 0;
    if (items > 0 && !hd_workers_run(&workers, &jobs, error)) return false;
    if (jobs > predict->stats.asked.jobs) predict->stats.asked.jobs = jobs;
    return true;
}

static bool decide(void *context, void *own, uint32_t item, struct hd_error *error) {
    (void)error;
    const struct sums *sums = context;
    struct hd_sound_worker *worker = own;
    if (!hd_nondet_is_late(sums->shared.predict, &worker->stats))
        hd_sound_decide(&sums->shared, worker, item);
    return true;
}

static bool ask_group(void *context, void *own, uint32_t item, struct hd_error *error) {
    (void)error;
    const struct sums *sums = context;
    struct hd_sound_worker *worker = own;
    uint64_t asked = 0;
    uint32_t at = sums->first[item], last = sums->first[item + 1];
    while (at < last && asked++ < sums->most_asked)
        if (hd_sound_ask(&sums->shared, worker, &sums->waiting.data[at++])) break;
    worker->stats.left += last - at;
    return true;
}

/* ---- how many writes are looked at for each read
 * -------------------------------------------------
 */

/* The longest stretch that can be looked at whole if all of them together are `wanted` writes. */
static uint32_t longest_stretch(const uint64_t *length, uint64_t wanted) {
    for (unsigned top = 31; top > 0; top--) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < 32; i++)
            sum += length[i] << ((i < top ? i : top) + 1); /* at most */
        if (sum <= wanted) return top == 31 ? HD_NONE : 1u << (top + 1);
    }
    return 2;
}

static bool choose_most(struct sums *sums, uint64_t wanted, struct hd_error *error) {
    const struct hd_couples *couples = sums->shared.couples;
    uint64_t all = 0;
    sums->shared.most = HD_NONE;
    for (size_t i = 0; i < couples->read.size; i++)
        all += hd_couples_writes(couples, couples->read.data[i].location);
    if (all <= wanted) return true;
    if (!run(sums, "counting", measure, (uint32_t)couples->read.size, error)) return false;
    sums->shared.most = longest_stretch(sums->length, wanted);
    return true;
}

/* ---- groups of what waits ---------------------------------------------------------------------
 */

/* Leaves one group for each triple of sites that has nothing feasible yet, each in trace order. */
static uint32_t group_waiting(struct sums *sums) {
    struct hd_nondet *nondet = sums->shared.nondet;
    struct hd_triplet_sites sites = {.couples = &nondet->couples};
    uint32_t *group = hd_alloc(sums->waiting.size, sizeof *group), groups = 0;
    for (size_t i = 0; i < nondet->found.size; i++)
        if (nondet->found.data[i].verdict == HD_FEASIBLE)
            hd_triplet_number(&sites, &nondet->found.data[i]);
    uint32_t settled = sites.triple.count;
    for (size_t i = 0; i < sums->waiting.size; i++)
        group[i] = hd_triplet_number(&sites, &sums->waiting.data[i]);
    groups = sites.triple.count - settled;
    hd_triplet_sites_free(&sites);

    sums->first = hd_zalloc(groups + (size_t)2, sizeof *sums->first);
    for (size_t i = 0; i < sums->waiting.size; i++)
        if (group[i] >= settled) sums->first[group[i] - settled + 2]++;
    for (uint32_t g = 2; g <= groups + 1; g++) sums->first[g] += sums->first[g - 1];
    struct hd_triplet *sorted = hd_alloc(sums->waiting.size, sizeof *sorted);
    size_t kept = 0;
    for (size_t i = 0; i < sums->waiting.size; i++) {
        if (group[i] < settled) continue;
        sorted[sums->first[group[i] - settled + 1]++] = sums->waiting.data[i];
        kept++;
    }
    nondet->stats.left += sums->waiting.size - kept;
    free(group);
    free(sums->waiting.data);
    sums->waiting.data = sorted;
    sums->waiting.capacity = sums->waiting.size;
    sums->waiting.size = kept;
    return groups;
}

/* Each triplet by itself. */
static uint32_t single_out(struct sums *sums) {
    uint32_t count = (uint32_t)sums->waiting.size;
    sums->first = hd_alloc(count + (size_t)1, sizeof *sums->first);
    for (uint32_t i = 0; i <= count; i++) sums->first[i] = i;
    return count;
}

static bool ask_waiting(struct sums *sums, uint64_t most, bool all, struct hd_error *error) {
    if (sums->waiting.size == 0) return true;
    qsort(sums->waiting.data, sums->waiting.size, sizeof *sums->waiting.data, hd_triplet_compare);
    all |= sums->waiting.size <= most / ASKED_EACH;
    uint32_t groups = all ? single_out(sums) : group_waiting(sums);
    sums->most_asked = groups > 1 ? most / groups + 1 : most;
    bool done = run(sums, "deciding", ask_group, groups, error);
    free(sums->first);
    return done;
}

bool hd_nondet_sound(struct hd_predict *predict, struct hd_nondet *nondet, struct hd_error *error) {
    struct sums sums = {.shared = {predict, nondet, &nondet->couples, nondet->base, 0}};
    uint64_t most = hd_most_candidates(predict->analysis);
    bool all = predict->options.instances || most == UINT64_MAX;
    bool done =
        choose_most(&sums, all || most > UINT64_MAX / LOOKS_EACH ? UINT64_MAX : most * LOOKS_EACH,
                    error) &&
        run(&sums, "deciding", decide, (uint32_t)nondet->couples.read.size, error) &&
        ask_waiting(&sums, most, all, error);
    hd_vector_free(&sums.waiting);
    return done;
}
