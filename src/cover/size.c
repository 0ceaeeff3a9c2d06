/* See size.h. Logarithms decide what is small enough to be computed exactly. */
#include "cover/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXACT_LOG10 28.0 /* a factor of 2^32 above it still fits into 128 bits */

struct hd_size hd_size_of(uint64_t value) {
    return (struct hd_size){true, value, value == 0 ? -INFINITY : log10((double)value)};
}

struct hd_size hd_size_interleavings(const uint64_t *length, size_t count) {
    uint64_t sum = 0;
    long double ln = 0;
    for (size_t i = 0; i < count; i++) {
        sum += length[i];
        ln -= lgammal((long double)length[i] + 1);
    }
    ln += lgammal((long double)sum + 1);
    struct hd_size size = {false, 0, (double)(ln / logl(10))};
    if (size.log10 > EXACT_LOG10 || sum > UINT32_MAX) return size;
    /* The product of binomials: each step leaves an integer, since c is a product of whole
     * binomials times C(n, k) for k so far. */
    unsigned __int128 ways = 1;
    uint64_t placed = 0;
    for (size_t i = 0; i < count; i++) {
        /* C(placed + length, shorter of the two), so that no step is larger than the result */
        uint64_t n = placed + length[i], k = length[i] < placed ? length[i] : placed;
        for (uint64_t step = 1; step <= k; step++) ways = ways * (n - k + step) / step;
        placed = n;
    }
    size.exact = true;
    size.value = ways;
    return size;
}

struct hd_size hd_size_add(struct hd_size a, struct hd_size b) {
    double high = a.log10 > b.log10 ? a.log10 : b.log10;
    double low = a.log10 > b.log10 ? b.log10 : a.log10;
    struct hd_size sum = {a.exact && b.exact && high < EXACT_LOG10, a.value + b.value, high};
    if (low > -INFINITY) sum.log10 = high + log10(1 + pow(10, low - high));
    return sum;
}

struct hd_size hd_size_times(struct hd_size a, uint64_t times) {
    if (times == 0) return hd_size_of(0);
    struct hd_size product = {false, 0, a.log10 + log10((double)times)};
    product.exact = a.exact && product.log10 < EXACT_LOG10;
    if (product.exact) product.value = a.value * times;
    return product;
}

void hd_size_text(struct hd_size size, char text[HD_SIZE_TEXT]) {
    if (!size.exact || size.log10 >= 20) {
        double whole = floor(size.log10), mantissa = pow(10, size.log10 - whole);
        if (mantissa >= 9.995) {
            mantissa = 1;
            whole++;
        }
        snprintf(text, HD_SIZE_TEXT, "%.2f * 10^%.0f", mantissa, whole);
        return;
    }
    char digits[48];
    size_t used = 0;
    unsigned __int128 rest = size.value;
    do {
        digits[used++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    for (size_t i = 0; i < used; i++) text[i] = digits[used - 1 - i];
    text[used] = '\0';
}
