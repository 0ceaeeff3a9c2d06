/* Units that were read before: the text form of each in a file of its own, with the hashes of all
 * files it was made from. A unit counts as the same when its command, its files and heddle are. */
#ifndef HEDDLE_SOURCE_CACHE_H
#define HEDDLE_SOURCE_CACHE_H

#include "source/database.h"

struct hd_source_cache {
    const char *directory;    /* NULL: no cache */
    char tool[128];           /* what reads units, and its version */
    struct hd_intern path;    /* of files whose content has been hashed */
    HD_VECTOR(uint64_t) hash; /* by number of the path: two words each */
};

void hd_source_cache_open(struct hd_source_cache *cache, const char *directory, const char *helper,
                          unsigned method);
/* malloc'ed text of the unit; NULL if it is not there or something changed. */
char *hd_source_cache_get(struct hd_source_cache *cache, const struct hd_compile_command *unit,
                          size_t *length);
/* `depends`: paths, each with its NUL. A cache that can't be written is no error. */
void hd_source_cache_put(struct hd_source_cache *cache, const struct hd_compile_command *unit,
                         const char *depends, size_t depends_length, const char *text);
/* The hash of a file's content, each file once; false if it can't be read. */
bool hd_source_cache_hash(struct hd_source_cache *cache, const char *path, uint64_t hash[static 2]);
void hd_source_cache_close(struct hd_source_cache *cache);

#endif
