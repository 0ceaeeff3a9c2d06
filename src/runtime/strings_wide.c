/* Wide-character memory and string functions, as far as programs share such text. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/touch.h"

#include <wchar.h>

wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room);
wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room);
wchar_t *__wmemset_chk(wchar_t *to, wchar_t c, size_t count, size_t room);
wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t room);
wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room);
wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t room);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(wmemcpy) X(wmemmove) X(wmemset) X(wmemcmp) X(wmemchr) X(wcslen) X(wcsnlen) X(wcscpy)        \
    X(wcsncpy) X(wcscat) X(wcscmp) X(wcsncmp) X(wcschr) X(wcsrchr) X(wcsstr) X(wcsdup)            \
    X(__wmemcpy_chk) X(__wmemmove_chk) X(__wmemset_chk) X(__wcscpy_chk) X(__wcsncpy_chk)          \
    X(__wcscat_chk)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

#define WIDE sizeof(wchar_t)

static size_t length_of(const wchar_t *text) { return real(wcslen)(text); }
static size_t read_within(const wchar_t *text, size_t limit) {
    size_t length = real(wcsnlen)(text, limit);
    return length < limit ? length + 1 : limit;
}

RT_INLINE void note_copy(const wchar_t *to, const wchar_t *from, size_t count, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (likely(t == NULL)) return;
    rt_touch(t, from, count * WIDE, false, pc);
    rt_touch(t, to, count * WIDE, true, pc);
}

RT_EXPORT wchar_t *wmemcpy(wchar_t *restrict to, const wchar_t *restrict from, size_t count) {
    note_copy(to, from, count, RT_CALLER);
    return real(wmemcpy)(to, from, count);
}
RT_EXPORT wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    if (count <= room) note_copy(to, from, count, RT_CALLER);
    return real(__wmemcpy_chk)(to, from, count, room);
}
RT_EXPORT wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t count) {
    note_copy(to, from, count, RT_CALLER);
    return real(wmemmove)(to, from, count);
}
RT_EXPORT wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    if (count <= room) note_copy(to, from, count, RT_CALLER);
    return real(__wmemmove_chk)(to, from, count, room);
}

RT_EXPORT wchar_t *wmemset(wchar_t *to, wchar_t c, size_t count) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) WRITES(to, count * WIDE);
    return real(wmemset)(to, c, count);
}
RT_EXPORT wchar_t *__wmemset_chk(wchar_t *to, wchar_t c, size_t count, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && count <= room) WRITES(to, count * WIDE);
    return real(__wmemset_chk)(to, c, count, room);
}

RT_EXPORT wchar_t *wcscpy(wchar_t *restrict to, const wchar_t *restrict from) {
    if (rt.mode != HD_SCHED_OFF) note_copy(to, from, length_of(from) + 1, RT_CALLER);
    return real(wcscpy)(to, from);
}
RT_EXPORT wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t room) {
    size_t count = rt.mode != HD_SCHED_OFF ? length_of(from) + 1 : SIZE_MAX;
    if (count <= room && count != SIZE_MAX) note_copy(to, from, count, RT_CALLER);
    return real(__wcscpy_chk)(to, from, room);
}
RT_EXPORT wchar_t *wcsncpy(wchar_t *restrict to, const wchar_t *restrict from, size_t count) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) {
        READS(from, read_within(from, count) * WIDE);
        WRITES(to, count * WIDE);
    }
    return real(wcsncpy)(to, from, count);
}
RT_EXPORT wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && count <= room) {
        READS(from, read_within(from, count) * WIDE);
        WRITES(to, count * WIDE);
    }
    return real(__wcsncpy_chk)(to, from, count, room);
}

RT_INLINE void note_append(wchar_t *to, const wchar_t *from, size_t room, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (likely(t == NULL)) return;
    size_t at = length_of(to), length = length_of(from);
    if (at + length >= room) return;
    rt_touch(t, to, (at + 1) * WIDE, false, pc);
    rt_touch(t, from, (length + 1) * WIDE, false, pc);
    rt_touch(t, to + at, (length + 1) * WIDE, true, pc);
}
RT_EXPORT wchar_t *wcscat(wchar_t *restrict to, const wchar_t *restrict from) {
    note_append(to, from, SIZE_MAX, RT_CALLER);
    return real(wcscat)(to, from);
}
RT_EXPORT wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t room) {
    note_append(to, from, room, RT_CALLER);
    return real(__wcscat_chk)(to, from, room);
}

RT_EXPORT wchar_t *wcsdup(const wchar_t *text) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) READS(text, (length_of(text) + 1) * WIDE);
    wchar_t *copy = real(wcsdup)(text);
    if (unlikely(t != NULL) && copy != NULL) WRITES(copy, (length_of(copy) + 1) * WIDE);
    return copy;
}

/* ---- reading only ------------------------------------------------------------------------- */

RT_EXPORT size_t wcslen(const wchar_t *text) {
    struct rt_thread *t = rt_touch_begin();
    size_t length = length_of(text);
    if (unlikely(t != NULL)) READS(text, (length + 1) * WIDE);
    return length;
}
RT_EXPORT size_t wcsnlen(const wchar_t *text, size_t limit) {
    struct rt_thread *t = rt_touch_begin();
    size_t length = real(wcsnlen)(text, limit);
    if (unlikely(t != NULL)) READS(text, (length < limit ? length + 1 : limit) * WIDE);
    return length;
}

RT_INLINE void note_compared(const wchar_t *one, const wchar_t *other, size_t limit, bool text,
                             uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (likely(t == NULL)) return;
    size_t i = 0;
    while (i < limit && one[i] == other[i] && !(text && one[i] == L'\0')) i++;
    size_t touched = i < limit ? i + 1 : limit;
    rt_touch(t, one, touched * WIDE, false, pc);
    rt_touch(t, other, touched * WIDE, false, pc);
}
RT_EXPORT int wmemcmp(const wchar_t *one, const wchar_t *other, size_t count) {
    note_compared(one, other, count, false, RT_CALLER);
    return real(wmemcmp)(one, other, count);
}
RT_EXPORT int wcscmp(const wchar_t *one, const wchar_t *other) {
    note_compared(one, other, SIZE_MAX, true, RT_CALLER);
    return real(wcscmp)(one, other);
}
RT_EXPORT int wcsncmp(const wchar_t *one, const wchar_t *other, size_t limit) {
    note_compared(one, other, limit, true, RT_CALLER);
    return real(wcsncmp)(one, other, limit);
}

RT_EXPORT wchar_t *wmemchr(const wchar_t *in, wchar_t c, size_t count) {
    struct rt_thread *t = rt_touch_begin();
    wchar_t *found = real(wmemchr)(in, c, count);
    if (unlikely(t != NULL)) READS(in, (found != NULL ? (size_t)(found - in) + 1 : count) * WIDE);
    return found;
}
RT_EXPORT wchar_t *wcschr(const wchar_t *in, wchar_t c) {
    struct rt_thread *t = rt_touch_begin();
    wchar_t *found = real(wcschr)(in, c);
    if (unlikely(t != NULL))
        READS(in, (found != NULL ? (size_t)(found - in) + 1 : length_of(in) + 1) * WIDE);
    return found;
}
RT_EXPORT wchar_t *wcsrchr(const wchar_t *in, wchar_t c) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) READS(in, (length_of(in) + 1) * WIDE);
    return real(wcsrchr)(in, c);
}
RT_EXPORT wchar_t *wcsstr(const wchar_t *in, const wchar_t *what) {
    struct rt_thread *t = rt_touch_begin();
    wchar_t *found = real(wcsstr)(in, what);
    if (unlikely(t != NULL)) {
        size_t length = length_of(what);
        READS(what, (length + 1) * WIDE);
        READS(in, (found != NULL ? (size_t)(found - in) + length : length_of(in) + 1) * WIDE);
    }
    return found;
}
