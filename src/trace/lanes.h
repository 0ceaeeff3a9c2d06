/* Records (token.h) taken apart, so that they compress better: bytes that mean the same stand
 * together. For chunks that are compressed; putting them together again gives the same bytes. */
#ifndef HEDDLE_TRACE_LANES_H
#define HEDDLE_TRACE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hd_lanes;
struct hd_lanes *hd_lanes_new(void);
void hd_lanes_free(struct hd_lanes *lanes);

/* Takes records apart and compresses them. Returns how many bytes that makes, which are at *packed
 * until the next call; 0 if they are no records. At most HD_RECORDS_LIMIT bytes. */
size_t hd_lanes_pack(struct hd_lanes *lanes, const uint8_t *record, size_t length,
                     const uint8_t **packed);
/* The inverse, for untrusted bytes: false if they do not make just so many bytes of records. */
bool hd_lanes_unpack(struct hd_lanes *lanes, const uint8_t *packed, size_t packed_length,
                     uint8_t *record, size_t length);

#endif
