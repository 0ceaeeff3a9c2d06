/* Ends processes that were left behind; makes temporary files that can't be. See process.h. */
#define _GNU_SOURCE
#include "run/process.h"

#include "base/alloc.h"
#include "base/vector.h"
#include "trace/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- children of ours ----------------------------------------------------------------------- */

typedef HD_VECTOR(pid_t) children;

/* Is a process a child of ours, and has it ended? As /proc tells it: state and parent are the first
 * two fields after the name, which may itself hold blanks and parentheses. */
static bool is_child(const char *name, bool *ended) {
    char path[64], text[512], state;
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC), parent;
    if (fd < 0) return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return false;
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    if (end == NULL || sscanf(end + 1, " %c %d", &state, &parent) != 2) return false;
    *ended = state == 'Z' || state == 'X';
    return parent == getpid();
}

/* To be collected. */
static bool has_ended(pid_t pid) {
    char name[24];
    bool ended;
    snprintf(name, sizeof name, "%d", (int)pid);
    return is_child(name, &ended) && ended;
}

static bool is_number(const char *name) { return name[0] >= '1' && name[0] <= '9'; }

/* Looks through all of /proc, which takes a millisecond. */
static void list_by_parent(children *list) {
    list->size = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL) return;
    const struct dirent *entry;
    bool ended;
    while ((entry = readdir(directory)) != NULL)
        if (is_number(entry->d_name) && is_child(entry->d_name, &ended))
            hd_vector_push(list, atoi(entry->d_name));
    closedir(directory);
}

#define NAMES_MOST 8192u

/* The children of all our threads as the kernel lists them, "12 345 ": adds them to *names. False:
 * it has no such lists, or there are too many. */
static bool read_names(char names[NAMES_MOST]) {
    size_t used = 0;
    DIR *threads = opendir("/proc/self/task");
    bool good = threads != NULL;
    for (const struct dirent *entry; good && (entry = readdir(threads)) != NULL;) {
        if (!is_number(entry->d_name)) continue;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%.20s/children", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = -1; /* the thread has ended, or the kernel has no such lists */
        while (fd >= 0 && (n = read(fd, names + used, NAMES_MOST - 1 - used)) > 0)
            used += (size_t)n;
        if (fd >= 0) close(fd);
        good = n == 0 && used < NAMES_MOST - 1;
    }
    if (threads != NULL) closedir(threads);
    names[used] = '\0';
    return good;
}

/* While children end, the kernel may leave others out: two lists that are the same are whole. The
 * last one that was whole is kept: as a rule it is the same again. */
static void list_children(children *list) {
    static char whole[NAMES_MOST]; /* guarded by `lock` */
    char names[NAMES_MOST];
    bool good = read_names(names), same = good && strcmp(names, whole) == 0;
    for (int tries = 0; good && !same && tries < 4; tries++) {
        memcpy(whole, names, sizeof whole);
        good = read_names(names);
        same = good && strcmp(names, whole) == 0;
    }
    if (!same) {
        whole[0] = '\0';
        list_by_parent(list);
        return;
    }
    list->size = 0;
    char *rest = NULL;
    for (char *name = strtok_r(names, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
        hd_vector_push(list, atoi(name));
}

static bool has_children(void) {
    siginfo_t any = {.si_pid = 0};
    return waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool hd_has_channel(pid_t pid, const char *channel) {
    char path[64], wanted[100];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int length = snprintf(wanted, sizeof wanted, "%s=%s", HD_CHANNEL_ENV, channel) + 1;
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    ssize_t got;
    while (!found && (got = getdelim(&line, &room, '\0', file)) > 0)
        found = got == length && memcmp(line, wanted, (size_t)length) == 0;
    free(line);
    fclose(file);
    return found;
}

/* ---- runs that go on ------------------------------------------------------------------------ */

/* Being a parent, and adopting orphans, are properties of the process: so are these. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hd_registered *first;
static children before; /* children when the first of them began */

static bool is_ours(pid_t pid) {
    for (size_t i = 0; i < before.size; i++)
        if (before.data[i] == pid) return true;
    for (const struct hd_registered *run = first; run != NULL; run = run->next)
        if (__atomic_load_n(&run->pid, __ATOMIC_ACQUIRE) == pid) return true;
    return false;
}

/* A run whose program is being started: which child is it? */
static bool is_starting(void) {
    for (const struct hd_registered *run = first; run != NULL; run = run->next)
        if (__atomic_load_n(&run->pid, __ATOMIC_ACQUIRE) == 0) return true;
    return false;
}

bool hd_reap(pid_t pid, int *wait_status) {
    pid_t got;
    while ((got = waitpid(pid, wait_status, WNOHANG)) < 0 && errno == EINTR) {
    }
    return got == pid;
}

/* Ends orphans, and theirs, until there are none: all of them, or those with this channel. */
static void end_orphans(const char *channel) {
    children now = {0};
    bool some = true;
    while (some) {
        list_children(&now);
        some = false;
        for (size_t i = 0; i < now.size; i++) {
            pid_t pid = now.data[i];
            if (is_ours(pid)) continue;
            if (channel != NULL && (has_ended(pid) ? is_starting() : !hd_has_channel(pid, channel)))
                continue;
            kill(pid, SIGKILL);
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            }
            some = true; /* its own children are ours now */
        }
    }
    hd_vector_free(&now);
}

static void (*next_before_out_of_memory)(void);

/* Called when memory is out: whatever runs is ended. */
static void end_runs(void) {
    bool locked = pthread_mutex_trylock(&lock) == 0;
    for (const struct hd_registered *run = first; run != NULL; run = run->next)
        if (run->pid > 0) kill(run->ends ? -run->pid : run->pid, SIGKILL);
    if (locked && first != NULL && first->ends) {
        for (struct hd_registered *run = first; run != NULL; run = run->next) run->pid = 0;
        end_orphans(NULL);
    }
    if (next_before_out_of_memory != NULL) next_before_out_of_memory();
}

static void first_run_begins(void) {
    static bool prepared;
    if (!prepared) {
        prepared = true;
        next_before_out_of_memory = hd_before_out_of_memory;
        hd_before_out_of_memory = end_runs;
    }
    before.size = 0;
    if (has_children()) list_children(&before);
}

void hd_register_run(struct hd_registered *run) {
    pthread_mutex_lock(&lock);
    if (first == NULL) first_run_begins();
    run->pid = 0;
    run->next = first;
    first = run;
    if (run->adopts) prctl(PR_SET_CHILD_SUBREAPER, 1);
    pthread_mutex_unlock(&lock);
}

/* No run begins meanwhile: it would wait for the lock. */
void hd_unregister_run(struct hd_registered *run, bool forked) {
    pthread_mutex_lock(&lock);
    struct hd_registered **at = &first;
    while (*at != run) at = &(*at)->next;
    *at = run->next;
    if (run->ends && first == NULL && (before.size > 0 || has_children()))
        end_orphans(NULL);
    else if (run->ends && first != NULL && forked && run->channel[0] != '\0')
        end_orphans(run->channel);
    if (first == NULL) {
        if (run->adopts) prctl(PR_SET_CHILD_SUBREAPER, 0);
        hd_vector_free(&before);
    }
    pthread_mutex_unlock(&lock);
}

bool hd_has_orphans(void) {
    if (!has_children()) return false;
    pthread_mutex_lock(&lock);
    children now = {0};
    list_children(&now);
    bool some = false;
    for (size_t i = 0; i < now.size; i++) {
        if (is_ours(now.data[i])) continue;
        if (has_ended(now.data[i]))
            hd_reap(now.data[i], NULL);
        else
            some = true;
    }
    hd_vector_free(&now);
    pthread_mutex_unlock(&lock);
    return some;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

int hd_pidfd(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

void hd_pidfd_wait(int pidfd, int milliseconds) {
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    if (pidfd < 0 && milliseconds > 1) milliseconds = 1;
    poll(&wait, pidfd < 0 ? 0 : 1, milliseconds);
}

bool hd_is_privileged(const char *path) {
    struct stat status;
    return strchr(path, '/') != NULL && stat(path, &status) == 0 &&
           (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
            ((status.st_mode & S_ISGID) && status.st_gid != getegid()));
}

int hd_temporary_file(void) {
    const char *directory = getenv("TMPDIR");
    if (directory == NULL || *directory == '\0') directory = "/tmp";
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) fd = memfd_create("heddle-temporary", MFD_CLOEXEC);
    return fd;
}
