/* Michael and Scott's queue (1996): each thread enqueues its node and dequeues one value, and no
 * value is dequeued twice. Broken: dequeue moves the head by a store. */
#include "threads.h"

static struct node {
    struct node *_Atomic next;
    int value;
} nodes[THREADS + 1]; /* the last is the first dummy */
static struct node *_Atomic head = &nodes[THREADS], *_Atomic tail = &nodes[THREADS];
static int dequeued[THREADS];

static void enqueue(struct node *node) {
    for (;;) {
        struct node *last = atomic_load(&tail), *next = atomic_load(&last->next);
        if (next != NULL) {
            atomic_compare_exchange_strong(&tail, &last, next);
        } else if (atomic_compare_exchange_strong(&last->next, &next, node)) {
            atomic_compare_exchange_strong(&tail, &last, node);
            return;
        }
    }
}

static int dequeue(void) {
    for (;;) {
        struct node *first = atomic_load(&head), *last = atomic_load(&tail);
        struct node *next = atomic_load(&first->next);
        if (next == NULL) return -1;
        if (first == last) atomic_compare_exchange_strong(&tail, &last, next);
#ifdef FIXED
        if (atomic_compare_exchange_strong(&head, &first, next)) return next->value;
#else
        atomic_store(&head, next);
        return next->value;
#endif
    }
}

static void *work(void *self) {
    int own = (int)(intptr_t)self;
    nodes[own].value = own;
    enqueue(&nodes[own]);
    dequeued[own] = dequeue();
    return NULL;
}

int main(void) {
    run_threads(work);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < i; j++) assert(dequeued[i] != dequeued[j]);
    return 0;
}
