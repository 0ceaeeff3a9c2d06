/* A garbage collector and its request flag ("Moz-js2" of the dissertation's Table 5.4): a thread
 * that drops an atom counts down `live_atoms` and sets `gc_poke`. The collector takes the number
 * first and clears the flag last. An atom that is dropped in between is not collected, and the
 * request for it is gone. No race. Repaired by one lock for both. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct runtime {
    int gc_poke;
    int live_atoms;
    pthread_mutex_t poke_lock, atoms_lock;
};

static struct runtime rt = {.poke_lock = PTHREAD_MUTEX_INITIALIZER,
                            .atoms_lock = PTHREAD_MUTEX_INITIALIZER};
static int swept_to;

static void lock_atoms(void) { pthread_mutex_lock(&rt.atoms_lock); }
static void unlock_atoms(void) { pthread_mutex_unlock(&rt.atoms_lock); }

/* With one lock for both, it is held already. */
static void lock_poke(void) {
#ifndef FIXED
    unlock_atoms();
    pthread_mutex_lock(&rt.poke_lock);
#endif
}
static void unlock_poke(void) {
#ifdef FIXED
    unlock_atoms();
#else
    pthread_mutex_unlock(&rt.poke_lock);
#endif
}

static void start_runtime(void) {
    rt.live_atoms = 3;
    rt.gc_poke = 1;
}

static void drop_atom(void) {
    lock_atoms();
    rt.live_atoms--;
    lock_poke();
    rt.gc_poke = 1;
    unlock_poke();
}

static void collect(void) {
    lock_atoms();
    swept_to = rt.live_atoms;
    lock_poke();
    rt.gc_poke = 0;
    unlock_poke();
}

/* When the threads are gone. */
static void finish_runtime(void) {
    if (rt.gc_poke) swept_to = rt.live_atoms;
    rt.gc_poke = 0;
}

static int left_over(void) { return rt.gc_poke ? -1 : swept_to - rt.live_atoms; }

static void *collector(void *unused) {
    (void)unused;
    collect();
    return NULL;
}

static void *mutator(void *unused) {
    (void)unused;
    usleep(5000);
    drop_atom();
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    start_runtime();
    pthread_create(&threads[0], NULL, collector, NULL);
    pthread_create(&threads[1], NULL, mutator, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    finish_runtime();
    printf("%d atoms not collected\n", left_over());
    return left_over() == 0 ? 0 : 1;
}
