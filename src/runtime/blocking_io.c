/* Reading, writing and connections. What a call reads from or writes into the program's memory is
 * recorded with the bytes that were really transferred, as far as that can be known in time. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/blocking.h"
#include "runtime/files.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                       struct sockaddr *address, socklen_t *length);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(read) X(pread) X(readv) X(preadv) X(preadv2) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg)     \
    X(write) X(pwrite) X(writev) X(pwritev) X(pwritev2) X(send) X(sendto) X(sendmsg) X(sendmmsg)  \
    X(accept) X(accept4) X(connect) X(sendfile) X(splice) X(tee) X(vmsplice) X(__read_chk) X(__pread_chk) X(__recv_chk)        \
    X(__recvfrom_chk)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

/* ---- would it block? ----------------------------------------------------------------------- */

static bool is_ready(int fd, short events) {
    struct pollfd set = {.fd = fd, .events = events, .revents = 0};
    return rt_kernel(SYS_poll, (long)&set, 1, 0, 0, 0, 0) != 0;
}

static bool never_waits(int fd) {
    long flags = rt_kernel(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
    return flags < 0 || flags & O_NONBLOCK;
}

static bool is_stream_of_bytes(int fd) {
    struct stat status;
    if (rt_kernel(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) != 0) return false;
    return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

static bool input_blocks(int fd, int flags) {
    if (!rt_is_serial() || flags & MSG_DONTWAIT) return false;
    if (!(flags & MSG_WAITALL) && is_ready(fd, POLLIN)) return false;
    return !never_waits(fd);
}

/* A pipe or socket that takes some bytes need not take many. */
static bool output_blocks(int fd, size_t size, int flags) {
    if (!rt_is_serial() || flags & MSG_DONTWAIT) return false;
    if (is_ready(fd, POLLOUT) && (size <= PIPE_BUF || !is_stream_of_bytes(fd))) return false;
    return !never_waits(fd);
}

/* Runs a call, without the turn if it would block. Under free it is always the program's own
 * business how long the call takes. */
#define RUN(t, blocks, call) (!rt_is_serial() || (blocks) ? WITHOUT_TURN(t, call) : (call))

/* The same for one that reads from fd. */
#define INPUT(t, blocks, call) (rt_file_gets(t, fd), RUN(t, blocks, call))

RT_INLINE void finish(struct rt_thread *t, ssize_t result) {
    if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) rt_let_others(t);
}

/* ---- what was transferred ------------------------------------------------------------------ */

static void note_vector(struct rt_thread *t, const struct iovec *vector, size_t count, size_t size,
                        bool write, uintptr_t pc) {
    for (size_t i = 0; i < count && size > 0; i++) {
        size_t part = vector[i].iov_len < size ? vector[i].iov_len : size;
        rt_touch(t, vector[i].iov_base, part, write, pc);
        size -= part;
    }
}

static unsigned how_got(int flags) { return flags & MSG_PEEK ? RT_GOT_PEEK : RT_GOT; }

/* Input is written into memory by the time the call returns. */
static ssize_t received(struct rt_thread *t, int fd, ssize_t result, unsigned how, void *to,
                        size_t size, uintptr_t pc) {
    int saved = errno;
    if (size > 0) rt_file_got(t, fd, result, how, pc);
    rt_source(t, HD_NOTE_INPUT, pc);
    if (result > 0) rt_touch(t, to, (size_t)result < size ? (size_t)result : size, true, pc);
    finish(t, result);
    errno = saved;
    return result;
}
static ssize_t received_vector(struct rt_thread *t, int fd, ssize_t result, unsigned how,
                               const struct iovec *vector, size_t count, uintptr_t pc) {
    int saved = errno;
    rt_file_got(t, fd, result, how, pc);
    rt_source(t, HD_NOTE_INPUT, pc);
    if (result > 0) note_vector(t, vector, count, (size_t)result, true, pc);
    finish(t, result);
    errno = saved;
    return result;
}

/* Output is read from memory during the call. With the turn, the exact number of bytes is
 * noted after it. Otherwise it must be noted before: by the time the call returns, whoever got the
 * bytes may have let another thread reuse the buffer. */
#define OUTPUT(t, blocks, call, note) OUTPUT_UNITS(t, blocks, call, note, moved)
#define OUTPUT_UNITS(t, blocks, call, note, units)                         \
    __extension__({                                                        \
        bool away = !rt_is_serial() || (blocks);                           \
        size_t moved = SIZE_MAX;                                           \
        if (away) note(moved);                                             \
        uint32_t file = 0;                                                 \
        if (away) file = rt_file_sent(t, fd, RT_BYTES_UNKNOWN, RT_CALLER); \
        ssize_t sent = away ? WITHOUT_TURN(t, call) : (call);              \
        int errno_sent = errno;                                            \
        moved = sent > 0 ? (size_t)sent : 0;                               \
        if (!away) note(moved);                                            \
        if (away)                                                          \
            rt_file_settled(fd, file, units);                              \
        else                                                               \
            rt_file_sent(t, fd, units, RT_CALLER);                         \
        finish(t, sent);                                                   \
        errno = errno_sent;                                                \
        sent;                                                              \
    })
#define NOTE_BUFFER(moved) READS(from, (moved) < size ? (moved) : size)
#define NOTE_VECTOR(moved) note_vector(t, vector, (size_t)count, moved, false, RT_CALLER)
#define NOTE_MESSAGE(moved) \
    note_vector(t, message->msg_iov, message->msg_iovlen, moved, false, RT_CALLER)

static size_t vector_bytes(const struct iovec *vector, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += vector[i].iov_len;
    return size;
}

/* ---- input --------------------------------------------------------------------------------- */

RT_EXPORT ssize_t read(int fd, void *to, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(read)(fd, to, size);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, 0);
    ssize_t result = INPUT(t, away, real(read)(fd, to, size));
    if (rt_is_file(fd) && unlikely(rt_files[fd].kind == RT_FILE_SIGNALS))
        rt_signals_read(t, to, result, RT_CALLER);
    return received(t, fd, result, RT_GOT, to, size, RT_CALLER);
}
RT_EXPORT ssize_t __read_chk(int fd, void *to, size_t size, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__read_chk)(fd, to, size, room);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, 0);
    ssize_t result = INPUT(t, away, real(__read_chk)(fd, to, size, room));
    return received(t, fd, result, RT_GOT, to, size, RT_CALLER);
}

/* These need a file that can be positioned, and such files are always ready. */
RT_EXPORT ssize_t pread(int fd, void *to, size_t size, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pread)(fd, to, size, offset);
    rt_fd_used(t, fd, RT_CALLER);
    return received(t, fd, real(pread)(fd, to, size, offset), RT_GOT, to, size, RT_CALLER);
}
RT_EXPORT ssize_t pread64(int fd, void *to, size_t size, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pread)(fd, to, size, offset);
    rt_fd_used(t, fd, RT_CALLER);
    return received(t, fd, real(pread)(fd, to, size, offset), RT_GOT, to, size, RT_CALLER);
}
RT_EXPORT ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__pread_chk)(fd, to, size, offset, room);
    rt_fd_used(t, fd, RT_CALLER);
    return received(t, fd, real(__pread_chk)(fd, to, size, offset, room), RT_GOT, to, size,
                    RT_CALLER);
}
RT_EXPORT ssize_t __pread64_chk(int fd, void *to, size_t size, off_t offset, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__pread_chk)(fd, to, size, offset, room);
    rt_fd_used(t, fd, RT_CALLER);
    return received(t, fd, real(__pread_chk)(fd, to, size, offset, room), RT_GOT, to, size,
                    RT_CALLER);
}

RT_EXPORT ssize_t readv(int fd, const struct iovec *vector, int count) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(readv)(fd, vector, count);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, 0);
    ssize_t result = INPUT(t, away, real(readv)(fd, vector, count));
    return received_vector(t, fd, result, RT_GOT, vector, (size_t)count, RT_CALLER);
}
RT_EXPORT ssize_t preadv(int fd, const struct iovec *vector, int count, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    ssize_t result = real(preadv)(fd, vector, count, offset);
    if (t == NULL) return result;
    return received_vector(t, fd, result, RT_GOT, vector, (size_t)count, RT_CALLER);
}
RT_EXPORT ssize_t preadv64(int fd, const struct iovec *vector, int count, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    ssize_t result = real(preadv)(fd, vector, count, offset);
    if (t == NULL) return result;
    return received_vector(t, fd, result, RT_GOT, vector, (size_t)count, RT_CALLER);
}
RT_INLINE ssize_t preadv2_at(int fd, const struct iovec *vector, int count, off_t offset, int flags,
                             uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(preadv2)(fd, vector, count, offset, flags);
    rt_fd_used(t, fd, pc);
    bool blocks = offset == -1 && input_blocks(fd, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0);
    ssize_t result = INPUT(t, blocks, real(preadv2)(fd, vector, count, offset, flags));
    return received_vector(t, fd, result, RT_GOT, vector, (size_t)count, pc);
}
RT_EXPORT ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t offset, int flags) {
    return preadv2_at(fd, vector, count, offset, flags, RT_CALLER);
}
RT_EXPORT ssize_t preadv64v2(int fd, const struct iovec *vector, int count, off_t offset,
                             int flags) {
    return preadv2_at(fd, vector, count, offset, flags, RT_CALLER);
}

RT_EXPORT ssize_t recv(int fd, void *to, size_t size, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(recv)(fd, to, size, flags);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, flags);
    ssize_t result = INPUT(t, away, real(recv)(fd, to, size, flags));
    return received(t, fd, result, how_got(flags), to, size, RT_CALLER);
}
RT_EXPORT ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__recv_chk)(fd, to, size, room, flags);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, flags);
    ssize_t result = INPUT(t, away, real(__recv_chk)(fd, to, size, room, flags));
    return received(t, fd, result, how_got(flags), to, size, RT_CALLER);
}
RT_EXPORT ssize_t recvfrom(int fd, void *restrict to, size_t size, int flags,
                           struct sockaddr *restrict address, socklen_t *restrict length) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(recvfrom)(fd, to, size, flags, address, length);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, flags);
    ssize_t result = INPUT(t, away, real(recvfrom)(fd, to, size, flags, address, length));
    return received(t, fd, result, how_got(flags), to, size, RT_CALLER);
}
RT_EXPORT ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                                 struct sockaddr *address, socklen_t *length) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__recvfrom_chk)(fd, to, size, room, flags, address, length);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, flags);
    ssize_t result =
        INPUT(t, away, real(__recvfrom_chk)(fd, to, size, room, flags, address, length));
    return received(t, fd, result, how_got(flags), to, size, RT_CALLER);
}
RT_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(recvmsg)(fd, message, flags);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, flags);
    ssize_t result = INPUT(t, away, real(recvmsg)(fd, message, flags));
    return received_vector(t, fd, result, how_got(flags), message->msg_iov, message->msg_iovlen,
                           RT_CALLER);
}
RT_EXPORT int recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                       struct timespec *timeout) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(recvmmsg)(fd, message, count, flags, timeout);
    rt_fd_used(t, fd, RT_CALLER);
    /* Without MSG_WAITFORONE it waits for all the messages. */
    int how = flags & MSG_WAITFORONE || count <= 1 ? flags : flags | MSG_WAITALL;
    bool away = input_blocks(fd, how);
    int result = INPUT(t, away, real(recvmmsg)(fd, message, count, flags, timeout));
    int saved = errno;
    if (result <= 0) rt_file_got(t, fd, -1, RT_GOT, RT_CALLER);
    for (int i = 0; i < result; i++)
        rt_file_got(t, fd, message[i].msg_len, how_got(flags), RT_CALLER);
    for (int i = 0; i < result; i++)
        note_vector(t, message[i].msg_hdr.msg_iov, message[i].msg_hdr.msg_iovlen,
                    message[i].msg_len, true, RT_CALLER);
    finish(t, result);
    errno = saved;
    return result;
}

/* ---- output -------------------------------------------------------------------------------- */

RT_EXPORT ssize_t write(int fd, const void *from, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(write)(fd, from, size);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT_UNITS(t, output_blocks(fd, size, 0), real(write)(fd, from, size), NOTE_BUFFER,
                        rt_file_units(fd, from, moved));
}
RT_EXPORT ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pwrite)(fd, from, size, offset);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, false, real(pwrite)(fd, from, size, offset), NOTE_BUFFER);
}
RT_EXPORT ssize_t pwrite64(int fd, const void *from, size_t size, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pwrite)(fd, from, size, offset);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, false, real(pwrite)(fd, from, size, offset), NOTE_BUFFER);
}
RT_EXPORT ssize_t writev(int fd, const struct iovec *vector, int count) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(writev)(fd, vector, count);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, output_blocks(fd, vector_bytes(vector, count), 0),
                  real(writev)(fd, vector, count), NOTE_VECTOR);
}
RT_EXPORT ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pwritev)(fd, vector, count, offset);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, false, real(pwritev)(fd, vector, count, offset), NOTE_VECTOR);
}
RT_EXPORT ssize_t pwritev64(int fd, const struct iovec *vector, int count, off_t offset) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pwritev)(fd, vector, count, offset);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, false, real(pwritev)(fd, vector, count, offset), NOTE_VECTOR);
}
RT_EXPORT ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pwritev2)(fd, vector, count, offset, flags);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, offset == -1 && output_blocks(fd, vector_bytes(vector, count), 0),
                  real(pwritev2)(fd, vector, count, offset, flags), NOTE_VECTOR);
}
RT_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *vector, int count, off_t offset,
                              int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pwritev2)(fd, vector, count, offset, flags);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, offset == -1 && output_blocks(fd, vector_bytes(vector, count), 0),
                  real(pwritev2)(fd, vector, count, offset, flags), NOTE_VECTOR);
}

RT_EXPORT ssize_t send(int fd, const void *from, size_t size, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(send)(fd, from, size, flags);
    rt_fd_used(t, fd, RT_CALLER);
    return OUTPUT(t, output_blocks(fd, size, flags), real(send)(fd, from, size, flags),
                  NOTE_BUFFER);
}
RT_EXPORT ssize_t sendto(int fd, const void *from, size_t size, int flags,
                         const struct sockaddr *address, socklen_t length) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sendto)(fd, from, size, flags, address, length);
    rt_fd_used(t, fd, RT_CALLER);
    rt_socket_sends(t, fd, address, length, RT_CALLER);
    return OUTPUT(t, output_blocks(fd, size, flags),
                  real(sendto)(fd, from, size, flags, address, length), NOTE_BUFFER);
}
RT_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sendmsg)(fd, message, flags);
    rt_fd_used(t, fd, RT_CALLER);
    rt_socket_sends(t, fd, message->msg_name, message->msg_namelen, RT_CALLER);
    size_t size = vector_bytes(message->msg_iov, (int)message->msg_iovlen);
    return OUTPUT(t, output_blocks(fd, size, flags), real(sendmsg)(fd, message, flags),
                  NOTE_MESSAGE);
}
/* How many bytes each took is known after the call; the messages' lengths say it as well. */
RT_EXPORT int sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sendmmsg)(fd, message, count, flags);
    rt_fd_used(t, fd, RT_CALLER);
    for (unsigned i = 0; i < count; i++) {
        const struct msghdr *each = &message[i].msg_hdr;
        note_vector(t, each->msg_iov, each->msg_iovlen, SIZE_MAX, false, RT_CALLER);
        rt_socket_sends(t, fd, each->msg_name, each->msg_namelen, RT_CALLER);
    }
    rt_file_sent_some(t, fd, RT_CALLER);
    int result =
        RUN(t, output_blocks(fd, SIZE_MAX, flags), real(sendmmsg)(fd, message, count, flags));
    finish(t, result);
    return result;
}

/* From one descriptor to another, inside the kernel. */
#define MOVES(in, out, blocks, call)                                       \
    __extension__({                                                        \
        rt_fd_used(t, in, RT_CALLER);                                      \
        rt_fd_used(t, out, RT_CALLER);                                     \
        bool away = !rt_is_serial() || (blocks);                           \
        uint32_t file = rt_file_sent(t, out, RT_BYTES_UNKNOWN, RT_CALLER); \
        rt_file_gets(t, in);                                               \
        ssize_t moved = RUN(t, away, call);                                \
        int errno_moved = errno;                                           \
        rt_file_settled(out, file, moved > 0 ? (size_t)moved : 0);         \
        rt_file_got(t, in, moved, RT_GOT, RT_CALLER);                      \
        finish(t, moved);                                                  \
        errno = errno_moved;                                               \
        moved;                                                             \
    })

RT_INLINE ssize_t send_file(int to, int from, off_t *offset, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sendfile)(to, from, offset, size);
    return MOVES(from, to, output_blocks(to, size, 0), real(sendfile)(to, from, offset, size));
}
RT_EXPORT ssize_t splice(int from, off64_t *in, int to, off64_t *out, size_t size, unsigned flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(splice)(from, in, to, out, size, flags);
    int how = flags & SPLICE_F_NONBLOCK ? MSG_DONTWAIT : 0;
    return MOVES(from, to, input_blocks(from, how) || output_blocks(to, size, how),
                 real(splice)(from, in, to, out, size, flags));
}
RT_EXPORT ssize_t tee(int from, int to, size_t size, unsigned flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(tee)(from, to, size, flags);
    int how = flags & SPLICE_F_NONBLOCK ? MSG_DONTWAIT : 0;
    rt_fd_used(t, from, RT_CALLER);
    rt_fd_used(t, to, RT_CALLER);
    rt_file_sent_some(t, to, RT_CALLER);
    ssize_t result = RUN(t, input_blocks(from, how), real(tee)(from, to, size, flags));
    rt_file_got(t, from, result, RT_GOT_PEEK, RT_CALLER);
    finish(t, result);
    return result;
}
RT_EXPORT ssize_t vmsplice(int fd, const struct iovec *vector, size_t count, unsigned flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(vmsplice)(fd, vector, count, flags);
    rt_fd_used(t, fd, RT_CALLER);
    rt_file_sent_some(t, fd, RT_CALLER);
    ssize_t result =
        RUN(t, output_blocks(fd, SIZE_MAX, 0), real(vmsplice)(fd, vector, count, flags));
    rt_file_got_some(t, fd, RT_CALLER);
    finish(t, result);
    return result;
}
RT_EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
    return send_file(to, from, offset, size);
}
RT_EXPORT ssize_t sendfile64(int to, int from, off_t *offset, size_t size) {
    return send_file(to, from, offset, size);
}

/* ---- event counters ------------------------------------------------------------------------ */

RT_EXPORT int eventfd_read(int fd, eventfd_t *value) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return REAL(eventfd_read)(fd, value);
    rt_fd_used(t, fd, RT_CALLER);
    bool away = input_blocks(fd, 0);
    ssize_t result = INPUT(t, away, real(read)(fd, value, sizeof *value));
    result = received(t, fd, result, RT_GOT, value, sizeof *value, RT_CALLER);
    return result == (ssize_t)sizeof *value ? 0 : -1;
}
RT_EXPORT int eventfd_write(int fd, eventfd_t value) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return REAL(eventfd_write)(fd, value);
    rt_fd_used(t, fd, RT_CALLER);
#define NOTE_NOTHING(moved) (void)(moved)
    ssize_t result =
        OUTPUT_UNITS(t, output_blocks(fd, sizeof value, 0), real(write)(fd, &value, sizeof value),
                     NOTE_NOTHING, rt_file_units(fd, &value, moved));
    return result == (ssize_t)sizeof value ? 0 : -1;
}

/* ---- connections --------------------------------------------------------------------------- */

RT_EXPORT int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(accept)(fd, address, length);
    rt_fd_used(t, fd, RT_CALLER);
    int result = RUN(t, input_blocks(fd, 0), real(accept)(fd, address, length));
    rt_socket_accepted(t, fd, result, RT_CALLER);
    finish(t, result);
    return result;
}
RT_EXPORT int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length,
                      int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(accept4)(fd, address, length, flags);
    rt_fd_used(t, fd, RT_CALLER);
    int result = RUN(t, input_blocks(fd, 0), real(accept4)(fd, address, length, flags));
    rt_socket_accepted(t, fd, result, RT_CALLER);
    finish(t, result);
    return result;
}
RT_EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(connect)(fd, address, length);
    rt_socket_connects(t, fd, address, length, RT_CALLER);
    int result = RUN(t, !never_waits(fd), real(connect)(fd, address, length));
    int saved = errno;
    rt_socket_connected(t, fd, address, length, result == 0 || saved == EINPROGRESS);
    errno = saved;
    return result;
}
