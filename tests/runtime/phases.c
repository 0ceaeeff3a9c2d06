/* One thread looks under a lock for a flag that another wants to set under it; the number of hook
 * calls from one look to the next is given. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;
static int calls;
static volatile int done, other;

static void lock(const char *how, int write) {
    switch (how[0]) {
    case 'm':
        pthread_mutex_lock(&mutex);
        break;
    case 'r':
        write ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock);
        break;
    case 's':
        pthread_spin_lock(&spin);
        break;
    default:
        sem_wait(&semaphore);
    }
}
static void unlock(const char *how) {
    switch (how[0]) {
    case 'm':
        pthread_mutex_unlock(&mutex);
        break;
    case 'r':
        pthread_rwlock_unlock(&rwlock);
        break;
    case 's':
        pthread_spin_unlock(&spin);
        break;
    default:
        sem_post(&semaphore);
    }
}

static void *look(void *how) {
    for (int found = 0; !found;) {
        lock(how, 0);
        found = done;
        for (int i = 0; i < calls; i++) (void)other;
        unlock(how);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 3) return 2;
    calls = atoi(argv[2]);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 1);
    pthread_create(&thread, NULL, look, argv[1]);
    sched_yield();
    lock(argv[1], 1);
    done = 1;
    unlock(argv[1]);
    pthread_join(thread, NULL);
    puts("found");
    return 0;
}
