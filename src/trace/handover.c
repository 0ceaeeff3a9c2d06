/* Events from one thread to another: see handover.h. */
#include "trace/handover.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

enum { BATCHES = 4 };

struct hd_handover {
    pthread_mutex_t lock;
    pthread_cond_t made, taken;
    /* batches that were handed over, and taken; the one at `passed` is being filled */
    uint64_t passed, done;
    bool taking; /* the one at `done` */
    bool ended, refused;
    struct hd_batch *batch[BATCHES];
};

struct hd_handover *hd_handover_new(void) {
    struct hd_handover *h = hd_zalloc(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->made, NULL);
    pthread_cond_init(&h->taken, NULL);
    for (unsigned i = 0; i < BATCHES; i++) {
        h->batch[i] = hd_alloc(1, sizeof *h->batch[i]);
        h->batch[i]->events = h->batch[i]->items = h->batch[i]->loop_bytes = 0;
    }
    return h;
}

void hd_handover_free(struct hd_handover *h) {
    if (h == NULL) return;
    for (unsigned i = 0; i < BATCHES; i++) free(h->batch[i]);
    pthread_cond_destroy(&h->taken);
    pthread_cond_destroy(&h->made);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---- the maker ---------------------------------------------------------------------------- */

/* Hands over what was filled, and waits until no more than `most` are on their way. */
static bool pass(struct hd_handover *h, uint64_t most) {
    pthread_mutex_lock(&h->lock);
    if (h->batch[h->passed % BATCHES]->items > 0) {
        h->passed++;
        pthread_cond_signal(&h->made);
    }
    while (h->passed - h->done > most) pthread_cond_wait(&h->taken, &h->lock);
    struct hd_batch *next = h->batch[h->passed % BATCHES];
    next->events = next->items = next->loop_bytes = 0;
    bool good = !h->refused;
    pthread_mutex_unlock(&h->lock);
    return good;
}

struct hd_batch *hd_handover_room(struct hd_handover *h) {
    struct hd_batch *batch = h->batch[h->passed % BATCHES];
    if (batch->items < HD_BATCH_ITEMS && batch->events <= HD_BATCH_EVENTS - HD_BATCH_LEAST &&
        batch->loop_bytes <= HD_BATCH_LOOP_BYTES - sizeof(struct hd_expand_loop))
        return batch;
    if (!pass(h, BATCHES - 1)) return NULL;
    return h->batch[h->passed % BATCHES];
}

bool hd_handover_drain(struct hd_handover *h) { return pass(h, 0); }

void hd_handover_end(struct hd_handover *h) {
    (void)pass(h, 0);
    pthread_mutex_lock(&h->lock);
    h->ended = true;
    pthread_cond_signal(&h->made);
    pthread_mutex_unlock(&h->lock);
}

/* ---- the taker ---------------------------------------------------------------------------- */

const struct hd_batch *hd_handover_next(struct hd_handover *h) {
    pthread_mutex_lock(&h->lock);
    if (h->taking) {
        h->done++;
        h->taking = false;
        pthread_cond_signal(&h->taken);
    }
    while (h->done == h->passed && !h->ended) pthread_cond_wait(&h->made, &h->lock);
    const struct hd_batch *batch = NULL;
    if (h->done != h->passed) {
        batch = h->batch[h->done % BATCHES];
        h->taking = true;
    }
    pthread_mutex_unlock(&h->lock);
    return batch;
}

void hd_handover_refuse(struct hd_handover *h) {
    pthread_mutex_lock(&h->lock);
    h->refused = true;
    pthread_mutex_unlock(&h->lock);
}
