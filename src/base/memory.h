/* How much memory this process may use. */
#ifndef HEDDLE_BASE_MEMORY_H
#define HEDDLE_BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* The machine's, or less if a limit on this process (ulimit -v) or its control group, as of a
 * container, says so. */
uint64_t hd_memory_limit(void);

/* What is free of it now: for the machine and for this process's control group. */
uint64_t hd_memory_free(void);

/* From here on this process gets so many bytes, and hd_out_of_memory says so. Programs that it
 * starts are to have what it had before: hd_memory_unlimit, safe after vfork. False: the system
 * does not let us. */
bool hd_memory_limit_to(uint64_t bytes);
void hd_memory_unlimit(void);

/* The least limit of a control group and those around it: `root` is where they are mounted, `list`
 * has the form of /proc/self/cgroup. UINT64_MAX: none. */
uint64_t hd_memory_limit_of_groups(const char *root, const char *list);

#endif
