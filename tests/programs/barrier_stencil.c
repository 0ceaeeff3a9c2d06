/* A stencil over a ring of cells, a thread a cell, a barrier before each sweep. The buggy version
 * works in place and guards the cells with a lock: no race, but whether a cell is computed from its
 * neighbour's old or new value is left to chance. Repaired by two buffers: each sweep reads what
 * the barrier has closed and writes what nobody reads. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { CELLS = 3, SWEEPS = 2 };

#ifdef FIXED
static int cells[2][CELLS] = {{1, 10, 100}};
#else
static int cells[CELLS] = {1, 10, 100};
static pthread_mutex_t cells_lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static pthread_barrier_t sweep_begins;

static void sweep_cell(int sweep, int self) {
    int left = (self + CELLS - 1) % CELLS, right = (self + 1) % CELLS;
#ifdef FIXED
    int sum = cells[sweep % 2][left] + cells[sweep % 2][right];
    cells[(sweep + 1) % 2][self] = sum;
#else
    (void)sweep;
    pthread_mutex_lock(&cells_lock);
    int sum = cells[left] + cells[right];
    pthread_mutex_unlock(&cells_lock);
    usleep(8000); /* usually long enough for the neighbours to have read */
    pthread_mutex_lock(&cells_lock);
    cells[self] = sum;
    pthread_mutex_unlock(&cells_lock);
#endif
}

static void *run_sweeps(void *argument) {
    int self = *(int *)argument;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        pthread_barrier_wait(&sweep_begins);
        sweep_cell(sweep, self);
    }
    return NULL;
}

int main(void) {
    static int numbers[CELLS] = {0, 1, 2};
    pthread_t threads[CELLS];
    pthread_barrier_init(&sweep_begins, NULL, CELLS);
    for (int i = 0; i < CELLS; i++) pthread_create(&threads[i], NULL, run_sweeps, &numbers[i]);
    for (int i = 0; i < CELLS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&sweep_begins);
#ifdef FIXED
    int *final = cells[SWEEPS % 2];
#else
    int *final = cells;
#endif
    printf("cells %d %d %d\n", final[0], final[1], final[2]);
    return final[0] == 112 && final[1] == 121 && final[2] == 211 ? 0 : 1;
}
