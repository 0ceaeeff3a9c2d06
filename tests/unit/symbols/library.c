/* A library that a program loads while it runs. */
#include <stdio.h>

struct library_state {
    int runs;
    char name[8];
};
static struct library_state library_state;
int library_counters[4];

__attribute__((noinline)) static void library_report(int line) {
    printf("site %p library_run library.c %d\n", __builtin_return_address(0), line);
}

void library_run(void (*unused)(const char *, const char *));
void library_run(void (*unused)(const char *, const char *)) {
    (void)unused;
    library_state.runs++;
    library_report(__LINE__);
    printf("variable %p %zu library_state.runs\n", (void *)&library_state.runs, sizeof(int));
    printf("variable %p %zu library_counters[2]\n", (void *)&library_counters[2], sizeof(int));
}
