/* See memory.h. */
#include "base/memory.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* "max" is no number: no limit. */
static uint64_t number_in(const char *path) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return UINT64_MAX;
    uint64_t number;
    bool read = fscanf(file, "%" SCNu64, &number) == 1;
    fclose(file);
    return read ? number : UINT64_MAX;
}

/* A group's own limit, and those of all groups that it is in. */
static uint64_t least_on_path(const char *root, char *group, const char *name) {
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[4096 + 512];
        snprintf(path, sizeof path, "%s%s/%s", root, group, name);
        uint64_t here = number_in(path);
        if (here < least) least = here;
        char *slash = strrchr(group, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

/* Lines are "0::/group" (version 2) and "4:memory:/group" (version 1). */
uint64_t hd_memory_limit_of_groups(const char *root, const char *list) {
    uint64_t least = UINT64_MAX;
    FILE *file = fopen(list, "re");
    if (file == NULL) return least;
    char line[4096], below[256];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *kind = strchr(line, ':'), *group = kind != NULL ? strchr(kind + 1, ':') : NULL;
        if (group == NULL) continue;
        *group++ = '\0';
        uint64_t here = UINT64_MAX;
        if (kind[1] == '\0') {
            here = least_on_path(root, group, "memory.max");
        } else if (strcmp(kind + 1, "memory") == 0) {
            snprintf(below, sizeof below, "%s/memory", root);
            here = least_on_path(below, group, "memory.limit_in_bytes");
        }
        if (here < least) least = here;
    }
    fclose(file);
    return least;
}

uint64_t hd_memory_limit(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t least = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < least) least = limit.rlim_cur;
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur < least) least = limit.rlim_cur;
    uint64_t group = hd_memory_limit_of_groups("/sys/fs/cgroup", "/proc/self/cgroup");
    return group < least ? group : least;
}

/* "MemAvailable:   12345678 kB" */
static uint64_t available(void) {
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL) return UINT64_MAX;
    char line[256];
    uint64_t kilobytes = UINT64_MAX >> 10;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1) break;
    fclose(file);
    return kilobytes << 10;
}

uint64_t hd_memory_free(void) {
    uint64_t machine = available(), limit = hd_memory_limit();
    return machine < limit ? machine : limit;
}

/* ---- this process's own limit -----------------------------------------------------------------
 */

static struct rlimit before;
static bool limited;

bool hd_memory_limit_to(uint64_t bytes) {
    if (!limited && getrlimit(RLIMIT_DATA, &before) != 0) return false;
    struct rlimit now = {bytes, before.rlim_max};
    if (before.rlim_max < bytes) now.rlim_cur = before.rlim_max;
    if (before.rlim_cur < now.rlim_cur) now.rlim_cur = before.rlim_cur;
    if (setrlimit(RLIMIT_DATA, &now) != 0) return false;
    limited = true;
    hd_out_of_memory_at(now.rlim_cur);
    return true;
}

void hd_memory_unlimit(void) {
    if (limited) setrlimit(RLIMIT_DATA, &before);
}
