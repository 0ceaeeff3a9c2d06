/* main leaves while its threads have work. argv[1]: how it ends; argv[2]: what they do: work,
 * endless (never stop), blocked, late (one that ends the process itself). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int first, second, turns;
static const char *what;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *work(void *argument) {
    first++;
    if (strcmp(what, "endless") == 0)
        for (;;) turns++;
    if (strcmp(what, "blocked") == 0) {
        pthread_mutex_lock(&mutex);
        for (;;) pthread_cond_wait(&never, &mutex);
    }
    if (strcmp(what, "late") == 0) exit(9);
    for (int i = 0; i < 1000; i++) turns++;
    second++;
    return argument;
}

static void last_words(void) { puts("at exit"); }

int main(int argc, char **argv) {
    pthread_t made;
    if (argc < 3) return 2;
    what = argv[2];
    atexit(last_words);
    at_quick_exit(last_words);
    for (int i = 0; i < 3; i++) pthread_create(&made, NULL, work, NULL);
    if (strcmp(argv[1], "exit") == 0) exit(3);
    if (strcmp(argv[1], "quick_exit") == 0) {
        fflush(stdout);
        quick_exit(4);
    }
    if (strcmp(argv[1], "_exit") == 0) _exit(5);
    if (strcmp(argv[1], "abort") == 0) abort();
    return 6;
}
