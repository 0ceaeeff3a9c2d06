/* Use after free at shutdown (pbzip2): main waits until the last block is done, then deletes the
 * queue and nulls its lock, while the consumer still has to take that lock once more before it
 * ends. Repaired by joining the consumer before the queue is deleted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct queue {
    pthread_mutex_t *mutex;
    int consumers;
};

static struct queue *fifo;
static int blocks_done;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;

static void *consume(void *unused) {
    (void)unused;
    pthread_mutex_lock(&done_lock);
    blocks_done++;
    pthread_cond_signal(&all_done);
    pthread_mutex_unlock(&done_lock);

    pthread_mutex_lock(fifo->mutex);
    fifo->consumers--;
    pthread_mutex_unlock(fifo->mutex);
    return NULL;
}

static void delete_queue(void) {
    pthread_mutex_destroy(fifo->mutex);
    free(fifo->mutex);
    fifo->mutex = NULL;
    free(fifo);
}

int main(void) {
    pthread_t consumer;
    fifo = malloc(sizeof *fifo);
    fifo->mutex = malloc(sizeof *fifo->mutex);
    fifo->consumers = 1;
    pthread_mutex_init(fifo->mutex, NULL);
    pthread_create(&consumer, NULL, consume, NULL);

    pthread_mutex_lock(&done_lock);
    while (blocks_done < 1) pthread_cond_wait(&all_done, &done_lock);
    pthread_mutex_unlock(&done_lock);
#ifdef FIXED
    pthread_join(consumer, NULL);
    delete_queue();
#else
    usleep(5000); /* writing the last block: usually long enough */
    delete_queue();
    pthread_join(consumer, NULL);
#endif
    printf("blocks %d\n", blocks_done);
    return 0;
}
