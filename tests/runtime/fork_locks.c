/* A process is forked while another thread may hold a lock: `fork_locks HOW`. `taken`, `writer`
 * and `always` are wrong, the others are not. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *how;
static int shared_data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t held, go_on;

static int is(const char *word) { return strcmp(how, word) == 0; }

static void *works(void *unused) {
    if (is("writer")) {
        pthread_rwlock_wrlock(&rwlock);
        shared_data++;
        pthread_rwlock_unlock(&rwlock);
    } else if (is("readers")) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    } else {
        pthread_mutex_lock(&lock);
        if (is("always") || is("signal")) {
            sem_post(&held);
            sem_wait(&go_on);
        }
        shared_data++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void takes(void) { pthread_mutex_lock(&lock); }
static void releases(void) { pthread_mutex_unlock(&lock); }
static void renews(void) { pthread_mutex_init(&lock, NULL); }
static void gives_up(int number) { _exit(number == SIGALRM ? 7 : 1); }

static void child(void) {
    if (is("signal")) {
        signal(SIGALRM, gives_up);
        alarm(1);
    }
    if (is("writer") || is("readers")) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    } else if (!is("nothing")) {
        pthread_mutex_lock(&lock);
        shared_data++;
        pthread_mutex_unlock(&lock);
    }
    _exit(7);
}

int main(int count, char **argument) {
    pthread_t made;
    int status;
    how = count > 1 ? argument[1] : "";
    sem_init(&held, 0, 0);
    sem_init(&go_on, 0, 0);
    if (is("handlers")) pthread_atfork(takes, releases, releases);
    if (is("renewed")) pthread_atfork(NULL, NULL, renews);
    if (!is("before")) pthread_create(&made, NULL, works, NULL);
    if (is("always") || is("signal")) sem_wait(&held);
    pid_t pid = fork();
    if (pid == 0) child();
    if (is("before")) pthread_create(&made, NULL, works, NULL);
    if (is("always") || is("signal")) sem_post(&go_on);
    if (waitpid(pid, &status, 0) != pid) return 2;
    pthread_join(made, NULL);
    printf("%d %d\n", shared_data, WEXITSTATUS(status));
    return 0;
}
