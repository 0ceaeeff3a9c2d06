/* The program that waits before its main. See server.h; wire.h has what is said to it. */
#define _GNU_SOURCE
#include "run/server.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "run/live.h"
#include "run/output.h"

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

#define START_MS 10000u /* for all that comes before main */
#define FORK_MS 10000u  /* for one fork, on a machine that is busy */

enum state {
    UNKNOWN,  /* no run was recorded yet */
    POSSIBLE, /* the program can be asked to wait */
    READY,    /* it waits */
    NEVER
};

struct hd_server {
    pthread_mutex_t lock; /* one request at a time */
    enum state state;
    /* which program it is */
    char **argv, **environment;
    const char *directory;
    int socket, output, error;
    pid_t pid;
    uint64_t runs;
};

struct hd_server *hd_server_new(void) {
    struct hd_server *server = hd_zalloc(1, sizeof *server);
    pthread_mutex_init(&server->lock, NULL);
    server->socket = server->output = server->error = -1;
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

/* False: it is gone, said something else, or nobody wants to wait any longer. */
static bool hear(const struct hd_server *server, const struct hd_host *host, unsigned most_ms,
                 struct hd_wire_reply *reply) {
    uint64_t until = hd_now_ns() + most_ms * 1000000ull;
    struct pollfd wait = {.fd = server->socket, .events = POLLIN};
    while (poll(&wait, 1, 20) <= 0)
        if (hd_now_ns() > until || (host->stop != NULL && host->stop->signal != 0)) return false;
    return recv(server->socket, reply, sizeof *reply, MSG_DONTWAIT) == (ssize_t)sizeof *reply;
}

static void end(struct hd_server *server) {
    server->state = NEVER;
    if (server->socket >= 0) close(server->socket);
    if (server->pid > 0) {
        kill(server->pid, SIGKILL);
        while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (server->output >= 0) close(server->output);
    if (server->error >= 0) close(server->error);
    server->socket = server->output = server->error = -1;
    server->pid = 0;
}

static bool start(struct hd_server *server, const struct hd_program *program,
                  const struct hd_host *host, int socket, int input) {
    int descriptors[3] = {input, server->output, server->error};
    struct hd_job job = {.program = *program, .steering = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_host alone = *host;
    alone.server = NULL;
    struct hd_record_options options = {
        .job = &job, .host = &alone, .descriptors = descriptors, .apart = true};
    struct hd_error ignored;
    struct hd_live live = {.options = &options,
                           .host = &alone,
                           .error = &ignored,
                           .channel_fd = -1,
                           .pidfd = -1,
                           .serve = socket};
    pthread_sigmask(SIG_SETMASK, NULL, &live.mask);
    struct hd_wire_reply reply;
    bool good = hd_live_start(&live);
    close(socket); /* if the program ends, that is seen */
    if (good) server->pid = live.child;
    good = good && hear(server, host, START_MS, &reply) && reply.state == HD_REPLY_READY;
    hd_live_close(&live);
    return good;
}

void hd_server_prepare(struct hd_server *server, const struct hd_program *program,
                       const struct hd_host *host) {
    int pair[2] = {-1, -1};
    if (server == NULL || server->state != POSSIBLE || !is_of(server, program)) return;
    server->state = NEVER;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return;
    server->socket = pair[0];
    server->output = hd_temporary_file();
    server->error = hd_temporary_file();
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool good = server->output >= 0 && server->error >= 0 && input >= 0;
    if (good) {
        fcntl(server->output, F_SETFL, O_APPEND);
        fcntl(server->error, F_SETFL, O_APPEND);
        good = start(server, program, host, pair[1], input);
    } else {
        close(pair[1]);
    }
    if (input >= 0) close(input);
    if (good)
        server->state = READY;
    else
        end(server);
}

void hd_server_free(struct hd_server *server) {
    if (server == NULL) return;
    end(server);
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

static bool ask(const struct hd_server *server, const struct hd_live *live) {
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
    return sendmsg(server->socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof request;
}

/* The run is started in the plain way, and so are all others. */
static void give_up(struct hd_server *server, const int *descriptors) {
    bool wrote = hd_output_bytes(server->output) > 0 || hd_output_bytes(server->error) > 0;
    for (int i = 1; i < 3 && wrote; i++)
        if (ftruncate(descriptors[i], 0) != 0) break;
    end(server);
}

bool hd_server_fork(struct hd_live *live) {
    struct hd_server *server = live->host->server;
    const struct hd_record_options *options = live->options;
    struct hd_wire_reply reply = {.pid = 0};
    if (server == NULL || live->channel == NULL || options->descriptors == NULL || !options->apart)
        return false;
    pthread_mutex_lock(&server->lock);
    bool good = server->state == READY && is_of(server, &options->job->program) &&
                !options->foreground && !options->again;
    if (good) {
        good = copy_output(server->output, options->descriptors[1]) &&
               copy_output(server->error, options->descriptors[2]) && ask(server, live) &&
               hear(server, live->host, FORK_MS, &reply) && reply.state == HD_REPLY_FORKED &&
               reply.pid > 0;
        server->runs += good;
        if (!good) give_up(server, options->descriptors);
    }
    pthread_mutex_unlock(&server->lock);
    if (!good) return false;
    live->child = reply.pid;
    setpgid(live->child, live->child); /* it does so itself, but perhaps not yet */
    live->pidfd = hd_pidfd(live->child);
    __atomic_store_n(&live->registered.pid, live->child, __ATOMIC_RELEASE);
    return true;
}
