/* Race-free and still nondeterministic: one thread writes a setting under a lock, another reads it
 * under the same lock, and nothing says which of them comes first. Repaired by starting the reader
 * after the writer has been joined. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int setting = 1, used;
static pthread_mutex_t setting_lock = PTHREAD_MUTEX_INITIALIZER;

static void *configure(void *unused) {
    (void)unused;
    pthread_mutex_lock(&setting_lock);
    setting = 2;
    pthread_mutex_unlock(&setting_lock);
    return NULL;
}

static void *serve(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&setting_lock);
    used = setting;
    pthread_mutex_unlock(&setting_lock);
    return NULL;
}

int main(void) {
    pthread_t configurer, server;
    pthread_create(&configurer, NULL, configure, NULL);
#ifdef FIXED
    pthread_join(configurer, NULL);
#endif
    pthread_create(&server, NULL, serve, NULL);
#ifndef FIXED
    pthread_join(configurer, NULL);
#endif
    pthread_join(server, NULL);
    printf("setting %d\n", used);
    return used == 2 ? 0 : 1;
}
