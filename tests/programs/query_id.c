/* MySQL's query id: each connection sets the global id of the query that it runs, and reads it back
 * a moment later to find its statement. Another connection may set it in between: one statement is
 * run twice, the other never. Repaired by one critical section around both. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct statement {
    int runs;
};

static int query_id;
static struct statement statement[3];
static pthread_mutex_t id_lock = PTHREAD_MUTEX_INITIALIZER;

/* In another file, in the server: the value is read from memory again. */
__attribute__((noinline)) static struct statement *current_statement(void) {
    return &statement[query_id];
}

static void run_query(int id) {
#ifdef FIXED
    pthread_mutex_lock(&id_lock);
#endif
    query_id = id;
    struct statement *found = current_statement();
#ifdef FIXED
    pthread_mutex_unlock(&id_lock);
#endif
    __atomic_fetch_add(&found->runs, 1, __ATOMIC_RELAXED);
}

static void *first(void *unused) {
    (void)unused;
    run_query(1);
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    usleep(5000);
    run_query(2);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    (void)id_lock;
    printf("statements run %d and %d times\n", statement[1].runs, statement[2].runs);
    return statement[1].runs == 1 && statement[2].runs == 1 ? 0 : 1;
}
