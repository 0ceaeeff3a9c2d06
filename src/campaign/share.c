/* See share.h. */
#include "campaign/share.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* Jobs of a point: enough for ranks that are fast or slow to end at about the same time, few enough
 * to be no work for rank 0. Items of one job, at most. Neither may depend on the number of ranks:
 * the jobs of a file have to be those of the next start. */
#define JOBS 4096u
#define MOST_ITEMS 64u

struct hd_share {
    struct hd_share_options options;
    struct hd_campaign *campaign;
    struct hd_sharing sharing;
    struct hd_errand_kind kind;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    const struct hd_workers *workers; /* of the point where the analysis is; NULL: none */
    uint32_t point;                   /* its number, from 1 */
    unsigned busy;                    /* threads that decide items of it */
    HD_VECTOR(void *) idle;           /* states of workers that nobody uses now */
    HD_VECTOR(struct hd_packed) told; /* in a worker: all answers of points 1, 2, ... */
    bool over;
    /* in a worker */
    bool analysing;
    pthread_t thread;
    const struct hd_program *subject;
};

/* ---- one job --------------------------------------------------------------------------------- */

struct range {
    uint32_t point, items, first, count;
};

/* Items of one job. */
static uint32_t items_each(uint32_t items) {
    uint32_t each = (items - 1) / JOBS + 1;
    return each < MOST_ITEMS ? each : MOST_ITEMS;
}

static void write_range(struct hd_packed *to, const struct range *range) {
    hd_pack_number(to, range->point);
    hd_pack_number(to, range->items);
    hd_pack_number(to, range->first);
    hd_pack_number(to, range->count);
}

static bool read_range(const char *job, size_t bytes, struct range *range) {
    struct hd_unpack in = hd_unpack_begin(job, bytes);
    range->point = (uint32_t)hd_unpack_most(&in, UINT32_MAX);
    range->items = (uint32_t)hd_unpack_most(&in, UINT32_MAX);
    range->first = (uint32_t)hd_unpack_most(&in, range->items);
    range->count = (uint32_t)hd_unpack_most(&in, range->items - range->first);
    return hd_unpack_whole(&in);
}

/* A state for a thread that decides items, once the analysis is there; NULL: it never will be. */
static void *enter(struct hd_share *share, const struct range *range,
                   const struct hd_workers **workers) {
    void *own = NULL;
    pthread_mutex_lock(&share->lock);
    while (!share->over &&
           (share->point < range->point || (share->point == range->point && !share->workers)))
        pthread_cond_wait(&share->changed, &share->lock);
    *workers = share->over || share->point != range->point ? NULL : share->workers;
    if (*workers != NULL && (*workers)->items != range->items) *workers = NULL;
    bool fresh = *workers != NULL && share->idle.size == 0;
    if (*workers != NULL) {
        share->busy++;
        if (!fresh) own = share->idle.data[--share->idle.size];
    }
    pthread_mutex_unlock(&share->lock);
    return fresh ? (*workers)->begin((*workers)->context) : own;
}

static void leave(struct hd_share *share, void *own) {
    pthread_mutex_lock(&share->lock);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    hd_vector_push(&share->idle, own);
    share->busy--;
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->lock);
}

static bool is_late(const struct hd_share *share) {
    return share->options.until_ns != 0 && hd_now_ns() >= share->options.until_ns;
}

static bool decide(const struct hd_workers *workers, void *own, const struct range *range,
                   struct hd_packed *to, struct hd_error *error) {
    for (uint32_t i = range->first; i < range->first + range->count; i++) {
        if (!workers->work(workers->context, own, i, error)) return false;
        workers->save(workers->context, own, i, to);
    }
    return true;
}

static bool perform(void *context, const struct hd_errand *errand, struct hd_errand_done *done,
                    struct hd_error *error) {
    struct hd_share *share = context;
    const struct hd_workers *workers;
    struct range range;
    if (!read_range(errand->job, errand->bytes, &range))
        return hd_fail(error, HD_ERR_FORMAT, "a job makes no sense");
    void *own = enter(share, &range, &workers);
    if (workers == NULL)
        return hd_fail(error, HD_ERR_FORMAT,
                       "a rank does not do the same analysis as rank 0: it could not begin, or its "
                       "heddle or its command line is another");
    bool good = decide(workers, own, &range, &done->result, error);
    leave(share, own);
    done->stopped = is_late(share);
    return good;
}

/* ---- a point of the analysis ----------------------------------------------------------------- */

static void arrive(struct hd_share *share, const struct hd_workers *workers) {
    pthread_mutex_lock(&share->lock);
    share->workers = workers;
    share->point++;
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->lock);
}

static void go_on(struct hd_share *share) {
    pthread_mutex_lock(&share->lock);
    const struct hd_workers *workers = share->workers;
    share->workers = NULL;
    while (share->busy > 0) pthread_cond_wait(&share->changed, &share->lock);
    pthread_mutex_unlock(&share->lock);
    for (size_t i = 0; i < share->idle.size; i++)
        workers->end(workers->context, share->idle.data[i]);
    share->idle.size = 0;
}

static bool restore(const struct hd_workers *workers, const struct range *range, const char *bytes,
                    size_t count, struct hd_error *error) {
    struct hd_unpack in = hd_unpack_begin(bytes, count);
    bool good = true;
    for (uint32_t i = range->first; good && i < range->first + range->count; i++)
        good = workers->restore(workers->context, i, &in) && in.good;
    return (good && hd_unpack_whole(&in)) ||
           hd_fail(
               error, HD_ERR_DAMAGED,
               "the answers about items %u to %u can't be right: the campaign file was changed, "
               "or a rank has another version of heddle",
               range->first, range->first + range->count - 1);
}

/* ---- rank 0, or the only process ------------------------------------------------------------- */

struct given {
    struct hd_share *share;
    const struct hd_workers *workers;
    uint32_t each, jobs;
    uint32_t *ticket;
    struct hd_packed all; /* that the others are told */
};

static struct range range_of(const struct given *given, uint32_t job) {
    uint32_t first = job * given->each, left = given->workers->items - first;
    return (struct range){given->share->point, given->workers->items, first,
                          left < given->each ? left : given->each};
}

static void ask_all(struct given *given) {
    const struct hd_errands *errands = hd_campaign_errands(given->share->campaign);
    for (uint32_t i = 0; i < given->jobs; i++) {
        struct range range = range_of(given, i);
        struct hd_packed job = {.bytes = {0}};
        write_range(&job, &range);
        given->ticket[i] = errands->ask(errands->context, job.bytes.data, job.bytes.size);
        hd_vector_free(&job.bytes);
    }
}

/* After the time is over: as the analysis does it when it has none. */
static bool decide_here(struct given *given, const struct range *range, char **bytes, size_t *count,
                        struct hd_error *error) {
    const struct hd_workers *workers;
    struct hd_packed result = {.bytes = {0}};
    void *own = enter(given->share, range, &workers);
    bool good = decide(workers, own, range, &result, error);
    leave(given->share, own);
    *count = result.bytes.size;
    hd_vector_push(&result.bytes, '\0');
    *bytes = result.bytes.data;
    if (!good) free(*bytes);
    return good;
}

static bool take_job(struct given *given, uint32_t number, double until, struct hd_error *error) {
    const struct hd_errands *errands = hd_campaign_errands(given->share->campaign);
    struct range range = range_of(given, number);
    char *bytes;
    size_t count;
    enum hd_taken taken =
        errands->take(errands->context, given->ticket[number], until, &bytes, &count, error);
    if (taken == HD_TAKEN_BROKEN ||
        (taken == HD_TAKEN_NOT && !decide_here(given, &range, &bytes, &count, error)))
        return false;
    bool good = restore(given->workers, &range, bytes, count, error);
    if (good) hd_pack_bytes(&given->all, bytes, count);
    free(bytes);
    return good;
}

static bool take_all(struct given *given, struct hd_error *error) {
    const struct hd_errands *errands = hd_campaign_errands(given->share->campaign);
    uint64_t until_ns = given->share->options.until_ns, now = hd_now_ns();
    double until = until_ns == 0    ? INFINITY
                   : until_ns > now ? hd_seconds_now() + (double)(until_ns - now) / 1e9
                                    : 0;
    uint32_t taken = 0;
    bool good = true;
    hd_progress_start(given->workers->progress, given->workers->what, given->workers->items);
    for (; good && taken < given->jobs; taken++) {
        hd_progress_step(given->workers->progress, taken * given->each);
        good = take_job(given, taken, until, error);
    }
    for (; taken < given->jobs; taken++) errands->drop(errands->context, given->ticket[taken]);
    return good;
}

static bool give_out(struct hd_share *share, const struct hd_workers *workers,
                     struct hd_error *error) {
    struct given given = {.share = share, .workers = workers};
    given.each = items_each(workers->items);
    given.jobs = (workers->items - 1) / given.each + 1;
    given.ticket = hd_alloc(given.jobs, sizeof *given.ticket);
    arrive(share, workers);
    ask_all(&given);
    bool good = take_all(&given, error);
    go_on(share);
    if (good) hd_campaign_tell(share->campaign, given.all.bytes.data, given.all.bytes.size);
    hd_vector_free(&given.all.bytes);
    free(given.ticket);
    return good;
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool restore_all(const struct hd_workers *workers, const struct hd_packed *told,
                        struct hd_error *error) {
    struct hd_unpack in = hd_unpack_begin(told->bytes.data, told->bytes.size);
    struct range range = {.items = workers->items};
    uint32_t each = items_each(workers->items);
    for (; range.first < workers->items; range.first += range.count) {
        uint32_t left = workers->items - range.first;
        range.count = left < each ? left : each;
        size_t count;
        const char *bytes = hd_unpack_bytes(&in, &count);
        if (bytes == NULL) bytes = "";
        if (!restore(workers, &range, bytes, count, error)) return false;
    }
    return true;
}

/* Lets others decide until rank 0 has all. */
static bool help(struct hd_share *share, const struct hd_workers *workers, struct hd_error *error) {
    arrive(share, workers);
    pthread_mutex_lock(&share->lock);
    while (!share->over && share->told.size < share->point)
        pthread_cond_wait(&share->changed, &share->lock);
    struct hd_packed told = {.bytes = {0}};
    bool there = share->told.size >= share->point;
    if (there) {
        told = share->told.data[share->point - 1];
        share->told.data[share->point - 1] = (struct hd_packed){.bytes = {0}};
    }
    pthread_mutex_unlock(&share->lock);
    go_on(share);
    bool good = there ? restore_all(workers, &told, error)
                      : hd_fail(error, HD_ERR_IO, "the campaign is over");
    hd_vector_free(&told.bytes);
    return good;
}

static void end_all(struct hd_share *share) {
    pthread_mutex_lock(&share->lock);
    share->over = true;
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->lock);
}

static void *analyse(void *context) {
    struct hd_share *share = context;
    share->options.analyse(share->options.context, share->subject);
    end_all(share); /* who still asks for something gets it from nobody */
    return NULL;
}

static void ready(void *context, const struct hd_program *subject) {
    struct hd_share *share = context;
    share->subject = subject;
    share->analysing = pthread_create(&share->thread, NULL, analyse, share) == 0;
    if (!share->analysing) end_all(share);
}

static void told(void *context, const char *bytes, size_t count) {
    struct hd_share *share = context;
    struct hd_packed news = {.bytes = {0}};
    hd_vector_reserve(&news.bytes, count + 1);
    memcpy(news.bytes.data, bytes, count);
    news.bytes.size = count;
    pthread_mutex_lock(&share->lock);
    hd_vector_push(&share->told, news);
    pthread_cond_broadcast(&share->changed);
    pthread_mutex_unlock(&share->lock);
}

static void over(void *context) {
    struct hd_share *share = context;
    end_all(share);
    if (share->analysing) pthread_join(share->thread, NULL);
    share->analysing = false;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool run(void *context, const struct hd_workers *workers, struct hd_error *error) {
    struct hd_share *share = context;
    return (share->campaign != NULL ? give_out : help)(share, workers, error);
}

struct hd_share *hd_share_new(const struct hd_share_options *options) {
    struct hd_share *share = hd_zalloc(1, sizeof *share);
    share->options = *options;
    share->sharing = (struct hd_sharing){share, run};
    share->kind = (struct hd_errand_kind){.name = "items ",
                                          .context = share,
                                          .perform = perform,
                                          .ready = ready,
                                          .told = told,
                                          .over = over};
    pthread_mutex_init(&share->lock, NULL);
    pthread_cond_init(&share->changed, NULL);
    return share;
}

void hd_share_use(struct hd_share *share, struct hd_campaign *campaign) {
    share->campaign = campaign;
}

const struct hd_errand_kind *hd_share_kind(struct hd_share *share) { return &share->kind; }
const struct hd_sharing *hd_share_sharing(struct hd_share *share) { return &share->sharing; }

void hd_share_free(struct hd_share *share) {
    for (size_t i = 0; i < share->told.size; i++) hd_vector_free(&share->told.data[i].bytes);
    hd_vector_free(&share->told);
    hd_vector_free(&share->idle);
    pthread_mutex_destroy(&share->lock);
    pthread_cond_destroy(&share->changed);
    free(share);
}
