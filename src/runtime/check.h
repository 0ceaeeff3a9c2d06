/* Checking while the program runs (check.c): for the hooks and interceptors. */
#ifndef HEDDLE_RUNTIME_CHECK_H
#define HEDDLE_RUNTIME_CHECK_H

#include "runtime/rt.h"

#pragma GCC visibility push(hidden)

enum { RT_READS = 1, RT_WRITES = 2, RT_UPDATES = 3 };

void rt_check_start(void); /* sets rt.checking */
/* An access is about to be carried out, or an atomic one has been. */
void rt_check_access(struct rt_thread *t, uintptr_t address, size_t size, unsigned does,
                     uint32_t site);
/* The same from a hook, of memory that is in one word, or for 16 bytes in two. */
#define RT_CHECK_SIZES(X) X(1) X(2) X(4) X(8) X(16)
#define X(size)                                                \
    void rt_check_read##size(uintptr_t address, uintptr_t pc); \
    void rt_check_write##size(uintptr_t address, uintptr_t pc);
RT_CHECK_SIZES(X)
#undef X
void rt_check_clear(uintptr_t address, size_t bytes); /* a block's life begins or ends */
void rt_check_thread_ends(struct rt_thread *t);

/* Private to check.c and check_report.c: a violation is noted, and waited for if that is asked. */
struct rt_check_access {
    uint32_t thread, site;
    unsigned does; /* 0: no access */
};
struct rt_check_triple {
    struct rt_check_access access[3]; /* P, R, I */
    uintptr_t address;
    size_t size;
    uint64_t execution; /* of I: different for each one */
};
void rt_check_report_start(void);
void rt_check_report(struct rt_thread *t, const struct rt_check_triple *triple);
/* By site and what is done there: entry in the session's table of executed accesses, plus one. */
extern uint32_t *rt_check_number;
void rt_check_note(uint32_t site, unsigned does);
RT_INLINE void rt_check_executed(uint32_t site, unsigned does) {
    if (unlikely(rt_check_number[site * 4 + does] == 0)) rt_check_note(site, does);
}

#pragma GCC visibility pop

#endif
