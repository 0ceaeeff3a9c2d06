/* Write-write order violation (Mozilla's io_pending): main starts an asynchronous read and only
 * then notes that it is pending. A read that is quick has cleared the note by then; main sets it
 * again and waits for ever. All accesses are locked, so there is no race. Repaired by noting it
 * before the read is started. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int io_pending;
static int data;
static pthread_mutex_t io_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t io_finished = PTHREAD_COND_INITIALIZER;

static void *read_asynchronously(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&io_lock);
    data = 17;
    io_pending = 0;
    pthread_cond_signal(&io_finished);
    pthread_mutex_unlock(&io_lock);
    return NULL;
}

static void note_pending(void) {
    pthread_mutex_lock(&io_lock);
    io_pending = 1;
    pthread_mutex_unlock(&io_lock);
}

int main(void) {
    pthread_t reader;
#ifdef FIXED
    note_pending();
#endif
    pthread_create(&reader, NULL, read_asynchronously, NULL);
#ifndef FIXED
    note_pending();
#endif
    pthread_mutex_lock(&io_lock);
    while (io_pending) pthread_cond_wait(&io_finished, &io_lock);
    int got = data;
    pthread_mutex_unlock(&io_lock);
    pthread_join(reader, NULL);
    printf("read %d\n", got);
    return got == 17 ? 0 : 1;
}
