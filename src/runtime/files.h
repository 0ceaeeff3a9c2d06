/* Descriptors: as objects that are made, used and closed (descriptors.c), and as ways on which
 * order comes from one thread to another (files.c, sockets.c, epoll.c, streams.c): what was written
 * comes before the call that gets it.
 *
 * All functions are called with the runtime left, around the real calls, and keep errno. */
#ifndef HEDDLE_RUNTIME_FILES_H
#define HEDDLE_RUNTIME_FILES_H

#include "runtime/touch.h"

#include <sys/socket.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* ---- descriptors as objects (descriptors.c) -------------------------------------------------- */

#define RT_FILES 65536u /* descriptors beyond that are not looked at */

enum rt_file_state { RT_FILE_UNKNOWN = 0, RT_FILE_OPEN, RT_FILE_CLOSED };
enum rt_file_kind {
    RT_FILE_PLAIN = 0,
    RT_FILE_STREAM,   /* a socket that may be connected, or listen */
    RT_FILE_LISTENS,  /* and does */
    RT_FILE_DATAGRAM, /* a socket of the internet's */
    RT_FILE_LOCAL,    /* a socket with names of the file system's, for datagrams */
    RT_FILE_SIGNALS,
    RT_FILE_EPOLL
};

/* What is known of a descriptor; the last four are files.c's, under its lock. */
struct rt_file {
    uint8_t state, kind;
    uint8_t watched;            /* an epoll instance may know it, or it is one */
    uint16_t mail_in, mail_out; /* where what is not counted comes from and goes to; 0: nowhere */
    uint16_t sends, gets;       /* channels; 0: none */
    uint32_t closer;            /* number of the thread that closed it */
};
extern struct rt_file rt_files[RT_FILES];
RT_INLINE bool rt_is_file(int fd) { return (unsigned)fd < RT_FILES; }

/* Before a call that uses the descriptor; before it is closed. */
void rt_fd_used(struct rt_thread *t, int fd, uintptr_t pc);
void rt_fd_closes(struct rt_thread *t, int fd, uintptr_t pc);
/* A call gave it out (or failed: fd < 0). */
void rt_fd_made(struct rt_thread *t, int fd, enum hd_block_type type, uintptr_t pc);

/* ---- order: what is sent and got (files.c) ----------------------------------------------------
 */

/* Bytes were written (or will be, if the call may block: then rt_file_settled says how many it
 * were), were read (0: the end). */
#define RT_BYTES_UNKNOWN ((size_t)1 << 40)
uint32_t rt_file_sent(struct rt_thread *t, int fd, size_t bytes, uintptr_t pc);
void rt_file_settled(int fd, uint32_t sent, size_t bytes);
enum rt_got_how {
    RT_GOT = 0,
    RT_GOT_AWAY = 1, /* from among all that is there: whose it is can't be told */
    RT_GOT_PEEK = 2  /* and left there */
};
void rt_file_gets(struct rt_thread *t, int fd); /* before the call */
void rt_file_got(struct rt_thread *t, int fd, ssize_t bytes, unsigned how, uintptr_t pc);
/* There was something to read, said poll. */
void rt_file_ready(struct rt_thread *t, int fd, uintptr_t pc);
/* Nobody counts what goes through it from now on; something may have been sent, or was got. */
void rt_file_sent_some(struct rt_thread *t, int fd, uintptr_t pc);
void rt_file_got_some(struct rt_thread *t, int fd, uintptr_t pc);
/* One descriptor is another's copy now. It is about to be closed, or its ways shut. */
void rt_file_copied(int from, int to);
void rt_file_ends(struct rt_thread *t, int fd, bool in, bool out, uintptr_t pc);
void rt_file_forget(int fd);
/* Units that a write of so many bytes at `from` adds: an event counter that is a semaphore has its
 * own. */
size_t rt_file_units(int fd, const void *from, size_t bytes);

enum rt_channel_type {
    RT_CHANNEL_BYTES,
    RT_CHANNEL_MESSAGES,
    RT_CHANNEL_COUNTER,
    RT_CHANNEL_UNITS
};
/* A channel (0: there is none left), which is the caller's until it is released; it lives on as
 * long as descriptors lead there. */
uint16_t rt_channel_new(enum rt_channel_type type);
void rt_channel_lead(int fd, uint16_t send, uint16_t get);
void rt_channel_release(uint16_t channel);

/* Where what is not counted goes: by what the two ends have in common. */
enum rt_mail_kind {
    RT_MAIL_DATAGRAMS, /* to a port */
    RT_MAIL_NAME,      /* datagrams to a name; its first and last byte are hashed with the rest */
    RT_MAIL_TO_SERVER, /* connections to a name */
    RT_MAIL_TO_CLIENT,
    RT_MAIL_CONNECT, /* to a port or a name */
    RT_MAIL_FIFO,    /* inode */
    RT_MAIL_TIMER,
    RT_MAIL_EPOLL,
    RT_MAIL_QUEUE,
    RT_MAIL_SIGNAL
};
uint16_t rt_mail_number(enum rt_mail_kind kind, uint64_t what);
void rt_mail_sent(struct rt_thread *t, uint16_t mail, uintptr_t pc);
void rt_mail_got(struct rt_thread *t, uint16_t mail, uintptr_t pc);
void rt_mail_take(struct rt_thread *t, uint16_t mail, uintptr_t pc); /* inside the runtime */
/* Only what the thread of that number sent. */
void rt_mail_got_from(struct rt_thread *t, uint16_t mail, uint32_t sender, uintptr_t pc);

/* ---- sockets (sockets.c) -----------------------------------------------------------------------
 */

/* A datagram goes to the address, or where the socket is connected to; before the call. */
void rt_socket_sends(struct rt_thread *t, int fd, const struct sockaddr *address, socklen_t length,
                     uintptr_t pc);
/* Something was got, or is there: by then the socket has its address. */
void rt_socket_receives(int fd);
/* A socket is about to be connected; the call has returned (true: it is, or will be). One was
 * accepted. */
void rt_socket_connects(struct rt_thread *t, int fd, const struct sockaddr *address,
                        socklen_t length, uintptr_t pc);
void rt_socket_connected(struct rt_thread *t, int fd, const struct sockaddr *address,
                         socklen_t length, bool connected);
void rt_socket_accepted(struct rt_thread *t, int listener, int fd, uintptr_t pc);

/* ---- epoll (epoll.c) ---------------------------------------------------------------------------
 */

struct epoll_event;
void rt_epoll_answered(struct rt_thread *t, int fd, const struct epoll_event *event, int count,
                       uintptr_t pc);
void rt_epoll_forget(int fd); /* it is closed */

/* ---- signals (sent.c) --------------------------------------------------------------------------
 */

/* A signal was taken, by a handler or a call: it comes after who sent it (siginfo_t). Inside the
 * runtime. */
void rt_signal_taken(struct rt_thread *t, int number, const void *signal_info, uintptr_t pc);
/* The same of what a signalfd gave, with the runtime left. */
void rt_signals_read(struct rt_thread *t, const void *from, ssize_t bytes, uintptr_t pc);

#pragma GCC visibility pop

#endif
