/* Gravitation among n bodies, all pairs, positions as separate columns; a
 * barrier between computing accelerations and moving. Momentum must stay. */
#include "harness.h"

#include <math.h>

enum { STEPS = 4, AXES = 3 };

static const double TIME_STEP = 1e-3, SOFTENING = 1e-2;
static unsigned long n;
static double *position[AXES], *velocity[AXES], *mass;

static const char *nbody_setup(struct team *team) {
    n = team->size;
    for (int axis = 0; axis < AXES; axis++) {
        position[axis] = bench_alloc(n, sizeof(double));
        velocity[axis] = bench_alloc(n, sizeof(double));
    }
    mass = bench_alloc(n, sizeof(double));
    return 0;
}

static double first_velocity(unsigned long i, int axis) {
    return bench_unit(n * (AXES + (unsigned)axis) + i);
}

static double first_mass(unsigned long i) { return 1.5 + bench_unit(n * 2 * AXES + i); }

static void accelerate(unsigned long i) {
    double x = position[0][i], y = position[1][i], z = position[2][i];
    double ax = 0, ay = 0, az = 0;
    for (unsigned long j = 0; j < n; j++) {
        double dx = position[0][j] - x, dy = position[1][j] - y, dz = position[2][j] - z;
        double square = dx * dx + dy * dy + dz * dz + SOFTENING;
        double pull = mass[j] / (square * sqrt(square));
        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    velocity[0][i] += TIME_STEP * ax;
    velocity[1][i] += TIME_STEP * ay;
    velocity[2][i] += TIME_STEP * az;
}

static void nbody_work(struct team *team, unsigned self) {
    struct span share = team_share(team, self, n);
    for (unsigned long i = share.begin; i < share.end; i++) {
        for (int axis = 0; axis < AXES; axis++) {
            position[axis][i] = bench_unit(n * (unsigned)axis + i);
            velocity[axis][i] = first_velocity(i, axis);
        }
        mass[i] = first_mass(i);
    }
    team_wait(team);
    for (int step = 0; step < STEPS; step++) {
        for (unsigned long i = share.begin; i < share.end; i++) accelerate(i);
        team_wait(team);
        for (int axis = 0; axis < AXES; axis++)
            for (unsigned long i = share.begin; i < share.end; i++)
                position[axis][i] += TIME_STEP * velocity[axis][i];
        team_wait(team);
    }
}

static bool nbody_check(struct team *team, uint64_t *checksum) {
    (void)team;
    bool right = true;
    for (int axis = 0; axis < AXES; axis++) {
        double before = 0, after = 0;
        for (unsigned long i = 0; i < n; i++) {
            before += first_mass(i) * first_velocity(i, axis);
            after += mass[i] * velocity[axis][i];
        }
        right = right && fabs(before - after) < 1e-7 * (double)n;
        *checksum = *checksum * 31 + bench_sum_doubles(position[axis], n);
    }
    return right;
}

const struct kernel kernel = {"nbody", "bodies", nbody_setup, nbody_work, nbody_check};
