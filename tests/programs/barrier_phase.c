/* Missing barrier between two phases: after the barrier each thread reads its neighbour's cell and
 * then overwrites its own for the next phase, which the other neighbour may not have read yet.
 * Repaired by a second barrier between reading and writing. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { CELLS = 3 };

static int cells[CELLS];
static pthread_barrier_t phase;

static void *relax(void *argument) {
    int self = *(int *)argument;
    cells[self] = self + 1;
    pthread_barrier_wait(&phase);
    int neighbour = cells[(self + 1) % CELLS];
#ifdef FIXED
    pthread_barrier_wait(&phase);
#else
    usleep(5000); /* computing: usually long enough for the others to have read */
#endif
    cells[self] = 10 * neighbour;
    return NULL;
}

int main(void) {
    static int numbers[CELLS] = {0, 1, 2};
    pthread_t threads[CELLS];
    pthread_barrier_init(&phase, NULL, CELLS);
    for (int i = 0; i < CELLS; i++) pthread_create(&threads[i], NULL, relax, &numbers[i]);
    for (int i = 0; i < CELLS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&phase);
    printf("cells %d %d %d\n", cells[0], cells[1], cells[2]);
    return cells[0] == 20 && cells[1] == 30 && cells[2] == 10 ? 0 : 1;
}
