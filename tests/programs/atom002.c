/* A server looks at the session, then at the mode, then uses the session, each in a critical
 * section of its own; a drainer changes the mode and then takes the session away. The session may
 * go between the look and the use, although the mode that the server read in between is one that
 * the drainer overwrites first: the server only has to read it before. No race. Repaired (atom002a)
 * by a flag: the session is not taken away before the server is done. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum mode { NORMAL, DRAINING };
struct session {
    int requests;
};

static struct session *session;
static enum mode mode;
#ifdef FIXED
static int done;
#endif
static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *unused) {
    (void)unused;
    pthread_mutex_lock(&session_lock);
    int alive = session != NULL;
    pthread_mutex_unlock(&session_lock);
    if (!alive) return NULL;

    pthread_mutex_lock(&session_lock);
    int cost = mode == NORMAL ? 1 : 2;
    pthread_mutex_unlock(&session_lock);

    pthread_mutex_lock(&session_lock);
    session->requests += cost;
#ifdef FIXED
    done = 1;
#endif
    pthread_mutex_unlock(&session_lock);
    return NULL;
}

static void *drain(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&session_lock);
    mode = DRAINING;
    pthread_mutex_unlock(&session_lock);

    pthread_mutex_lock(&session_lock);
#ifdef FIXED
    if (session != NULL && done) session = NULL;
#else
    if (session != NULL) session = NULL;
#endif
    pthread_mutex_unlock(&session_lock);
    return NULL;
}

int main(void) {
    struct session only_session = {0};
    pthread_t server, drainer;
    session = &only_session;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&drainer, NULL, drain, NULL);
    pthread_join(server, NULL);
    pthread_join(drainer, NULL);
    printf("mode %s\n", mode == DRAINING ? "draining" : "normal");
    return mode == DRAINING ? 0 : 1;
}
