/* A vector of blocks that threads allocate and free (IBM's concurrency benchmark): a free block is
 * looked for in one critical section and marked in another, so two threads may get the same one.
 * Repaired by one section; a thread then frees what it owns, not what it was once told. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { BLOCKS = 8, EACH = 2, FREE = 0 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int owner[BLOCKS]; /* FREE, or the thread's number from 1 */
static int clashes;

#ifdef FIXED
static void allocate(int me) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < BLOCKS && owner[i] != FREE) i++;
    if (i < BLOCKS) owner[i] = me;
    pthread_mutex_unlock(&lock);
}

static void free_all(int me) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BLOCKS; i++)
        if (owner[i] == me) owner[i] = FREE;
    pthread_mutex_unlock(&lock);
}

static void use_blocks(int me) {
    for (int i = 0; i < EACH; i++) allocate(me);
    free_all(me);
}
#else
static int get_free_block(void) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < BLOCKS && owner[i] != FREE) i++;
    pthread_mutex_unlock(&lock);
    return i;
}

static void mark_allocated(int block, int me) {
    pthread_mutex_lock(&lock);
    if (owner[block] != FREE) clashes++;
    owner[block] = me;
    pthread_mutex_unlock(&lock);
}

static void mark_free(int block) {
    pthread_mutex_lock(&lock);
    owner[block] = FREE;
    pthread_mutex_unlock(&lock);
}

static void use_blocks(int me) {
    int mine[EACH];
    for (int i = 0; i < EACH; i++) {
        mine[i] = get_free_block();
        if (mine[i] == BLOCKS) return;
        mark_allocated(mine[i], me); /* violation: stale-value get_free_block mark_allocated */
    }
    /* The same index: a block that two threads have is freed while one of them uses it. */
    for (int i = 0; i < EACH; i++)
        mark_free(mine[i]); /* also: stale-value get_free_block mark_free */
}
#endif

static void *work(void *argument) {
    const int *me = argument;
    if (*me > 1) usleep(5000);
    use_blocks(*me);
    return NULL;
}

int main(void) {
    static int numbers[2] = {1, 2};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d clashes\n", clashes);
    return clashes == 0 ? 0 : 1;
}
