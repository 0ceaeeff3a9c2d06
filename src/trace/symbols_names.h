/* Names from symbols for the text form of a binary trace: variables and locks as the source has
 * them, blocks by number, sites by file, line and column. */
#ifndef HEDDLE_TRACE_SYMBOLS_NAMES_H
#define HEDDLE_TRACE_SYMBOLS_NAMES_H

#include "trace/convert.h"
#include "trace/symbols.h"

struct hd_symbol_names;

/* For one pass over the trace's events in their order. The trace and the symbols must outlive it.
 */
struct hd_symbol_names *hd_symbol_names_open(const struct hd_trace *trace,
                                             struct hd_symbols *symbols);
/* What to hand to hd_text_write. */
struct hd_text_names hd_symbol_names_functions(struct hd_symbol_names *names);
void hd_symbol_names_close(struct hd_symbol_names *names);

#endif
