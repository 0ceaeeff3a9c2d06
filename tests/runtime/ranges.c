/* Calls each memory and string function once on variables of its own, so that a trace can be
 * checked for exactly the ranges it reads and writes. Every line marked "EXPECT" names what its
 * call must record, as kind:variable:bytes, in order. The program checks the results of the calls
 * itself. */

/* An EXPECT stays in the line of its call. */
/* clang-format off */
#define _GNU_SOURCE
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#define ROOM 512
char memcpy_to[ROOM], memcpy_from[ROOM] = "abcdefgh";
char memmove_to[ROOM] = "0123456789";
char mempcpy_to[ROOM], mempcpy_from[ROOM] = "xy";
char memset_to[ROOM], bzero_to[ROOM] = "zz", bcopy_to[ROOM], bcopy_from[ROOM] = "bc";
char memcmp_one[ROOM] = "same then A", memcmp_other[ROOM] = "same then B";
char bcmp_one[ROOM] = "equal", bcmp_other[ROOM] = "equal";
char memchr_in[ROOM] = "find;", memrchr_in[ROOM] = ";find;x";
char memmem_in[ROOM] = "a needle here", memmem_what[ROOM] = "needle";
char memccpy_to[ROOM], memccpy_from[ROOM] = "ab:cd";
char strlen_in[ROOM] = "four", strnlen_in[ROOM] = "longer";
char strcpy_to[ROOM], strcpy_from[ROOM] = "copied", stpcpy_to[ROOM], stpcpy_from[ROOM] = "st";
char strncpy_to[ROOM], strncpy_from[ROOM] = "nc", stpncpy_to[ROOM], stpncpy_from[ROOM] = "spn";
char strcat_to[ROOM] = "head", strcat_from[ROOM] = "tail";
char strncat_to[ROOM] = "head", strncat_from[ROOM] = "tailcut";
char strcmp_one[ROOM] = "abcX", strcmp_other[ROOM] = "abcY";
char strncmp_one[ROOM] = "abcX", strncmp_other[ROOM] = "abcY";
char strcasecmp_one[ROOM] = "ABc", strcasecmp_other[ROOM] = "abC";
char strncasecmp_one[ROOM] = "ABcd", strncasecmp_other[ROOM] = "abCe";
char strchr_in[ROOM] = "a,b", strrchr_in[ROOM] = "a,b", strchrnul_in[ROOM] = "abc";
char strstr_in[ROOM] = "in the text", strstr_what[ROOM] = "the";
char strspn_in[ROOM] = "aab!", strspn_set[ROOM] = "ab";
char strcspn_in[ROOM] = "xyz;", strcspn_set[ROOM] = ";";
char strpbrk_in[ROOM] = "xy;", strpbrk_set[ROOM] = ";:";
char strtok_in[ROOM] = "one two", strtok_set[ROOM] = " ";
char *strtok_at;
char strdup_from[ROOM] = "heap";
char sprintf_to[ROOM], snprintf_to[ROOM];
wchar_t wmemcpy_to[ROOM], wmemcpy_from[ROOM] = L"wide", wcslen_in[ROOM] = L"abc";
volatile size_t three = 3, eight = 8;

/* Through pointers the compiler does not see through, or it would do the work itself. */
#define CALL(f) (*(__typeof__(&f) volatile[]){f})

int main(void) {
    assert(CALL(memcpy)(memcpy_to, memcpy_from, eight) == memcpy_to); /* EXPECT r:memcpy_from:8 w:memcpy_to:8 */
    assert(strncmp(memcpy_to, "abcdefgh", 9) == 0);
    assert(CALL(memmove)(memmove_to + 2, memmove_to, eight) == memmove_to + 2); /* EXPECT r:memmove_to:8 w:memmove_to[2]:8 */
    assert(CALL(mempcpy)(mempcpy_to, mempcpy_from, three) == mempcpy_to + 3); /* EXPECT r:mempcpy_from:3 w:mempcpy_to:3 */
    assert(CALL(memset)(memset_to, 'm', 300) == memset_to); /* EXPECT w:memset_to:300 */
    CALL(bzero)(bzero_to, three);                           /* EXPECT w:bzero_to:3 */
    CALL(bcopy)(bcopy_from, bcopy_to, three);               /* EXPECT r:bcopy_from:3 w:bcopy_to:3 */
    assert(CALL(memcmp)(memcmp_one, memcmp_other, 200) < 0); /* EXPECT r:memcmp_one:11 r:memcmp_other:11 */
    assert(CALL(bcmp)(bcmp_one, bcmp_other, 200) == 0);     /* EXPECT r:bcmp_one:200 r:bcmp_other:200 */
    assert(CALL(memchr)(memchr_in, ';', 100) == memchr_in + 4); /* EXPECT r:memchr_in:5 */
    assert(CALL(memrchr)(memrchr_in, ';', 7) == memrchr_in + 5); /* EXPECT r:memrchr_in[5]:2 */
    assert(CALL(memmem)(memmem_in, 100, memmem_what, 6) == memmem_in + 2); /* EXPECT r:memmem_in:8 r:memmem_what:6 */
    assert(CALL(memccpy)(memccpy_to, memccpy_from, ':', 100) == memccpy_to + 3); /* EXPECT r:memccpy_from:3 w:memccpy_to:3 */

    assert(CALL(strlen)(strlen_in) == 4);                    /* EXPECT r:strlen_in:5 */
    assert(CALL(strnlen)(strnlen_in, three) == 3);           /* EXPECT r:strnlen_in:3 */
    assert(CALL(strcpy)(strcpy_to, strcpy_from) == strcpy_to); /* EXPECT r:strcpy_from:7 w:strcpy_to:7 */
    assert(CALL(stpcpy)(stpcpy_to, stpcpy_from) == stpcpy_to + 2); /* EXPECT r:stpcpy_from:3 w:stpcpy_to:3 */
    assert(CALL(strncpy)(strncpy_to, strncpy_from, 8) == strncpy_to); /* EXPECT r:strncpy_from:3 w:strncpy_to:8 */
    assert(CALL(stpncpy)(stpncpy_to, stpncpy_from, 2) == stpncpy_to + 2); /* EXPECT r:stpncpy_from:2 w:stpncpy_to:2 */
    assert(CALL(strcat)(strcat_to, strcat_from) == strcat_to); /* EXPECT r:strcat_to:5 r:strcat_from:5 w:strcat_to[4]:5 */
    assert(CALL(strncat)(strncat_to, strncat_from, 4) == strncat_to); /* EXPECT r:strncat_to:5 r:strncat_from:4 w:strncat_to[4]:5 */
    assert(CALL(strcmp)(strcmp_one, strcmp_other) < 0);      /* EXPECT r:strcmp_one:4 r:strcmp_other:4 */
    assert(CALL(strncmp)(strncmp_one, strncmp_other, three) == 0); /* EXPECT r:strncmp_one:3 r:strncmp_other:3 */
    assert(CALL(strcasecmp)(strcasecmp_one, strcasecmp_other) == 0); /* EXPECT r:strcasecmp_one:4 r:strcasecmp_other:4 */
    assert(CALL(strncasecmp)(strncasecmp_one, strncasecmp_other, three) == 0); /* EXPECT r:strncasecmp_one:3 r:strncasecmp_other:3 */
    assert(CALL(strchr)(strchr_in, ',') == strchr_in + 1);   /* EXPECT r:strchr_in:2 */
    assert(CALL(strrchr)(strrchr_in, ',') == strrchr_in + 1); /* EXPECT r:strrchr_in:4 */
    assert(CALL(strchrnul)(strchrnul_in, '?') == strchrnul_in + 3); /* EXPECT r:strchrnul_in:4 */
    assert(CALL(strstr)(strstr_in, strstr_what) == strstr_in + 3); /* EXPECT r:strstr_what:4 r:strstr_in:6 */
    assert(CALL(strspn)(strspn_in, strspn_set) == 3);        /* EXPECT r:strspn_set:3 r:strspn_in:4 */
    assert(CALL(strcspn)(strcspn_in, strcspn_set) == 3);     /* EXPECT r:strcspn_set:2 r:strcspn_in:4 */
    assert(CALL(strpbrk)(strpbrk_in, strpbrk_set) == strpbrk_in + 2); /* EXPECT r:strpbrk_set:3 r:strpbrk_in:3 */
    assert(CALL(strtok_r)(strtok_in, strtok_set, &strtok_at) == strtok_in); /* EXPECT r:strtok_set:2 r:strtok_in:4 w:strtok_in[3]:1 w:strtok_at:8 */
    assert(CALL(strtok_r)(NULL, strtok_set, &strtok_at) == strtok_in + 4); /* EXPECT r:strtok_at:8 r:strtok_set:2 r:strtok_in[4]:4 w:strtok_at:8 */
    char *copy = CALL(strdup)(strdup_from); /* EXPECT r:strdup_from:5 w:*:5 */
    assert(copy != NULL && copy[3] == 'p');
    free(copy);

    assert(CALL(sprintf)(sprintf_to, "%d-%s", 42, "x") == 4); /* EXPECT w:sprintf_to:5 */
    assert(CALL(snprintf)(snprintf_to, 4, "%d", 123456) == 6); /* EXPECT w:snprintf_to:4 */
    CALL(wmemcpy)(wmemcpy_to, wmemcpy_from, eight);          /* EXPECT r:wmemcpy_from:32 w:wmemcpy_to:32 */
    assert(CALL(wcslen)(wcslen_in) == 3);                    /* EXPECT r:wcslen_in:16 */
    puts("done");
    return 0;
}
