/* Double-checked initialisation: the first test reads the pointer without the lock, and the object
 * is published before its field is written, so that another thread may read the field of a fresh
 * heap block. Repaired with pthread_once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    int limit;
};

static struct config *config;
static int seen[3];

#ifdef FIXED
static pthread_once_t config_once = PTHREAD_ONCE_INIT;

static void make_config(void) {
    config = malloc(sizeof *config);
    config->limit = 42;
}

static struct config *get_config(void) {
    pthread_once(&config_once, make_config);
    return config;
}
#else
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;

static struct config *get_config(void) {
    if (config == NULL) {
        pthread_mutex_lock(&config_lock);
        if (config == NULL) {
            config = malloc(sizeof *config);
            config->limit = 42;
        }
        pthread_mutex_unlock(&config_lock);
    }
    return config;
}
#endif

static void *use(void *argument) {
    int self = *(int *)argument;
    seen[self] = get_config()->limit;
    return NULL;
}

int main(void) {
    static int numbers[3] = {0, 1, 2};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, use, &numbers[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    int right = seen[0] == 42 && seen[1] == 42 && seen[2] == 42;
    printf("limits %d %d %d\n", seen[0], seen[1], seen[2]);
    free(config);
    return right ? 0 : 1;
}
