/* See copies.h. */
#include "campaign/copies.h"

#include "base/alloc.h"
#include "base/whole_file.h"
#include "campaign/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a directory that nobody else can write to: what is in it will be executed. */
static bool make_directory(const char *path) {
    struct stat status;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 022) == 0;
}

/* malloc'ed; NULL: it can't be made. */
static char *directory_of(const char *hash) {
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0') parent = "/tmp";
    char *all = hd_format("%s/heddle-campaign-%u", parent, (unsigned)geteuid());
    char *own = hd_format("%s/%s", all, hash);
    bool plain =
        strlen(hash) == HD_KEY_TEXT - 1 && strspn(hash, "0123456789abcdef") == strlen(hash);
    bool good = plain && make_directory(all) && make_directory(own);
    free(all);
    if (good) return own;
    free(own);
    return NULL;
}

char *campaign_copy_find(const char *hash, const char *name) {
    char really[HD_KEY_TEXT], *directory = directory_of(hash);
    if (directory == NULL) return NULL;
    char *path = hd_format("%s/%s", directory, name);
    free(directory);
    if (campaign_hash_file(path, really) && strcmp(really, hash) == 0) return path;
    free(path);
    return NULL;
}

char *campaign_copy_make(const char *hash, const char *name, const void *bytes, size_t count) {
    char *directory = directory_of(hash);
    if (directory == NULL) return NULL;
    char *path = hd_format("%s/%s", directory, name);
    char *part = hd_format("%s/.part-%ld", directory, (long)getpid());
    /* Other ranks of this machine may do the same: whole files replace each other. */
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700);
    bool good = fd >= 0 && hd_write_all(fd, bytes, count);
    if (fd >= 0) good = close(fd) == 0 && good;
    good = good && rename(part, path) == 0;
    if (!good) unlink(part);
    free(part);
    free(directory);
    if (good) return path;
    free(path);
    return NULL;
}
