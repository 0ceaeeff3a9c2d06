/* OpenMP that is correct, as far as argv[1] says: right, or race (one update without protection).
 */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int a[400], total, entered, named, locked, once, sections_done, ordered_sum, from_tasks[20];
static int unprotected, copied, nested;
static omp_lock_t lock;
static omp_nest_lock_t nest;

static void tasks(void) {
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int i = 0; i < 20; i++) {
            a[i] = i;
#pragma omp task firstprivate(i)
            from_tasks[i] = a[i] + 1;
        }
#pragma omp taskwait
        for (int i = 0; i < 20; i++) copied += from_tasks[i];
    }
}

static void regions(void) {
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 400; i++) a[i] = i;
#pragma omp parallel for num_threads(3) schedule(dynamic, 10) reduction(+ : total)
    for (int i = 0; i < 400; i++) total += a[399 - i];
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        entered++;
#pragma omp critical(by_name)
        named++;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
#pragma omp barrier
#pragma omp single
        once = entered + named;
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < 12; i++) {
#pragma omp ordered
            ordered_sum = ordered_sum * 2 % 1000 + i;
        }
#pragma omp sections
        {
#pragma omp section
            sections_done += once;
#pragma omp section
            a[0] = once;
        }
#pragma omp master
        sections_done += a[0];
    }
}

int main(int argc, char **argv) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    regions();
    tasks();
    if (argc > 1 && strcmp(argv[1], "race") == 0) {
#pragma omp parallel num_threads(3)
        unprotected++;
    }
    printf("%d %d %d %d %d %d\n", total, once, locked + nested, sections_done, ordered_sum, copied);
    return 0;
}
