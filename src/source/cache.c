/* The cache of units: see cache.h. */
#include "source/cache.h"

#include "base/alloc.h"
#include "base/whole_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define LARGEST ((size_t)1 << 31)

void hd_source_cache_open(struct hd_source_cache *cache, const char *directory, const char *helper,
                          unsigned method) {
    struct stat status = {0};
    *cache = (struct hd_source_cache){.directory = directory};
    if (stat(helper, &status) != 0) cache->directory = NULL;
    snprintf(cache->tool, sizeof cache->tool, "heddle %s %u %lld %lld.%09ld", HEDDLE_VERSION,
             method, (long long)status.st_size, (long long)status.st_mtim.tv_sec,
             status.st_mtim.tv_nsec);
}

void hd_source_cache_close(struct hd_source_cache *cache) {
    hd_intern_free(&cache->path);
    hd_vector_free(&cache->hash);
}

/* The file of a unit: a hash of its command. */
static char *unit_file(const struct hd_source_cache *cache, const struct hd_compile_command *unit) {
    XXH3_state_t *state = XXH3_createState();
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, cache->tool, strlen(cache->tool) + 1);
    XXH3_128bits_update(state, unit->directory, strlen(unit->directory) + 1);
    XXH3_128bits_update(state, unit->path, strlen(unit->path) + 1);
    for (unsigned i = 0; i < unit->arguments; i++)
        XXH3_128bits_update(state, unit->argument[i], strlen(unit->argument[i]) + 1);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return hd_format("%s/%016llx%016llx.unit", cache->directory, (unsigned long long)hash.high64,
                     (unsigned long long)hash.low64);
}

bool hd_source_cache_hash(struct hd_source_cache *cache, const char *path,
                          uint64_t hash[static 2]) {
    size_t before = cache->path.name.size, length;
    uint32_t number = hd_intern(&cache->path, path, strlen(path));
    if (number == before) {
        struct hd_error ignored;
        struct stat status;
        /* Other ranks name files too: one that never ends, or waits for somebody, is none. */
        bool plain = stat(path, &status) == 0 && S_ISREG(status.st_mode);
        char *bytes = plain ? hd_whole_file_read(path, LARGEST, &length, &ignored) : NULL;
        XXH128_hash_t content = {0};
        if (bytes != NULL) content = XXH3_128bits(bytes, length);
        free(bytes);
        hd_vector_push(&cache->hash, (uint64_t)content.high64);
        hd_vector_push(&cache->hash, (uint64_t)content.low64);
    }
    hash[0] = cache->hash.data[2 * (size_t)number];
    hash[1] = cache->hash.data[2 * (size_t)number + 1];
    return hash[0] != 0 || hash[1] != 0;
}

/* "HASH PATH": whether the file still has that content. */
static bool same_content(struct hd_source_cache *cache, char *line) {
    uint64_t hash[2];
    char expected[40];
    if (strlen(line) < 34 || line[32] != ' ' || !hd_source_cache_hash(cache, line + 33, hash))
        return false;
    snprintf(expected, sizeof expected, "%016llx%016llx", (unsigned long long)hash[0],
             (unsigned long long)hash[1]);
    return memcmp(expected, line, 32) == 0;
}

char *hd_source_cache_get(struct hd_source_cache *cache, const struct hd_compile_command *unit,
                          size_t *length) {
    if (cache->directory == NULL) return NULL;
    char *file = unit_file(cache, unit);
    struct hd_error ignored;
    size_t bytes;
    char *all = hd_whole_file_read(file, LARGEST, &bytes, &ignored), *text = NULL;
    free(file);
    char *at = all;
    while (at != NULL) {
        char *newline = strchr(at, '\n');
        if (newline == NULL) break;
        *newline = '\0';
        if (newline == at) { /* an empty line: what follows is the text */
            text = newline + 1;
            break;
        }
        if (!same_content(cache, at)) break;
        at = newline + 1;
    }
    if (text == NULL) {
        free(all);
        return NULL;
    }
    *length = bytes - (size_t)(text - all);
    memmove(all, text, *length + 1);
    return all;
}

static void make_directories(const char *directory) {
    char path[PATH_MAX];
    if (strlen(directory) >= sizeof path) return;
    strcpy(path, directory);
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    mkdir(path, 0777);
}

void hd_source_cache_put(struct hd_source_cache *cache, const struct hd_compile_command *unit,
                         const char *depends, size_t depends_length, const char *text) {
    if (cache->directory == NULL) return;
    HD_VECTOR(char) out = {0};
    bool good = true;
    for (const char *at = depends; good && at < depends + depends_length; at += strlen(at) + 1) {
        uint64_t hash[2];
        char line[40];
        good = strchr(at, '\n') == NULL && hd_source_cache_hash(cache, at, hash);
        if (!good) break;
        size_t length = strlen(at);
        snprintf(line, sizeof line, "%016llx%016llx ", (unsigned long long)hash[0],
                 (unsigned long long)hash[1]);
        hd_vector_reserve(&out, length + 40);
        memcpy(out.data + out.size, line, 33);
        memcpy(out.data + out.size + 33, at, length);
        out.size += 33 + length;
        out.data[out.size++] = '\n';
    }
    if (good && out.size > 0) {
        size_t length = strlen(text) + 1;
        hd_vector_reserve(&out, length + 1);
        out.data[out.size++] = '\n';
        memcpy(out.data + out.size, text, length);
        char *file = unit_file(cache, unit);
        struct hd_error ignored;
        if (!hd_whole_file_write(file, out.data, &ignored)) {
            make_directories(cache->directory);
            hd_whole_file_write(file, out.data, &ignored);
        }
        free(file);
    }
    hd_vector_free(&out);
}
