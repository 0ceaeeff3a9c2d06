/* The checked variants that -D_FORTIFY_SOURCE makes of memory and string functions, and the calls that
 * clang puts in place of memcpy and its relatives; see ranges.c for the EXPECT lines. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int byte, size_t size);
#pragma weak __tsan_memcpy
#pragma weak __tsan_memmove
#pragma weak __tsan_memset

#define ROOM 512
char memcpy_to[ROOM], memcpy_from[ROOM] = "abcdefgh", memmove_to[ROOM] = "0123456789";
char mempcpy_to[ROOM], memset_to[ROOM], strcpy_to[ROOM], strcpy_from[ROOM] = "copied";
char stpcpy_to[ROOM], strncpy_to[ROOM], strcat_to[ROOM] = "head", strncat_to[ROOM] = "head";
char text[ROOM] = "text", sprintf_to[ROOM], snprintf_to[ROOM];
char hook_to[ROOM], hook_from[ROOM] = "hook";
volatile size_t eight = 8;

#define CALL(f) (*(__typeof__(&f) volatile[]){f})

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
    assert(strcmp(strcat_to, "headtext") == 0 && strcmp(strncat_to, "headte") == 0);
    assert(strcmp(snprintf_to, "12") == 0 && strcmp(strcpy_to, "copied") == 0);
    puts("done");
    /* One byte too many: the C library ends the program, as it does without heddle. */
    if (argc > 1) CALL(__memcpy_chk)(memcpy_to, memcpy_from, eight, 7);
    return 0;
}
