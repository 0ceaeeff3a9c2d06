/* Heat on a square plate, from one grid into another and back: each thread has a band of rows, and
 * all wait for each other after every step. */
#include "harness.h"

enum { STEPS = 24 };

static unsigned long n; /* rows and columns, borders included */
static double *grids[2];

static const char *stencil_setup(struct team *team) {
    n = team->size;
    if (n < 3) return "the grid has no inside";
    for (int i = 0; i < 2; i++) grids[i] = bench_alloc(n * n, sizeof *grids[i]);
    return 0;
}

static void step_rows(const double *from, double *to, struct span rows) {
    for (unsigned long y = rows.begin + 1; y < rows.end + 1; y++)
        for (unsigned long x = 1; x < n - 1; x++) {
            const double *at = from + y * n + x;
            to[y * n + x] = 0.5 * at[0] + 0.125 * (at[-1] + at[1] + at[-(long)n] + at[n]);
        }
}

static void stencil_work(struct team *team, unsigned self) {
    struct span rows = team_share(team, self, n - 2), fill = team_share(team, self, n);
    for (unsigned long i = fill.begin * n; i < fill.end * n; i++)
        grids[0][i] = grids[1][i] = bench_unit(i);
    team_wait(team);
    for (int step = 0; step < STEPS; step++) {
        step_rows(grids[step & 1], grids[~step & 1], rows);
        team_wait(team);
    }
}

static bool stencil_check(struct team *team, uint64_t *checksum) {
    (void)team;
    bool right = true;
    for (unsigned long i = 0; i < n * n; i++)
        right = right && grids[0][i] >= -1.0 && grids[0][i] < 1.0;
    *checksum = bench_sum_doubles(grids[0], n * n);
    return right;
}

const struct kernel kernel = {"stencil", "rows of the grid", stencil_setup, stencil_work,
                              stencil_check};
