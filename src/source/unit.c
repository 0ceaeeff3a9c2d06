/* Units that are read for somebody else. See unit.h. */
#include "source/unit.h"

#include "base/alloc.h"
#include "source/helper.h"
#include "source/worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hd_unit_readers {
    char *path;
    pthread_mutex_t lock; /* of what follows */
    HD_VECTOR(struct hd_helper) idle;
    struct hd_source_cache hashes; /* no cache: only what files have in them */
};

/* ---- jobs ------------------------------------------------------------------------------------ */

void hd_unit_job(struct hd_packed *to, const struct hd_compile_command *unit, unsigned method) {
    char number[16];
    snprintf(number, sizeof number, "%u", method);
    const char *head[] = {number, unit->directory, unit->file};
    for (unsigned i = 0; i < unit->arguments + 3; i++) {
        const char *word = i < 3 ? head[i] : unit->argument[i - 3];
        size_t length = strlen(word) + 1;
        hd_vector_reserve(&to->bytes, length);
        memcpy(to->bytes.data + to->bytes.size, word, length);
        to->bytes.size += length;
    }
}

bool hd_unit_is_good(const char *text) {
    static const char good[] = "heddle-source 1\nunit good ";
    return strncmp(text, good, sizeof good - 1) == 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct hd_unit_readers *hd_unit_readers_new(struct hd_error *error) {
    char *path = hd_helper_find(error);
    if (path == NULL) return NULL;
    struct hd_unit_readers *readers = hd_zalloc(1, sizeof *readers);
    readers->path = path;
    pthread_mutex_init(&readers->lock, NULL);
    return readers;
}

static bool get_helper(struct hd_unit_readers *readers, struct hd_helper *helper,
                       struct hd_error *error) {
    pthread_mutex_lock(&readers->lock);
    bool there = readers->idle.size > 0;
    if (there) *helper = readers->idle.data[--readers->idle.size];
    pthread_mutex_unlock(&readers->lock);
    return there || hd_helper_start(helper, readers->path, error);
}

static void put_helper(struct hd_unit_readers *readers, struct hd_helper *helper) {
    pthread_mutex_lock(&readers->lock);
    hd_vector_push(&readers->idle, *helper);
    pthread_mutex_unlock(&readers->lock);
}

static bool put_files(struct hd_unit_readers *readers, const char *depends, size_t length,
                      struct hd_packed *to) {
    bool good = true;
    for (const char *at = depends; good && at < depends + length; at += strlen(at) + 1) {
        uint64_t hash[2];
        pthread_mutex_lock(&readers->lock);
        good = hd_source_cache_hash(&readers->hashes, at, hash);
        pthread_mutex_unlock(&readers->lock);
        hd_pack_text(to, at);
        hd_pack_number(to, hash[0]);
        hd_pack_number(to, hash[1]);
    }
    hd_pack_text(to, NULL);
    return good;
}

bool hd_unit_read(struct hd_unit_readers *readers, const char *job, size_t bytes,
                  struct hd_packed *result, struct hd_error *error) {
    struct hd_helper helper = {.pid = 0};
    char *depends = NULL, *text = NULL;
    size_t depends_length = 0, length;
    if (!get_helper(readers, &helper, error)) return false;
    bool read = hd_worker_send(helper.fd, job, bytes) &&
                hd_worker_receive(helper.fd, &depends, &depends_length) &&
                hd_worker_receive(helper.fd, &text, &length);
    if (read)
        put_helper(readers, &helper);
    else
        hd_helper_end(&helper);
    if (read && hd_unit_is_good(text) && put_files(readers, depends, depends_length, result))
        hd_pack_bytes(result, text, length);
    else
        result->bytes.size = 0;
    free(depends);
    free(text);
    return true;
}

void hd_unit_readers_free(struct hd_unit_readers *readers) {
    for (size_t i = 0; i < readers->idle.size; i++) hd_helper_end(&readers->idle.data[i]);
    hd_vector_free(&readers->idle);
    hd_source_cache_close(&readers->hashes);
    pthread_mutex_destroy(&readers->lock);
    free(readers->path);
    free(readers);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* A file that was read there has the same content here. */
static bool is_same(struct hd_source_cache *cache, const char *path, struct hd_unpack *in) {
    uint64_t there[2] = {hd_unpack_number(in), hd_unpack_number(in)}, here[2];
    return in->good && hd_source_cache_hash(cache, path, here) && here[0] == there[0] &&
           here[1] == there[1];
}

char *hd_unit_take(struct hd_source_cache *cache, const char *result, size_t bytes, size_t *length,
                   struct hd_packed *depends) {
    struct hd_unpack in = hd_unpack_begin(result, bytes);
    size_t count;
    for (const char *path; (path = hd_unpack_bytes(&in, &count)) != NULL;) {
        if (strlen(path) != count || !is_same(cache, path, &in)) return NULL;
        hd_vector_reserve(&depends->bytes, count + 1);
        memcpy(depends->bytes.data + depends->bytes.size, path, count + 1);
        depends->bytes.size += count + 1;
    }
    char *text = hd_unpack_copy(&in, length);
    if (text != NULL && hd_unpack_whole(&in) && strlen(text) == *length &&
        depends->bytes.size > 0 && hd_unit_is_good(text))
        return text;
    free(text);
    return NULL;
}
