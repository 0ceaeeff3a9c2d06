/* Order violation (Mozilla's mThread): a new thread uses the field that its creator fills with the
 * handle only after the creation has returned. Goes wrong when the child is quicker than its
 * parent. Repaired by a lock that the parent holds until the field is set. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct worker {
    pthread_t handle;
    int state;
};

static struct worker *m_thread; /* null until start_worker has filled it */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static int state_seen = -1;

static void *worker_main(void *unused) {
    (void)unused;
#ifdef FIXED
    pthread_mutex_lock(&start_lock);
    pthread_mutex_unlock(&start_lock);
#else
    usleep(5000); /* usually long enough */
#endif
    state_seen = m_thread != NULL ? m_thread->state : 0;
    return NULL;
}

static struct worker *start_worker(void) {
    struct worker *worker = malloc(sizeof *worker);
    worker->state = 3;
    pthread_create(&worker->handle, NULL, worker_main, NULL);
    return worker;
}

int main(void) {
    pthread_mutex_lock(&start_lock);
    m_thread = start_worker();
    pthread_mutex_unlock(&start_lock);
    pthread_join(m_thread->handle, NULL);
    printf("state %d\n", state_seen);
    free(m_thread);
    return state_seen == 3 ? 0 : 1;
}
