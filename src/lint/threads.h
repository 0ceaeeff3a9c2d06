/* The threads of a program and the blocks that each may run. */
#ifndef HEDDLE_LINT_THREADS_H
#define HEDDLE_LINT_THREADS_H

#include "lint/views.h"

/* Fills `thread` and `library` of the views, and `held` of the blocks. */
void hd_threads_find(const struct hd_source *source, const struct hd_calls *calls,
                     struct hd_blocks *blocks, const struct hd_lint_options *options,
                     struct hd_views *views);

#endif
