/* A parallel sum of floating-point numbers: each thread adds its part to the total under a lock. No
 * race, but such sums round differently in another order, and who comes first is left to chance.
 * Repaired by one slot a thread, added up in order after the threads have been joined. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PARTS = 3, NUMBERS = 6 };

static double numbers[NUMBERS] = {4e15, 6e15, -3e15, -7e15, 0.25, 0.75};
#ifdef FIXED
static double part_sums[PARTS];
#else
static double total;
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void *add_part(void *argument) {
    int part = *(int *)argument;
    double sum = 0;
    for (int i = 0; i < NUMBERS / PARTS; i++) sum += numbers[part * (NUMBERS / PARTS) + i];
    usleep((useconds_t)part * 4000); /* the parts are usually ready in this order */
#ifdef FIXED
    part_sums[part] = sum;
#else
    pthread_mutex_lock(&total_lock);
    total += sum;
    pthread_mutex_unlock(&total_lock);
#endif
    return NULL;
}

int main(void) {
    static int parts[PARTS] = {0, 1, 2};
    pthread_t threads[PARTS];
    for (int i = 0; i < PARTS; i++) pthread_create(&threads[i], NULL, add_part, &parts[i]);
    for (int i = 0; i < PARTS; i++) pthread_join(threads[i], NULL);
#ifdef FIXED
    double total = 0;
    for (int i = 0; i < PARTS; i++) total += part_sums[i];
#endif
    printf("sum %.2f\n", total);
    return total == 1 ? 0 : 1;
}
