/* A helper process (heddle-clang), which reads units one after the other. */
#ifndef HEDDLE_SOURCE_HELPER_H
#define HEDDLE_SOURCE_HELPER_H

#include "base/status.h"

#include <sys/types.h>

struct hd_helper {
    pid_t pid; /* 0: not running */
    int fd;    /* for messages (worker.h) */
};

/* Its file; malloc'ed. NULL: this heddle has none, and *error says so. */
char *hd_helper_find(struct hd_error *error);
bool hd_helper_start(struct hd_helper *helper, char *path, struct hd_error *error);
/* Its status as of waitpid. */
int hd_helper_end(struct hd_helper *helper);

#endif
