/* Values as bytes, one after the other, to be sent or kept, and back. Numbers take as few bytes as
 * they need (varint.h); bytes follow their number and have a NUL behind them. Whoever reads checks
 * every length: what is read may come from anywhere. */
#ifndef HEDDLE_BASE_PACKED_H
#define HEDDLE_BASE_PACKED_H

#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. Freed by hd_vector_free(&packed.bytes). */
struct hd_packed {
    HD_VECTOR(char) bytes;
};
void hd_pack_number(struct hd_packed *to, uint64_t number);
/* NULL is read back as NULL. */
void hd_pack_bytes(struct hd_packed *to, const void *bytes, size_t count);
void hd_pack_text(struct hd_packed *to, const char *text);

struct hd_unpack {
    const char *at, *end;
    bool good; /* nothing was missing so far */
};
static inline struct hd_unpack hd_unpack_begin(const void *bytes, size_t count) {
    return (struct hd_unpack){.at = bytes, .end = (const char *)bytes + count, .good = true};
}
/* 0 if it is not there. */
uint64_t hd_unpack_number(struct hd_unpack *in);
/* The same of a number that is at most so much; more is not good. */
uint64_t hd_unpack_most(struct hd_unpack *in, uint64_t most);
/* Points into what is read, and is followed by a NUL; NULL if there are none. */
const char *hd_unpack_bytes(struct hd_unpack *in, size_t *count);
const char *hd_unpack_text(struct hd_unpack *in); /* "" if it is not there */
/* The same, malloc'ed, with a NUL behind it. */
char *hd_unpack_copy(struct hd_unpack *in, size_t *count);
/* Was everything good, and is nothing left? */
static inline bool hd_unpack_whole(const struct hd_unpack *in) {
    return in->good && in->at == in->end;
}

#endif
