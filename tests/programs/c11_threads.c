/* C11 threads: workers report under a mtx_t and signal a cnd_t, but one of them raises the error
 * count before taking the lock. Repaired by raising it inside. */
#include <stdio.h>
#include <threads.h>

enum { WORKERS = 3 };

static mtx_t report_lock;
static cnd_t reported;
static int finished, errors;

static int work(void *argument) {
    int self = *(int *)argument;
#ifndef FIXED
    if (self > 0) errors++;
#endif
    mtx_lock(&report_lock);
#ifdef FIXED
    if (self > 0) errors++;
#endif
    finished++;
    cnd_signal(&reported);
    mtx_unlock(&report_lock);
    return self;
}

int main(void) {
    static int numbers[WORKERS] = {0, 1, 2};
    thrd_t threads[WORKERS];
    int sum = 0;
    if (mtx_init(&report_lock, mtx_plain) != thrd_success || cnd_init(&reported) != thrd_success)
        return 2;
    for (int i = 0; i < WORKERS; i++) thrd_create(&threads[i], work, &numbers[i]);
    mtx_lock(&report_lock);
    while (finished < WORKERS) cnd_wait(&reported, &report_lock);
    mtx_unlock(&report_lock);
    for (int i = 0; i < WORKERS; i++) {
        int result;
        thrd_join(threads[i], &result);
        sum += result;
    }
    cnd_destroy(&reported);
    mtx_destroy(&report_lock);
    printf("errors %d, results %d\n", errors, sum);
    return errors == 2 && sum == 3 ? 0 : 1;
}
