/* See ending.h. What runs when memory is out allocates nothing. */
#define _GNU_SOURCE
#include "cli/ending.h"

#include "base/alloc.h"
#include "cli/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Inherited over exec from whoever was this process before: not ours to end. */
static bool had_children;

static pid_t parent_of(pid_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), parent = -1;
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (length <= 0) return -1;
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* Each program that heddle runs is a child in a process group of its own. */
static void end_children(void) {
    static _Alignas(8) char buffer[32768];
    int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long got;
         directory >= 0 && (got = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            at += entry->d_reclen;
            pid_t pid = atoi(entry->d_name);
            if (pid <= 1 || parent_of(pid) != getpid()) continue;
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
        }
    if (directory >= 0) close(directory);
}

static void tidy_up(void) {
    hd_output_file_remove();
    if (!had_children) end_children();
}

static void *json_memory(size_t size) { return hd_alloc(size, 1); }

void hd_prepare_for_out_of_memory(void) {
    siginfo_t any;
    had_children = waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
    hd_before_out_of_memory = tidy_up;
    json_set_alloc_funcs(json_memory, free);
}
