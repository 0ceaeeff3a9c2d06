/* The recording parent: see recorder.h. Everything it reads from shared memory may have been
 * scribbled over by the program under test, so lengths and indices are checked as if they came from
 * a file. */
#define _GNU_SOURCE
#include "run/recorder.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_STREAMS 65536u /* threads that a trace can number */

struct session {
    struct hd_wire_session *memory;
    size_t bytes;
    uint32_t chunk_count; /* copied when it was opened: the target can't change it afterwards */
    pid_t pid;
    int pidfd;
    struct hd_writer *writer;
    struct hd_recorded *recorded;
    uint32_t modules_written;
    uint16_t *written;       /* by chunk: its events that are in the file already */
    uint32_t *next_sequence; /* by stream: of the chunk that is to be written next */
    bool has_branches;
    bool done;
};

struct recorder {
    const struct hd_record_options *options;
    struct hd_record_result *result;
    struct hd_wire_channel *channel;
    int channel_fd;
    pid_t child;
    bool child_done;
    int64_t child_done_at; /* milliseconds */
    bool orphans;          /* processes that the child left behind, ours to wait for now */
    bool forwarded;        /* a signal that asks the program to end */
    bool killed;           /* the program's group was (apart) */
    struct session session[HD_RECORD_MAX];
    struct hd_error *error;
    bool failed; /* *error is filled in: the trace is lost, the program may go on */
};

static int64_t milliseconds(void) { return (int64_t)(hd_now_ns() / 1000000u); }

/* ---- signals: the parent outlives its child ------------------------------------------------ */

static volatile sig_atomic_t forward;
static bool forward_all; /* the child has a group of its own: the terminal does not reach it */

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    if (number == SIGCHLD || number == SIGPIPE || number == SIGXFSZ) return;
    /* From a terminal the child's group has it already. */
    if (info->si_code <= 0 || forward_all) forward = number;
}

/* The last two come from writing a trace that cannot be written: the write says so itself. */
static const int caught[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
#define CAUGHT (sizeof caught / sizeof *caught)

static void catch_signals(struct sigaction *old) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    forward = 0;
    for (unsigned i = 0; i < CAUGHT; i++) sigaction(caught[i], &action, &old[i]);
}
static void restore_signals(const struct sigaction *old) {
    for (unsigned i = 0; i < CAUGHT; i++) sigaction(caught[i], &old[i], NULL);
}

/* ---- starting the program ------------------------------------------------------------------- */

static bool write_plan(int fd, const char *plan, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, plan + done, bytes - done, (off_t)(HD_PLAN_OFFSET + done));
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) done += (uint64_t)n;
    }
    return true;
}

static bool open_channel(struct recorder *r) {
    r->channel_fd = (int)syscall(SYS_memfd_create, "heddle-channel", 1u /* MFD_CLOEXEC */);
    uint64_t plan_bytes = r->options->plan_bytes;
    if (plan_bytes > HD_PLAN_MOST)
        return hd_fail(r->error, HD_ERR_LIMIT, "the plan of the run is too long");
    if (r->channel_fd < 0 || ftruncate(r->channel_fd, (off_t)(HD_PLAN_OFFSET + plan_bytes)) != 0 ||
        !write_plan(r->channel_fd, r->options->plan, plan_bytes))
        return hd_fail(r->error, HD_ERR_IO, "cannot make shared memory: %s", strerror(errno));
    r->channel =
        mmap(NULL, sizeof *r->channel, PROT_READ | PROT_WRITE, MAP_SHARED, r->channel_fd, 0);
    if (r->channel == MAP_FAILED) {
        r->channel = NULL;
        return hd_fail(r->error, HD_ERR_IO, "cannot map shared memory: %s", strerror(errno));
    }
    r->channel->version = HD_WIRE_VERSION;
    r->channel->options = r->options->wire;
    r->channel->plan_bytes = plan_bytes;
    __atomic_store_n(&r->channel->magic, HD_WIRE_MAGIC, __ATOMIC_RELEASE);
    return true;
}

/* For programs whose run path was stripped at their installation. */
static void add_library_directory(const char *directory) {
    const char *before = getenv("LD_LIBRARY_PATH");
    char *list = NULL;
    if (directory == NULL) return;
    if (before == NULL || *before == '\0')
        setenv("LD_LIBRARY_PATH", directory, 1);
    else if (asprintf(&list, "%s:%s", before, directory) >= 0)
        setenv("LD_LIBRARY_PATH", list, 1);
    free(list);
}

/* In the child: a group of its own, its own descriptors, no core files. */
static void set_apart(const struct hd_record_options *options) {
    if (options->descriptors != NULL) {
        int kept[3];
        for (int i = 0; i < 3; i++) kept[i] = fcntl(options->descriptors[i], F_DUPFD_CLOEXEC, 3);
        for (int i = 0; i < 3; i++)
            if (kept[i] < 0 || dup2(kept[i], i) < 0) _exit(127);
    }
    if (!options->apart) return;
    setpgid(0, 0);
    if (options->foreground) {
        /* a group in the background that takes the terminal is stopped for it */
        sigset_t output, before;
        sigemptyset(&output);
        sigaddset(&output, SIGTTOU);
        sigprocmask(SIG_BLOCK, &output, &before);
        tcsetpgrp(STDIN_FILENO, getpid());
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

static bool start_child(struct recorder *r, const struct sigaction *old) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return hd_fail(r->error, HD_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), r->channel_fd);
    pid_t parent = getpid();
    fflush(NULL);
    r->child = fork();
    if (r->child == 0) {
        restore_signals(old);
        set_apart(r->options);
        if (r->options->plain)
            unsetenv(HD_CHANNEL_ENV);
        else
            setenv(HD_CHANNEL_ENV, path, 1);
        add_library_directory(r->options->library_directory);
        /* The same addresses in every run, where the system allows it. */
        if (!r->options->keep_aslr) {
            int persona = personality(0xffffffff);
            if (persona != -1) personality((unsigned long)persona | ADDR_NO_RANDOMIZE);
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        execvp(r->options->argv[0], r->options->argv);
        int why = errno;
        ssize_t ignored = write(report[1], &why, sizeof why);
        (void)ignored;
        _exit(127);
    }
    int saved = errno, why = 0;
    close(report[1]);
    if (r->child > 0 && r->options->apart) setpgid(r->child, r->child); /* whoever comes first */
    if (r->child < 0) {
        close(report[0]);
        return hd_fail(r->error, HD_ERR_IO, "cannot start a process: %s", strerror(saved));
    }
    ssize_t got;
    do got = read(report[0], &why, sizeof why);
    while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got != sizeof why) return true;
    while (waitpid(r->child, NULL, 0) < 0 && errno == EINTR) {
    }
    r->child = -1;
    return hd_fail(r->error, HD_ERR_USAGE, "cannot run %s: %s", r->options->argv[0], strerror(why));
}

/* ---- sessions ---------------------------------------------------------------------------------
 */

/* app.hdt, then app.1.hdt, app.2.hdt for further processes. */
static char *session_path(const char *output, unsigned index) {
    char *path = NULL;
    if (index == 0) return strdup(output);
    const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
    if (dot == NULL || (slash != NULL && dot < slash)) dot = output + strlen(output);
    if (asprintf(&path, "%.*s.%u%s", (int)(dot - output), output, index, dot) < 0) return NULL;
    return path;
}

static struct hd_wire_session *map_session(pid_t pid, int fd, size_t *bytes) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0) return NULL;
    off_t size = lseek(own, 0, SEEK_END);
    struct hd_wire_session *memory = NULL;
    if (size >= (off_t)hd_wire_session_bytes(1) &&
        size <= (off_t)hd_wire_session_bytes(HD_MAX_CHUNKS)) {
        memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
        if (memory == MAP_FAILED) memory = NULL;
    }
    close(own);
    *bytes = (size_t)size;
    if (memory != NULL && (memory->magic != HD_WIRE_MAGIC || memory->version != HD_WIRE_VERSION ||
                           memory->chunk_count == 0 || memory->chunk_count > HD_MAX_CHUNKS ||
                           hd_wire_session_bytes(memory->chunk_count) > (size_t)size)) {
        munmap(memory, (size_t)size);
        memory = NULL;
    }
    return memory;
}

static void release_session(struct session *s) {
    munmap(s->memory, s->bytes);
    s->memory = NULL;
    free(s->written);
    free(s->next_sequence);
    s->written = NULL;
    s->next_sequence = NULL;
}

static bool accept_session(struct recorder *r, pid_t pid, int fd) {
    struct hd_record_result *result = r->result;
    if (r->failed || result->count == HD_RECORD_MAX) return false;
    struct session *s = &r->session[result->count];
    memset(s, 0, sizeof *s);
    s->memory = map_session(pid, fd, &s->bytes);
    if (s->memory == NULL) return false;
    s->chunk_count = s->memory->chunk_count;
    s->pid = pid;
    struct hd_recorded *recorded = &result->recorded[result->count];
    *recorded = (struct hd_recorded){.pid = pid};
    recorded->path = session_path(r->options->output, result->count);
    struct hd_trace_about about = {
        .command = r->options->command, .pid = pid, .options = r->options->wire};
    s->written = calloc(s->chunk_count, sizeof *s->written);
    s->next_sequence = calloc(MAX_STREAMS, sizeof *s->next_sequence);
    if (recorded->path == NULL || s->written == NULL || s->next_sequence == NULL)
        hd_fail(r->error, HD_ERR_MEMORY, "out of memory");
    else
        s->writer = hd_writer_open(recorded->path, &about, r->error);
    if (s->writer == NULL) {
        r->failed = true;
        free(recorded->path);
        recorded->path = NULL;
        release_session(s);
        return false;
    }
    s->pidfd = pid == r->child ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    s->recorded = recorded;
    result->count++;
    return true;
}

static bool all_done(const struct recorder *r) {
    for (unsigned i = 0; i < r->result->count; i++)
        if (!r->session[i].done) return false;
    return true;
}

static void answer_requests(struct recorder *r) {
    for (unsigned i = 0; i < HD_CHANNEL_SLOTS; i++) {
        struct hd_wire_slot *slot = &r->channel->slot[i];
        if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != HD_SLOT_ASKED) continue;
        bool wanted = r->result->count == 0 || r->options->wire.children ||
                      (r->options->again && all_done(r));
        bool yes = wanted && accept_session(r, slot->pid, slot->fd);
        if (!yes) r->result->refused++;
        __atomic_store_n(&slot->state, yes ? HD_SLOT_YES : HD_SLOT_NO, __ATOMIC_RELEASE);
        syscall(SYS_futex, &slot->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

/* ---- draining ----------------------------------------------------------------------------------
 */

static void session_failed(struct recorder *r, struct session *s) {
    if (s->writer != NULL) hd_writer_abandon(s->writer);
    s->writer = NULL;
    r->failed = true;
    __atomic_store_n(&s->memory->parent_gone, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&s->memory->freed, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->memory->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Events of a chunk end at its first zero head. */
static size_t chunk_events(const struct hd_wire_chunk *chunk) {
    size_t low = 0, high = HD_CHUNK_EVENTS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (__atomic_load_n(&chunk->event[middle].head, __ATOMIC_ACQUIRE) != 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool write_modules(struct recorder *r, struct session *s) {
    uint32_t count = __atomic_load_n(&s->memory->module_count, __ATOMIC_ACQUIRE);
    if (count > HD_MAX_MODULES) count = HD_MAX_MODULES;
    for (; s->modules_written < count; s->modules_written++) {
        struct hd_wire_module from = s->memory->module[s->modules_written];
        char path[4096] = "";
        if (from.path < HD_STRINGS_BYTES) {
            size_t most = HD_STRINGS_BYTES - from.path;
            if (most > sizeof path - 1) most = sizeof path - 1;
            strncat(path, s->memory->strings + from.path, most);
        }
        struct hd_trace_module module = {.path = path,
                                         .text_lo = from.text_lo,
                                         .text_hi = from.text_hi,
                                         .bias = from.bias,
                                         .image_lo = from.image_lo,
                                         .image_hi = from.image_hi,
                                         .site_base = from.site_base,
                                         .build_id_length = from.build_id_length};
        if (module.build_id_length > sizeof module.build_id) module.build_id_length = 0;
        memcpy(module.build_id, from.build_id, sizeof module.build_id);
        if (!hd_writer_module(s->writer, &module, r->error)) return false;
    }
    return true;
}

/* What a chunk holds that is not in the file yet. */
struct pending {
    uint32_t stream, sequence;
    uint32_t index, count; /* events up to count are there */
    bool full;
};
static int by_sequence(const void *a, const void *b) {
    const struct pending *x = a, *y = b;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

enum drain {
    DRAIN_FULL,   /* chunks that the target has done with */
    DRAIN_SO_FAR, /* and those it is writing into, as far as they are written */
    DRAIN_REST    /* the target is gone */
};

static size_t find_pending(const struct session *s, enum drain what, struct pending *pending) {
    size_t found = 0;
    uint32_t used = __atomic_load_n(&s->memory->chunks_used, __ATOMIC_ACQUIRE);
    if (used > s->chunk_count) used = s->chunk_count;
    for (uint32_t i = 0; i < used; i++) {
        const struct hd_wire_chunk *chunk = hd_wire_chunk(s->memory, i);
        uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
        bool full = state == HD_CHUNK_FULL || (what == DRAIN_REST && state == HD_CHUNK_OPEN);
        if (!full && (what != DRAIN_SO_FAR || state != HD_CHUNK_OPEN)) continue;
        /* An open chunk says whose it is only once it holds an event. */
        uint32_t count = (uint32_t)chunk_events(chunk);
        if (full || count > s->written[i])
            pending[found++] = (struct pending){chunk->stream, chunk->sequence, i, count, full};
    }
    qsort(pending, found, sizeof *pending, by_sequence);
    return found;
}

static bool write_pending(struct recorder *r, struct session *s, const struct pending *p) {
    const struct hd_wire_event *event = hd_wire_chunk(s->memory, p->index)->event;
    uint32_t from = s->written[p->index];
    if (p->count <= from) return true;
    if (!s->has_branches) {
        uint64_t any = 0;
        for (uint32_t i = from; i < p->count; i++) any |= event[i].tail >> 48;
        s->has_branches = any != 0;
    }
    s->recorded->wire_events += p->count - from;
    s->written[p->index] = (uint16_t)p->count;
    return hd_writer_events(s->writer, p->stream, event + from, p->count - from, r->error);
}

static void free_chunk(struct session *s, uint32_t index) {
    struct hd_wire_chunk *chunk = hd_wire_chunk(s->memory, index);
    memset((char *)chunk + sizeof chunk->state, 0, sizeof *chunk - sizeof chunk->state);
    s->written[index] = 0;
    __atomic_fetch_sub(&s->memory->full_chunks, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->state, HD_CHUNK_FREE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&s->memory->freed, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->memory->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Writes what there is; true if there was something. While the target runs, a chunk may become full
 * behind our back after its successor was looked at: a chunk is written only when its turn in its
 * stream has come, and otherwise the next time round. */
static bool drain(struct recorder *r, struct session *s, enum drain what) {
    if (s->writer == NULL) return false;
    struct pending pending[HD_MAX_CHUNKS];
    size_t found = find_pending(s, what, pending);
    if (found == 0) return false;
    if (!write_modules(r, s)) {
        session_failed(r, s);
        return true;
    }
    for (size_t i = 0; i < found; i++) {
        const struct pending *p = &pending[i];
        uint32_t *next = p->stream < MAX_STREAMS ? &s->next_sequence[p->stream] : NULL;
        if (what != DRAIN_REST && next != NULL && p->sequence != *next) continue;
        if (!write_pending(r, s, p)) {
            session_failed(r, s);
            return true;
        }
        if (!p->full) continue;
        if (next != NULL) *next = p->sequence + 1;
        free_chunk(s, p->index);
    }
    return true;
}

/* The session's process is gone: what is left in memory is all there will ever be. */
static void finish_session(struct recorder *r, struct session *s, const int *wait_status) {
    s->done = true;
    while (drain(r, s, DRAIN_REST)) {
    }
    struct hd_wire_session *memory = s->memory;
    memcpy(r->result->answer, memory->answer, sizeof r->result->answer);
    struct hd_trace_end *end = &s->recorded->end;
    *end = (struct hd_trace_end){
        .whole = true, .deadlocked = memory->deadlocked != 0, .lost_events = memory->lost_events};
    if (memory->fault_signal != 0) {
        end->whole = false;
        end->runtime_fault = true;
        snprintf(end->missing, sizeof end->missing,
                 "heddle's own runtime crashed (signal %u at libheddle_rt.so+0x%llx, address "
                 "0x%llx)",
                 memory->fault_signal, (unsigned long long)memory->fault_pc,
                 (unsigned long long)memory->fault_address);
    }
    if (wait_status != NULL && WIFEXITED(*wait_status)) {
        end->exited = true;
        end->status = WEXITSTATUS(*wait_status);
    } else if (wait_status != NULL && WIFSIGNALED(*wait_status)) {
        end->signaled = true;
        end->status = WTERMSIG(*wait_status);
    } else if (memory->ended) {
        end->exited = true;
        end->status = memory->exit_status;
    }
    if (s->writer != NULL && !write_modules(r, s)) session_failed(r, s);
    if (s->writer != NULL && !hd_writer_finish(s->writer, end, s->has_branches, r->error))
        r->failed = true;
    s->writer = NULL;
    if (s->pidfd >= 0) close(s->pidfd);
    release_session(s);
}

static bool process_gone(const struct session *s) {
    if (s->pidfd < 0) return kill(s->pid, 0) != 0 && errno == ESRCH;
    struct pollfd wait = {.fd = s->pidfd, .events = POLLIN};
    return poll(&wait, 1, 0) > 0;
}

static void kill_group(struct recorder *r) {
    if (!r->child_done && kill(-r->child, SIGKILL) != 0) kill(r->child, SIGKILL);
    r->killed = true;
}

static void forward_signal(struct recorder *r) {
    int number = forward;
    if (number == 0) return;
    forward = 0;
    if (r->options->apart) {
        r->result->interrupted = number;
        kill_group(r);
        return;
    }
    if (r->forwarded) number = SIGKILL; /* asked twice */
    r->forwarded = true;
    if (!r->child_done) kill(r->child, number);
    for (unsigned i = 0; i < r->result->count; i++)
        if (!r->session[i].done && r->session[i].pid != r->child) kill(r->session[i].pid, number);
}

/* Sleeps until a chunk is full or something else may have happened. */
static void wait_for_work(struct recorder *r, unsigned idle) {
    long most = idle < 20 ? 1000000 : 5000000;
    struct timespec wait = {0, most};
    struct session *live = NULL;
    for (unsigned i = 0; i < r->result->count && live == NULL; i++)
        if (!r->session[i].done) live = &r->session[i];
    if (live == NULL) {
        uint32_t asked = __atomic_load_n(&r->channel->asked, __ATOMIC_SEQ_CST);
        for (unsigned i = 0; i < HD_CHANNEL_SLOTS; i++)
            if (__atomic_load_n(&r->channel->slot[i].state, __ATOMIC_SEQ_CST) == HD_SLOT_ASKED)
                return;
        syscall(SYS_futex, &r->channel->asked, FUTEX_WAIT, asked, &wait, NULL, 0);
        return;
    }
    uint32_t wake = __atomic_load_n(&live->memory->wake, __ATOMIC_SEQ_CST);
    __atomic_store_n(&live->memory->draining, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&live->memory->full_chunks, __ATOMIC_SEQ_CST) == 0)
        syscall(SYS_futex, &live->memory->wake, FUTEX_WAIT, wake, &wait, NULL, 0);
    __atomic_store_n(&live->memory->draining, 0, __ATOMIC_SEQ_CST);
}

/* Should this process be killed, the file holds everything up to the last time that this was done:
 * soon after the start, then every few seconds. */
enum { FLUSH_FIRST = 250, FLUSH_MOST = 2000 }; /* milliseconds */

static void flush_sessions(struct recorder *r) {
    for (unsigned i = 0; i < r->result->count; i++) {
        struct session *s = &r->session[i];
        if (s->done) continue;
        drain(r, s, DRAIN_SO_FAR);
        if (s->writer != NULL && !hd_writer_flush(s->writer, r->error)) session_failed(r, s);
    }
}

/* A program that puts itself into the background ends before its child has asked to be recorded:
 * that one is waited for so long. */
enum { ORPHAN_MOST = 500 }; /* milliseconds */

static void reap_orphans(struct recorder *r) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (unsigned i = 0; i < r->result->count; i++) {
            struct session *s = &r->session[i];
            if (!s->done && s->pid == pid) finish_session(r, s, &status);
        }
    }
    r->orphans = pid == 0;
}

static void serve(struct recorder *r) {
    unsigned idle = 0;
    int64_t last_flush = milliseconds(), flush_after = FLUSH_FIRST;
    for (;;) {
        forward_signal(r);
        answer_requests(r);
        bool worked = false;
        for (unsigned i = 0; i < r->result->count; i++)
            if (!r->session[i].done) worked |= drain(r, &r->session[i], DRAIN_FULL);
        if (r->options->look != NULL && !r->killed &&
            !r->options->look(r->options->context, r->child)) {
            r->result->stopped = true;
            kill_group(r);
        }
        if (!r->child_done) {
            int status;
            /* While the leader is a zombie its group's number can't be anybody else's. */
            siginfo_t ended = {.si_pid = 0};
            if (r->options->apart &&
                waitid(P_PID, (id_t)r->child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                ended.si_pid == r->child)
                kill(-r->child, SIGKILL);
            pid_t pid = waitpid(r->child, &status, WNOHANG);
            if (pid == r->child) {
                r->child_done = true;
                r->child_done_at = milliseconds();
                r->result->wait_status = status;
                r->result->ran = true;
            }
        }
        if (r->child_done && r->options->wire.children) reap_orphans(r);
        bool alive =
            !r->child_done || (r->orphans && milliseconds() - r->child_done_at < ORPHAN_MOST);
        for (unsigned i = 0; i < r->result->count; i++) {
            struct session *s = &r->session[i];
            if (s->done) continue;
            if (s->pid == r->child && r->child_done)
                finish_session(r, s, &r->result->wait_status);
            else if (s->pid != r->child && process_gone(s))
                finish_session(r, s, NULL);
            else
                alive = true;
        }
        if (!alive) break;
        idle = worked ? 0 : idle + 1;
        if (milliseconds() - last_flush >= flush_after) {
            flush_sessions(r);
            last_flush = milliseconds();
            if (flush_after < FLUSH_MOST) flush_after *= 2;
        }
        if (!worked) wait_for_work(r, idle);
    }
}

static void take_terminal_back(void) {
    sigset_t output, before;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    sigprocmask(SIG_BLOCK, &output, &before);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    sigprocmask(SIG_SETMASK, &before, NULL);
}

bool hd_record(const struct hd_record_options *options, struct hd_record_result *result,
               struct hd_error *error) {
    memset(result, 0, sizeof *result);
    struct recorder *r = calloc(1, sizeof *r);
    if (r == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    r->options = options;
    r->result = result;
    r->error = error;
    r->channel_fd = -1;
    struct sigaction old[CAUGHT];
    forward_all = options->apart;
    catch_signals(old);
    if (options->wire.children) prctl(PR_SET_CHILD_SUBREAPER, 1);
    bool ok = open_channel(r) && start_child(r, old);
    if (ok) serve(r);
    if (options->wire.children) prctl(PR_SET_CHILD_SUBREAPER, 0);
    if (options->foreground) take_terminal_back();
    restore_signals(old);
    if (r->channel != NULL) munmap(r->channel, sizeof *r->channel);
    if (r->channel_fd >= 0) close(r->channel_fd);
    ok = ok && !r->failed;
    free(r);
    return ok;
}

void hd_record_result_free(struct hd_record_result *result) {
    for (unsigned i = 0; i < result->count; i++) free(result->recorded[i].path);
    result->count = 0;
}
