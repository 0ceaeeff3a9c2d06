/* See safe_stream.h. */
#define _GNU_SOURCE /* fopencookie */
#include "report/safe_stream.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct filter {
    FILE *to;
    bool color;
    char held[16]; /* the beginning of an escape sequence, or of a character */
    size_t count;
};

static void put_as_number(struct filter *filter, unsigned char byte) {
    fprintf(filter->to, "\\x%02x", byte);
}

/* What was held back is no colour: its first byte as a number, the rest as text. */
static void give_up(struct filter *filter) {
    if (filter->count == 0) return;
    put_as_number(filter, (unsigned char)filter->held[0]);
    fwrite(filter->held + 1, 1, filter->count - 1, filter->to);
    filter->count = 0;
}

static void pass(struct filter *filter, const char *bytes, size_t count) {
    fwrite(bytes, 1, count, filter->to);
}

/* A byte after ESC. True if the sequence may go on, or was a colour. */
static bool goes_on(struct filter *filter, char byte) {
    if (filter->count == 1 && byte != '[') return false;
    if (filter->count > 1 && byte != 'm' && byte != ';' && (byte < '0' || byte > '9')) return false;
    if (filter->count + 1 >= sizeof filter->held) return false;
    filter->held[filter->count++] = byte;
    if (byte == 'm') {
        pass(filter, filter->held, filter->count);
        filter->count = 0;
    }
    return true;
}

static void take(struct filter *filter, char byte) {
    unsigned char code = (unsigned char)byte;
    if (filter->count > 0 && filter->held[0] == '\033') {
        if (goes_on(filter, byte)) return;
        give_up(filter);
    } else if (filter->count > 0) { /* 0xc2: U+0080 to U+009f are controls too */
        filter->count = 0;
        if (code >= 0x80 && code < 0xa0) {
            put_as_number(filter, code);
            return;
        }
        pass(filter, "\xc2", 1);
    }
    if (code == 0xc2 || (code == '\033' && filter->color))
        filter->held[filter->count++] = byte;
    else if ((code < 0x20 && code != '\n' && code != '\t') || code == 0x7f)
        put_as_number(filter, code);
    else
        pass(filter, &byte, 1);
}

static ssize_t write_filtered(void *cookie, const char *bytes, size_t count) {
    struct filter *filter = cookie;
    for (size_t i = 0; i < count; i++) take(filter, bytes[i]);
    return ferror(filter->to) ? 0 : (ssize_t)count;
}

static int close_filter(void *cookie) {
    struct filter *filter = cookie;
    give_up(filter);
    int failed = ferror(filter->to);
    free(filter);
    return failed ? -1 : 0;
}

FILE *hd_safe_stream(FILE *to, bool color) {
    struct filter *filter = hd_zalloc(1, sizeof *filter);
    filter->to = to;
    filter->color = color;
    FILE *stream = fopencookie(
        filter, "w", (cookie_io_functions_t){.write = write_filtered, .close = close_filter});
    if (stream == NULL) hd_out_of_memory();
    return stream;
}
