/* String functions: their reads and writes are recorded as ranges, as far as each really looks. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/strings_plain.h"
#include "runtime/touch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#undef strdup
#undef strndup

char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t size, size_t room);
char *__stpncpy_chk(char *to, const char *from, size_t size, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t limit, size_t room);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(strlen) X(strnlen) X(strcpy) X(stpcpy) X(strncpy) X(stpncpy) X(strcat) X(strncat)           \
    X(strcmp) X(strncmp) X(strcasecmp) X(strncasecmp) X(strchr) X(strrchr) X(strchrnul)           \
    X(strstr) X(strcasestr) X(strspn) X(strcspn) X(strpbrk) X(strtok_r) X(strsep) X(strdup)       \
    X(strndup) X(__strcpy_chk) X(__stpcpy_chk) X(__strncpy_chk) X(__stpncpy_chk) X(__strcat_chk)  \
    X(__strncat_chk)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

#define early_or_real(name) \
    (likely(real_##name != NULL) ? (__typeof__(&name))real_##name : plain_##name)

/* Lengths, not recorded. */
static size_t length_of(const char *text) { return early_or_real(strlen)(text); }
static size_t length_within(const char *text, size_t limit) {
    return early_or_real(strnlen)(text, limit);
}
/* Bytes read to find out that length: with the end, if it was reached. */
static size_t read_within(const char *text, size_t limit) {
    size_t length = length_within(text, limit);
    return length < limit ? length + 1 : limit;
}

RT_EXPORT size_t strlen(const char *text) {
    struct rt_thread *t = rt_touch_begin();
    size_t length = length_of(text);
    if (unlikely(t != NULL)) READS(text, length + 1);
    return length;
}

RT_EXPORT size_t strnlen(const char *text, size_t limit) {
    struct rt_thread *t = rt_touch_begin();
    size_t length = length_within(text, limit);
    if (unlikely(t != NULL)) READS(text, length < limit ? length + 1 : limit);
    return length;
}

/* ---- copying: what is read and written is noted before the copy ----------------------------- */

RT_INLINE void note_copy(struct rt_thread *t, char *to, const char *from, uintptr_t pc) {
    size_t size = length_of(from) + 1;
    rt_touch(t, from, size, false, pc);
    rt_touch(t, to, size, true, pc);
}
RT_EXPORT char *strcpy(char *restrict to, const char *restrict from) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_copy(t, to, from, RT_CALLER);
    return early_or_real(strcpy)(to, from);
}
RT_EXPORT char *__strcpy_chk(char *to, const char *from, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && length_of(from) < room) note_copy(t, to, from, RT_CALLER);
    return real(__strcpy_chk)(to, from, room);
}
RT_EXPORT char *stpcpy(char *restrict to, const char *restrict from) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_copy(t, to, from, RT_CALLER);
    return real(stpcpy)(to, from);
}
RT_EXPORT char *__stpcpy(char *restrict to, const char *restrict from);
RT_EXPORT char *__stpcpy(char *restrict to, const char *restrict from) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_copy(t, to, from, RT_CALLER);
    return real(stpcpy)(to, from);
}
RT_EXPORT char *__stpcpy_chk(char *to, const char *from, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && length_of(from) < room) note_copy(t, to, from, RT_CALLER);
    return real(__stpcpy_chk)(to, from, room);
}

/* The rest of the room is filled with zeros. */
RT_INLINE void note_bounded_copy(struct rt_thread *t, char *to, const char *from, size_t size,
                                 uintptr_t pc) {
    rt_touch(t, from, read_within(from, size), false, pc);
    rt_touch(t, to, size, true, pc);
}
RT_EXPORT char *strncpy(char *restrict to, const char *restrict from, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_bounded_copy(t, to, from, size, RT_CALLER);
    return early_or_real(strncpy)(to, from, size);
}
RT_EXPORT char *__strncpy_chk(char *to, const char *from, size_t size, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && size <= room) note_bounded_copy(t, to, from, size, RT_CALLER);
    return real(__strncpy_chk)(to, from, size, room);
}
RT_EXPORT char *stpncpy(char *restrict to, const char *restrict from, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_bounded_copy(t, to, from, size, RT_CALLER);
    return real(stpncpy)(to, from, size);
}
RT_EXPORT char *__stpncpy(char *restrict to, const char *restrict from, size_t size);
RT_EXPORT char *__stpncpy(char *restrict to, const char *restrict from, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_bounded_copy(t, to, from, size, RT_CALLER);
    return real(stpncpy)(to, from, size);
}
RT_EXPORT char *__stpncpy_chk(char *to, const char *from, size_t size, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && size <= room) note_bounded_copy(t, to, from, size, RT_CALLER);
    return real(__stpncpy_chk)(to, from, size, room);
}

static void note_append(struct rt_thread *t, char *to, const char *from, size_t limit,
                        uintptr_t pc) {
    size_t at = length_of(to), length = length_within(from, limit);
    rt_touch(t, to, at + 1, false, pc);
    rt_touch(t, from, length < limit ? length + 1 : limit, false, pc);
    rt_touch(t, to + at, length + 1, true, pc);
}
RT_EXPORT char *strcat(char *restrict to, const char *restrict from) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_append(t, to, from, SIZE_MAX, RT_CALLER);
    return early_or_real(strcat)(to, from);
}
RT_EXPORT char *strncat(char *restrict to, const char *restrict from, size_t limit) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_append(t, to, from, limit, RT_CALLER);
    return early_or_real(strncat)(to, from, limit);
}
RT_EXPORT char *__strcat_chk(char *to, const char *from, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && length_of(to) + length_of(from) < room)
        note_append(t, to, from, SIZE_MAX, RT_CALLER);
    return real(__strcat_chk)(to, from, room);
}
RT_EXPORT char *__strncat_chk(char *to, const char *from, size_t limit, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && length_of(to) + length_within(from, limit) < room)
        note_append(t, to, from, limit, RT_CALLER);
    return real(__strncat_chk)(to, from, limit, room);
}

/* The copy's first bytes are written by the C library, unseen: without them, whoever reads the copy
 * would seem to read memory that nobody wrote. */
RT_INLINE char *duplicate(const char *text, size_t limit, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_touch(t, text, read_within(text, limit), false, pc);
    char *copy = limit == SIZE_MAX ? real(strdup)(text) : real(strndup)(text, limit);
    if (unlikely(t != NULL) && copy != NULL) rt_touch(t, copy, length_of(copy) + 1, true, pc);
    return copy;
}
RT_EXPORT char *strdup(const char *text) { return duplicate(text, SIZE_MAX, RT_CALLER); }
RT_EXPORT char *__strdup(const char *text);
RT_EXPORT char *__strdup(const char *text) { return duplicate(text, SIZE_MAX, RT_CALLER); }
RT_EXPORT char *strndup(const char *text, size_t limit) {
    return duplicate(text, limit, RT_CALLER);
}
RT_EXPORT char *__strndup(const char *text, size_t limit);
RT_EXPORT char *__strndup(const char *text, size_t limit) {
    return duplicate(text, limit, RT_CALLER);
}

/* ---- comparing ---------------------------------------------------------------------------- */

/* Both are read up to and with the first byte that differs, or their end. */
RT_INLINE void note_compared(struct rt_thread *t, const char *one, const char *other, size_t limit,
                             bool fold, uintptr_t pc) {
    size_t i = 0;
    for (; i < limit; i++) {
        unsigned char a = (unsigned char)one[i], b = (unsigned char)other[i];
        if (a == '\0' || (a != b && (!fold || tolower(a) != tolower(b)))) break;
    }
    size_t touched = i < limit ? i + 1 : limit;
    rt_touch(t, one, touched, false, pc);
    rt_touch(t, other, touched, false, pc);
}
RT_EXPORT int strcmp(const char *one, const char *other) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_compared(t, one, other, SIZE_MAX, false, RT_CALLER);
    return early_or_real(strcmp)(one, other);
}
RT_EXPORT int strncmp(const char *one, const char *other, size_t limit) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_compared(t, one, other, limit, false, RT_CALLER);
    return early_or_real(strncmp)(one, other, limit);
}
RT_EXPORT int strcasecmp(const char *one, const char *other) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_compared(t, one, other, SIZE_MAX, true, RT_CALLER);
    return real(strcasecmp)(one, other);
}
RT_EXPORT int strncasecmp(const char *one, const char *other, size_t limit) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) note_compared(t, one, other, limit, true, RT_CALLER);
    return real(strncasecmp)(one, other, limit);
}

/* ---- searching ---------------------------------------------------------------------------- */

RT_INLINE void note_searched(struct rt_thread *t, const char *in, const char *found, uintptr_t pc) {
    rt_touch(t, in, found != NULL ? (size_t)(found - in) + 1 : length_of(in) + 1, false, pc);
}
RT_EXPORT char *strchr(const char *in, int byte) {
    struct rt_thread *t = rt_touch_begin();
    char *found = early_or_real(strchr)(in, byte);
    if (unlikely(t != NULL)) note_searched(t, in, found, RT_CALLER);
    return found;
}
RT_EXPORT char *index(const char *in, int byte) {
    struct rt_thread *t = rt_touch_begin();
    char *found = early_or_real(strchr)(in, byte);
    if (unlikely(t != NULL)) note_searched(t, in, found, RT_CALLER);
    return found;
}
RT_EXPORT char *strchrnul(const char *in, int byte) {
    struct rt_thread *t = rt_touch_begin();
    char *found = early_or_real(strchrnul)(in, byte);
    if (unlikely(t != NULL)) note_searched(t, in, found, RT_CALLER);
    return found;
}
RT_EXPORT char *strrchr(const char *in, int byte) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) READS(in, length_of(in) + 1);
    return early_or_real(strrchr)(in, byte);
}
RT_EXPORT char *rindex(const char *in, int byte) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) READS(in, length_of(in) + 1);
    return early_or_real(strrchr)(in, byte);
}

RT_INLINE void note_found_text(struct rt_thread *t, const char *in, const char *what,
                               const char *found, uintptr_t pc) {
    size_t length = length_of(what);
    rt_touch(t, what, length + 1, false, pc);
    rt_touch(t, in, found != NULL ? (size_t)(found - in) + length : length_of(in) + 1, false, pc);
}
RT_EXPORT char *strstr(const char *in, const char *what) {
    struct rt_thread *t = rt_touch_begin();
    char *found = real(strstr)(in, what);
    if (unlikely(t != NULL)) note_found_text(t, in, what, found, RT_CALLER);
    return found;
}
RT_EXPORT char *strcasestr(const char *in, const char *what) {
    struct rt_thread *t = rt_touch_begin();
    char *found = real(strcasestr)(in, what);
    if (unlikely(t != NULL)) note_found_text(t, in, what, found, RT_CALLER);
    return found;
}

RT_EXPORT size_t strspn(const char *in, const char *set) {
    struct rt_thread *t = rt_touch_begin();
    size_t length = real(strspn)(in, set);
    if (unlikely(t != NULL)) {
        READS(set, length_of(set) + 1);
        READS(in, length + 1);
    }
    return length;
}
RT_EXPORT size_t strcspn(const char *in, const char *set) {
    struct rt_thread *t = rt_touch_begin();
    size_t length = real(strcspn)(in, set);
    if (unlikely(t != NULL)) {
        READS(set, length_of(set) + 1);
        READS(in, length + 1);
    }
    return length;
}
RT_EXPORT char *strpbrk(const char *in, const char *set) {
    struct rt_thread *t = rt_touch_begin();
    char *found = real(strpbrk)(in, set);
    if (unlikely(t != NULL)) {
        READS(set, length_of(set) + 1);
        note_searched(t, in, found, RT_CALLER);
    }
    return found;
}

/* ---- cutting into words --------------------------------------------------------------------- */

/* The word's end is overwritten unless the string ends there. */
RT_INLINE char *next_word(struct rt_thread *t, char *text, const char *set, char **position,
                          uintptr_t pc) {
    char *from = text != NULL ? text : *position;
    char *word = real(strtok_r)(text, set, position);
    if (likely(t == NULL)) return word;
    if (text == NULL) rt_touch(t, position, sizeof *position, false, pc);
    rt_touch(t, set, length_of(set) + 1, false, pc);
    char *end = word != NULL ? word + length_of(word) : *position;
    if (from != NULL && end != NULL) {
        rt_touch(t, from, (size_t)(end - from) + 1, false, pc);
        if (word != NULL && *position > end) rt_touch(t, end, 1, true, pc);
    }
    rt_touch(t, position, sizeof *position, true, pc);
    return word;
}
RT_EXPORT char *strtok_r(char *restrict text, const char *restrict set, char **restrict position) {
    struct rt_thread *t = rt_touch_begin();
    return next_word(t, text, set, position, RT_CALLER);
}
RT_EXPORT char *__strtok_r(char *restrict text, const char *restrict set, char **restrict position);
RT_EXPORT char *__strtok_r(char *restrict text, const char *restrict set,
                           char **restrict position) {
    struct rt_thread *t = rt_touch_begin();
    return next_word(t, text, set, position, RT_CALLER);
}

/* What the C library keeps between calls of strtok, where the trace can see it: two threads that
 * use it race. */
static char *strtok_position;
RT_EXPORT char *strtok(char *restrict text, const char *restrict set) {
    struct rt_thread *t = rt_touch_begin();
    return next_word(t, text, set, &strtok_position, RT_CALLER);
}

RT_EXPORT char *strsep(char **restrict position, const char *restrict set) {
    struct rt_thread *t = rt_touch_begin();
    char *word = real(strsep)(position, set);
    if (unlikely(t != NULL)) {
        READS(position, sizeof *position);
        if (word != NULL) {
            size_t length = length_of(word);
            READS(set, length_of(set) + 1);
            READS(word, length + 1);
            if (*position != NULL) WRITES(word + length, 1);
            WRITES(position, sizeof *position);
        }
    }
    return word;
}
