/* A URL and the flag that it is being loaded ("Moz-imap" of the dissertation's Table 5.4): a load
 * sets `url` and then `in_progress`; the end of a connection clears both. Each has its lock. If the
 * end comes between the two updates of a load, the flag says that a URL is in progress that is not
 * there. No race. Repaired by one lock for both. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct imap_protocol {
    const char *url;
    int in_progress;
    pthread_mutex_t url_lock, progress_lock;
};

static struct imap_protocol imap = {.url_lock = PTHREAD_MUTEX_INITIALIZER,
                                    .progress_lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_url(void) { pthread_mutex_lock(&imap.url_lock); }
static void unlock_url(void) { pthread_mutex_unlock(&imap.url_lock); }

/* With one lock for both, it is held already. */
static void lock_progress(void) {
#ifndef FIXED
    unlock_url();
    pthread_mutex_lock(&imap.progress_lock);
#endif
}
static void unlock_progress(void) {
#ifdef FIXED
    unlock_url();
#else
    pthread_mutex_unlock(&imap.progress_lock);
#endif
}

static void load_url(const char *url) {
    lock_url();
    imap.url = url;
    lock_progress();
    imap.in_progress = 1;
    unlock_progress();
}

static void end_connection(void) {
    lock_url();
    imap.url = NULL;
    lock_progress();
    imap.in_progress = 0;
    unlock_progress();
}

/* Before the threads exist, and when they are gone. */
static void start_protocol(void) {
    imap.url = NULL;
    imap.in_progress = 0;
}

static size_t length_in_progress(void) { return imap.in_progress ? strlen(imap.url) : 0; }

static void *reader(void *unused) {
    (void)unused;
    load_url("imap://mail/inbox");
    return NULL;
}

static void *watcher(void *unused) {
    (void)unused;
    usleep(5000);
    end_connection();
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    start_protocol();
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, watcher, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%s\n", length_in_progress() < 100 ? "url and flag agree" : "a strange url");
    return 0;
}
