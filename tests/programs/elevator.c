/* Two lifts and a board with three calls: a lift that is free takes the first open call, under the
 * board's lock. No race, but which lift serves which floor depends on the schedule, and the program
 * counts on taking turns. Repaired by giving each lift its own floors. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { LIFTS = 2, FLOORS = 3, NO_CALL = -1 };

static int calls[FLOORS] = {1, 1, 1};
static int served_by[FLOORS];
#ifndef FIXED
static pthread_mutex_t board_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static int take_call(int lift) {
    int taken = NO_CALL;
#ifdef FIXED
    for (int floor = lift; floor < FLOORS && taken == NO_CALL; floor += LIFTS) {
        if (calls[floor]) taken = floor;
    }
    if (taken != NO_CALL) calls[taken] = 0;
#else
    (void)lift;
    pthread_mutex_lock(&board_lock);
    for (int floor = 0; floor < FLOORS && taken == NO_CALL; floor++) {
        if (calls[floor]) taken = floor;
    }
    if (taken != NO_CALL) calls[taken] = 0;
    pthread_mutex_unlock(&board_lock);
#endif
    return taken;
}

static void *run_lift(void *argument) {
    int lift = *(int *)argument, floor;
    usleep((useconds_t)lift * 7000);
    while ((floor = take_call(lift)) != NO_CALL) {
        usleep(14000); /* going there */
        served_by[floor] = lift;
    }
    return NULL;
}

int main(void) {
    static int numbers[LIFTS] = {0, 1};
    pthread_t threads[LIFTS];
    for (int i = 0; i < LIFTS; i++) pthread_create(&threads[i], NULL, run_lift, &numbers[i]);
    for (int i = 0; i < LIFTS; i++) pthread_join(threads[i], NULL);
    printf("served by %d %d %d\n", served_by[0], served_by[1], served_by[2]);
    return served_by[0] == 0 && served_by[1] == 1 && served_by[2] == 0 ? 0 : 1;
}
