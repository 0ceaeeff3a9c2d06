/* Sockets that one thread of the process connects and another accepts: which two are the ends of
 * one connection is told by their addresses. Connections of the internet's are channels, whose
 * bytes are counted (files.c); for those by names of the file system's, where one end has no
 * address, and for datagrams, who gets something comes after all that was sent to the name or port
 * so far. What goes to and comes from other processes is no order. */
#define _GNU_SOURCE
#include "runtime/blocking.h"
#include "runtime/files.h"

#include <netinet/in.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* One end is known, and the other will ask for it. Beyond this many the oldest are given up. */
#define HALVES 256u
struct half {
    uint64_t key;
    uint16_t to_server, to_client; /* channels; 0: not in use */
    uint32_t connector;            /* thread; UINT32_MAX: the accepting end came first */
};
static struct half halves[HALVES];
static uint32_t next_half;
static uint8_t listens[65536]; /* ports */
static uint32_t connecting;    /* calls that are under way */
static struct rt_spin lock;    /* guards these */

/* ---- addresses ---------------------------------------------------------------------------------
 */

struct address {
    union {
        struct sockaddr plain;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_un local;
    };
    socklen_t length;
};

static bool ask(long call, int fd, struct address *address) {
    address->length = sizeof address->local;
    return rt_kernel(call, fd, (long)&address->plain, (long)&address->length, 0, 0, 0) == 0;
}
RT_PROGRAM static void given(struct address *to, const struct sockaddr *address, socklen_t length) {
    to->plain.sa_family = AF_UNSPEC;
    if (address == NULL || length < sizeof(sa_family_t)) {
        to->length = 0;
        return;
    }
    to->length = length < sizeof to->local ? length : sizeof to->local;
    for (socklen_t i = 0; i < to->length; i++) ((char *)&to->local)[i] = ((const char *)address)[i];
}

static bool is_internet(const struct address *address) {
    return (address->plain.sa_family == AF_INET && address->length >= sizeof address->four) ||
           (address->plain.sa_family == AF_INET6 && address->length >= sizeof address->six);
}
static uint16_t port_of(const struct address *address) {
    return ntohs(address->plain.sa_family == AF_INET ? address->four.sin_port
                                                     : address->six.sin6_port);
}

static uint64_t add_bytes(uint64_t hash, const void *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const uint8_t *)from)[i]) * 0x100000001b3ull;
    return hash;
}
/* An address of the older kind, written as one of the newer, is the same. */
static uint64_t add_address(uint64_t hash, const struct address *address) {
    uint16_t port = port_of(address);
    hash = add_bytes(hash, &port, sizeof port);
    if (address->plain.sa_family == AF_INET) return add_bytes(hash, &address->four.sin_addr, 4);
    const uint8_t *byte = address->six.sin6_addr.s6_addr;
    return IN6_IS_ADDR_V4MAPPED(&address->six.sin6_addr) ? add_bytes(hash, byte + 12, 4)
                                                         : add_bytes(hash, byte, 16);
}
/* A name of the file system's ends with a zero byte, or not. */
static uint64_t name_of(const struct address *address) {
    size_t length = address->length - sizeof(sa_family_t);
    const char *name = address->local.sun_path;
    if (length > 0 && name[0] != '\0')
        for (size_t i = 0; i < length; i++)
            if (name[i] == '\0') length = i;
    return add_bytes(0xcbf29ce484222325ull, name, length);
}
static bool is_name(const struct address *address) {
    return address->plain.sa_family == AF_UNIX && address->length > sizeof(sa_family_t);
}

/* ---- datagrams ---------------------------------------------------------------------------------
 */

void rt_socket_sends(struct rt_thread *t, int fd, const struct sockaddr *address, socklen_t length,
                     uintptr_t pc) {
    if (!rt_is_file(fd) || address == NULL) return;
    unsigned kind = rt_files[fd].kind;
    if (kind != RT_FILE_DATAGRAM && kind != RT_FILE_LOCAL) return;
    struct address to;
    given(&to, address, length);
    if (is_internet(&to))
        rt_mail_sent(t, rt_mail_number(RT_MAIL_DATAGRAMS, port_of(&to)), pc);
    else if (is_name(&to))
        rt_mail_sent(t, rt_mail_number(RT_MAIL_NAME, name_of(&to)), pc);
}

static void has_address(int fd) {
    struct address own;
    struct rt_file *file = &rt_files[fd];
    if (!ask(SYS_getsockname, fd, &own)) return;
    if (file->kind == RT_FILE_DATAGRAM && is_internet(&own) && port_of(&own) != 0)
        file->mail_in = rt_mail_number(RT_MAIL_DATAGRAMS, port_of(&own));
    if (file->kind == RT_FILE_LOCAL && is_name(&own))
        file->mail_in = rt_mail_number(RT_MAIL_NAME, name_of(&own));
}
void rt_socket_receives(int fd) {
    if (rt_files[fd].mail_in == 0) has_address(fd);
}

RT_EXPORT int socket(int domain, int type, int protocol) {
    struct rt_thread *t = rt_touch_begin();
    int fd = REAL(socket)(domain, type, protocol);
    if (t == NULL || !rt_is_file(fd)) return fd;
    rt_fd_made(t, fd, HD_BLOCK_SOCKET, RT_CALLER);
    bool internet = domain == AF_INET || domain == AF_INET6, datagrams = (type & 0xf) == SOCK_DGRAM;
    if (internet || domain == AF_UNIX)
        rt_files[fd].kind = !datagrams ? RT_FILE_STREAM
                            : internet ? RT_FILE_DATAGRAM
                                       : RT_FILE_LOCAL;
    return fd;
}
RT_EXPORT int bind(int fd, const struct sockaddr *address, socklen_t length) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    int result = REAL(bind)(fd, address, length);
    if (t != NULL && result == 0 && rt_is_file(fd)) has_address(fd);
    return result;
}

/* ---- connections -------------------------------------------------------------------------------
 */

/* Somebody connects to a port or a name: who accepts there comes after it. */
static uint16_t mail_of_connects(const struct address *address) {
    if (is_internet(address)) return rt_mail_number(RT_MAIL_CONNECT, port_of(address));
    return is_name(address) ? rt_mail_number(RT_MAIL_CONNECT, name_of(address)) : 0;
}

RT_EXPORT int listen(int fd, int backlog) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    int result = REAL(listen)(fd, backlog);
    if (t == NULL || result != 0 || !rt_is_file(fd)) return result;
    struct address own;
    if (!ask(SYS_getsockname, fd, &own)) return result;
    rt_files[fd].kind = RT_FILE_LISTENS;
    rt_files[fd].mail_in = mail_of_connects(&own);
    if (is_internet(&own)) listens[port_of(&own)] = 1;
    return result;
}

static bool is_ours(const struct address *server) {
    return is_internet(server) && listens[port_of(server)] != 0;
}

/* The channels of a connection, if the other end has left them here; makes them if it may yet ask.
 */
static struct half meet(uint64_t key, uint32_t connector, bool may_come) {
    struct half found = {0, 0, 0, UINT32_MAX};
    for (uint32_t i = 0; i < HALVES; i++) {
        struct half *half = &halves[i];
        if (half->to_server == 0 || half->key != key ||
            (half->connector == UINT32_MAX) == (connector == UINT32_MAX))
            continue;
        found = *half;
        half->to_server = half->to_client = 0;
        return found;
    }
    if (!may_come) return found;
    struct half *half = &halves[next_half++ % HALVES];
    rt_channel_release(half->to_server);
    rt_channel_release(half->to_client);
    *half = (struct half){key, rt_channel_new(RT_CHANNEL_BYTES), rt_channel_new(RT_CHANNEL_BYTES),
                          connector};
    return *half;
}

/* Its channels are this end's, and, if the other end was here before, no longer ours. */
static void attach(int fd, const struct half *half, uint32_t connector) {
    bool client = connector != UINT32_MAX, last = half->connector != connector;
    if (client)
        rt_channel_lead(fd, half->to_server, half->to_client);
    else
        rt_channel_lead(fd, half->to_client, half->to_server);
    if (!last) return;
    rt_channel_release(half->to_server);
    rt_channel_release(half->to_client);
}

static bool key_of(const struct address *client, const struct address *server, uint64_t *key) {
    if (!is_internet(client) || !is_internet(server)) return false;
    *key = add_address(add_address(0xcbf29ce484222325ull, client), server);
    return true;
}

void rt_socket_connects(struct rt_thread *t, int fd, const struct sockaddr *address,
                        socklen_t length, uintptr_t pc) {
    struct address server;
    rt_fd_used(t, fd, pc);
    if (!rt_is_file(fd) || rt_files[fd].kind != RT_FILE_STREAM) return;
    given(&server, address, length);
    if (!is_ours(&server) && !is_name(&server)) return;
    rt_mail_sent(t, mail_of_connects(&server), pc);
    __atomic_fetch_add(&connecting, 1, __ATOMIC_SEQ_CST);
}

static void connection_made(struct rt_thread *t, int fd, struct address *server) {
    struct address own, peer;
    uint64_t key;
    if (ask(SYS_getpeername, fd, &peer)) *server = peer;
    if (rt_files[fd].sends != 0 || !ask(SYS_getsockname, fd, &own) || !key_of(&own, server, &key))
        return;
    struct half half = meet(key, t->number, true);
    attach(fd, &half, t->number);
}

void rt_socket_connected(struct rt_thread *t, int fd, const struct sockaddr *address,
                         socklen_t length, bool connected) {
    struct address server;
    if (!rt_is_file(fd)) return;
    struct rt_file *file = &rt_files[fd];
    given(&server, address, length);
    if (connected && file->kind == RT_FILE_DATAGRAM && is_internet(&server))
        file->mail_out = rt_mail_number(RT_MAIL_DATAGRAMS, port_of(&server));
    if (connected && file->kind == RT_FILE_LOCAL && is_name(&server))
        file->mail_out = rt_mail_number(RT_MAIL_NAME, name_of(&server));
    if (file->kind != RT_FILE_STREAM || (!is_ours(&server) && !is_name(&server))) return;
    rt_spin_lock(&lock);
    if (connected && is_name(&server)) {
        file->mail_out = rt_mail_number(RT_MAIL_TO_SERVER, name_of(&server));
        file->mail_in = rt_mail_number(RT_MAIL_TO_CLIENT, name_of(&server));
    } else if (connected) {
        connection_made(t, fd, &server);
    }
    __atomic_fetch_sub(&connecting, 1, __ATOMIC_SEQ_CST);
    rt_spin_unlock(&lock);
}

void rt_socket_accepted(struct rt_thread *t, int listener, int fd, uintptr_t pc) {
    struct address own, client;
    uint64_t key;
    if (!rt_is_file(fd) || !rt_is_file(listener)) return;
    rt_fd_made(t, fd, HD_BLOCK_SOCKET, pc);
    rt_files[fd].kind = RT_FILE_STREAM;
    if (!ask(SYS_getsockname, fd, &own)) return;
    if (is_name(&own)) {
        rt_files[fd].mail_in = rt_mail_number(RT_MAIL_TO_SERVER, name_of(&own));
        rt_files[fd].mail_out = rt_mail_number(RT_MAIL_TO_CLIENT, name_of(&own));
        rt_mail_got(t, mail_of_connects(&own), pc);
        return;
    }
    if (!ask(SYS_getpeername, fd, &client) || !key_of(&client, &own, &key)) return;
    rt_spin_lock(&lock);
    struct half half = meet(key, UINT32_MAX, __atomic_load_n(&connecting, __ATOMIC_SEQ_CST) > 0);
    if (half.to_server != 0) attach(fd, &half, UINT32_MAX);
    rt_spin_unlock(&lock);
    if (half.to_server == 0) return; /* another process connected */
    if (half.connector != UINT32_MAX)
        rt_mail_got_from(t, mail_of_connects(&own), half.connector, pc);
    else
        rt_mail_got(t, mail_of_connects(&own), pc);
}

/* ---- calls that only use them ------------------------------------------------------------------
 */

RT_EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    return REAL(setsockopt)(fd, level, name, value, length);
}
RT_EXPORT int getsockopt(int fd, int level, int name, void *restrict value,
                         socklen_t *restrict length) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    return REAL(getsockopt)(fd, level, name, value, length);
}
RT_EXPORT int getsockname(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    return REAL(getsockname)(fd, address, length);
}
RT_EXPORT int getpeername(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    return REAL(getpeername)(fd, address, length);
}

void rt_sockets_unlock(void) {
    lock.word = 0;
    connecting = 0;
}
