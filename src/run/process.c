/* Ends processes that were left behind; makes temporary files that can't be. See process.h. */
#define _GNU_SOURCE
#include "run/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The parent of a process as /proc tells it: the second field after the name, which may itself hold
 * blanks and parentheses. */
static pid_t parent_of(const char *name) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return -1;
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    int parent = -1;
    if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1) return -1;
    return parent;
}

static void add_child(struct hd_children *children, pid_t pid) {
    if (children->count == children->room) {
        unsigned room = children->room ? 2 * children->room : 16;
        pid_t *larger = realloc(children->pid, room * sizeof *larger);
        if (larger == NULL) return;
        children->pid = larger;
        children->room = room;
    }
    children->pid[children->count++] = pid;
}

static void list_children(struct hd_children *children) {
    children->count = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL) return;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (parent_of(entry->d_name) == getpid()) add_child(children, atoi(entry->d_name));
    }
    closedir(directory);
}

static bool has_child(const struct hd_children *children, pid_t pid) {
    for (unsigned i = 0; i < children->count; i++)
        if (children->pid[i] == pid) return true;
    return false;
}

void hd_children_adopt(struct hd_children *before) {
    *before = (struct hd_children){NULL, 0, 0};
    list_children(before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void hd_children_sweep(struct hd_children *before) {
    struct hd_children now = {NULL, 0, 0};
    siginfo_t any = {.si_pid = 0};
    /* Usually there is nobody, and then no need to look through /proc. */
    bool some = before->count > 0 || waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
    while (some) {
        list_children(&now);
        some = false;
        for (unsigned i = 0; i < now.count; i++) {
            if (has_child(before, now.pid[i])) continue;
            kill(now.pid[i], SIGKILL);
            while (waitpid(now.pid[i], NULL, 0) < 0 && errno == EINTR) {
            }
            some = true; /* its own children are ours now */
        }
    }
    free(now.pid);
    free(before->pid);
    *before = (struct hd_children){NULL, 0, 0};
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

int hd_temporary_file(void) {
    const char *directory = getenv("TMPDIR");
    if (directory == NULL || *directory == '\0') directory = "/tmp";
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) fd = memfd_create("heddle-temporary", MFD_CLOEXEC);
    return fd;
}
