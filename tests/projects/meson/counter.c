#include "counter.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long value;

void counter_add(int amount) {
    pthread_mutex_lock(&lock);
    value += amount;
    pthread_mutex_unlock(&lock);
}

long counter_value(void) {
    pthread_mutex_lock(&lock);
    long now = value;
    pthread_mutex_unlock(&lock);
    return now;
}
