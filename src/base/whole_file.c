/* Reading in one go; writing to a temporary file beside the wanted one, renamed at the end. */
#define _GNU_SOURCE /* mkostemp */
#include "base/whole_file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_all(int fd, size_t most, size_t *bytes) {
    size_t room = 65536;
    char *text = hd_alloc(1, room + 1);
    *bytes = 0;
    for (;;) {
        ssize_t n = read(fd, text + *bytes, room - *bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) {
            text[*bytes] = '\0';
            return text;
        }
        if (n < 0) break;
        *bytes += (size_t)n;
        if (*bytes > most) {
            errno = EFBIG;
            break;
        }
        if (*bytes < room) continue;
        text = hd_realloc(text, 1, (room *= 2) + 1);
    }
    int why = errno;
    free(text);
    errno = why;
    return NULL;
}

char *hd_whole_file_read(const char *path, size_t most, size_t *bytes, struct hd_error *error) {
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        hd_fail(error, HD_ERR_IO, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = read_all(fd, most, bytes);
    int why = errno;
    if (!standard) close(fd);
    if (text == NULL) hd_fail(error, HD_ERR_IO, "cannot read %s: %s", path, strerror(why));
    return text;
}

bool hd_write_all(int fd, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        ssize_t n = write(fd, at, count);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return false;
        at += n;
        count -= (size_t)n;
    }
    return true;
}

static bool fill(int fd, const char *text) {
    if (!hd_write_all(fd, text, strlen(text))) return false;
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

bool hd_whole_file_write(const char *path, const char *text, struct hd_error *error) {
    char *temporary = hd_format("%s.XXXXXX", path);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool good = fd >= 0 && fill(fd, text);
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good && rename(temporary, path) != 0) {
        good = false;
        why = errno;
    }
    if (!good && fd >= 0) unlink(temporary);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(temporary);
    return good || hd_fail(error, HD_ERR_IO, "cannot write %s: %s", path, strerror(why));
}
