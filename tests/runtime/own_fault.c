/* argv[1]: ours, damages the runtime's own thread record, so that it crashes; atomic, lock, stack:
 * faults of the program's own that come to light in the runtime's code; handled: catches one. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern __thread unsigned long __heddle_branched; /* the record's first word */

static int shared;

static void *work(void *argument) {
    shared++;
    return argument;
}

static int deeper(int n) {
    volatile char room[200];
    room[n % 200] = (char)n;
    return deeper(n + 1) + room[(n + 7) % 200];
}

static void caught(int number) {
    (void)number;
    static const char text[] = "caught\n";
    if (write(1, text, sizeof text - 1) < 0) _exit(9);
    _exit(3);
}

int main(int argc, char **argv) {
    void *volatile bad = (void *)64;
    pthread_t made;
    if (argc < 2) return 2;
    pthread_create(&made, NULL, work, NULL);
    pthread_join(made, NULL);
    if (strcmp(argv[1], "handled") == 0) signal(SIGSEGV, caught);
    if (strcmp(argv[1], "ours") == 0) {
        if (getenv("HEDDLE_CHANNEL") != NULL) /* the plain runs of a hunt pass */
            memset((char *)&__heddle_branched + 8, 0x11, 500);
        shared++;
    } else if (strcmp(argv[1], "lock") == 0) {
        pthread_mutex_unlock(bad);
    } else if (strcmp(argv[1], "stack") == 0) {
        return deeper(0);
    } else {
        atomic_fetch_add((_Atomic int *)bad, 1);
    }
    return 0;
}
