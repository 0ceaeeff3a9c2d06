/* Dense matrix product, tiled so that a panel of B stays in the cache while a
 * thread's rows of C pass over it. Checked by Freivalds' method: C x = A (B x). */
#include "harness.h"

#include <math.h>

enum { TILE = 64 };

static unsigned long n;
static double *a, *b, *c;

static const char *matmul_setup(struct team *team) {
    n = team->size;
    if (n > 8192) return "the size may be at most 8192";
    a = bench_alloc(n * n, sizeof *a);
    b = bench_alloc(n * n, sizeof *b);
    c = bench_alloc(n * n, sizeof *c);
    return 0;
}

static unsigned long at_most(unsigned long value, unsigned long limit) {
    return value < limit ? value : limit;
}

static void multiply_tile(unsigned long i, unsigned long k0, unsigned long j0) {
    unsigned long k1 = at_most(k0 + TILE, n), j1 = at_most(j0 + TILE, n);
    double *row = c + i * n;
    for (unsigned long k = k0; k < k1; k++) {
        double factor = a[i * n + k];
        const double *from = b + k * n;
        for (unsigned long j = j0; j < j1; j++) row[j] += factor * from[j];
    }
}

static void matmul_work(struct team *team, unsigned self) {
    struct span rows = team_share(team, self, n);
    for (unsigned long i = rows.begin * n; i < rows.end * n; i++) {
        a[i] = bench_unit(i);
        b[i] = bench_unit(n * n + i);
    }
    team_wait(team);
    for (unsigned long k0 = 0; k0 < n; k0 += TILE)
        for (unsigned long j0 = 0; j0 < n; j0 += TILE)
            for (unsigned long i = rows.begin; i < rows.end; i++) multiply_tile(i, k0, j0);
}

static void times_vector(double *out, const double *matrix, const double *vector) {
    for (unsigned long i = 0; i < n; i++) {
        double sum = 0;
        for (unsigned long j = 0; j < n; j++) sum += matrix[i * n + j] * vector[j];
        out[i] = sum;
    }
}

static bool matmul_check(struct team *team, uint64_t *checksum) {
    (void)team;
    double *x = bench_alloc(4 * n, sizeof *x);
    double *bx = x + n, *abx = x + 2 * n, *cx = x + 3 * n;
    for (unsigned long i = 0; i < n; i++) x[i] = bench_unit(2 * n * n + i);
    times_vector(bx, b, x);
    times_vector(abx, a, bx);
    times_vector(cx, c, x);
    bool right = true;
    for (unsigned long i = 0; i < n; i++) right = right && fabs(abx[i] - cx[i]) < 1e-9 * (double)n;
    *checksum = bench_sum_doubles(c, n * n);
    return right;
}

const struct kernel kernel = {"matmul", "rows and columns", matmul_setup, matmul_work,
                              matmul_check};
