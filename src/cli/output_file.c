/* Output files that are whole or not there. */
#define _GNU_SOURCE /* mkostemp */
#include "cli/output_file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
#define FATAL (sizeof fatal / sizeof *fatal)

static char *volatile to_remove;

void hd_output_file_remove(void) {
    if (to_remove) unlink(to_remove);
}

static void remove_and_die(int number) {
    hd_output_file_remove();
    /* the handler is reset, so this ends the process as if it had not been caught */
    raise(number);
}

static void guard(char *path) {
    to_remove = path;
    for (size_t i = 0; i < FATAL; i++) {
        struct sigaction now;
        /* what was ignored at the start (nohup) stays so */
        if (!path || sigaction(fatal[i], NULL, &now) || now.sa_handler == SIG_IGN) continue;
        struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = SA_RESETHAND};
        sigaction(fatal[i], &action, NULL);
    }
}

static bool fail_with(struct hd_output_file *file, struct hd_error *error, const char *what) {
    return hd_fail(error, HD_ERR_IO, "%s: %s: %s", file->path, what, strerror(errno));
}

static bool open_in_place(struct hd_output_file *file, struct hd_error *error) {
    file->fd = open(file->target, O_WRONLY | O_CLOEXEC);
    return file->fd >= 0 || fail_with(file, error, "can't be opened");
}

static bool open_temporary(struct hd_output_file *file, struct hd_error *error) {
    file->temporary = hd_format("%s.XXXXXX", file->target);
    /* No signal may come between the file's creation and the moment when it is known. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    int reason = errno;
    if (file->fd >= 0) guard(file->temporary);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (file->fd < 0) {
        free(file->temporary);
        file->temporary = NULL;
        errno = reason;
        return fail_with(file, error, "can't be created");
    }
    mode_t mask = umask(0);
    umask(mask);
    struct stat old;
    fchmod(file->fd, stat(file->target, &old) ? 0666 & ~mask : old.st_mode & 0777);
    return true;
}

bool hd_output_file_open(struct hd_output_file *file, const char *path, struct hd_error *error) {
    *file = (struct hd_output_file){.path = path, .fd = -1};
    if (!strcmp(path, "-")) {
        file->path = "standard output";
        file->fd = STDOUT_FILENO;
        return true;
    }
    struct stat status;
    bool there = stat(path, &status) == 0;
    file->target = there ? realpath(path, NULL) : hd_strdup(path);
    if (!file->target) return fail_with(file, error, "can't be written");
    bool good;
    if (there && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        good = fail_with(file, error, "can't be written");
    } else {
        good = there && !S_ISREG(status.st_mode) ? open_in_place(file, error)
                                                 : open_temporary(file, error);
    }
    if (!good) hd_output_file_abandon(file);
    return good;
}

const char *hd_output_file_name(const struct hd_output_file *file) {
    return file->temporary ? file->temporary : file->target ? file->target : "/dev/stdout";
}

static void release(struct hd_output_file *file) {
    guard(NULL);
    free(file->temporary);
    free(file->target);
    *file = (struct hd_output_file){.path = file->path, .fd = -1};
}

bool hd_output_file_finish(struct hd_output_file *file, struct hd_error *error) {
    if (!file->target) return true;
    bool good = close(file->fd) == 0 || fail_with(file, error, "can't be written");
    file->fd = -1;
    if (good && file->temporary && rename(file->temporary, file->target))
        good = fail_with(file, error, "can't be renamed");
    if (!good && file->temporary) unlink(file->temporary);
    release(file);
    return good;
}

void hd_output_file_abandon(struct hd_output_file *file) {
    if (file->target && file->fd >= 0) close(file->fd);
    if (file->temporary) unlink(file->temporary);
    release(file);
}

bool hd_output_file_write(const char *path, bool (*write)(FILE *out, const void *context),
                          const void *context, struct hd_error *error) {
    struct hd_output_file file;
    if (!hd_output_file_open(&file, path, error)) return false;
    int fd = dup(file.fd); /* the stream closes its own */
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    errno = 0;
    bool good = out != NULL && write(out, context);
    if (out != NULL)
        good = fclose(out) == 0 && good;
    else if (fd >= 0)
        close(fd);
    if (good) return hd_output_file_finish(&file, error);
    int reason = errno;
    hd_output_file_abandon(&file);
    return hd_fail(error, HD_ERR_IO, "%s can't be written%s%s", path, reason != 0 ? ": " : "",
                   reason != 0 ? strerror(reason) : "");
}
