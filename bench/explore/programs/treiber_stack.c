/* Treiber's stack (1986): each thread pushes its node and pops one, and no node is popped twice.
 * Broken: pop takes the top off by a store. */
#include "threads.h"

static struct node { struct node *next; } nodes[THREADS];
static struct node *_Atomic top;
static struct node *popped[THREADS];

static void push(struct node *node) {
    struct node *old = atomic_load(&top);
    do node->next = old;
    while (!atomic_compare_exchange_strong(&top, &old, node));
}

static struct node *pop(void) {
    struct node *old = atomic_load(&top);
#ifdef FIXED
    while (old != NULL && !atomic_compare_exchange_strong(&top, &old, old->next)) continue;
#else
    if (old != NULL) atomic_store(&top, old->next);
#endif
    return old;
}

static void *work(void *self) {
    push(&nodes[(intptr_t)self]);
    popped[(intptr_t)self] = pop();
    return NULL;
}

int main(void) {
    run_threads(work);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < i; j++) assert(popped[i] != popped[j]);
    return 0;
}
