/* Starts the program of a run: the channel that its runtime finds, its environment, the child. */
#define _GNU_SOURCE
#include "run/live.h"

#include "base/alloc.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the channel ---------------------------------------------------------------------------- */

static bool write_plan(int fd, const char *plan, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, plan + done, bytes - done, (off_t)(HD_PLAN_OFFSET + done));
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) done += (uint64_t)n;
    }
    return true;
}

/* As long for every run: the environment is as large, and the program's stack at the same place. */
static void name_channel(struct hd_live *live) {
    char number[16];
    int digits = snprintf(number, sizeof number, "%d", live->channel_fd);
    snprintf(live->registered.channel, sizeof live->registered.channel, "/proc/%d/fd%.*s%s",
             (int)getpid(), 11 - digits, "///////////", number);
}

static bool make_channel(struct hd_live *live, const void *plan, size_t plan_bytes) {
    if (plan_bytes > HD_PLAN_MOST)
        return hd_fail(live->error, HD_ERR_LIMIT, "the schedule of the run is too long");
    live->channel_fd = memfd_create("heddle-channel", MFD_CLOEXEC);
    if (live->channel_fd < 0 ||
        ftruncate(live->channel_fd, (off_t)(HD_PLAN_OFFSET + plan_bytes)) != 0 ||
        !write_plan(live->channel_fd, plan, plan_bytes))
        return hd_fail(live->error, HD_ERR_IO, "cannot make shared memory: %s", strerror(errno));
    struct hd_wire_channel *channel =
        mmap(NULL, sizeof *channel, PROT_READ | PROT_WRITE, MAP_SHARED, live->channel_fd, 0);
    if (channel == MAP_FAILED)
        return hd_fail(live->error, HD_ERR_IO, "cannot map shared memory: %s", strerror(errno));
    channel->version = HD_WIRE_VERSION;
    channel->options = hd_steering_options(&live->options->job->steering);
    channel->plan_bytes = plan_bytes;
    __atomic_store_n(&channel->magic, HD_WIRE_MAGIC, __ATOMIC_RELEASE);
    live->channel = channel;
    name_channel(live);
    return true;
}

static bool open_channel(struct hd_live *live) {
    const struct hd_steering *steering = &live->options->job->steering;
    if (steering->scheduler == HD_SCHED_OFF) return true;
    if (live->options->plan != NULL)
        return make_channel(live, live->options->plan, live->options->plan_bytes);
    size_t bytes;
    void *plan = hd_steering_plan(steering, &bytes);
    bool good = make_channel(live, plan, bytes);
    free(plan);
    return good;
}

/* ---- the environment ------------------------------------------------------------------------ */

typedef HD_VECTOR(char *) strings;

/* Sets a variable: takes over "NAME=VALUE", or removes "NAME". */
static void set_variable(strings *list, char *text) {
    const char *equals = strchr(text, '=');
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    size_t kept = 0;
    for (size_t i = 0; i < list->size; i++) {
        char *old = list->data[i];
        if (strncmp(old, text, length) == 0 && old[length] == '=')
            free(old);
        else
            list->data[kept++] = old;
    }
    list->size = kept;
    if (equals != NULL)
        hd_vector_push(list, text);
    else
        free(text);
}

static const char *variable(const strings *list, const char *name) {
    size_t length = strlen(name);
    for (size_t i = list->size; i-- > 0;)
        if (strncmp(list->data[i], name, length) == 0 && list->data[i][length] == '=')
            return list->data[i] + length + 1;
    return "";
}

/* NULL-terminated; built before the child is there, which may not allocate. */
static strings make_environment(const struct hd_live *live) {
    strings list = {0};
    for (char **at = environ; *at != NULL; at++) hd_vector_push(&list, hd_strdup(*at));
    const struct hd_program *program = &live->options->job->program;
    for (char **at = program->environment; at != NULL && *at != NULL; at++)
        set_variable(&list, hd_strdup(*at));
    const char *channel = live->registered.channel, *directory = live->host->library_directory;
    set_variable(&list, *channel != '\0' ? hd_format("%s=%s", HD_CHANNEL_ENV, channel)
                                         : hd_strdup(HD_CHANNEL_ENV));
    if (directory != NULL) { /* for programs whose run path was stripped at their installation */
        const char *paths = variable(&list, "LD_LIBRARY_PATH");
        set_variable(&list, hd_format("LD_LIBRARY_PATH=%s%s%s", paths, *paths != '\0' ? ":" : "",
                                      directory));
        /* the runtime stands in front of an allocator that is loaded before all others */
        const char *loaded = variable(&list, "LD_PRELOAD");
        if (*loaded != '\0' && strstr(loaded, "libheddle_rt.so") == NULL)
            set_variable(&list, hd_format("LD_PRELOAD="
                                          "libheddle_rt.so"
                                          ":%s",
                                          loaded));
    }
    hd_vector_push(&list, NULL);
    return list;
}

/* ---- the child ------------------------------------------------------------------------------ */

struct child {
    const struct hd_live *live;
    char **environment;
    pid_t parent;
    int why; /* errno, if the program could not be executed */
};

static void take_terminal(void) {
    /* a group in the background that takes the terminal is stopped for it */
    sigset_t output;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    sigprocmask(SIG_BLOCK, &output, NULL);
    tcsetpgrp(STDIN_FILENO, getpid());
}

/* Far above the numbers that the program's own files get; -1: not possible. */
static int keep(int fd) {
    struct rlimit most;
    int least = 1000;
    if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur <= 1000)
        least = (int)most.rlim_cur - 8;
    return fcntl(fd, F_DUPFD, least);
}

static bool keep_server(const struct hd_live *live) {
    if (live->serve < 0) return true;
    int server = keep(live->serve), startup = live->startup >= 0 ? keep(live->startup) : 0;
    if (server <= 0 || startup < 0) return false;
    struct hd_wire_channel *channel = live->channel;
    channel->startup = (uint32_t)startup;
    if (live->place != NULL) {
        channel->wait_module = live->place->module;
        channel->wait_address = live->place->address;
    }
    channel->server = (uint32_t)server;
    return true;
}

static bool set_descriptors(const int *descriptors) {
    int kept[3];
    if (descriptors == NULL) return true;
    for (int i = 0; i < 3; i++) kept[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++)
        if (kept[i] < 0 || dup2(kept[i], i) < 0) return false;
    return true;
}

/* Runs in the memory of the parent, which waits (vfork): nothing may be left changed there, and
 * nothing allocated. Returns only if the program can't be executed. */
static void become_program(struct child *child) {
    const struct hd_record_options *options = child->live->options;
    const struct hd_program *program = &options->job->program;
    if (keep_server(child->live) && set_descriptors(options->descriptors) &&
        (program->directory == NULL || chdir(program->directory) == 0)) {
        if (options->apart) {
            struct rlimit none = {0, 0};
            setpgid(0, 0);
            if (options->foreground) take_terminal();
            setrlimit(RLIMIT_CORE, &none);
        }
        /* The same addresses in every run, where the system allows it. */
        int persona = program->keep_aslr ? -1 : personality(0xffffffff);
        if (persona != -1) personality((unsigned long)persona | ADDR_NO_RANDOMIZE);
        hd_memory_unlimit();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == child->parent) {
            sigprocmask(SIG_SETMASK, &child->live->mask, NULL);
            execvpe(program->argv[0], program->argv, child->environment);
        }
    }
    child->why = errno;
}

/* vfork, since fork takes milliseconds where large traces are in memory. */
static pid_t start_child(struct child *child) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* no handler may run in the child */
    pid_t pid = vfork();
    if (pid == 0) {
        become_program(child);
        _exit(127);
    }
    if (pid < 0) child->why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

void hd_live_close(struct hd_live *live) {
    if (live->channel != NULL) munmap(live->channel, sizeof *live->channel);
    if (live->channel_fd >= 0) close(live->channel_fd);
    if (live->pidfd >= 0) close(live->pidfd);
    live->channel = NULL;
    live->channel_fd = live->pidfd = -1;
}

bool hd_live_start(struct hd_live *live) {
    if (!open_channel(live)) return false;
    if (hd_server_fork(live)) return true;
    strings environment = make_environment(live);
    struct child child = {.live = live, .environment = environment.data, .parent = getpid()};
    live->child = start_child(&child);
    if (live->child > 0) {
        live->pidfd = hd_pidfd(live->child);
        __atomic_store_n(&live->registered.pid, live->child, __ATOMIC_RELEASE);
    }
    for (size_t i = 0; i < environment.size; i++) free(environment.data[i]);
    hd_vector_free(&environment);
    if (child.why == 0) return true;
    const struct hd_program *program = &live->options->job->program;
    if (live->child < 0)
        return hd_fail(live->error, HD_ERR_IO, "cannot start a process: %s", strerror(child.why));
    while (waitpid(live->child, NULL, 0) < 0 && errno == EINTR) {
    }
    live->child = -1;
    return hd_fail(live->error, HD_ERR_USAGE, "cannot run %s%s%s: %s", program->argv[0],
                   program->directory != NULL ? " in " : "",
                   program->directory != NULL ? program->directory : "", strerror(child.why));
}
