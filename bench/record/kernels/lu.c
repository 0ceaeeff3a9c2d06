/* LU factorisation without pivoting of a diagonally dominant matrix stored as
 * contiguous square blocks, the blocks dealt out to the threads in a
 * checkerboard, with a barrier between the three phases of each step. */
#include "harness.h"

#include <math.h>

enum { BLOCK = 16, BLOCK_CELLS = BLOCK * BLOCK };

static unsigned long n, blocks;
static double *cells;

static double *block_at(unsigned long row, unsigned long column) {
    return cells + (row * blocks + column) * BLOCK_CELLS;
}

static double *cell_at(unsigned long i, unsigned long j) {
    return block_at(i / BLOCK, j / BLOCK) + (i % BLOCK) * BLOCK + j % BLOCK;
}

static double input(unsigned long i, unsigned long j) {
    return i == j ? 2.0 * (double)n : bench_unit(i * n + j);
}

static const char *lu_setup(struct team *team) {
    n = team->size;
    if (n % BLOCK != 0 || n > 8192) return "the size must be a multiple of 16, at most 8192";
    blocks = n / BLOCK;
    cells = bench_alloc(n * n, sizeof *cells);
    return 0;
}

static bool owns(const struct team *team, unsigned self, unsigned long row, unsigned long column) {
    return (row + column) % team->threads == self;
}

static void factor_diagonal(double *d) {
    for (int k = 0; k < BLOCK; k++)
        for (int i = k + 1; i < BLOCK; i++) {
            double factor = d[i * BLOCK + k] /= d[k * BLOCK + k];
            for (int j = k + 1; j < BLOCK; j++) d[i * BLOCK + j] -= factor * d[k * BLOCK + j];
        }
}

/* right of the diagonal: L^-1 times the block */
static void solve_row_block(double *block, const double *d) {
    for (int k = 0; k < BLOCK; k++)
        for (int i = k + 1; i < BLOCK; i++) {
            double factor = d[i * BLOCK + k];
            for (int j = 0; j < BLOCK; j++) block[i * BLOCK + j] -= factor * block[k * BLOCK + j];
        }
}

/* below the diagonal: the block times U^-1 */
static void solve_column_block(double *block, const double *d) {
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++) {
            double factor = block[i * BLOCK + k] /= d[k * BLOCK + k];
            for (int j = k + 1; j < BLOCK; j++) block[i * BLOCK + j] -= factor * d[k * BLOCK + j];
        }
}

static void subtract_product(double *block, const double *left, const double *above) {
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++) {
            double factor = left[i * BLOCK + k];
            for (int j = 0; j < BLOCK; j++) block[i * BLOCK + j] -= factor * above[k * BLOCK + j];
        }
}

static void lu_work(struct team *team, unsigned self) {
    struct span rows = team_share(team, self, n);
    for (unsigned long i = rows.begin; i < rows.end; i++)
        for (unsigned long j = 0; j < n; j++) *cell_at(i, j) = input(i, j);
    team_wait(team);
    for (unsigned long k = 0; k < blocks; k++) {
        if (owns(team, self, k, k)) factor_diagonal(block_at(k, k));
        team_wait(team);
        for (unsigned long i = k + 1; i < blocks; i++) {
            if (owns(team, self, k, i)) solve_row_block(block_at(k, i), block_at(k, k));
            if (owns(team, self, i, k)) solve_column_block(block_at(i, k), block_at(k, k));
        }
        team_wait(team);
        for (unsigned long i = k + 1; i < blocks; i++)
            for (unsigned long j = k + 1; j < blocks; j++)
                if (owns(team, self, i, j))
                    subtract_product(block_at(i, j), block_at(i, k), block_at(k, j));
        team_wait(team);
    }
}

static bool lu_check(struct team *team, uint64_t *checksum) {
    (void)team;
    double *x = bench_alloc(2 * n, sizeof *x), *ux = x + n;
    for (unsigned long i = 0; i < n; i++) x[i] = bench_unit(n * n + i);
    for (unsigned long i = 0; i < n; i++)
        for (unsigned long j = i; j < n; j++) ux[i] += *cell_at(i, j) * x[j];
    bool right = true;
    for (unsigned long i = 0; i < n; i++) {
        double lux = ux[i], ax = 0;
        for (unsigned long j = 0; j < i; j++) lux += *cell_at(i, j) * ux[j];
        for (unsigned long j = 0; j < n; j++) ax += input(i, j) * x[j];
        right = right && fabs(lux - ax) < 1e-8 * (double)n;
    }
    *checksum = bench_sum_doubles(cells, n * n);
    return right;
}

const struct kernel kernel = {"lu", "rows and columns", lu_setup, lu_work, lu_check};
