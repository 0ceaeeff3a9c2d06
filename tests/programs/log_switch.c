/* A log's name and its file ("MySQL-log" of the dissertation's Table 5.4): a client reads the name
 * of the log and then its file, to note where its statement went; another thread switches to the
 * next log and changes both. Each has its lock. A switch between the two reads gives the client the
 * old name with the new file. No race. Repaired by one lock for both. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct mysql_log {
    int name;
    int file;
    pthread_mutex_t name_lock, file_lock;
};

static struct mysql_log log_now = {.name_lock = PTHREAD_MUTEX_INITIALIZER,
                                   .file_lock = PTHREAD_MUTEX_INITIALIZER};
static int noted_name, noted_file;

static void lock_name(void) { pthread_mutex_lock(&log_now.name_lock); }
static void unlock_name(void) { pthread_mutex_unlock(&log_now.name_lock); }

/* With one lock for both, it is held already. */
static void lock_file(void) {
#ifndef FIXED
    unlock_name();
    pthread_mutex_lock(&log_now.file_lock);
#endif
}
static void unlock_file(void) {
#ifdef FIXED
    unlock_name();
#else
    pthread_mutex_unlock(&log_now.file_lock);
#endif
}

static void note_place(void) {
    lock_name();
    noted_name = log_now.name;
    lock_file();
    noted_file = log_now.file;
    unlock_file();
}

static void switch_log(void) {
    lock_name();
    log_now.name = 2;
    lock_file();
    log_now.file = 2;
    unlock_file();
}

/* Before the threads exist, and when they are gone. */
static void open_log(int number) {
    log_now.name = number;
    log_now.file = number;
}

static int close_log(void) {
    int number = log_now.name;
    return log_now.file == number ? number : 0;
}

static void *client(void *unused) {
    (void)unused;
    note_place();
    return NULL;
}

static void *rotator(void *unused) {
    (void)unused;
    usleep(5000);
    switch_log();
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    open_log(1);
    pthread_create(&threads[0], NULL, client, NULL);
    pthread_create(&threads[1], NULL, rotator, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    int good = noted_name == noted_file;
    printf("place noted %s, log %d closed\n", good ? "well" : "wrongly", close_log());
    return good ? 0 : 1;
}
