/* Order through pipes, socket pairs, event counters and epoll (files.c): what was written comes
 * before the call that gets it. */
#ifndef HEDDLE_RUNTIME_FILES_H
#define HEDDLE_RUNTIME_FILES_H

#include "runtime/touch.h"

#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* With the runtime left, around the real calls: bytes were written (or will be, if the call may
 * block: then rt_file_settled says how many it were), were read (0: the end), by a call that others
 * may have overtaken. errno is kept. */
#define RT_FILE_UNKNOWN ((size_t)1 << 40)
uint32_t rt_file_sent(struct rt_thread *t, int fd, size_t bytes, uintptr_t pc);
void rt_file_settled(int fd, uint32_t sent, size_t bytes);
void rt_file_got(struct rt_thread *t, int fd, ssize_t bytes, bool away, uintptr_t pc);
/* One descriptor is another's copy now. */
void rt_file_copied(int from, int to);
/* Something was given to an epoll instance, and something came from it. */
void rt_epoll_told(struct rt_thread *t, int fd, uintptr_t pc);
void rt_epoll_answered(struct rt_thread *t, int fd, uintptr_t pc);

#pragma GCC visibility pop

#endif
