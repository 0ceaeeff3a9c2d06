/* Runs a program and drains its sessions until it has ended. See record.h. */
#define _GNU_SOURCE
#include "run/record.h"

#include "base/clock.h"
#include "run/live.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { /* milliseconds */
       FLUSH_FIRST =
           250, /* should this process be killed, the file holds everything up to the last */
       FLUSH_MOST = 2000, /* flush: soon after the start, then every few seconds */
       ORPHAN_MOST = 500, /* for the child of a program that puts itself into the background */
       GRACE = 1000       /* for a program that is asked to end since its time is over */
};

static int64_t milliseconds(void) { return (int64_t)(hd_now_ns() / 1000000u); }

/* ---- ending it ------------------------------------------------------------------------------ */

static void send_signal(struct hd_live *live, int number) {
    if (!live->child_done) kill(live->child, number);
    for (size_t i = 0; i < live->session.size; i++) {
        const struct hd_session *s = &live->session.data[i];
        if (s->memory != NULL && s->pid != live->child) kill(s->pid, number);
    }
}

static void kill_group(struct hd_live *live) {
    if (!live->child_done && kill(-live->child, SIGKILL) != 0) kill(live->child, SIGKILL);
    send_signal(live, SIGKILL); /* those that left the group too */
    live->killed = true;
}

/* Somebody asks for the end. A program that shares our group is asked too, and killed if that is
 * not the first time. */
static void obey(struct hd_live *live) {
    const struct hd_interrupt *stop = live->host->stop;
    if (stop == NULL || stop->signal == 0 || stop->times + 1 == live->asked) return;
    bool before = live->asked != 0;
    live->asked = stop->times + 1;
    if (live->options->apart) {
        live->result->interrupted = stop->signal;
        kill_group(live);
    } else {
        send_signal(live, before ? SIGKILL : stop->signal);
    }
}

static void keep_time(struct hd_live *live) {
    uint64_t limit = live->options->job->program.limit_ms;
    int64_t now = milliseconds();
    if (limit == 0 || live->killed || (uint64_t)(now - live->start) <= limit) return;
    if (live->options->apart) {
        live->result->timed_out = true;
        kill_group(live);
    } else if (now >= live->kill_at) {
        send_signal(live, live->result->timed_out ? SIGKILL : SIGTERM);
        live->result->timed_out = true;
        live->kill_at = now + GRACE;
    }
}

static void look(struct hd_live *live) {
    const struct hd_record_options *options = live->options;
    if (options->look == NULL || live->killed || options->look(options->context, live->child))
        return;
    live->result->stopped = true;
    kill_group(live);
}

/* A child process that waits for ever is the end of the run, as a deadlock of threads is. */
static void look_at_children(struct hd_live *live) {
    if (live->killed) return;
    uint64_t now = hd_now_ns();
    for (size_t i = 0; i < live->session.size; i++) {
        struct hd_session *s = &live->session.data[i];
        if (s->memory == NULL || s->child_stuck || !hd_session_child_is_stuck(s, now)) continue;
        if (live->options->apart)
            kill_group(live);
        else
            send_signal(live, SIGKILL); /* first: it may wait for the child */
        hd_session_end_children(live, s);
    }
}

/* What a checked run has found since; false from whoever gets it: that is enough. */
static void observe(struct hd_live *live) {
    if (live->options->observer == NULL || live->killed) return;
    bool enough = false;
    for (size_t i = 0; i < live->session.size; i++)
        if (live->session.data[i].memory != NULL)
            enough |= !hd_session_observe(live, &live->session.data[i]);
    if (!enough) return;
    live->result->stopped = true;
    kill_group(live);
}

/* ---- noticing the end ----------------------------------------------------------------------- */

static void collect_child(struct hd_live *live) {
    siginfo_t ended = {.si_pid = 0};
    if (live->child_done ||
        waitid(P_PID, (id_t)live->child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != live->child)
        return;
    /* While the leader is a zombie its group's number can't be anybody else's. */
    if (live->options->apart && !live->options->job->steering.children) kill(-live->child, SIGKILL);
    __atomic_store_n(&live->registered.pid, -1, __ATOMIC_RELEASE);
    live->result->ran = hd_reap(live->child, &live->result->wait_status);
    live->child_done = true;
    live->child_done_at = milliseconds();
}

static bool is_gone(const struct hd_session *s) {
    if (s->pidfd < 0) return kill(s->pid, 0) != 0 && errno == ESRCH;
    struct pollfd wait = {.fd = s->pidfd, .events = POLLIN};
    return poll(&wait, 1, 0) > 0;
}

/* Finishes sessions whose processes have ended; true if one goes on. */
static bool finish_sessions(struct hd_live *live) {
    bool alive = false;
    for (size_t i = 0; i < live->session.size; i++) {
        struct hd_session *s = &live->session.data[i];
        int status;
        if (s->memory == NULL) continue;
        if (s->pid == live->child) {
            if (live->child_done)
                hd_session_finish(live, s, &live->result->wait_status);
            else
                alive = true;
        } else if (hd_reap(s->pid, &status)) {
            hd_session_finish(live, s, &status);
        } else if (is_gone(s)) {
            hd_session_finish(live, s, NULL);
        } else {
            alive = true;
        }
    }
    return alive;
}

/* A program that puts itself into the background ends before its child has asked to be recorded. */
static bool may_come(const struct hd_live *live) {
    return live->options->job->steering.children &&
           milliseconds() - live->child_done_at < ORPHAN_MOST && hd_has_orphans();
}

/* ---- the loop ------------------------------------------------------------------------------- */

static struct hd_session *first_session(struct hd_live *live) {
    for (size_t i = 0; i < live->session.size; i++)
        if (live->session.data[i].memory != NULL) return &live->session.data[i];
    return NULL;
}

static void wait_for_request(const struct hd_live *live, const struct timespec *most) {
    uint32_t asked = __atomic_load_n(&live->channel->asked, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < HD_CHANNEL_SLOTS; i++)
        if (__atomic_load_n(&live->channel->slot[i].state, __ATOMIC_SEQ_CST) == HD_SLOT_ASKED)
            return;
    syscall(SYS_futex, &live->channel->asked, FUTEX_WAIT, asked, most, NULL, 0);
}

static void wait_for_chunk(struct hd_wire_session *memory, const struct timespec *most) {
    uint32_t wake = __atomic_load_n(&memory->wake, __ATOMIC_SEQ_CST);
    __atomic_store_n(&memory->draining, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&memory->full_chunks, __ATOMIC_SEQ_CST) == 0 && memory->ended == 0)
        syscall(SYS_futex, &memory->wake, FUTEX_WAIT, wake, most, NULL, 0);
    __atomic_store_n(&memory->draining, 0, __ATOMIC_SEQ_CST);
}

/* Sleeps until a chunk is full, the program has ended, or something else may have happened. A
 * program that is killed says nothing: that is seen a millisecond later. */
static void wait_for_work(struct hd_live *live, unsigned idle) {
    int most = idle < 20 ? 1 : 5;
    struct timespec wait = {0, most * 1000000};
    struct hd_session *s = first_session(live);
    if (s != NULL && s->memory->ended == 0)
        wait_for_chunk(s->memory, &wait);
    else if (s != NULL)
        hd_pidfd_wait(s->pid == live->child ? live->pidfd : s->pidfd, 1);
    else if (live->channel != NULL)
        wait_for_request(live, &wait);
    else
        hd_pidfd_wait(live->child_done ? -1 : live->pidfd, most);
}

static void flush_sessions(struct hd_live *live) {
    for (size_t i = 0; i < live->session.size; i++) {
        struct hd_session *s = &live->session.data[i];
        if (s->memory == NULL) continue;
        hd_session_drain(live, s, HD_DRAIN_SO_FAR);
        if (s->writer != NULL && !hd_writer_flush(s->writer, live->error)) hd_session_fail(live, s);
    }
}

static void serve(struct hd_live *live) {
    unsigned idle = 0;
    int64_t last_flush = live->start, flush_after = FLUSH_FIRST;
    for (;;) {
        obey(live);
        keep_time(live);
        hd_live_answer(live);
        bool worked = false;
        for (size_t i = 0; i < live->session.size; i++)
            if (live->session.data[i].memory != NULL)
                worked |= hd_session_drain(live, &live->session.data[i], HD_DRAIN_FULL);
        observe(live);
        look(live);
        look_at_children(live);
        collect_child(live);
        if (!finish_sessions(live) && live->child_done && !may_come(live)) break;
        idle = worked ? 0 : idle + 1;
        if (milliseconds() - last_flush >= flush_after) {
            flush_sessions(live);
            last_flush = milliseconds();
            if (flush_after < FLUSH_MOST) flush_after *= 2;
        }
        if (!worked) wait_for_work(live, idle);
    }
}

/* ---- around it ------------------------------------------------------------------------------ */

static void take_terminal_back(void) {
    sigset_t output, before;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &output, &before);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Signals that come from writing a trace that can't be written: the write says so itself. */
static void block_write_signals(sigset_t *writing, sigset_t *before) {
    sigemptyset(writing);
    sigaddset(writing, SIGPIPE);
    sigaddset(writing, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, writing, before);
}
static void unblock_write_signals(const sigset_t *writing, const sigset_t *before) {
    struct timespec now = {0, 0};
    while (sigtimedwait(writing, NULL, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void count_run(const struct hd_host *host, int change) {
    if (host->stop != NULL) __atomic_fetch_add(&host->stop->runs, change, __ATOMIC_SEQ_CST);
}

bool hd_record(const struct hd_record_options *options, struct hd_record_result *result,
               struct hd_error *error) {
    static const struct hd_host usual;
    memset(result, 0, sizeof *result);
    bool children = options->job->steering.children;
    struct hd_live live = {
        .options = options,
        .host = options->host != NULL ? options->host : &usual,
        .result = result,
        .error = error,
        .channel_fd = -1,
        .pidfd = -1,
        .serve = -1,
        .startup = -1,
        .start = milliseconds(),
        .registered = {.adopts = options->apart || children, .ends = options->apart}};
    sigset_t writing;
    block_write_signals(&writing, &live.mask);
    count_run(live.host, 1);
    hd_register_run(&live.registered);
    bool ok = hd_live_start(&live);
    if (ok) serve(&live);
    if (options->foreground) take_terminal_back();
    result->forked = live.forked;
    hd_unregister_run(&live.registered, live.forked || result->refused > 0);
    count_run(live.host, -1);
    unblock_write_signals(&writing, &live.mask);
    if (ok) hd_server_learn(&live);
    hd_live_close(&live);
    hd_vector_free(&live.session);
    return ok && !live.failed;
}

void hd_record_result_free(struct hd_record_result *result) {
    for (size_t i = 0; i < result->recorded.size; i++) free(result->recorded.data[i].path);
    hd_vector_free(&result->recorded);
}
