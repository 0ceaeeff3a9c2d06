/* Signals that come while threads begin and end. argv[1]: killed, sent to each thread by its
 * handle; timed, from a profiling timer. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t came;

static void deeper(void) { came++; }
static void handler(int number) {
    (void)number;
    deeper();
}

static void *thread(void *argument) { return argument; }

int main(int argc, char **argv) {
    int timed = argc > 1 && strcmp(argv[1], "timed") == 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(timed ? SIGPROF : SIGUSR1, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}};
    if (timed) setitimer(ITIMER_PROF, &often, NULL);
    for (int i = 0; i < 1500; i++) {
        pthread_t made;
        if (pthread_create(&made, NULL, thread, NULL) != 0) return 1;
        for (int k = 0; k < 6 && !timed; k++) pthread_kill(made, SIGUSR1);
        pthread_join(made, NULL);
    }
    puts("right");
    return 0;
}
