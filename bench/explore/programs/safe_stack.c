/* A lock-free stack of array elements that are popped, used and pushed again, after the description
 * of the one that D. Vyukov put up as a riddle for checkers in 2010, and that studies of systematic
 * testing have used since. The thread that takes an element off first leaves a mark in it, and
 * gives up where it finds one. The bug needs three threads and eight preemptions (counted over all
 * states of this program, by a breadth-first search). FIXED has a lock. */
#define THREADS 3
#include "threads.h"

enum { NONE = -1, ROUNDS = 2 };

static struct element {
    atomic_int next;
    atomic_int user;
} elements[3] = {{1, 0}, {2, 0}, {NONE, 0}};
static atomic_int top, count = 3;
#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define ENTER() pthread_mutex_lock(&lock)
#define LEAVE() pthread_mutex_unlock(&lock)
#else
#define ENTER() (void)0
#define LEAVE() (void)0
#endif

/* The last element stays: with two at least, there is always one to come next. */
static int pop(void) {
    while (atomic_load(&count) > 1) {
        int first = atomic_load(&top), seen = first;
        int next = atomic_exchange(&elements[first].next, NONE);
        if (next == NONE) continue; /* another thread is taking it */
        if (atomic_compare_exchange_strong(&top, &seen, next)) {
            atomic_fetch_sub(&count, 1);
            return first;
        }
        atomic_exchange(&elements[first].next, next);
    }
    return NONE;
}

static void push(int element) {
    int first = atomic_load(&top);
    do atomic_exchange(&elements[element].next, first);
    while (!atomic_compare_exchange_strong(&top, &first, element));
    atomic_fetch_add(&count, 1);
}

static void *work(void *self) {
    int own = (int)(intptr_t)self + 1;
    for (int round = 0; round < ROUNDS; round++) {
        ENTER();
        int element = pop();
        LEAVE();
        if (element == NONE) continue;
        atomic_store(&elements[element].user, own);
        assert(atomic_load(&elements[element].user) == own);
        ENTER();
        push(element);
        LEAVE();
    }
    return NULL;
}

int main(void) {
    run_threads(work);
    return 0;
}
