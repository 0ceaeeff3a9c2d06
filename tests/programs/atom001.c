/* A worker hangs its request into the shared slot in one critical section and counts its bytes in
 * another; the time-out thread clears the slot without asking and the worker crashes. No race.
 * Repaired (atom001a) not by a longer section but by a flag: the time-out clears the slot only when
 * the worker is done. Locks alone would still allow the wrong order, what the flag's reader read
 * does not, so a method that looks at locks only gives a false alarm. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct request {
    int length;
};

static struct request *current;
static int done, bytes;
static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *request) {
    pthread_mutex_lock(&slot_lock);
    current = request;
    pthread_mutex_unlock(&slot_lock);

    pthread_mutex_lock(&slot_lock);
    bytes += current->length;
    done = 1;
    pthread_mutex_unlock(&slot_lock);
    return NULL;
}

static void *time_out(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&slot_lock);
#ifdef FIXED
    if (done)
#endif
        current = NULL;
    pthread_mutex_unlock(&slot_lock);
    return NULL;
}

int main(void) {
    struct request request = {40};
    pthread_t worker, timer;
    pthread_create(&worker, NULL, work, &request);
    pthread_create(&timer, NULL, time_out, NULL);
    pthread_join(worker, NULL);
    pthread_join(timer, NULL);
    printf("done %d, %d bytes\n", done, bytes);
    return bytes == 40 ? 0 : 1;
}
