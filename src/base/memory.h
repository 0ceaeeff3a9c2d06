/* How much memory this process may use. */
#ifndef HEDDLE_BASE_MEMORY_H
#define HEDDLE_BASE_MEMORY_H

#include <stdint.h>

/* The machine's, or less if a limit on this process (ulimit -v) or its control group, as of a
 * container, says so. */
uint64_t hd_memory_limit(void);

/* The least limit of a control group and those around it: `root` is where they are mounted, `list`
 * has the form of /proc/self/cgroup. UINT64_MAX: none. */
uint64_t hd_memory_limit_of_groups(const char *root, const char *list);

#endif
