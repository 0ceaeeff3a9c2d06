/* What the handler of a signal gets that comes while the runtime works: the stack that the thread
 * has for handlers, and where the signal came. The thread's own stack is too small for the handler.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { WANTED = 60, LARGE = 192 * 1024, ITS_STACK = 1024 * 1024, SMALL_STACK = 64 * 1024 };
static volatile sig_atomic_t ready, came, elsewhere, without_place;
static bool mask_is_right;
static char *its_stack;
static long table[256];

static void handle(int number, siginfo_t *info, void *context) {
    volatile char large[LARGE];
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    if (came == WANTED / 2) sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGUSR2);
    (void)number;
    (void)info;
    for (int i = 0; i < LARGE; i += 512) large[i] = 1;
    elsewhere += (uintptr_t)large - (uintptr_t)its_stack >= ITS_STACK;
    without_place += registers[REG_RIP] == 0 || registers[REG_RSP] == 0;
    came++;
}

static void *work(void *unused) {
    stack_t stack = {.ss_sp = its_stack, .ss_size = ITS_STACK};
    long sum = 0;
    if (sigaltstack(&stack, NULL) != 0) abort();
    ready = 1;
    while (came < WANTED)
        for (int i = 0; i < 256; i++) {
            table[i] += sum;
            sum += table[(i * 7) & 255];
            free(malloc(16));
        }
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    mask_is_right = sigismember(&blocked, SIGUSR2) == 1 && sigismember(&blocked, SIGUSR1) == 0;
    return unused;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    its_stack = malloc(ITS_STACK);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, SMALL_STACK);
    pthread_t thread;
    if (pthread_create(&thread, &small, work, NULL) != 0) return 2;
    while (!ready) usleep(500);
    while (came < WANTED && pthread_kill(thread, SIGUSR1) == 0) usleep(500);
    pthread_join(thread, NULL);
    printf("%d elsewhere, %d without a place\n", elsewhere, without_place);
    return mask_is_right ? 0 : 1;
}
