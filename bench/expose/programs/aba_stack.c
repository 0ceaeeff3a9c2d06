/* A lock-free stack without a count in its head pointer: a thread that pops reads the top and its
 * successor, and meanwhile another pops both and pushes the top back. The exchange succeeds (ABA)
 * and the stack points to a node that is in use. Repaired with a mutex around pop. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    _Atomic(struct node *) next;
    atomic_int owners;
};
static struct node nodes[3];
static _Atomic(struct node *) top;
static int bad;
static pthread_mutex_t pop_lock = PTHREAD_MUTEX_INITIALIZER;

static void push(struct node *node) {
    struct node *old = atomic_load(&top);
    do atomic_store(&node->next, old);
    while (!atomic_compare_exchange_strong(&top, &old, node));
}

static struct node *pop(void) {
#ifdef FIXED
    pthread_mutex_lock(&pop_lock);
#else
    (void)pop_lock;
#endif
    struct node *old = atomic_load(&top), *next;
    do {
        if (old == NULL) break;
        next = atomic_load(&old->next);
    } while (!atomic_compare_exchange_strong(&top, &old, next));
    if (old != NULL && atomic_fetch_add(&old->owners, 1) != 0) bad = 1;
#ifdef FIXED
    pthread_mutex_unlock(&pop_lock);
#endif
    return old;
}

static void *user(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        struct node *one = pop(), *two = pop();
        if (one != NULL) {
            atomic_fetch_sub(&one->owners, 1);
            push(one);
        }
        if (two != NULL) {
            atomic_fetch_sub(&two->owners, 1);
            push(two);
        }
    }
    return 0;
}

int main(void) {
    pthread_t thread[2];
    for (int i = 0; i < 3; i++) push(&nodes[i]);
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], 0, user, 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], 0);
    return bad;
}
