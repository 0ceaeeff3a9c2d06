/* Handlers of pthread_atfork are the program's own code: one waits for another thread, and all
 * write. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t asked, answered;
static int in_prepare, in_parent, in_child;

static void *helper(void *argument) {
    sem_wait(&asked);
    in_prepare++;
    sem_post(&answered);
    return argument;
}

static void prepare(void) {
    sem_post(&asked);
    sem_wait(&answered);
    in_prepare++;
}
static void parent(void) { in_parent++; }
static void child(void) { in_child++; }

int main(void) {
    pthread_t made;
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    pthread_create(&made, NULL, helper, NULL);
    pthread_atfork(prepare, parent, child);
    pid_t pid = fork();
    if (pid == 0) _exit(in_child == 1 && in_prepare == 2 && in_parent == 0 ? 7 : 8);
    int status = 0;
    waitpid(pid, &status, 0);
    pthread_join(made, NULL);
    printf("%d %d %d\n", in_prepare, in_parent, WEXITSTATUS(status));
    return 0;
}
