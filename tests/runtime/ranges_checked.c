/* The checked variants that -D_FORTIFY_SOURCE makes of memory and string functions, and the calls
 * that clang puts in place of memcpy and its relatives; see ranges.c for the EXPECT lines. */

/* An EXPECT stays in the line of its call. */
/* clang-format off */
#include <assert.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wchar.h>

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memset_chk(void *to, int byte, size_t size, size_t room);
char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t size, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t limit, size_t room);
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...);
ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                       struct sockaddr *address, socklen_t *length);
char *__fgets_chk(char *to, size_t room, int size, FILE *file);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
int __poll_chk(struct pollfd *set, nfds_t count, int timeout, size_t room);
wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room);
wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t room);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int byte, size_t size);
#pragma weak __tsan_memcpy
#pragma weak __tsan_memmove
#pragma weak __tsan_memset

#define CALL(f) (*(__typeof__(&f) volatile[]){f})

#define ROOM 512
char memcpy_to[ROOM], memcpy_from[ROOM] = "abcdefgh", memmove_to[ROOM] = "0123456789";
char mempcpy_to[ROOM], memset_to[ROOM], strcpy_to[ROOM], strcpy_from[ROOM] = "copied";
char stpcpy_to[ROOM], strncpy_to[ROOM], strcat_to[ROOM] = "head", strncat_to[ROOM] = "head";
char text[ROOM] = "text", sprintf_to[ROOM], snprintf_to[ROOM];
char hook_to[ROOM], hook_from[ROOM] = "hook";
char read_to[ROOM], pread_to[ROOM], recv_to[ROOM], recvfrom_to[ROOM], fgets_to[ROOM], fread_to[ROOM];
wchar_t wmemcpy_to[ROOM], wmemcpy_from[ROOM] = L"wide", wcscpy_to[ROOM];
volatile size_t eight = 8;

static void io(void) {
    int pipe_end[2], pair[2];
    assert(pipe(pipe_end) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    FILE *file = tmpfile();
    assert(file != NULL && fputs("line\nmore", file) >= 0 && fflush(file) == 0);
    assert(write(pipe_end[1], "123", 3) == 3 && write(pair[0], "1234", 4) == 4);
    struct pollfd set = {.fd = pipe_end[0], .events = POLLIN};
    assert(CALL(__poll_chk)(&set, 1, -1, sizeof set) == 1);
    assert(CALL(__read_chk)(pipe_end[0], read_to, 100, ROOM) == 3);   /* EXPECT w:read_to:3 */
    assert(CALL(__recv_chk)(pair[1], recv_to, 2, ROOM, 0) == 2);      /* EXPECT w:recv_to:2 */
    assert(CALL(__recvfrom_chk)(pair[1], recvfrom_to, 9, ROOM, 0, NULL, NULL) == 2); /* EXPECT w:recvfrom_to:2 */
    assert(CALL(__pread_chk)(fileno(file), pread_to, 6, 2, ROOM) == 6); /* EXPECT w:pread_to:6 */
    rewind(file);
    assert(CALL(__fgets_chk)(fgets_to, ROOM, 100, file) == fgets_to); /* EXPECT w:fgets_to:6 */
    assert(CALL(__fread_chk)(fread_to, ROOM, 1, 100, file) == 4);     /* EXPECT w:fread_to:4 */
    fclose(file);
}

int main(int argc, char **argv) {
    (void)argv;
    assert(CALL(__memcpy_chk)(memcpy_to, memcpy_from, eight, ROOM) == memcpy_to); /* EXPECT r:memcpy_from:8 w:memcpy_to:8 */
    CALL(__memmove_chk)(memmove_to + 2, memmove_to, eight, ROOM - 2); /* EXPECT r:memmove_to:8 w:memmove_to[2]:8 */
    assert(CALL(__mempcpy_chk)(mempcpy_to, text, eight, ROOM) == mempcpy_to + 8); /* EXPECT r:text:8 w:mempcpy_to:8 */
    CALL(__memset_chk)(memset_to, 'm', 300, ROOM);                 /* EXPECT w:memset_to:300 */
    CALL(__strcpy_chk)(strcpy_to, strcpy_from, ROOM);              /* EXPECT r:strcpy_from:7 w:strcpy_to:7 */
    assert(CALL(__stpcpy_chk)(stpcpy_to, text, ROOM) == stpcpy_to + 4); /* EXPECT r:text:5 w:stpcpy_to:5 */
    CALL(__strncpy_chk)(strncpy_to, text, 20, ROOM);               /* EXPECT r:text:5 w:strncpy_to:20 */
    CALL(__strcat_chk)(strcat_to, text, ROOM);                     /* EXPECT r:strcat_to:5 r:text:5 w:strcat_to[4]:5 */
    CALL(__strncat_chk)(strncat_to, text, 2, ROOM);                /* EXPECT r:strncat_to:5 r:text:2 w:strncat_to[4]:3 */
    assert(CALL(__sprintf_chk)(sprintf_to, 1, ROOM, "%d", 1234) == 4); /* EXPECT w:sprintf_to:5 */
    assert(CALL(__snprintf_chk)(snprintf_to, 3, 1, ROOM, "%d", 1234) == 4); /* EXPECT w:snprintf_to:3 */
    if (__tsan_memcpy != NULL) {
        CALL(__tsan_memcpy)(hook_to, hook_from, eight);            /* EXPECT r:hook_from:8 w:hook_to:8 */
        CALL(__tsan_memmove)(hook_to + 1, hook_to, eight);         /* EXPECT r:hook_to:8 w:hook_to[1]:8 */
        CALL(__tsan_memset)(hook_to, 'h', 300);                    /* EXPECT w:hook_to:300 */
    }
    CALL(__wmemcpy_chk)(wmemcpy_to, wmemcpy_from, eight, ROOM);    /* EXPECT r:wmemcpy_from:32 w:wmemcpy_to:32 */
    CALL(__wcscpy_chk)(wcscpy_to, wmemcpy_from, ROOM);             /* EXPECT r:wmemcpy_from:20 w:wcscpy_to:20 */
    io();
    assert(strcmp(strcat_to, "headtext") == 0 && strcmp(strncat_to, "headte") == 0);
    assert(strcmp(snprintf_to, "12") == 0 && strcmp(strcpy_to, "copied") == 0);
    puts("done");
    /* One byte too many: the C library ends the program, as it does without heddle. */
    if (argc > 1) CALL(__memcpy_chk)(memcpy_to, memcpy_from, eight, 7);
    return 0;
}
