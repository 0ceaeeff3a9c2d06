/* What a program wrote, its trace, and its command: as text, as a mark, under a name. See run.h. */
#define _GNU_SOURCE
#include "run/output.h"

#include "base/alloc.h"
#include "base/map.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

uint64_t hd_output_bytes(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 ? (uint64_t)about.st_size : 0;
}

char *hd_result_text(const struct hd_result *run, int stream, size_t most, size_t *bytes) {
    int fd = stream == 1 ? run->output : run->error;
    uint64_t size = hd_output_bytes(fd);
    if (size > most) size = most;
    char *text = hd_alloc(1, (size_t)size + 1);
    *bytes = 0;
    while (*bytes < size) {
        ssize_t n = pread(fd, text + *bytes, (size_t)size - *bytes, (off_t)*bytes);
        if (n <= 0) break;
        *bytes += (size_t)n;
    }
    text[*bytes] = '\0';
    return text;
}

uint64_t hd_output_hash(int fd) {
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL) hd_out_of_memory();
    XXH3_64bits_reset(state);
    char bytes[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
        XXH3_64bits_update(state, bytes, (size_t)n);
        at += n;
    }
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}

/* A sum over lines that does not know their order. */
static bool lines_of(int fd, uint64_t *sum) {
    enum { FIRST = 0xcbf29ce4 };
    char bytes[65536];
    uint64_t line = FIRST;
    bool open = false;
    off_t at = 0;
    ssize_t n;
    *sum = 0;
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
        at += n;
        for (ssize_t i = 0; i < n; i++) {
            open = bytes[i] != '\n';
            line = open ? (line ^ (unsigned char)bytes[i]) * 1099511628211u : line;
            if (!open) *sum += hd_mix64(line);
            if (!open) line = FIRST;
        }
    }
    if (open) *sum += hd_mix64(line);
    return n == 0;
}

bool hd_output_mark(int fd, bool lines, char mark[HD_OUTPUT_MARK]) {
    uint64_t sum = 0;
    bool good = true;
    if (lines)
        good = lines_of(fd, &sum);
    else
        sum = hd_output_hash(fd);
    snprintf(mark, HD_OUTPUT_MARK, "%s:%016llx", lines ? "lines" : "bytes",
             (unsigned long long)sum);
    return good;
}

bool hd_is_output_mark(const char *text) {
    return (strncmp(text, "lines:", 6) == 0 || strncmp(text, "bytes:", 6) == 0) &&
           strlen(text) == 22 && strspn(text + 6, "0123456789abcdef") == 16;
}

bool hd_result_keep_trace(const struct hd_result *run, const char *path, struct hd_error *error) {
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (to < 0) return hd_fail(error, HD_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    off_t at = 0;
    char bytes[65536];
    ssize_t n;
    bool good = true;
    while (good && (n = pread(run->trace, bytes, sizeof bytes, at)) > 0) {
        for (ssize_t done = 0; good && done < n;) {
            ssize_t wrote = write(to, bytes + done, (size_t)(n - done));
            good = wrote > 0 || (wrote < 0 && errno == EINTR);
            if (wrote > 0) done += wrote;
        }
        at += n;
    }
    int why = errno;
    if (close(to) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good) return true;
    unlink(path);
    return hd_fail(error, HD_ERR_IO, "cannot write %s: %s", path, strerror(why));
}

char *hd_quote_command(char *const *argv) {
    static const char plain_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./=:,+@%";
    size_t bytes = 1;
    for (char *const *word = argv; *word != NULL; word++) bytes += 4 * strlen(*word) + 3;
    char *text = hd_alloc(1, bytes), *at = text;
    for (char *const *word = argv; *word != NULL; word++) {
        bool plain = **word != '\0' && strspn(*word, plain_letters) == strlen(*word);
        if (at != text) *at++ = ' ';
        if (!plain) *at++ = '\'';
        for (const char *c = *word; *c != '\0'; c++) {
            if (*c == '\'')
                at = stpcpy(at, "'\\''");
            else
                *at++ = *c;
        }
        if (!plain) *at++ = '\'';
    }
    *at = '\0';
    return text;
}
