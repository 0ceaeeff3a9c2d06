/* What comes before the call that installs a handler comes before the handler; what comes after it
 * may not. The signal is one that is ignored without a handler. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static int before, after, seen;

static void handler(int number) {
    (void)number;
    seen = before + after;
}

static void *gets_it(void *argument) {
    pthread_kill(pthread_self(), SIGURG);
    return argument;
}

int main(void) {
    pthread_t target;
    pthread_create(&target, NULL, gets_it, NULL);
    before = 1;
    signal(SIGURG, handler);
    after = 1;
    pthread_join(target, NULL);
    printf("%d\n", seen);
    return 0;
}
