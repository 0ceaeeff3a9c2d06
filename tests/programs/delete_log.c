/* MySQL's "delete from table": a statement changes the table under one lock and is logged under
 * another. Two statements may be logged in the other order than they were carried out, and whoever
 * replays the log gets another table. No race, and no unserializable triple on one variable: table
 * and log belong together. Repaired by logging before the table's lock is released. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int rows = 1;
static int logged; /* rows, if the log is replayed */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void set_rows(int wanted) {
    pthread_mutex_lock(&table_lock);
    rows = wanted;
#ifndef FIXED
    pthread_mutex_unlock(&table_lock);
#endif
    pthread_mutex_lock(&log_lock);
    logged = wanted;
    pthread_mutex_unlock(&log_lock);
#ifdef FIXED
    pthread_mutex_unlock(&table_lock);
#endif
}

static void *delete_all(void *unused) {
    (void)unused;
    set_rows(0);
    return NULL;
}

static void *load_two(void *unused) {
    (void)unused;
    usleep(5000);
    set_rows(2);
    return NULL;
}

int main(void) {
    pthread_t deleter, loader;
    pthread_create(&deleter, NULL, delete_all, NULL);
    pthread_create(&loader, NULL, load_two, NULL);
    pthread_join(deleter, NULL);
    pthread_join(loader, NULL);
    printf("log %s\n", rows == logged ? "consistent" : "wrong");
    return rows == logged ? 0 : 1;
}
