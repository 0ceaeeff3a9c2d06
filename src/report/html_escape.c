/* See html_page.h: text and JSON in a page. Both are somebody else's. */
#define _GNU_SOURCE /* fopencookie */
#include "base/alloc.h"
#include "base/utf8.h"
#include "report/html_page.h"
#include "report/safe_stream.h"

#include <stdlib.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

static int put_json(const char *bytes, size_t count, void *context) {
    FILE *out = context;
    while (count > 0) {
        size_t plain = 0;
        while (plain < count && strchr("<>&", bytes[plain]) == NULL) plain++;
        fwrite(bytes, 1, plain, out);
        if (plain < count)
            fprintf(out, "\\u%04x", (unsigned)bytes[plain++]); /* they stand in strings only */
        bytes += plain;
        count -= plain;
    }
    return 0;
}

void hd_html_json_text(FILE *out, const char *text) { put_json(text, strlen(text), out); }

void hd_html_json(FILE *out, json_t *value) {
    if (json_dump_callback(value, put_json, out,
                           JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) != 0)
        hd_out_of_memory();
    json_decref(value);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Text arrives in pieces that may end inside a character: the rest waits. */
struct escape {
    FILE *safe; /* what is escaped goes on through it: it knows control characters */
    char held[8];
    size_t count;
};

static void put_character(struct escape *escape, const char *text, size_t length) {
    switch (*text) {
    case '&':
        fputs("&amp;", escape->safe);
        break;
    case '<':
        fputs("&lt;", escape->safe);
        break;
    case '>':
        fputs("&gt;", escape->safe);
        break;
    case '"':
        fputs("&quot;", escape->safe);
        break;
    default:
        fwrite(text, 1, length, escape->safe);
    }
}

/* How many bytes a character has that begins with this one; 1 if none does. */
static size_t wanted(unsigned char first) {
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

static void take_all(struct escape *escape, bool last) {
    while (escape->count > 0 && (last || escape->count >= wanted((unsigned char)*escape->held))) {
        escape->held[escape->count] = '\0';
        size_t length = hd_utf8_length(escape->held, NULL);
        if (length > 0)
            put_character(escape, escape->held, length);
        else
            fprintf(escape->safe, "\\x%02x", (unsigned)(unsigned char)*escape->held);
        length = length > 0 ? length : 1;
        escape->count -= length;
        memmove(escape->held, escape->held + length, escape->count);
    }
}

static ssize_t write_escaped(void *cookie, const char *bytes, size_t count) {
    struct escape *escape = cookie;
    for (size_t i = 0; i < count; i++) {
        escape->held[escape->count++] = bytes[i];
        take_all(escape, false);
    }
    return ferror(escape->safe) ? 0 : (ssize_t)count;
}

static int close_escape(void *cookie) {
    struct escape *escape = cookie;
    take_all(escape, true);
    int failed = fclose(escape->safe);
    free(escape);
    return failed;
}

FILE *hd_html_stream(FILE *to) {
    struct escape *escape = hd_zalloc(1, sizeof *escape);
    escape->safe = hd_safe_stream(to, false);
    FILE *stream = fopencookie(
        escape, "w", (cookie_io_functions_t){.write = write_escaped, .close = close_escape});
    if (stream == NULL) hd_out_of_memory();
    return stream;
}
