/* The text format (STD: `thread|op(object)|site`, one event a line), as docs/trace-format.md
 * describes it: what its reader and its writer share. */
#ifndef HEDDLE_TRACE_TEXT_H
#define HEDDLE_TRACE_TEXT_H

#include "trace/trace.h"

#define HD_TEXT_SPAN ((uint64_t)1 << HD_TEXT_SHIFT) /* bytes one variable may have */

/* Cuts `NAME+OFFSET:SIZE` into its parts: returns the length of NAME. Offset and size may be
 * missing (0 and 1 then, and *sized false); what is not a number belongs to the name. Numbers that
 * are too large come out as UINT64_MAX. */
size_t hd_text_operand(const char *text, size_t length, uint64_t *offset, uint64_t *size,
                       bool *sized);
/* Is the offset, which ends `text`, written as 0x...? */
bool hd_text_hex_offset(const char *text, size_t length);

/* Cuts `NAME:VALUE`: returns the length of NAME. */
size_t hd_text_valued(const char *text, size_t length, uint64_t *value, bool *valued);

/* Memory orders by their number in C; NULL / 6 if there is none. */
const char *hd_text_order_name(unsigned order);
unsigned hd_text_order(const char *text, size_t length);

#endif
