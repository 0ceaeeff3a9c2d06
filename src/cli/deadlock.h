/* What a run that deadlocked says about itself: who waits for what, and who holds it. */
#ifndef HEDDLE_CLI_DEADLOCK_H
#define HEDDLE_CLI_DEADLOCK_H

#include <stdio.h>

void hd_print_deadlock(FILE *out, const char *trace_path);

#endif
