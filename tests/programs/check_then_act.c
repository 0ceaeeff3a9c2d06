/* Check, then act, with locks but in two critical sections: the session is looked up in one and
 * used in another, and a reaper may take it away in between. No race; crashes on the null pointer.
 * Repaired by one section around both. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct session {
    int requests;
};

static struct session only_session;
static struct session *current;
static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *unused) {
    (void)unused;
    pthread_mutex_lock(&session_lock);
    int alive = current != NULL;
#ifndef FIXED
    pthread_mutex_unlock(&session_lock);
    pthread_mutex_lock(&session_lock);
#endif
    if (alive) current->requests++;
    pthread_mutex_unlock(&session_lock);
    return NULL;
}

static void *reap(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&session_lock);
    current = NULL;
    pthread_mutex_unlock(&session_lock);
    return NULL;
}

int main(void) {
    pthread_t server, reaper;
    current = &only_session;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&reaper, NULL, reap, NULL);
    pthread_join(server, NULL);
    pthread_join(reaper, NULL);
    printf("session %s\n", current == NULL ? "closed" : "open");
    return current == NULL ? 0 : 1;
}
