/* Messages between heddle and its helper: see worker.h. */
#include "source/worker.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONGEST ((uint64_t)1 << 32)

static bool write_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        /* A helper that is gone must not end heddle by SIGPIPE. */
        ssize_t done = send(fd, bytes, length, MSG_NOSIGNAL);
        if (done < 0 && errno == ENOTSOCK) done = write(fd, bytes, length);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        length -= (size_t)done;
    }
    return true;
}

static bool read_all(int fd, char *bytes, size_t length) {
    while (length > 0) {
        ssize_t done = read(fd, bytes, length);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        length -= (size_t)done;
    }
    return true;
}

bool hd_worker_send(int fd, const char *bytes, size_t length) {
    uint64_t size = length;
    return write_all(fd, (const char *)&size, sizeof size) && write_all(fd, bytes, length);
}

bool hd_worker_receive(int fd, char **bytes, size_t *length) {
    uint64_t size;
    if (!read_all(fd, (char *)&size, sizeof size) || size >= LONGEST) return false;
    *bytes = hd_alloc((size_t)size + 1, 1);
    *length = (size_t)size;
    (*bytes)[size] = '\0';
    if (read_all(fd, *bytes, (size_t)size)) return true;
    free(*bytes);
    return false;
}
