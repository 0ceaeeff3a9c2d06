#include "counter.h"

#include <stdio.h>

const char *counter_text(char *buffer, unsigned long size, long value) {
    snprintf(buffer, size, "total %ld", value);
    return buffer;
}
