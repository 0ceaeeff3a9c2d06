/* Complex FFT of m*m points by the six-step method: the points are a square
 * matrix, each thread transforms whole rows in its cache, and the threads meet
 * only at the transposes. Forward and inverse; checked against the input. */
#include "harness.h"

#include <math.h>

typedef struct {
    double re, im;
} complex_t;

enum { TILE = 16 };

static unsigned long m;
static complex_t *points, *other;
static complex_t *roots; /* exp(-2 pi i k / m) */

static complex_t times(complex_t a, complex_t b) {
    return (complex_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static complex_t unit_root(double turns) {
    return (complex_t){cos(2 * M_PI * turns), sin(2 * M_PI * turns)};
}

static complex_t input(unsigned long i) {
    return (complex_t){bench_unit(2 * i), bench_unit(2 * i + 1)};
}

static const char *fft_setup(struct team *team) {
    m = team->size;
    if ((m & (m - 1)) != 0 || m < TILE || m > 16384)
        return "the size must be a power of two from 16 to 16384";
    points = bench_alloc(m * m, sizeof *points);
    other = bench_alloc(m * m, sizeof *other);
    roots = bench_alloc(m, sizeof *roots);
    for (unsigned long k = 0; k < m; k++) roots[k] = unit_root(-(double)k / (double)m);
    return 0;
}

static void bit_reverse(complex_t *row) {
    for (unsigned long i = 1, j = 0; i < m; i++) {
        unsigned long bit = m >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            complex_t held = row[i];
            row[i] = row[j];
            row[j] = held;
        }
    }
}

static void transform_row(complex_t *row, bool inverse) {
    bit_reverse(row);
    for (unsigned long half = 1; half < m; half *= 2) {
        unsigned long stride = m / (2 * half);
        for (unsigned long k = 0; k < half; k++) {
            complex_t root = roots[k * stride];
            if (inverse) root.im = -root.im;
            for (unsigned long i = k; i < m; i += 2 * half) {
                complex_t low = row[i], high = times(row[i + half], root);
                row[i] = (complex_t){low.re + high.re, low.im + high.im};
                row[i + half] = (complex_t){low.re - high.re, low.im - high.im};
            }
        }
    }
}

static void transpose(complex_t *to, const complex_t *from, struct span rows) {
    for (unsigned long i0 = rows.begin; i0 < rows.end; i0 += TILE)
        for (unsigned long j0 = 0; j0 < m; j0 += TILE)
            for (unsigned long i = i0; i < i0 + TILE && i < rows.end; i++)
                for (unsigned long j = j0; j < j0 + TILE; j++) to[i * m + j] = from[j * m + i];
}

static void twiddle_row(complex_t *row, unsigned long index, bool inverse) {
    complex_t step = unit_root((inverse ? 1.0 : -1.0) * (double)index / (double)(m * m));
    complex_t factor = {1, 0};
    for (unsigned long j = 0; j < m; j++) {
        row[j] = times(row[j], factor);
        factor = times(factor, step);
    }
}

static void transform(struct team *team, struct span rows, bool inverse) {
    transpose(other, points, rows);
    team_wait(team);
    for (unsigned long i = rows.begin; i < rows.end; i++) {
        transform_row(other + i * m, inverse);
        twiddle_row(other + i * m, i, inverse);
    }
    team_wait(team);
    transpose(points, other, rows);
    team_wait(team);
    for (unsigned long i = rows.begin; i < rows.end; i++) transform_row(points + i * m, inverse);
    team_wait(team);
    transpose(other, points, rows);
    team_wait(team);
    for (unsigned long i = rows.begin * m; i < rows.end * m; i++) points[i] = other[i];
    team_wait(team);
}

static void fft_work(struct team *team, unsigned self) {
    struct span rows = team_share(team, self, m);
    for (unsigned long i = rows.begin * m; i < rows.end * m; i++) points[i] = input(i);
    team_wait(team);
    transform(team, rows, false);
    transform(team, rows, true);
}

static bool fft_check(struct team *team, uint64_t *checksum) {
    (void)team;
    double scale = 1.0 / (double)(m * m), worst = 0;
    for (unsigned long i = 0; i < m * m; i++) {
        complex_t expected = input(i);
        worst = fmax(worst, fabs(points[i].re * scale - expected.re));
        worst = fmax(worst, fabs(points[i].im * scale - expected.im));
    }
    *checksum = bench_sum_doubles(&points[0].re, 2 * m * m);
    return worst < 1e-9;
}

const struct kernel kernel = {"fft", "m, for m*m points", fft_setup, fft_work, fft_check};
