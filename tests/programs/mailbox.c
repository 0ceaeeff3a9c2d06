/* Lost request: a worker reads the mailbox in one critical section and clears it in another. A
 * request posted in between is wiped out unseen. The poster writes without reading first, so a
 * reordering that keeps every read's value shows it. Repaired by reading and clearing in one
 * section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int mailbox; /* number of the latest request, 0 when there is none */
static int applied; /* number of the last request carried out */
static pthread_mutex_t mailbox_lock = PTHREAD_MUTEX_INITIALIZER;

static void carry_out_request(void) {
    pthread_mutex_lock(&mailbox_lock);
    int request = mailbox;
#ifdef FIXED
    mailbox = 0;
#endif
    pthread_mutex_unlock(&mailbox_lock);
    if (request == 0) return;
    applied = request;
#ifndef FIXED
    pthread_mutex_lock(&mailbox_lock);
    mailbox = 0;
    pthread_mutex_unlock(&mailbox_lock);
#endif
}

static void *work(void *unused) {
    (void)unused;
    carry_out_request();
    return NULL;
}

static void *post(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&mailbox_lock);
    mailbox = 2;
    pthread_mutex_unlock(&mailbox_lock);
    return NULL;
}

int main(void) {
    pthread_t worker, poster;
    mailbox = 1;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&poster, NULL, post, NULL);
    pthread_join(worker, NULL);
    pthread_join(poster, NULL);
    carry_out_request(); /* what was posted last must not be lost */
    printf("applied request %d\n", applied);
    return applied == 2 ? 0 : 1;
}
