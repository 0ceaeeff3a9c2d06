/* The pipe between heddle and its helper heddle-clang. Each message is its length, 8 bytes of this
 * machine, and its bytes. heddle sends words with a NUL behind each: method, directory, file, and
 * the compiler's command. The helper answers with two messages: the paths of all files that were
 * read, each with its NUL, and the text form of the unit. */
#ifndef HEDDLE_SOURCE_WORKER_H
#define HEDDLE_SOURCE_WORKER_H

#include <stdbool.h>
#include <stddef.h>

bool hd_worker_send(int fd, const char *bytes, size_t length);
/* malloc'ed, with a NUL behind it; false at the end or when the other side broke off. */
bool hd_worker_receive(int fd, char **bytes, size_t *length);

#endif
