/* Errors as values. A function that can fail takes a `struct hd_error *`, returns false (or NULL),
 * and leaves one line there that says what, where and what to do. Only cli/ prints it. */
#ifndef HEDDLE_BASE_STATUS_H
#define HEDDLE_BASE_STATUS_H

#include <stdbool.h>

enum hd_code {
    HD_OK = 0,
    HD_ERR_USAGE,       /* the command line is wrong */
    HD_ERR_IO,          /* the system refused: message has strerror */
    HD_ERR_FORMAT,      /* the input is not what it should be */
    HD_ERR_DAMAGED,     /* the input is damaged or cut short */
    HD_ERR_UNSUPPORTED, /* a version or feature this build does not know */
    HD_ERR_LIMIT        /* too large */
};

struct hd_error {
    enum hd_code code;
    char message[768];
};

/* Fills *error (if not NULL) and returns false, so that `return hd_fail(...)` reads well. */
bool hd_fail(struct hd_error *error, enum hd_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
