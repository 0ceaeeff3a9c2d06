/* The travelling salesman by branch and bound (von Praun and Gross 2003): workers take a partial
 * tour from a shared stack in one critical section, and put longer ones back or report a whole one
 * in others. That is right: a tour that was taken is nobody else's, and a report compares with the
 * best again. The bound is read without the lock, atomically. The twin gives each worker its own
 * first city, and one section for its best tour. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CITIES = 4, WORKERS = 2, ROOM = 64, LONGEST = 1000 };

static const int distance[CITIES][CITIES] = {
    {0, 3, 7, 9}, {3, 0, 4, 8}, {7, 4, 0, 2}, {9, 8, 2, 0}};

struct tour {
    int city[CITIES], cities, length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct tour best;
    atomic_int bound;
    struct tour open[ROOM];
    int opens;
} problem = {.best = {.length = LONGEST}, .bound = LONGEST};

static int visits(const struct tour *tour, int city) {
    for (int i = 0; i < tour->cities; i++)
        if (tour->city[i] == city) return 1;
    return 0;
}

static struct tour extended(const struct tour *tour, int city) {
    struct tour longer = *tour;
    longer.length += distance[tour->city[tour->cities - 1]][city];
    longer.city[longer.cities++] = city;
    return longer;
}

#ifdef FIXED
static void search(const struct tour *tour, struct tour *best) {
    if (tour->cities == CITIES) {
        int whole = tour->length + distance[tour->city[CITIES - 1]][0];
        if (whole < best->length) {
            *best = *tour;
            best->length = whole;
        }
        return;
    }
    for (int city = 1; city < CITIES; city++) {
        if (visits(tour, city)) continue;
        struct tour longer = extended(tour, city);
        search(&longer, best);
    }
}

static void merge(const struct tour *best) {
    pthread_mutex_lock(&lock);
    if (best->length < problem.best.length) problem.best = *best;
    pthread_mutex_unlock(&lock);
}

static void *work(void *argument) {
    const int *worker = argument;
    struct tour best = {.length = LONGEST}, start = {.city = {0}, .cities = 1};
    for (int city = 1 + *worker; city < CITIES; city += WORKERS) {
        struct tour tour = extended(&start, city);
        search(&tour, &best);
    }
    merge(&best);
    return NULL;
}
#else
static int take_tour(struct tour *tour) {
    pthread_mutex_lock(&lock);
    int any = problem.opens > 0;
    if (any) *tour = problem.open[--problem.opens];
    pthread_mutex_unlock(&lock);
    return any;
}

static void put_tour(const struct tour *tour) {
    pthread_mutex_lock(&lock);
    problem.open[problem.opens++] = *tour;
    pthread_mutex_unlock(&lock);
}

static void report_tour(const struct tour *tour) {
    int whole = tour->length + distance[tour->city[CITIES - 1]][0];
    pthread_mutex_lock(&lock);
    if (whole < problem.best.length) {
        problem.best = *tour;
        problem.best.length = whole;
        problem.bound = whole;
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    (void)unused;
    struct tour tour;
    while (take_tour(&tour)) {
        if (tour.length >= problem.bound) continue;
        if (tour.cities == CITIES) {
            report_tour(&tour);
            continue;
        }
        for (int city = 1; city < CITIES; city++) {
            if (visits(&tour, city)) continue;
            struct tour longer = extended(&tour, city);
            put_tour(&longer);
        }
    }
    return NULL;
}
#endif

int main(void) {
    static int numbers[WORKERS] = {0, 1};
    pthread_t threads[WORKERS];
    problem.open[problem.opens++] = (struct tour){.city = {0}, .cities = 1};
    for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    printf("length %d\n", problem.best.length);
    return problem.best.length == 18 ? 0 : 1;
}
