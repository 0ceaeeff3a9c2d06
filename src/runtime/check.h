/* Checking while the program runs (check.c): for the hooks and interceptors. */
#ifndef HEDDLE_RUNTIME_CHECK_H
#define HEDDLE_RUNTIME_CHECK_H

#include "runtime/rt.h"

#pragma GCC visibility push(hidden)

enum { RT_READS = 1, RT_WRITES = 2, RT_UPDATES = 3 };

void rt_check_start(void); /* sets rt.checking */
void rt_check_thread_starts(struct rt_thread *t);
void rt_check_thread_ends(struct rt_thread *t);
/* An access is about to be carried out, or an atomic one has been: by its code address, or by its
 * site if the run is recorded too. */
void rt_check_access(struct rt_thread *t, uintptr_t address, size_t size, unsigned does,
                     uintptr_t where);
/* The same from a hook, of memory that is in one word, or for 16 bytes in two. */
#define RT_CHECK_SIZES(X) X(1) X(2) X(4) X(8)
#define X(size)                                                \
    void rt_check_read##size(uintptr_t address, uintptr_t pc); \
    void rt_check_write##size(uintptr_t address, uintptr_t pc);
RT_CHECK_SIZES(X)
X(16)
#undef X
void rt_check_clear(uintptr_t address, size_t bytes); /* a block's life begins or ends */

/* ---- what is found (check_report.c) ---------------------------------------------------------- */

struct rt_check_triple {
    uint64_t access[3]; /* P, R, I, as check_cell.h has them */
    uintptr_t address;
    size_t size;
    uint64_t execution; /* of I: different for each one */
};
void rt_check_report_start(void);
/* Notes a violation, and waits for the parent's answer if that is asked. */
void rt_check_report(struct rt_thread *t, const struct rt_check_triple *triple);
/* Notes that an access was executed as the second of a pair. */
void rt_check_executed(uint64_t access);

#pragma GCC visibility pop

#endif
