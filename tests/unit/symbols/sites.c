/* Sites: plain functions, inlined ones, recursion into one another, and a library's. The expected
 * lines are written where the call stands, so that moving code can't break them. */
#include "fixture.h"
#include <dlfcn.h>
#include <string.h>

static char expected[16][64];
static int depth;

#define CALL(function, statement) \
    snprintf(expected[depth++], sizeof expected[0], " %s %d", function, __LINE__), statement

__attribute__((noinline)) void report(const char *function, int line) {
    printf("site %p %s sites.c %d", __builtin_return_address(0), function, line);
    while (depth) printf("%s", expected[--depth]);
    printf("\n");
}

__attribute__((noinline)) int plain(int n) {
    report("plain", __LINE__);
    return n + 1;
}

static inline __attribute__((always_inline)) int innermost(int n) {
    report("innermost", __LINE__);
    return n * 2;
}

static inline __attribute__((always_inline)) int middle(int n) {
    CALL("middle", n = innermost(n) + 1);
    return n;
}

__attribute__((noinline)) int outer(int n) {
    CALL("outer", n += middle(n));
    return n;
}

__attribute__((noinline)) static int twice(int n) {
    CALL("twice", n += middle(n));
    CALL("twice", n += innermost(n));
    return n;
}

__attribute__((noinline, cold)) static int rare(int n) {
    report("rare", __LINE__);
    return n - 1;
}

int main(int argc, char **argv) {
    int sum = plain(argc) + outer(argc) + twice(argc) + rare(argc);
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void (*run)(void (*)(const char *, const char *)) = NULL;
        void *symbol = library ? dlsym(library, "library_run") : NULL;
        if (!symbol) return fprintf(stderr, "%s\n", dlerror()), 3;
        memcpy(&run, &symbol, sizeof run);
        run(NULL);
    }
    print_modules();
    return sum == 0;
}
