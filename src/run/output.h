/* What a program wrote: its size, a hash of it. Of an open file, from its beginning. */
#ifndef HEDDLE_RUN_OUTPUT_H
#define HEDDLE_RUN_OUTPUT_H

#include <stdint.h>

uint64_t hd_output_bytes(int fd);
uint64_t hd_output_hash(int fd);

#endif
