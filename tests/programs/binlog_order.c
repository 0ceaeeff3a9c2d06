/* A table and its binary log ("MySQL-blog" of the dissertation's Table 5.4, Fig. 5.6): a statement
 * changes the table under one lock and is logged under another. Two statements can be logged in the
 * other order, and who repeats the log gets another table. The two variables belong together only
 * where a statement ends: most functions access `rows` alone, so that nothing mined from the source
 * says so. No race. Repaired by one lock for both. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { DELETE_ALL = 1, INSERT_ONE };

struct table {
    int rows;
    int capacity;
    pthread_mutex_t lock;
};
struct binlog {
    int tail;
    int statement[8];
    pthread_mutex_t lock;
};

static struct table table = {.rows = 3, .capacity = 8, .lock = PTHREAD_MUTEX_INITIALIZER};
static struct binlog binlog = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void append(int statement) {
#ifndef FIXED
    pthread_mutex_unlock(&table.lock);
#endif
    pthread_mutex_lock(&binlog.lock);
    binlog.statement[binlog.tail++] = statement;
    pthread_mutex_unlock(&binlog.lock);
#ifdef FIXED
    pthread_mutex_unlock(&table.lock);
#endif
}

static void delete_all(void) {
    pthread_mutex_lock(&table.lock);
    table.rows = 0;
    append(DELETE_ALL);
}

static int has_room(void) { return table.rows < table.capacity; }
static void grow(void) { table.capacity = table.rows * 2; }
static void add_row(void) { table.rows++; }

static void insert_one(void) {
    pthread_mutex_lock(&table.lock);
    if (!has_room()) grow();
    add_row();
    append(INSERT_ONE);
}

/* Before the threads exist, and when they are gone. */
static void preload(int rows) { table.rows = rows; }
static int is_empty(void) { return table.rows == 0; }
static int count_rows(void) { return table.rows; }
static int free_rows(void) { return table.capacity - table.rows; }

static int repeat_log(int rows) {
    for (int i = 0; i < binlog.tail; i++) rows = binlog.statement[i] == INSERT_ONE ? rows + 1 : 0;
    return rows;
}

static void *cleaner(void *unused) {
    (void)unused;
    delete_all();
    return NULL;
}

static void *client(void *unused) {
    (void)unused;
    usleep(5000);
    insert_one();
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    preload(3);
    pthread_create(&threads[0], NULL, cleaner, NULL);
    pthread_create(&threads[1], NULL, client, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    int good = repeat_log(3) == count_rows();
    if (free_rows() < 0 || (is_empty() && binlog.tail == 0)) good = 0;
    printf("the log %s the table\n", good ? "gives" : "does not give");
    return good ? 0 : 1;
}
