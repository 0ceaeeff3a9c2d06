/* For interceptors of the C library's buffered input and output: what a call on a stream means for
 * the descriptor below it (streams.c). With the runtime left. */
#ifndef HEDDLE_RUNTIME_STREAMS_H
#define HEDDLE_RUNTIME_STREAMS_H

#include "runtime/files.h"

#include <stdio.h>

#pragma GCC visibility push(hidden)

/* Before a call that may send something; before and after one that may get something. */
void rt_stream_writes(struct rt_thread *t, FILE *file, uintptr_t pc);
void rt_stream_reads(struct rt_thread *t, FILE *file, uintptr_t pc);
void rt_stream_read(struct rt_thread *t, FILE *file, uintptr_t pc);

#pragma GCC visibility pop

#endif
