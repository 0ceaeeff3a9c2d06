/* Errors as values: see status.h. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

bool hd_fail(struct hd_error *error, enum hd_code code, const char *format, ...) {
    if (error == NULL) return false;
    error->code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    /* It is one line, also if it quotes a part of a file. */
    for (char *c = error->message; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return false;
}
