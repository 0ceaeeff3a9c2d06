/* Files with symbols are opened once in a process and kept: a hunt loads thousands of traces of one
 * program, and reading its debug information takes longer than everything else that is done with
 * most of them. Known by path and build id; a file without one is opened anew each time. */
#include "base/alloc.h"
#include "base/vector.h"
#include "trace/symbols_binary.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* So many that nobody uses are kept. */
#define MOST_IDLE 16

struct kept {
    struct hd_binary *binary;
    struct hd_pool *pool;
    struct stat status;
    uint8_t build_id[sizeof((struct hd_trace_module *)0)->build_id];
    uint32_t build_id_length; /* 0: not to be shared */
    uint32_t users;
    uint64_t returned; /* when, as a number */
};

static struct {
    pthread_mutex_t lock;
    HD_VECTOR(struct kept) list;
    uint64_t returns;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void hd_binaries_lock(void) { pthread_mutex_lock(&kept.lock); }
void hd_binaries_unlock(void) { pthread_mutex_unlock(&kept.lock); }

static bool same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_status(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct kept *find(const char *directory, const char *path, const uint8_t *build_id,
                         uint32_t build_id_length, const struct stat *status) {
    for (size_t i = 0; build_id_length > 0 && i < kept.list.size; i++) {
        struct kept *each = &kept.list.data[i];
        if (each->build_id_length == build_id_length &&
            memcmp(each->build_id, build_id, build_id_length) == 0 &&
            same_text(each->binary->path, path) && same_text(each->binary->directory, directory) &&
            same_status(&each->status, status))
            return each;
    }
    return NULL;
}

struct hd_binary *hd_binary_borrow(const char *directory, const char *path, const uint8_t *build_id,
                                   uint32_t build_id_length, char *reason, size_t reason_size) {
    struct stat status;
    hd_binaries_lock();
    if (stat(path, &status) != 0) build_id_length = 0; /* opening it says why */
    struct kept *known = find(directory, path, build_id, build_id_length, &status);
    struct hd_binary *binary = NULL;
    if (known != NULL) {
        known->users++;
        binary = known->binary;
    } else {
        struct kept fresh = {.pool = hd_pool_new(), .status = status, .users = 1};
        path = hd_pool_text(fresh.pool, path);
        if (directory != NULL) directory = hd_pool_text(fresh.pool, directory);
        fresh.build_id_length = build_id_length;
        memcpy(fresh.build_id, build_id, build_id_length);
        binary = fresh.binary = hd_binary_open(fresh.pool, directory, path, build_id,
                                               build_id_length, reason, reason_size);
        if (binary != NULL)
            hd_vector_push(&kept.list, fresh);
        else
            hd_pool_free(fresh.pool);
    }
    hd_binaries_unlock();
    return binary;
}

static void close_kept(size_t at) {
    struct kept *each = &kept.list.data[at];
    hd_binary_close(each->binary);
    hd_pool_free(each->pool);
    *each = kept.list.data[--kept.list.size];
}

static void close_oldest(void) {
    size_t oldest = 0, idle = 0;
    for (size_t i = 0; i < kept.list.size; i++) {
        if (kept.list.data[i].users > 0) continue;
        if (idle++ == 0 || kept.list.data[i].returned < kept.list.data[oldest].returned) oldest = i;
    }
    if (idle > MOST_IDLE) close_kept(oldest);
}

void hd_binary_return(struct hd_binary *binary) {
    if (binary == NULL) return;
    hd_binaries_lock();
    size_t at = 0;
    while (kept.list.data[at].binary != binary) at++;
    struct kept *each = &kept.list.data[at];
    each->returned = ++kept.returns;
    if (--each->users == 0 && each->build_id_length == 0)
        close_kept(at);
    else
        close_oldest();
    hd_binaries_unlock();
}
