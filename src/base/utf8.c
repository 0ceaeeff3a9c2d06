/* See utf8.h. */
#include "base/utf8.h"

size_t hd_utf8_length(const char *text, uint32_t *code) {
    const unsigned char *byte = (const unsigned char *)text;
    if (byte[0] == 0) return 0;
    size_t length = byte[0] < 0x80 ? 1 : byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    uint32_t value = length == 1 ? byte[0] : byte[0] & (0xffu >> (length + 1));
    if (length > 1 && (byte[0] < 0xc2 || byte[0] > 0xf4)) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (byte[i] & 0x3f);
    }
    /* written longer than need be, halves of pairs of UTF-16, beyond the last character */
    if ((length == 3 && value < 0x800) || (length == 4 && value < 0x10000) ||
        (value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
        return 0;
    if (code != NULL) *code = value;
    return length;
}
