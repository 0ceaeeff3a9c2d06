/* Operands of the text format: see text.h. */
#include "trace/text.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* A decimal or 0x number that takes all of the text. */
static bool number(const char *text, size_t length, uint64_t *value) {
    if (length == 0) return false;
    unsigned base = 10;
    if (length > 2 && text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
        length -= 2;
    }
    uint64_t result = 0;
    bool overflow = false;
    for (size_t i = 0; i < length; i++) {
        int digit = hex_value(text[i]);
        if (digit < 0 || digit >= (int)base) return false;
        overflow |= __builtin_mul_overflow(result, base, &result);
        overflow |= __builtin_add_overflow(result, (uint64_t)digit, &result);
    }
    *value = overflow ? UINT64_MAX : result;
    return true;
}

/* The part behind the last `mark`, if it is a number. */
static bool suffix(const char *text, size_t *length, char mark, uint64_t *value) {
    size_t at = *length;
    while (at > 0 && text[at - 1] != mark) {
        if (hex_value(text[at - 1]) < 0 && text[at - 1] != 'x') return false;
        at--;
    }
    if (at < 2 || !number(text + at, *length - at, value)) return false;
    *length = at - 1;
    return true;
}

size_t hd_text_operand(const char *text, size_t length, uint64_t *offset, uint64_t *size,
                       bool *sized) {
    *offset = 0;
    *size = 1;
    *sized = suffix(text, &length, ':', size);
    suffix(text, &length, '+', offset);
    return length;
}

bool hd_text_hex_offset(const char *text, size_t length) {
    uint64_t value;
    suffix(text, &length, ':', &value);
    size_t name = length;
    return suffix(text, &name, '+', &value) && length - name > 2 && text[name + 2] == 'x';
}

size_t hd_text_valued(const char *text, size_t length, uint64_t *value, bool *valued) {
    *valued = suffix(text, &length, ':', value);
    return length;
}

static const char *const orders[] = {"relaxed", "consume", "acquire",
                                     "release", "acq_rel", "seq_cst"};
enum { ORDERS = sizeof orders / sizeof orders[0] };

const char *hd_text_order_name(unsigned order) { return order < ORDERS ? orders[order] : NULL; }

unsigned hd_text_order(const char *text, size_t length) {
    unsigned order = 0;
    while (order < ORDERS &&
           (strlen(orders[order]) != length || memcmp(orders[order], text, length) != 0))
        order++;
    return order;
}
