/* A semaphore meant as a mutex but initialised to two: both threads may be inside at once. Their
 * posts and waits order the additions in nearly every run, which hides the race from
 * happens-before. Repaired by initialising it to one. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t inside;
static int tickets;

static void *sell(void *argument) {
    if (*(int *)argument != 0) usleep(5000);
    sem_wait(&inside);
    tickets++;
    sem_post(&inside);
    return NULL;
}

int main(void) {
    static int later[2] = {0, 1};
    pthread_t threads[2];
#ifdef FIXED
    sem_init(&inside, 0, 1);
#else
    sem_init(&inside, 0, 2);
#endif
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, sell, &later[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    sem_destroy(&inside);
    printf("tickets %d\n", tickets);
    return tickets == 2 ? 0 : 1;
}
