/* Every way in which a program can end, each after a write that nothing else of the run comes
 * after. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile int before_end, at_exit_ran, in_thread, in_handler;
static volatile long busy[3];
static pthread_barrier_t started;

static void *work_for_ever(void *index) {
    volatile long *mine = &busy[(long)index];
    pthread_barrier_wait(&started);
    for (;;) ++*mine;
    return NULL;
}

static void start_workers(void) {
    pthread_t thread;
    pthread_barrier_init(&started, NULL, 3);
    for (long i = 0; i < 2; i++) pthread_create(&thread, NULL, work_for_ever, (void *)i);
    pthread_barrier_wait(&started);
    while (busy[0] == 0 || busy[1] == 0) usleep(1000);
}

static void *finish_later(void *how) {
    usleep(50000);
    in_thread = 1;
    if (how != NULL) exit(6);
    return NULL;
}

static void *exit_in_thread(void *unused) {
    (void)unused;
    in_thread = before_end = 1;
    exit(8);
}

static void note_exit(void) { at_exit_ran = 1; }

static void handle(int number) {
    (void)number;
    in_handler = 1;
    _exit(12);
}

static void wait_for_end(void) {
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return";
    atexit(note_exit);
    at_quick_exit(note_exit);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "closed") == 0) {
        for (int fd = 0; fd < 64; fd++) close(fd);
        closefrom(0);
    }
    if (strstr(how, "busy") != NULL) start_workers();
    pthread_t thread;
    if (strcmp(how, "thread-exit") == 0 || strcmp(how, "thread-exits") == 0) {
        pthread_create(&thread, NULL, finish_later, how[11] != 0 ? argv : NULL);
        before_end = 1;
        pthread_exit(NULL);
    }
    if (strcmp(how, "exit-in-thread") == 0) {
        pthread_create(&thread, NULL, exit_in_thread, NULL);
        pthread_join(thread, NULL);
    }
    before_end = 1;
    if (strncmp(how, "exit", 4) == 0) exit(3);
    if (strncmp(how, "_exit", 5) == 0) _exit(4);
    if (strcmp(how, "_Exit") == 0) _Exit(9);
    if (strncmp(how, "quick_exit", 10) == 0) quick_exit(5);
    if (strcmp(how, "group") == 0) syscall(SYS_exit_group, 7);
    if (strncmp(how, "abort", 5) == 0) abort();
    if (strncmp(how, "segv", 4) == 0) *(volatile int *)(argc - 2L) = 1;
    if (strncmp(how, "kill", 4) == 0) kill(getpid(), SIGKILL);
    if (strncmp(how, "raise", 5) == 0) raise(SIGUSR2);
    if (strcmp(how, "exec") == 0) execl("/bin/sh", "sh", "-c", "exit 11", (char *)NULL);
    if (strcmp(how, "ignore") == 0) signal(SIGTERM, SIG_IGN);
    if (strcmp(how, "handle") == 0) signal(SIGINT, handle);
    if (strcmp(how, "handle-term") == 0) signal(SIGTERM, handle);
    if (strncmp(how, "wait", 4) == 0 || how[0] == 'i' || how[0] == 'h') wait_for_end();
    return 2;
}
