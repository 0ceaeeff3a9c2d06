/* Opening a store, and moving a damaged one away. See store.h. */
#include "store/schema.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct hd_store *hd_store_open(const char *path, enum hd_store_use use, struct hd_error *error) {
    return hd_sql_open(path, use, &hd_store_kind, error);
}

/* ---- damaged ones -----------------------------------------------------------------------------*/

/* A name beside the file that nothing has; malloc'ed. */
static char *free_name(const char *path) {
    for (unsigned number = 1;; number++) {
        char *name = hd_format("%s.damaged-%u", path, number);
        if (access(name, F_OK) != 0) return name;
        free(name);
    }
}

/* The file, and what SQLite keeps beside it. */
static bool move_away(const char *path, const char *name, struct hd_error *error) {
    static const char *const ending[] = {"-wal", "-shm", ""};
    for (unsigned i = 0; i < sizeof ending / sizeof *ending; i++) {
        char *from = hd_format("%s%s", path, ending[i]), *to = hd_format("%s%s", name, ending[i]);
        bool moved = rename(from, to) == 0 || (errno == ENOENT && *ending[i] != '\0');
        if (!moved) hd_fail(error, HD_ERR_IO, "can't rename %s: %s", from, strerror(errno));
        free(from);
        free(to);
        if (!moved) return false;
    }
    return true;
}

static int lock_directory(const char *path) {
    char *directory = hd_strdup(path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL) slash[slash == directory] = '\0';
    int fd = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (fd >= 0) flock(fd, LOCK_EX);
    return fd;
}

bool hd_store_set_aside(const char *path, char **name, struct hd_error *error) {
    *name = NULL;
    /* Two who find it damaged: the second must not move away what the first has begun. */
    int lock = lock_directory(path);
    struct hd_store *store = hd_store_open(path, HD_STORE_KEEP, error);
    bool good = store != NULL;
    hd_store_close(store);
    if (!good && error->code == HD_ERR_DAMAGED) {
        *name = free_name(path);
        good = move_away(path, *name, error);
        /* The new one is there before the lock is given up. */
        store = good ? hd_store_open(path, HD_STORE_KEEP, error) : NULL;
        good = store != NULL;
        hd_store_close(store);
    }
    if (!good) {
        free(*name);
        *name = NULL;
    }
    if (lock >= 0) close(lock);
    return good;
}
