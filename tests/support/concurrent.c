/* The oracle of `hunt --complete`, for tests/support/concurrent_compare.py.
 *
 * concurrent random SEED CLASSES [all]: prints a program with at most so many classes whose runs
 * all end by themselves, and that passes with its threads one by one; `all`: of all instructions.
 *
 * concurrent classes FILE: prints what all schedules of a program come to: its classes as
 * concurrent_run.c does, `assert LINE` for an assertion that fails, `late LINE` for one that fails
 * only behind another, `deadlock`; `counted`: classes, if what spins see in vain counts.
 */
#include "oracle/concurrent_random.h"
#include "oracle/concurrent_search.h"

enum { STATES = 300000, TEXT = 8192 };

static int make(uint64_t seed, size_t most, bool all) {
    static struct random_program random;
    static char text[TEXT];
    static struct concurrent program;
    for (unsigned number = 0;; number++) {
        struct concurrent_search search = {.limit = STATES};
        random_make(&random, seed * 1000 + number, all, text, sizeof text);
        unsigned wrong = concurrent_parse(text, &program);
        if (wrong != 0) {
            fprintf(stderr, "concurrent: line %u is wrong:\n%s", wrong, text);
            return 2;
        }
        if (!concurrent_passes(&program)) continue; /* no hunt begins with a run that fails */
        concurrent_search(&search, &program);
        size_t classes = search.classes.count;
        bool fits = !search.cut && !search.hangs && classes <= most, fails = search.deadlocks;
        for (unsigned line = 0; line < 256; line++) fails |= search.failed[line];
        if (search.misused || classes != search.values.count) {
            fprintf(stderr, "concurrent: %s:\n%s",
                    search.misused ? "a mutex is not held" : "values do not tell writes apart",
                    text);
            return 2;
        }
        concurrent_search_free(&search);
        if (!fits || (classes < 2 && number % 8 != 0)) continue;
        if (seed % 2 == 0 && !fails && number < 200) continue; /* every second can fail */
        printf("# seed %llu\n%s", (unsigned long long)seed, text);
        return 0;
    }
}

static int show(const char *name) {
    static char text[TEXT];
    static struct concurrent program;
    FILE *file = fopen(name, "r");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) == 0) {
        fprintf(stderr, "concurrent: cannot read %s\n", name);
        if (file != NULL) fclose(file);
        return 2;
    }
    fclose(file);
    unsigned wrong = concurrent_parse(text, &program);
    if (wrong != 0) {
        fprintf(stderr, "concurrent: %s:%u: not understood\n", name, wrong);
        return 2;
    }
    struct concurrent_search search = {.limit = 100 * (size_t)STATES, .out = stdout};
    struct concurrent_search late = {.limit = search.limit, .late = true};
    concurrent_search(&search, &program);
    struct concurrent_search rounds = {.limit = search.limit, .rounds = true};
    concurrent_search(&late, &program);
    concurrent_search(&rounds, &program);
    for (unsigned line = 0; line < 256; line++)
        if (search.failed[line])
            printf("assert %u\n", line);
        else if (late.failed[line])
            printf("late %u\n", line);
    if (search.deadlocks) printf("%s\n", search.hangs ? "hang" : "deadlock");
    printf("counted %zu\nstates %zu\n", rounds.classes.count, search.states.count);
    int status =
        search.cut || rounds.cut || search.misused || search.classes.count != search.values.count;
    if (status != 0)
        fprintf(stderr, "concurrent: %s: too large, or no program of its language\n", name);
    concurrent_search_free(&search);
    concurrent_search_free(&late);
    concurrent_search_free(&rounds);
    return 2 * status;
}

int main(int count, char **argument) {
    bool all = count == 5 && strcmp(argument[4], "all") == 0;
    if ((count == 4 || all) && strcmp(argument[1], "random") == 0)
        return make(strtoull(argument[2], NULL, 10), strtoul(argument[3], NULL, 10), all);
    if (count == 3 && strcmp(argument[1], "classes") == 0) return show(argument[2]);
    fprintf(stderr, "concurrent random SEED CLASSES [all], concurrent classes FILE\n");
    return 2;
}
