/* Signals between the hooks of straight code: a timer's handler comes in somewhere, a fault in the
 * middle, and a fault whose handler jumps away. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define CELLS 10000
long from[CELLS], into[CELLS], other[CELLS];
long ticks[4096];
volatile sig_atomic_t came;
long *volatile nowhere;
static sigjmp_buf back;

static void tick(int number) {
    (void)number;
    if (came < 4096) ticks[came] = came;
    came++;
}

/* Several hooks without a branch in between, again and again. */
static void copy(void) {
    for (long i = 0; i < CELLS; i++) {
        into[i] = from[i] + 1;
        other[i] = into[i] + from[i];
    }
}

struct pair {
    long before, *pointer, after;
};
struct pair pairs[64];
long sum;

__attribute__((noinline)) static long follow(struct pair *pair) {
    long value = pair->before;
    value += *pair->pointer; /* faults for the last one */
    return value + pair->after;
}

static void walk(void) {
    for (int i = 0; i < 64; i++) sum += follow(&pairs[i]);
}

/* The hook of the first read is as expected, and then it faults. */
__attribute__((noinline)) static void edge(void) {
    long *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect((char *)page + 4096, 4096, PROT_NONE);
    for (int i = 0; i < 1024; i++) {
        sum += page[i];
        into[i] = from[i];
    }
}

static void jump(int number) {
    (void)number;
    siglongjmp(back, 1);
}

int main(int count, char **word) {
    const char *what = count > 1 ? word[1] : "";
    for (int i = 0; i < 63; i++) pairs[i] = (struct pair){i, &from[i], i};
    if (strcmp(what, "ticks") == 0) {
        struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &often, NULL);
        for (int round = 0; round < 100; round++) copy();
        setitimer(ITIMER_REAL, &never, NULL);
    } else if (strcmp(what, "jump") == 0) {
        struct sigaction action = {.sa_handler = jump};
        sigaction(SIGSEGV, &action, NULL);
        for (int i = 0; i < 20; i++)
            if (sigsetjmp(back, 1) == 0) walk();
        copy();
    } else if (strcmp(what, "edge") == 0) {
        edge();
    } else {
        walk();
    }
    printf("%d ticks\n", (int)came);
    return 0;
}
