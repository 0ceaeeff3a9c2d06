/* Input and output touch the program's buffers as far as bytes are really transferred; see ranges.c
 * for the EXPECT lines. */

/* An EXPECT stays in the line of its call. */
/* clang-format off */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOM 512
char write_from[ROOM] = "0123456789", read_to[ROOM], writev_one[ROOM] = "ab",
     writev_two[ROOM] = "cdef", readv_one[ROOM], readv_two[ROOM];
char pwrite_from[ROOM] = "file", pread_to[ROOM];
char send_from[ROOM] = "hello", recv_to[ROOM], sendto_from[ROOM] = "hi", recvfrom_to[ROOM];
char sendmsg_from[ROOM] = "message", recvmsg_to[ROOM];
char fwrite_from[ROOM] = "line one\nline two\n", fread_to[ROOM], fgets_to[ROOM];
char *line;
size_t line_room;
char empty_to[ROOM];
struct epoll_event events[4];
volatile size_t ten = 10;

int main(void) {
    int pipe_end[2], pair[2];
    assert(pipe(pipe_end) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);

    assert(write(pipe_end[1], write_from, ten) == 10); /* EXPECT r:write_from:10 */
    assert(read(pipe_end[0], read_to, ROOM) == 10);    /* EXPECT w:read_to:10 */
    struct iovec out[2] = {{writev_one, 2}, {writev_two, 4}};
    struct iovec in[2] = {{readv_one, 3}, {readv_two, 100}};
    assert(writev(pipe_end[1], out, 2) == 6); /* EXPECT r:writev_one:2 r:writev_two:4 */
    assert(readv(pipe_end[0], in, 2) == 6);   /* EXPECT w:readv_one:3 w:readv_two:3 */

    FILE *file = tmpfile();
    assert(file != NULL);
    int fd = fileno(file);
    assert(pwrite(fd, pwrite_from, 4, 0) == 4); /* EXPECT r:pwrite_from:4 */
    assert(pread(fd, pread_to, 100, 1) == 3);   /* EXPECT w:pread_to:3 */
    assert(ftruncate(fd, 0) == 0);

    assert(send(pair[0], send_from, 5, 0) == 5);                     /* EXPECT r:send_from:5 */
    assert(recv(pair[1], recv_to, ROOM, 0) == 5);                    /* EXPECT w:recv_to:5 */
    assert(sendto(pair[0], sendto_from, 2, 0, NULL, 0) == 2);        /* EXPECT r:sendto_from:2 */
    assert(recvfrom(pair[1], recvfrom_to, ROOM, 0, NULL, NULL) == 2); /* EXPECT w:recvfrom_to:2 */
    struct iovec message_out = {sendmsg_from, 7}, message_in = {recvmsg_to, ROOM};
    struct msghdr sent = {.msg_iov = &message_out, .msg_iovlen = 1};
    struct msghdr got = {.msg_iov = &message_in, .msg_iovlen = 1};
    assert(sendmsg(pair[0], &sent, 0) == 7); /* EXPECT r:sendmsg_from:7 */
    assert(recvmsg(pair[1], &got, 0) == 7);  /* EXPECT w:recvmsg_to:7 */

    assert(fwrite(fwrite_from, 1, 18, file) == 18); /* EXPECT r:fwrite_from:18 */
    rewind(file);
    assert(fgets(fgets_to, ROOM, file) == fgets_to); /* EXPECT w:fgets_to:10 */
    assert(fread(fread_to, 2, 200, file) == 4);      /* EXPECT w:fread_to:8 */
    rewind(file);
    assert(getline(&line, &line_room, file) == 9); /* EXPECT w:line:8 w:line_room:8 w:*:10 */
    free(line);

    /* Nothing transferred, nothing touched. */
    errno = 0;
    assert(recv(pair[1], empty_to, ROOM, MSG_DONTWAIT) == -1 && errno == EAGAIN); /* EXPECT */
    assert(fcntl(pipe_end[0], F_SETFL, O_NONBLOCK) == 0);
    errno = 0;
    assert(read(pipe_end[0], empty_to, ROOM) == -1 && errno == EAGAIN); /* EXPECT */
    errno = 0;
    assert(read(-1, empty_to, ROOM) == -1 && errno == EBADF);           /* EXPECT */
    assert(write(-1, empty_to, ROOM) == -1 && errno == EBADF);          /* EXPECT-SERIAL */
    errno = 4711;
    assert(write(pipe_end[1], write_from, 3) == 3); /* EXPECT r:write_from:3 */
    assert(errno == 4711);

    int poller = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN};
    assert(epoll_ctl(poller, EPOLL_CTL_ADD, pipe_end[0], &wanted) == 0);
    assert(epoll_wait(poller, events, 4, 1000) == 1); /* EXPECT w:events[0]:12 */
    puts("done");
    return 0;
}
