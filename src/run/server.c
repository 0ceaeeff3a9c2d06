/* The program that waits, before its main or where a function begins. See server.h; wire.h has what
 * is said to it. */
#define _GNU_SOURCE
#include "run/server.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "run/live.h"
#include "run/output.h"
#include "trace/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 10000u  /* for all that comes before main */
#define START_MOST 600u  /* seconds, for all that comes before a function */
#define FORK_MS 10000u   /* for one fork, on a machine that is busy */
#define MOST_WAITING 12u /* ways to record */

enum state {
    UNKNOWN,  /* no run was recorded yet */
    POSSIBLE, /* the program can be asked to wait */
    NEVER
};

/* A program that waits. Where a function begins, it has recorded what came before in one way. */
struct waiting {
    struct hd_wire_options options;
    bool ready;
    int socket, output, error;
    int startup;    /* events that its runs have in common; -1: none */
    uint64_t calls; /* of hooks, in these */
    pid_t pid;
};

struct hd_server {
    pthread_mutex_t lock; /* one request at a time */
    enum state state;
    /* which program it is */
    char **argv, **environment;
    const char *directory;
    /* where it is to wait */
    const char *function; /* NULL: before main */
    struct hd_snapshot_place place;
    uint32_t places; /* that the name stands for */
    struct waiting waiting[MOST_WAITING];
    uint32_t count;
    uint64_t runs;
};

struct hd_server *hd_server_new(const char *function) {
    struct hd_server *server = hd_zalloc(1, sizeof *server);
    pthread_mutex_init(&server->lock, NULL);
    server->function = function;
    return server;
}

uint64_t hd_server_runs(const struct hd_server *server) { return server->runs; }

/* ---- which programs ------------------------------------------------------------------------- */

static bool is_same_file(const char *path, const struct stat *other) {
    struct stat about;
    return stat(path, &about) == 0 && about.st_dev == other->st_dev &&
           about.st_ino == other->st_ino;
}

/* The first of that name in PATH that can be executed: as execvpe looks for it. */
static bool is_in_path(const char *name, const struct stat *other) {
    const char *at = getenv("PATH");
    char file[4096];
    while (at != NULL) {
        size_t length = strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s%s%s", (int)length, at, length > 0 ? "/" : "./", name);
        if (access(file, X_OK) == 0) return is_same_file(file, other);
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    return false;
}

bool hd_is_executed_file(const struct hd_program *program, const char *path) {
    struct stat other;
    const char *name = program->argv[0];
    if (stat(path, &other) != 0) return false;
    if (strchr(name, '/') == NULL) return program->directory == NULL && is_in_path(name, &other);
    if (name[0] == '/' || program->directory == NULL) return is_same_file(name, &other);
    char *from = hd_format("%s/%s", program->directory, name);
    bool same = is_same_file(from, &other);
    free(from);
    return same;
}

static bool is_of(const struct hd_server *server, const struct hd_program *program) {
    return server->argv == program->argv && server->environment == program->environment &&
           server->directory == program->directory && !program->keep_aslr;
}

void hd_server_find(const struct hd_live *live, const struct hd_session *session) {
    struct hd_server *server = live->host->server;
    if (server == NULL || server->function == NULL) return;
    pthread_mutex_lock(&server->lock);
    uint32_t modules = hd_session_module_count(session);
    for (uint32_t i = 0; server->state == UNKNOWN && server->places == 0 && i < modules; i++) {
        char path[HD_MODULE_PATH];
        hd_session_module(session, i, path);
        server->places = hd_symbols_function(path, server->function, &server->place.address);
        server->place.module = hd_wire_name_hash(path);
    }
    pthread_mutex_unlock(&server->lock);
}

void hd_server_learn(const struct hd_live *live) {
    struct hd_server *server = live->host->server;
    const struct hd_program *program = &live->options->job->program;
    if (server == NULL || live->channel == NULL) return;
    pthread_mutex_lock(&server->lock);
    if (server->state == UNKNOWN && live->session.size > 0) {
        bool can = live->direct && live->result->refused == 0 && live->options->apart &&
                   !live->options->foreground && !program->keep_aslr;
        server->argv = program->argv;
        server->environment = program->environment;
        server->directory = program->directory;
        server->state = can ? POSSIBLE : NEVER;
    }
    pthread_mutex_unlock(&server->lock);
}

/* ---- the one that waits --------------------------------------------------------------------- */

/* Does what was recorded before the function was reached look the same? */
static bool records_the_same(const struct hd_wire_options *a, const struct hd_wire_options *b) {
    return a->full == b->full && a->states == b->states && a->children == b->children &&
           (a->policy == HD_POLICY_REPLAY) == (b->policy == HD_POLICY_REPLAY);
}

/* The one for such a run, NULL. Where a function begins, one thread at a time has run. */
static struct waiting *find_waiting(struct hd_server *server, const struct hd_wire_options *run) {
    bool before_main = server->function == NULL;
    for (uint32_t i = 0; i < server->count; i++)
        if (before_main || records_the_same(&server->waiting[i].options, run))
            return &server->waiting[i];
    return NULL;
}

/* False: it is gone, said something else, or nobody wants to wait any longer. */
static bool hear(const struct waiting *waiting, const struct hd_host *host, unsigned most_ms,
                 struct hd_wire_reply *reply) {
    uint64_t until = hd_now_ns() + most_ms * 1000000ull;
    struct pollfd wait = {.fd = waiting->socket, .events = POLLIN};
    while (poll(&wait, 1, 20) <= 0)
        if (hd_now_ns() > until || (host->stop != NULL && host->stop->signal != 0)) return false;
    return recv(waiting->socket, reply, sizeof *reply, MSG_DONTWAIT) == (ssize_t)sizeof *reply;
}

static void close_one(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void end(struct waiting *waiting) {
    waiting->ready = false;
    close_one(&waiting->socket);
    if (waiting->pid > 0) {
        kill(waiting->pid, SIGKILL);
        while (waitpid(waiting->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close_one(&waiting->output);
    close_one(&waiting->error);
    close_one(&waiting->startup);
    waiting->pid = 0;
}

static bool start(struct waiting *waiting, const struct hd_server *server, const struct hd_job *run,
                  const struct hd_host *host, int socket, int input, struct hd_wire_reply *reply) {
    int descriptors[3] = {input, waiting->output, waiting->error};
    struct hd_job job = {.program = run->program, .steering = {.scheduler = HD_SCHED_SERIAL}};
    if (server->function != NULL) {
        job.steering.policy = run->steering.policy;
        job.steering.direct = run->steering.direct;
        job.steering.states = run->steering.states;
        job.steering.children = run->steering.children;
    }
    struct hd_host alone = *host;
    alone.server = NULL;
    struct hd_record_options options = {.job = &job,
                                        .host = &alone,
                                        .descriptors = descriptors,
                                        .apart = true,
                                        .plan = "" /* a run brings its own */};
    struct hd_error ignored;
    struct hd_live live = {.options = &options,
                           .host = &alone,
                           .error = &ignored,
                           .channel_fd = -1,
                           .pidfd = -1,
                           .serve = socket,
                           .startup = waiting->startup,
                           .place = server->function != NULL ? &server->place : NULL};
    pthread_sigmask(SIG_SETMASK, NULL, &live.mask);
    bool good = hd_live_start(&live);
    close(socket); /* if the program ends, that is seen */
    waiting->options = hd_steering_options(&job.steering);
    if (good) waiting->pid = live.child;
    unsigned most_ms = server->function == NULL     ? START_MS
                       : run->program.limit_ms != 0 ? (unsigned)run->program.limit_ms
                                                    : START_MOST * 1000;
    good = good && hear(waiting, host, most_ms, reply) && reply->state == HD_REPLY_READY;
    hd_live_close(&live);
    return good;
}

/* Why the program can't wait where it should. */
static bool explain(const struct hd_server *server, const struct hd_wire_reply *reply,
                    struct hd_error *error) {
    static const char *const why[] = {[HD_REPLY_CANNOT] = "this system does not let it",
                                      [HD_REPLY_NO_FUNCTION] =
                                          "it is not there when the program starts",
                                      [HD_REPLY_THREADS] = "the program makes threads before",
                                      [HD_REPLY_INSIDE] = "the C library calls it",
                                      [HD_REPLY_LONG] = "too much happens before"};
    const char *text = "the program ended, or took too long, before it called it";
    char more[120];
    if (reply->state < sizeof why / sizeof *why && why[reply->state] != NULL)
        text = why[reply->state];
    if (reply->state == HD_REPLY_OPEN || reply->state == HD_REPLY_SHARED) {
        bool file = reply->state == HD_REPLY_OPEN;
        snprintf(more, sizeof more,
                 file ? "descriptor %llu, which is no plain file, is open there and would be "
                        "shared by all runs"
                      : "the memory at 0x%llx is shared with other processes",
                 (unsigned long long)reply->number);
        text = more;
    }
    return hd_fail(error, HD_ERR_USAGE, "runs can't begin at %s: %s", server->function, text);
}

/* Is there a function to wait at, if one is asked for, and can the program wait at all? */
static bool check_function(const struct hd_server *server, const char *name,
                           struct hd_error *error) {
    if (server->state == NEVER)
        return hd_fail(error, HD_ERR_USAGE,
                       "runs can't begin at %s: %s is not the process that is recorded, or "
                       "addresses are randomised",
                       server->function, name);
    if (server->places == 0)
        return hd_fail(error, HD_ERR_USAGE, "runs can't begin at %s: %s has no such function",
                       server->function, name);
    return server->places == 1 ||
           hd_fail(error, HD_ERR_USAGE,
                   "runs can't begin at %s: there are %u functions of this name", server->function,
                   server->places);
}

static int open_input(const struct hd_server *server, const struct hd_program *program) {
    bool real = server->function != NULL && program->input != NULL;
    return open(real ? program->input : "/dev/null", O_RDONLY | O_CLOEXEC);
}

/* *reply says why not. */
static bool make_waiting(struct hd_server *server, const struct hd_job *job,
                         const struct hd_host *host, struct hd_wire_reply *reply) {
    int pair[2];
    struct waiting *waiting = &server->waiting[server->count++];
    *waiting = (struct waiting){.socket = -1, .output = -1, .error = -1, .startup = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
    waiting->socket = pair[0];
    waiting->output = hd_temporary_file();
    waiting->error = hd_temporary_file();
    if (server->function != NULL) waiting->startup = hd_temporary_file();
    int input = open_input(server, &job->program);
    bool good = waiting->output >= 0 && waiting->error >= 0 && input >= 0 &&
                (server->function == NULL || waiting->startup >= 0);
    if (good) {
        fcntl(waiting->output, F_SETFL, O_APPEND);
        fcntl(waiting->error, F_SETFL, O_APPEND);
        good = start(waiting, server, job, host, pair[1], input, reply);
    } else {
        close(pair[1]);
    }
    if (input >= 0) close(input);
    waiting->ready = good;
    waiting->calls = reply->number;
    if (!good) end(waiting);
    return good;
}

bool hd_server_prepare(struct hd_server *server, const struct hd_job *job,
                       const struct hd_host *host, struct hd_error *error) {
    if (server == NULL || server->state == UNKNOWN) return true;
    bool function = server->function != NULL;
    if (function && !check_function(server, job->program.argv[0], error)) return false;
    struct hd_wire_options options = hd_steering_options(&job->steering);
    if (server->state != POSSIBLE || !is_of(server, &job->program) ||
        server->count == MOST_WAITING || find_waiting(server, &options) != NULL ||
        (function && (options.scheduler != HD_SCHED_SERIAL || options.check)))
        return true;
    struct hd_wire_reply reply = {.state = 0};
    bool stopped = host->stop != NULL && host->stop->signal != 0;
    return make_waiting(server, job, host, &reply) || !function || stopped ||
           explain(server, &reply, error);
}

void hd_server_free(struct hd_server *server) {
    if (server == NULL) return;
    for (uint32_t i = 0; i < server->count; i++) end(&server->waiting[i]);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* What was written before main (by constructors of libraries) is written by every run. */
static bool copy_output(int from, int to) {
    char bytes[4096];
    ssize_t n;
    if (hd_output_bytes(from) == 0) return true;
    for (off_t at = 0; (n = pread(from, bytes, sizeof bytes, at)) > 0; at += n)
        if (write(to, bytes, (size_t)n) != n) return false;
    return n == 0;
}

static bool ask(const struct waiting *waiting, const struct hd_live *live) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {.bytes = {0}};
    struct hd_wire_request request = {.magic = HD_WIRE_MAGIC};
    snprintf(request.channel, sizeof request.channel, "%s", live->registered.channel);
    struct iovec text = {&request, sizeof request};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *with = CMSG_FIRSTHDR(&message);
    with->cmsg_level = SOL_SOCKET;
    with->cmsg_type = SCM_RIGHTS;
    with->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(with), live->options->descriptors, 3 * sizeof(int));
    return sendmsg(waiting->socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof request;
}

/* The run is started in the plain way, and so are all others. */
static void give_up(struct waiting *waiting, const int *descriptors) {
    bool wrote = hd_output_bytes(waiting->output) > 0 || hd_output_bytes(waiting->error) > 0;
    for (int i = 1; i < 3 && wrote; i++)
        if (ftruncate(descriptors[i], 0) != 0) break;
    end(waiting);
}

/* A schedule may want to see, or stop, something that is over when runs begin. */
static bool begins_later(const struct waiting *waiting, const struct hd_live *live) {
    struct hd_wire_replay plan;
    struct hd_wire_turn turn;
    if (waiting->startup < 0 || live->channel->options.policy != HD_POLICY_REPLAY) return true;
    off_t at = (off_t)HD_PLAN_OFFSET;
    if (pread(live->channel_fd, &plan, sizeof plan, at) != (ssize_t)sizeof plan) return false;
    if (plan.turns == 0) return true;
    at += (off_t)sizeof plan;
    if (pread(live->channel_fd, &turn, sizeof turn, at) != (ssize_t)sizeof turn) return false;
    /* A turn of another thread, which is not there yet, ends the plan at the first call. */
    return turn.thread != 0 ||
           (turn.end > waiting->calls && (turn.mark == 0 || turn.mark > waiting->calls));
}

/* The one that this run can be forked from, NULL. */
static struct waiting *find_for(struct hd_server *server, const struct hd_live *live) {
    const struct hd_record_options *options = live->options;
    const struct hd_wire_options *run = &live->channel->options;
    struct waiting *waiting = find_waiting(server, run);
    if (waiting == NULL || !waiting->ready || !is_of(server, &options->job->program) ||
        options->foreground || options->again)
        return NULL;
    if (server->function != NULL && (run->scheduler != HD_SCHED_SERIAL || run->check)) return NULL;
    return begins_later(waiting, live) ? waiting : NULL;
}

bool hd_server_fork(struct hd_live *live) {
    struct hd_server *server = live->host->server;
    const struct hd_record_options *options = live->options;
    struct hd_wire_reply reply = {.pid = 0};
    if (server == NULL || live->channel == NULL || options->descriptors == NULL || !options->apart)
        return false;
    pthread_mutex_lock(&server->lock);
    struct waiting *waiting = find_for(server, live);
    bool good = waiting != NULL;
    if (good) {
        good = copy_output(waiting->output, options->descriptors[1]) &&
               copy_output(waiting->error, options->descriptors[2]) && ask(waiting, live) &&
               hear(waiting, live->host, FORK_MS, &reply) && reply.state == HD_REPLY_FORKED &&
               reply.pid > 0;
        server->runs += good;
        live->startup = waiting->startup;
        if (!good) give_up(waiting, options->descriptors);
    }
    pthread_mutex_unlock(&server->lock);
    if (!good) {
        live->startup = -1;
        return false;
    }
    live->child = reply.pid;
    setpgid(live->child, live->child); /* it does so itself, but perhaps not yet */
    live->pidfd = hd_pidfd(live->child);
    __atomic_store_n(&live->registered.pid, live->child, __ATOMIC_RELEASE);
    return true;
}
