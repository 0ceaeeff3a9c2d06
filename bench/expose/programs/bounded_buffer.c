/* A bounded buffer that is tested for room in one section and filled in another: two producers find
 * the last slot free, and one item overwrites another. Repaired with one section. */
#include <pthread.h>

enum { ROOM = 4, PRODUCERS = 2, EACH = 2 };
static int slot[ROOM + PRODUCERS], used, refused;
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;

static void *produce(void *argument) {
    for (int i = 0; i < EACH + 1; i++) {
        pthread_mutex_lock(&buffer_lock);
        int full = used == ROOM;
#ifndef FIXED
        pthread_mutex_unlock(&buffer_lock);
        pthread_mutex_lock(&buffer_lock);
#endif
        if (full)
            refused++;
        else
            slot[used++] = *(int *)argument;
        pthread_mutex_unlock(&buffer_lock);
    }
    return 0;
}

int main(void) {
    static int name[PRODUCERS] = {1, 2};
    pthread_t thread[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++) pthread_create(&thread[i], 0, produce, &name[i]);
    for (int i = 0; i < PRODUCERS; i++) pthread_join(thread[i], 0);
    return used > ROOM || slot[0] == 0 || refused + used != PRODUCERS * (EACH + 1);
}
