/* See nearest_word.h. */
#include "base/nearest_word.h"

#include <stddef.h>
#include <string.h>

/* Damerau-Levenshtein distance (adjacent swaps count one), of words short enough for the table. */
#define WORD_MAX 32
static unsigned word_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n >= WORD_MAX || m >= WORD_MAX) return WORD_MAX;
    unsigned d[WORD_MAX][WORD_MAX];
    for (size_t i = 0; i <= n; i++) d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= m; j++) d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *hd_nearest_word(const char *word, const char *const *candidate, unsigned count) {
    const char *nearest = NULL;
    size_t length = strlen(word);
    /* Short words are near to everything: allow one mistake in up to four letters, two above. */
    unsigned best = length <= 4 ? 2 : 3;
    for (unsigned i = 0; i < count; i++) {
        unsigned distance = word_distance(word, candidate[i]);
        if (length >= 3 && strncmp(word, candidate[i], length) == 0) distance = 1;
        if (distance < best) {
            best = distance;
            nearest = candidate[i];
        }
    }
    return nearest;
}
