/* RapidBin, RAPID's binary format: big-endian, one 64-bit word an event. */
#ifndef HEDDLE_TRACE_RAPIDBIN_H
#define HEDDLE_TRACE_RAPIDBIN_H

#include "trace/trace.h"

/* Writes a trace to path ("-": standard output). The format knows reads, writes, locks, fork, join,
 * begin, end and branch only: other events are left out, and *left_out counts them. Bytes that
 * overlapping accesses touch become one variable. */
bool hd_rapidbin_write(const struct hd_trace *trace, const char *path, uint64_t *left_out,
                       struct hd_error *error);

#endif
