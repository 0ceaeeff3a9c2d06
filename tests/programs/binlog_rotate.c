/* A log that is closed and opened again while others ask whether it is open (MySQL bug 791, the
 * binary log): rotate() holds the lock from the closing to the opening, but execute() asks without
 * it. A statement that asks in between takes logging for switched off and is missing from the log.
 * Repaired by asking inside the lock. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum log_state { LOG_CLOSED, LOG_OPEN };

static enum log_state log_state = LOG_OPEN;
static int log_number = 1, statements_logged;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void *rotate(void *unused) {
    (void)unused;
    pthread_mutex_lock(&log_lock);
    log_state = LOG_CLOSED;
    log_number++;
    usleep(100); /* renaming files */
    log_state = LOG_OPEN;
    pthread_mutex_unlock(&log_lock);
    return NULL;
}

static void *execute(void *unused) {
    (void)unused;
    usleep(5000);
#ifdef FIXED
    pthread_mutex_lock(&log_lock);
    if (log_state == LOG_OPEN) statements_logged++;
    pthread_mutex_unlock(&log_lock);
#else
    if (log_state == LOG_OPEN) {
        pthread_mutex_lock(&log_lock);
        statements_logged++;
        pthread_mutex_unlock(&log_lock);
    }
#endif
    return NULL;
}

int main(void) {
    pthread_t rotator, client;
    pthread_create(&rotator, NULL, rotate, NULL);
    pthread_create(&client, NULL, execute, NULL);
    pthread_join(rotator, NULL);
    pthread_join(client, NULL);
    printf("log %d open, %d statement logged\n", log_number, statements_logged);
    return statements_logged == 1 ? 0 : 1;
}
