/* Stops a program where a function begins, by a breakpoint, and lets every run go on from there.
 * See startup.h. */
#define _GNU_SOURCE
#include "runtime/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_FILES 256u
#define BREAKPOINT 0xcc

/* A plain file that is open: a run gets its own descriptor of it. */
struct opened {
    int fd, flags, fd_flags;
    off_t offset, bytes;
};

/* One that the program was executed with: all runs share it in any case. */
struct inherited {
    int fd;
    dev_t device;
    ino_t inode;
};

static struct {
    int server, file;
    char *channel;
    uint64_t module, address, written;
    uintptr_t at;
    uint8_t byte; /* that the breakpoint stands for */
    struct sigaction before;
    struct opened opened[MOST_FILES];
    uint32_t files;
    struct inherited inherited[MOST_FILES];
    uint32_t inherits;
    off_t input; /* how far standard input was read; -1: it is no plain file */
} here;

void rt_startup_fail(enum hd_reply_state why, uint64_t number) {
    rt_cannot_serve(here.server, why, number);
}

void rt_startup_keep(struct hd_wire_chunk *chunk) {
    long bytes = sizeof *chunk;
    if (syscall(SYS_pwrite64, here.file, chunk, bytes, here.written) != bytes)
        rt_startup_fail(HD_REPLY_LONG, 0);
    here.written += (uint64_t)bytes;
    memset(chunk, 0, sizeof *chunk);
}

/* ---- what runs would share ------------------------------------------------------------------ */

/* A terminal or a random source has no state that one run could leave to the next. */
static bool is_harmless(const struct stat *about) {
    return S_ISDIR(about->st_mode) || (S_ISCHR(about->st_mode) && major(about->st_rdev) == 1);
}

static bool is_inherited(int fd, const struct stat *about) {
    for (uint32_t i = 0; i < here.inherits; i++)
        if (here.inherited[i].fd == fd && here.inherited[i].device == about->st_dev &&
            here.inherited[i].inode == about->st_ino)
            return true;
    return false;
}

static void inherit(int fd) {
    struct stat about;
    if (fstat(fd, &about) == 0 && here.inherits < MOST_FILES)
        here.inherited[here.inherits++] = (struct inherited){fd, about.st_dev, about.st_ino};
}

static void look_at_file(int fd) {
    struct stat about;
    if (fd <= 2 || fd == here.server || fd == here.file || fstat(fd, &about) != 0) return;
    if (is_inherited(fd, &about) || is_harmless(&about)) return;
    if (!S_ISREG(about.st_mode) || here.files == MOST_FILES)
        rt_startup_fail(HD_REPLY_OPEN, (uint64_t)fd);
    here.opened[here.files++] = (struct opened){.fd = fd,
                                                .flags = (int)syscall(SYS_fcntl, fd, F_GETFL),
                                                .fd_flags = (int)syscall(SYS_fcntl, fd, F_GETFD),
                                                .offset = syscall(SYS_lseek, fd, 0L, SEEK_CUR),
                                                .bytes = about.st_size};
}

static int open_proc(const char *path, int flags) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0) rt_startup_fail(HD_REPLY_CANNOT, 0);
    return fd;
}

static void each_file(void (*look)(int fd)) {
    struct entry {
        uint64_t inode;
        int64_t offset;
        uint16_t length;
        uint8_t type;
        char name[];
    };
    char names[4096] __attribute__((aligned(8)));
    int directory = open_proc("/proc/self/fd", O_DIRECTORY);
    for (long n; (n = syscall(SYS_getdents64, directory, names, sizeof names)) > 0;)
        for (long at = 0; at < n; at += ((struct entry *)(void *)(names + at))->length) {
            int fd = 0;
            const char *c = ((struct entry *)(void *)(names + at))->name;
            for (; *c >= '0' && *c <= '9'; c++) fd = fd * 10 + (*c - '0');
            if (*c == '\0' && fd != directory) look(fd);
        }
    syscall(SYS_close, directory);
}

static void look_at_input(void) {
    struct stat input;
    bool plain = fstat(0, &input) == 0 && S_ISREG(input.st_mode);
    here.input = plain ? syscall(SYS_lseek, 0, 0L, SEEK_CUR) : -1;
}

/* "7f00-7f01 rw-s 00000000 00:05 12 /path": other shared memory than the session. */
static void look_at_mappings(void) {
    char text[4096];
    int fd = open_proc("/proc/self/maps", 0);
    unsigned word = 0;
    uint64_t from = 0;
    bool writes = false;
    for (long n; (n = syscall(SYS_read, fd, text, sizeof text)) > 0;)
        for (long i = 0; i < n; i++) {
            char c = text[i];
            if (c == '\n')
                word = 0, from = 0;
            else if (c == ' ' && word < 2)
                word++;
            else if (c == '-' && word == 0)
                word = 3; /* the end of the range */
            else if (word == 0)
                from = from * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            if (word == 3 && c == ' ') word = 1, writes = false;
            if (word == 1 && c == 'w') writes = true;
            if (word == 1 && c == 's' && writes && from != (uint64_t)(uintptr_t)rt.session)
                rt_startup_fail(HD_REPLY_SHARED, from);
        }
    syscall(SYS_close, fd);
}

/* In a run: files as a program that was just executed would have them. */
static void open_again(const struct opened *file) {
    char path[40] = "/proc/self/fd/", digits[12];
    unsigned count = 0, at = 14;
    for (int rest = file->fd; rest > 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
    while (count > 0) path[at++] = digits[--count];
    int flags = file->flags & ~(O_CREAT | O_EXCL | O_TRUNC);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
    if (fd < 0) return; /* it may not be opened: it stays shared */
    syscall(SYS_dup3, fd, file->fd, file->fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    syscall(SYS_close, fd);
    if ((flags & O_ACCMODE) != O_RDONLY) syscall(SYS_ftruncate, file->fd, file->bytes);
    syscall(SYS_lseek, file->fd, file->offset, SEEK_SET);
}

/* ---- the breakpoint ------------------------------------------------------------------------- */

/* A private copy of the page is changed, whatever its protection. */
static bool put_byte(uint8_t byte) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool good = fd >= 0 && syscall(SYS_pwrite64, fd, &byte, 1L, here.at) == 1;
    if (fd >= 0) syscall(SYS_close, fd);
    return good;
}

static void wait_here(struct rt_thread *t) {
    if (rt.threads > 1 || !rt_has_one_task()) rt_startup_fail(HD_REPLY_THREADS, 0);
    if (t->inside || t->busy || t->state != RT_RUNNING || t->signals_pending)
        rt_startup_fail(HD_REPLY_INSIDE, 0);
    each_file(look_at_file);
    look_at_input();
    look_at_mappings();
    rt_serve(here.server, here.channel, rt_calls(t));
    /* a run goes on here */
    syscall(SYS_close, here.file);
    for (uint32_t i = 0; i < here.files; i++) open_again(&here.opened[i]);
    if (here.input > 0) syscall(SYS_lseek, 0, here.input, SEEK_SET);
    t->tid = rt_gettid();
    if (!rt_session_renew(t, here.channel)) syscall(SYS_exit_group, 127);
    rt_startup_ask(t);
}

static void stopped(int number, siginfo_t *info, void *context) {
    (void)info;
    int saved = errno;
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    REAL(sigaction)(number, &here.before, NULL);
    if ((uintptr_t)*pc == here.at + 1 && put_byte(here.byte)) {
        *pc = (greg_t)here.at;
        wait_here(&rt_self);
    } else {
        syscall(SYS_tgkill, getpid(), rt_gettid(), number); /* somebody else's */
    }
    errno = saved;
}

void rt_startup_begin(int server, const struct hd_wire_channel *wanted, char *channel) {
    here.server = server;
    here.channel = channel;
    here.file = (int)wanted->startup;
    here.module = wanted->wait_module;
    here.address = wanted->wait_address;
    each_file(inherit);
    rt.startup = true;
}

void rt_startup_arm(void) {
    const struct hd_wire_session *session = rt.session;
    for (uint32_t i = 0; i < session->module_count && here.at == 0; i++) {
        const struct hd_wire_module *module = &session->module[i];
        if (hd_wire_name_hash(session->strings + module->path) == here.module)
            here.at = module->bias + here.address;
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = stopped;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    if (here.at == 0) rt_startup_fail(HD_REPLY_NO_FUNCTION, 0);
    here.byte = *(const uint8_t *)here.at;
    if (REAL(sigaction)(SIGTRAP, &action, &here.before) != 0 || !put_byte(BREAKPOINT))
        rt_startup_fail(HD_REPLY_CANNOT, 0);
}
