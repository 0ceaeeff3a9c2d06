/* See standstill.h. */
#define _GNU_SOURCE
#include "run/standstill.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define MOST_DEPTH 8u /* of processes below processes */

/* A file of /proc/PROCESS/; -1 if it can't be read, otherwise the number of bytes. */
static ssize_t read_file(pid_t process, const char *name, char *text, size_t room) {
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t bytes = read(fd, text, room - 1);
    close(fd);
    if (bytes >= 0) text[bytes] = '\0';
    return bytes;
}

static ssize_t read_of_thread(pid_t process, const char *thread, const char *name, char *text,
                              size_t room) {
    char path[300];
    snprintf(path, sizeof path, "task/%s/%s", thread, name);
    return read_file(process, path, text, room);
}

/* "202 0x7f... 0x189 0x0 0x0 ...": the call's number and arguments. For a futex or, if there are
 * any, for the children: without a time limit. */
static bool waits_for_ever(const char *call, bool has_children) {
    unsigned long long argument[4];
    char *end;
    long number = strtol(call, &end, 10);
    if (end == call) return false;
    for (int i = 0; i < 4; i++) {
        char *from = end;
        argument[i] = strtoull(from, &end, 16);
        if (end == from) return false;
    }
    if (number == SYS_wait4) return has_children && !(argument[2] & WNOHANG);
    if (number == SYS_waitid) return has_children && !(argument[3] & WNOHANG);
    if (number != SYS_futex) return false;
    int operation = (int)(argument[1] & (unsigned)FUTEX_CMD_MASK);
    bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
                 operation == FUTEX_LOCK_PI || operation == FUTEX_WAIT_REQUEUE_PI;
    return waits && argument[3] == 0;
}

static uint64_t state_of(pid_t process, unsigned depth);

/* Adds the states of a thread's children; false if one of them can go on. */
static bool add_children(char *list, unsigned depth, XXH3_state_t *hash) {
    char *rest = NULL;
    for (char *name = strtok_r(list, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        uint64_t state = depth < MOST_DEPTH ? state_of(atoi(name), depth + 1) : 0;
        if (state == 0) return false;
        XXH3_64bits_update(hash, &state, sizeof state);
    }
    return true;
}

/* Adds a thread's state to the hash; false if it can go on or may be woken from outside. */
static bool add_thread(pid_t process, const char *thread, unsigned depth, bool has_children,
                       XXH3_state_t *hash) {
    char call[256], ran[128], child[512];
    ssize_t call_bytes = read_of_thread(process, thread, "syscall", call, sizeof call);
    if (call_bytes <= 0 || !waits_for_ever(call, has_children)) return false;
    ssize_t child_bytes = read_of_thread(process, thread, "children", child, sizeof child);
    if (child_bytes < 0 || child_bytes == sizeof child - 1) return false;
    if (!add_children(child, depth, hash)) return false;
    ssize_t ran_bytes = read_of_thread(process, thread, "schedstat", ran, sizeof ran);
    if (ran_bytes <= 0) return false;
    XXH3_64bits_update(hash, thread, strlen(thread));
    XXH3_64bits_update(hash, call, (size_t)call_bytes);
    XXH3_64bits_update(hash, ran, (size_t)ran_bytes);
    return true;
}

/* A timer's signal may still do something. */
static bool has_timer(pid_t process) {
    char text[4096];
    if (read_file(process, "timers", text, sizeof text) != 0) return true;
    if (read_file(process, "status", text, sizeof text) <= 0) return true;
    const char *caught = strstr(text, "\nSigCgt:");
    if (caught == NULL) return true;
    uint64_t set = strtoull(caught + strlen("\nSigCgt:"), NULL, 16);
    uint64_t timers = 1ull << (SIGALRM - 1) | 1ull << (SIGVTALRM - 1) | 1ull << (SIGPROF - 1);
    return (set & timers) != 0;
}

/* Has one of its threads children? */
static bool has_children(pid_t process, DIR *threads) {
    bool any = false;
    for (struct dirent *thread; !any && (thread = readdir(threads)) != NULL;) {
        char child[16];
        any = thread->d_name[0] != '.' &&
              read_of_thread(process, thread->d_name, "children", child, sizeof child) > 0;
    }
    rewinddir(threads);
    return any;
}

static uint64_t state_of(pid_t process, unsigned depth) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    XXH3_state_t *hash = threads != NULL ? XXH3_createState() : NULL;
    uint64_t state = 0;
    if (hash != NULL) {
        XXH3_64bits_reset(hash);
        bool still = true, any = false, parent = has_children(process, threads);
        for (struct dirent *thread; still && (thread = readdir(threads)) != NULL;) {
            if (thread->d_name[0] == '.') continue;
            any = true;
            still = add_thread(process, thread->d_name, depth, parent, hash);
        }
        if (any && still && !has_timer(process)) state = XXH3_64bits_digest(hash) | 1;
        XXH3_freeState(hash);
    }
    if (threads != NULL) closedir(threads);
    return state;
}

uint64_t hd_standstill_ns(struct hd_standstill *still, pid_t process, uint64_t now) {
    uint64_t state = state_of(process, 0);
    if (state != still->state || state == 0) {
        still->state = state;
        still->since = now;
    }
    return state != 0 ? now - still->since : 0;
}
