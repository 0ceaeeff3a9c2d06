/* Correlations as a text file that a person reads and edits: one rule a line. The format is in
 * docs/mine.md. */
#ifndef HEDDLE_MINE_CORR_FILE_H
#define HEDDLE_MINE_CORR_FILE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vector.h"

#include <stdint.h>

struct hd_corr_rule {
    uint8_t a1, a2;    /* HD_MINE_READ, HD_MINE_WRITE or HD_MINE_ANY */
    const char *x, *y; /* `struct::field` or a global; `name@dir/file.c` where several share it */
    uint32_t support, functions, direct; /* as in hd_correlation; functions 0: not given */
};

struct hd_corr_set {
    uint8_t mode;
    uint32_t first, count; /* of `member` */
    uint32_t support, functions;
};

/* A zeroed one is empty. */
struct hd_corr_file {
    struct hd_arena arena; /* owner of the names */
    HD_VECTOR(struct hd_corr_rule) rule;
    HD_VECTOR(struct hd_corr_set) set;
    HD_VECTOR(const char *) member;
    const char *about; /* comment at the top when written, without the "# "; NULL */
};

/* Untrusted bytes; `name` is for the message, "app.corr:7: ...". On failure nothing is held. */
bool hd_corr_read(const char *bytes, size_t length, const char *name, struct hd_corr_file *file,
                  struct hd_error *error);
bool hd_corr_load(const char *path, struct hd_corr_file *file, struct hd_error *error);
/* The text; to be freed. */
char *hd_corr_write(const struct hd_corr_file *file);
void hd_corr_free(struct hd_corr_file *file);

/* "read", "write", "any". */
const char *hd_mine_mode_name(unsigned mode);
/* The other way round; 0 if the word is none of them. */
unsigned hd_mine_mode_of(const char *word, size_t length);

/* Is it the variable that a user means by `word`: its whole name, or that without `@file`, or the
 * field alone? */
bool hd_corr_name_fits(const char *name, const char *word);

#endif
