/* A stream for text that people read on a terminal: names that come from a trace, a program or a
 * file may hold characters that a terminal obeys. What goes through is printable text, line ends,
 * tabs, and the escape sequences for colours that heddle itself uses; the rest becomes \x1b. */
#ifndef HEDDLE_REPORT_SAFE_STREAM_H
#define HEDDLE_REPORT_SAFE_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/* To be closed with fclose, which returns nonzero if something could not be written; `to` stays
 * open. */
FILE *hd_safe_stream(FILE *to, bool color);

#endif
