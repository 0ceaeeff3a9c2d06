/* Lifts that look for calls (von Praun and Gross 2003; ETH's elevator): a free lift goes over the
 * floors from below and takes the first call that it can claim. Each look and each claim is a
 * critical section of its own, so when it takes a call, a lower floor that it has passed may have
 * one. Four kinds of sections, each of which may be followed by each: sixteen violations. What the
 * lift then takes on board is right: a call that was claimed is nobody else's, and people who come
 * meanwhile go along. Repaired by one section that goes over the floors. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { FLOORS = 3, LIFTS = 2, ROUNDS = 2, NOWHERE = -1 };

struct floor {
    int up_people, down_people; /* who wait */
    int up_claimed, down_claimed;
};

struct controls {
    pthread_mutex_t lock;
    struct floor floor[FLOORS];
    int display; /* the floor that was looked at last, on a board in the hall */
};

struct lift {
    int number, carried;
};

static struct controls controls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void push_up(struct controls *c, int floor) {
    pthread_mutex_lock(&c->lock);
    c->floor[floor].up_people++;
    pthread_mutex_unlock(&c->lock);
}

static void push_down(struct controls *c, int floor) {
    pthread_mutex_lock(&c->lock);
    c->floor[floor].down_people++;
    pthread_mutex_unlock(&c->lock);
}

#ifdef FIXED
static int serve_lowest(struct controls *c) {
    int people = 0;
    pthread_mutex_lock(&c->lock);
    for (int floor = 0; people == 0 && floor < FLOORS; floor++) {
        c->display = floor;
        people = c->floor[floor].up_people;
        if (people > 0) {
            c->floor[floor].up_people = 0;
        } else {
            people = c->floor[floor].down_people;
            c->floor[floor].down_people = 0;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return people;
}

static void *run_lift(void *argument) {
    struct lift *lift = argument;
    usleep((useconds_t)lift->number * 3000);
    for (int i = 0; i < ROUNDS; i++) lift->carried += serve_lowest(&controls);
    return NULL;
}
#else
static int check_up(struct controls *c, int floor) {
    pthread_mutex_lock(&c->lock);
    c->display = floor;
    int call = c->floor[floor].up_people > 0 && !c->floor[floor].up_claimed;
    pthread_mutex_unlock(&c->lock);
    return call;
}

static int claim_up(struct controls *c, int floor) {
    int claimed = 0;
    pthread_mutex_lock(&c->lock);
    c->display = floor;
    if (!c->floor[floor].up_claimed) {
        c->floor[floor].up_claimed = 1;
        claimed = 1;
    }
    pthread_mutex_unlock(&c->lock);
    return claimed;
}

static int check_down(struct controls *c, int floor) {
    pthread_mutex_lock(&c->lock);
    c->display = floor;
    int call = c->floor[floor].down_people > 0 && !c->floor[floor].down_claimed;
    pthread_mutex_unlock(&c->lock);
    return call;
}

static int claim_down(struct controls *c, int floor) {
    int claimed = 0;
    pthread_mutex_lock(&c->lock);
    c->display = floor;
    if (!c->floor[floor].down_claimed) {
        c->floor[floor].down_claimed = 1;
        claimed = 1;
    }
    pthread_mutex_unlock(&c->lock);
    return claimed;
}

static int take_up_people(struct controls *c, int floor) {
    pthread_mutex_lock(&c->lock);
    int people = c->floor[floor].up_people;
    c->floor[floor].up_people = 0;
    c->floor[floor].up_claimed = 0;
    pthread_mutex_unlock(&c->lock);
    return people;
}

static int take_down_people(struct controls *c, int floor) {
    pthread_mutex_lock(&c->lock);
    int people = c->floor[floor].down_people;
    c->floor[floor].down_people = 0;
    c->floor[floor].down_claimed = 0;
    pthread_mutex_unlock(&c->lock);
    return people;
}

static int try_up(struct controls *c, int floor) {
    if (!check_up(c, floor)) return 0;
    return claim_up(c, floor);
}

static int try_down(struct controls *c, int floor) {
    if (!check_down(c, floor)) return 0;
    return claim_down(c, floor);
}

static void look_for_call(struct lift *lift) {
    int up = NOWHERE, down = NOWHERE;
    /* violation: stale-value check_up check_up
     * violation: stale-value check_up claim_up
     * violation: stale-value check_up check_down
     * violation: stale-value check_up claim_down
     * violation: stale-value claim_up check_up
     * violation: stale-value claim_up claim_up
     * violation: stale-value claim_up check_down
     * violation: stale-value claim_up claim_down
     * violation: stale-value check_down check_up
     * violation: stale-value check_down claim_up
     * violation: stale-value check_down check_down
     * violation: stale-value check_down claim_down
     * violation: stale-value claim_down check_up
     * violation: stale-value claim_down claim_up
     * violation: stale-value claim_down check_down
     * violation: stale-value claim_down claim_down */
    for (int floor = 0; up == NOWHERE && down == NOWHERE && floor < FLOORS; floor++) {
        if (try_up(&controls, floor))
            up = floor;
        else if (try_down(&controls, floor))
            down = floor;
    }
    if (up != NOWHERE) lift->carried += take_up_people(&controls, up);
    if (down != NOWHERE) lift->carried += take_down_people(&controls, down);
}

static void *run_lift(void *argument) {
    struct lift *lift = argument;
    usleep((useconds_t)lift->number * 3000);
    for (int i = 0; i < ROUNDS; i++) look_for_call(lift);
    return NULL;
}
#endif

static void *go_up(void *unused) {
    (void)unused;
    push_up(&controls, 1);
    usleep(4500); /* a lift has passed the lowest floor */
    push_up(&controls, 0);
    return NULL;
}

static void *go_down(void *unused) {
    (void)unused;
    push_down(&controls, 2);
    return NULL;
}

int main(void) {
    static struct lift lifts[LIFTS] = {{.number = 1}, {.number = 2}};
    pthread_t threads[LIFTS], up, down;
    int carried = 0, waiting = 0;
    pthread_create(&up, NULL, go_up, NULL);
    pthread_create(&down, NULL, go_down, NULL);
    for (int i = 0; i < LIFTS; i++) pthread_create(&threads[i], NULL, run_lift, &lifts[i]);
    pthread_join(up, NULL);
    pthread_join(down, NULL);
    for (int i = 0; i < LIFTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < LIFTS; i++) carried += lifts[i].carried;
    for (int i = 0; i < FLOORS; i++)
        waiting += controls.floor[i].up_people + controls.floor[i].down_people;
    printf("%d people\n", carried + waiting);
    return carried + waiting == 3 ? 0 : 1;
}
