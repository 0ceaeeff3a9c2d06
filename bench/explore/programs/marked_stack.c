/* safe_stack.c without its counter of elements, and with only the operations that the bug needs:
 * one thread pops, two pop, push and pop. Three threads and six preemptions (counted over all
 * states of this program, by a breadth-first search). FIXED has a lock. */
#define THREADS 3
#include "threads.h"

enum { NONE = -1 };

static struct element {
    atomic_int next;
    atomic_int owned;
} elements[3] = {{1, 0}, {2, 0}, {NONE, 0}};
static atomic_int top;
#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define ENTER() pthread_mutex_lock(&lock)
#define LEAVE() pthread_mutex_unlock(&lock)
#else
#define ENTER() (void)0
#define LEAVE() (void)0
#endif

/* NONE: only one element is left, or another thread is taking the first. */
static int take(void) {
    for (;;) {
        int first = atomic_load(&top), seen = first;
        int next = atomic_exchange(&elements[first].next, NONE);
        if (next == NONE) return NONE;
        if (atomic_compare_exchange_strong(&top, &seen, next)) return first;
        atomic_store(&elements[first].next, next);
    }
}

static int pop(void) {
    ENTER();
    int element = take();
    LEAVE();
    if (element == NONE) return NONE;
    int owned = atomic_exchange(&elements[element].owned, 1);
    assert(!owned);
    return element;
}

static void push(int element) {
    atomic_store(&elements[element].owned, 0);
    ENTER();
    int first = atomic_load(&top);
    do atomic_store(&elements[element].next, first);
    while (!atomic_compare_exchange_strong(&top, &first, element));
    LEAVE();
}

static void *work(void *self) {
    int element = pop();
    if ((intptr_t)self == 0) return NULL;
    if (element != NONE) push(element);
    pop();
    return NULL;
}

int main(void) {
    run_threads(work);
    return 0;
}
