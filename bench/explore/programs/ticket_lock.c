/* A ticket lock around a counter. Broken: the ticket is drawn by a load and a store. */
#include "threads.h"

static atomic_int next_ticket, served;
static int counter;

static void *work(void *self) {
    (void)self;
#ifdef FIXED
    int ticket = atomic_fetch_add(&next_ticket, 1);
#else
    int ticket = atomic_load(&next_ticket);
    atomic_store(&next_ticket, ticket + 1);
#endif
    while (atomic_load(&served) < ticket) continue;
    int before = counter;
    counter = before + 1;
    atomic_store(&served, ticket + 1);
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(counter == THREADS);
    return 0;
}
