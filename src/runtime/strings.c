/* Memory functions: memcpy and its relatives, their checked variants, and what clang calls in their
 * place. Their reads and writes are recorded as ranges. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/strings_plain.h"
#include "runtime/touch.h"

#include <string.h>
#include <strings.h>

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memset_chk(void *to, int byte, size_t size, size_t room);
void __explicit_bzero_chk(void *to, size_t size, size_t room);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(memcpy) X(memmove) X(memset) X(memcmp) X(memchr) X(memrchr) X(rawmemchr) X(memmem)          \
    X(memccpy) X(explicit_bzero) X(__memcpy_chk) X(__memmove_chk) X(__mempcpy_chk)                \
    X(__memset_chk) X(__explicit_bzero_chk)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

/* These are called while the dynamic loader still relocates, before any pointer of ours is
 * valid. */
#define early_or_real(name) \
    (likely(real_##name != NULL) ? (__typeof__(&name))real_##name : plain_##name)

/* ---- copying ------------------------------------------------------------------------------ */

#define COPY(to, from, size)                \
    struct rt_thread *t = rt_touch_begin(); \
    if (unlikely(t != NULL)) rt_touch_both(t, from, to, true, size, RT_CALLER);

RT_EXPORT void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    COPY(to, from, size)
    return early_or_real(memcpy)(to, from, size);
}

RT_EXPORT void *memmove(void *to, const void *from, size_t size) {
    COPY(to, from, size)
    return early_or_real(memmove)(to, from, size);
}

RT_EXPORT void *mempcpy(void *restrict to, const void *restrict from, size_t size) {
    COPY(to, from, size)
    return (char *)early_or_real(memcpy)(to, from, size) + size;
}
RT_EXPORT void *__mempcpy(void *restrict to, const void *restrict from, size_t size);
RT_EXPORT void *__mempcpy(void *restrict to, const void *restrict from, size_t size) {
    COPY(to, from, size)
    return (char *)early_or_real(memcpy)(to, from, size) + size;
}

RT_EXPORT void bcopy(const void *from, void *to, size_t size) {
    COPY(to, from, size)
    early_or_real(memmove)(to, from, size);
}

RT_EXPORT void *__tsan_memcpy(void *to, const void *from, uintptr_t size);
RT_EXPORT void *__tsan_memcpy(void *to, const void *from, uintptr_t size) {
    COPY(to, from, size)
    return early_or_real(memcpy)(to, from, size);
}
RT_EXPORT void *__tsan_memmove(void *to, const void *from, uintptr_t size);
RT_EXPORT void *__tsan_memmove(void *to, const void *from, uintptr_t size) {
    COPY(to, from, size)
    return early_or_real(memmove)(to, from, size);
}

/* A checked variant ends the program if the size is more than there is room for: nothing is touched
 * then. */
RT_EXPORT void *__memcpy_chk(void *to, const void *from, size_t size, size_t room) {
    COPY(to, from, size <= room ? size : 0)
    if (likely(size <= room)) return early_or_real(memcpy)(to, from, size);
    return real(__memcpy_chk)(to, from, size, room);
}
RT_EXPORT void *__memmove_chk(void *to, const void *from, size_t size, size_t room) {
    COPY(to, from, size <= room ? size : 0)
    if (likely(size <= room)) return early_or_real(memmove)(to, from, size);
    return real(__memmove_chk)(to, from, size, room);
}
RT_EXPORT void *__mempcpy_chk(void *to, const void *from, size_t size, size_t room) {
    COPY(to, from, size <= room ? size : 0)
    if (likely(size <= room)) return (char *)early_or_real(memcpy)(to, from, size) + size;
    return real(__mempcpy_chk)(to, from, size, room);
}

RT_EXPORT void *memccpy(void *restrict to, const void *restrict from, int byte, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(memccpy)(to, from, byte, size);
    const char *found = early_or_real(memchr)(from, byte, size);
    size_t touched = found != NULL ? (size_t)(found - (const char *)from) + 1 : size;
    READS(from, touched);
    WRITES(to, touched);
    return real(memccpy)(to, from, byte, size);
}

/* ---- filling ------------------------------------------------------------------------------ */

#define FILL(to, size)                      \
    struct rt_thread *t = rt_touch_begin(); \
    if (unlikely(t != NULL)) WRITES(to, size);

RT_EXPORT void *memset(void *to, int byte, size_t size) {
    FILL(to, size)
    return early_or_real(memset)(to, byte, size);
}
RT_EXPORT void *__tsan_memset(void *to, int byte, uintptr_t size);
RT_EXPORT void *__tsan_memset(void *to, int byte, uintptr_t size) {
    FILL(to, size)
    return early_or_real(memset)(to, byte, size);
}
RT_EXPORT void bzero(void *to, size_t size) {
    FILL(to, size)
    early_or_real(memset)(to, 0, size);
}
RT_EXPORT void explicit_bzero(void *to, size_t size) {
    FILL(to, size)
    real(explicit_bzero)(to, size);
}
RT_EXPORT void *__memset_chk(void *to, int byte, size_t size, size_t room) {
    FILL(to, size <= room ? size : 0)
    if (likely(size <= room)) return early_or_real(memset)(to, byte, size);
    return real(__memset_chk)(to, byte, size, room);
}
RT_EXPORT void __explicit_bzero_chk(void *to, size_t size, size_t room) {
    FILL(to, size <= room ? size : 0)
    real(__explicit_bzero_chk)(to, size, room);
}

/* ---- comparing and searching: how far they read is known when they are done ----------------- */

/* Do eight bytes from there lie in one page? What is behind the first difference may not be there.
 */
RT_INLINE bool within_page(const void *at) { return ((uintptr_t)at & 4095) <= 4088; }

/* Bytes a comparison of two blocks that differ has to look at. */
RT_PROGRAM static size_t until_difference(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    size_t i = 0;
    uint64_t eight_a, eight_b;
    for (; size - i >= 8 && within_page(a + i) && within_page(b + i); i += 8) {
        memcpy(&eight_a, a + i, sizeof eight_a);
        memcpy(&eight_b, b + i, sizeof eight_b);
        if (eight_a != eight_b) return i + (unsigned)__builtin_ctzll(eight_a ^ eight_b) / 8 + 1;
    }
    while (i < size && a[i] == b[i]) i++;
    return i < size ? i + 1 : size;
}

RT_INLINE int compare(const void *one, const void *other, size_t size, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    int result = early_or_real(memcmp)(one, other, size);
    if (likely(t == NULL)) return result;
    size_t touched = result == 0 ? size : until_difference(one, other, size);
    rt_touch_both(t, one, other, false, touched, pc);
    return result;
}
RT_EXPORT int memcmp(const void *one, const void *other, size_t size) {
    return compare(one, other, size, RT_CALLER);
}
RT_EXPORT int bcmp(const void *one, const void *other, size_t size) {
    return compare(one, other, size, RT_CALLER);
}

RT_EXPORT void *memchr(const void *in, int byte, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    void *found = early_or_real(memchr)(in, byte, size);
    if (unlikely(t != NULL))
        READS(in, found != NULL ? (size_t)((char *)found - (const char *)in) + 1 : size);
    return found;
}

RT_EXPORT void *memrchr(const void *in, int byte, size_t size) {
    struct rt_thread *t = rt_touch_begin();
    void *found = real(memrchr)(in, byte, size);
    if (unlikely(t != NULL)) {
        const char *from = found != NULL ? found : in;
        READS(from, (size_t)((const char *)in + size - from));
    }
    return found;
}

RT_INLINE void *raw_find(const void *in, int byte, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    void *found = real(rawmemchr)(in, byte);
    if (unlikely(t != NULL))
        rt_touch(t, in, (size_t)((char *)found - (const char *)in) + 1, false, pc);
    return found;
}
RT_EXPORT void *rawmemchr(const void *in, int byte) { return raw_find(in, byte, RT_CALLER); }
RT_EXPORT void *__rawmemchr(const void *in, int byte);
RT_EXPORT void *__rawmemchr(const void *in, int byte) { return raw_find(in, byte, RT_CALLER); }

RT_EXPORT void *memmem(const void *in, size_t size, const void *what, size_t length) {
    struct rt_thread *t = rt_touch_begin();
    void *found = real(memmem)(in, size, what, length);
    if (unlikely(t != NULL) && length > 0 && length <= size) {
        READS(in, found != NULL ? (size_t)((char *)found - (const char *)in) + length : size);
        READS(what, length);
    }
    return found;
}
