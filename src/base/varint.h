/* Numbers in as few bytes as they need (LEB128: seven bits a byte, low ones first), and signed ones
 * folded so that small magnitudes stay small. */
#ifndef HEDDLE_BASE_VARINT_H
#define HEDDLE_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define HD_VARINT_BYTES 10 /* the most one number takes */

static inline uint64_t hd_zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}
static inline int64_t hd_unzigzag(uint64_t folded) {
    return (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
}

/* Writes into at least HD_VARINT_BYTES bytes; returns how many it took. */
static inline size_t hd_varint_put(uint8_t *out, uint64_t value) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

/* Reads from at most `available` bytes; returns how many it took, 0 if the number is cut short or
 * does not fit. */
static inline size_t hd_varint_get(const uint8_t *in, size_t available, uint64_t *value) {
    uint64_t result = 0;
    for (size_t n = 0; n < available && n < HD_VARINT_BYTES; n++) {
        uint64_t bits = in[n] & 0x7f;
        if (n == HD_VARINT_BYTES - 1 && bits > 1) return 0;
        result |= bits << 7 * n;
        if ((in[n] & 0x80) == 0) {
            *value = result;
            return n + 1;
        }
    }
    return 0;
}

#endif
