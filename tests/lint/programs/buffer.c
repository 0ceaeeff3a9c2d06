/* A buffer that hands out work (Artho, Havelund and Biere 2004): a value is taken out in one
 * critical section and its result is put back in another. That is right: what was taken out belongs
 * to one thread, and no other can change it. A stale-value detector that does not know the buffer's
 * protocol reports it. The twin does all of it in one section. */
#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 16, WORKERS = 2, ROUNDS = 2 };

struct buffer {
    pthread_mutex_t lock;
    int slot[SLOTS];
    int head, tail; /* next to take, next to fill */
};

static struct buffer buffer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int compute(int value) { return value * value; }

#ifdef FIXED
static void work_once(struct buffer *b) {
    pthread_mutex_lock(&b->lock);
    int value = b->slot[b->head];
    b->head++;
    b->slot[b->tail] = compute(value);
    b->tail++;
    pthread_mutex_unlock(&b->lock);
}
#else
static int take_next(struct buffer *b) {
    pthread_mutex_lock(&b->lock);
    int value = b->slot[b->head];
    b->head++;
    pthread_mutex_unlock(&b->lock);
    return value;
}

static void add_result(struct buffer *b, int value) {
    pthread_mutex_lock(&b->lock);
    b->slot[b->tail] = value;
    b->tail++;
    pthread_mutex_unlock(&b->lock);
}

static void work_once(struct buffer *b) {
    int value = take_next(b);
    int result = compute(value);
    add_result(b, result);
}
#endif

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) work_once(&buffer);
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    int total = 0;
    for (int i = 0; i < WORKERS * ROUNDS; i++) buffer.slot[buffer.tail++] = i + 1;
    for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    for (int i = buffer.head; i < buffer.tail; i++) total += buffer.slot[i];
    printf("total %d\n", total);
    return total == 30 ? 0 : 1;
}
