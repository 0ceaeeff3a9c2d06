/* Packing of raw wire events: a chunk of events becomes a few columns of small, repetitive bytes
 * (see docs/trace-format.md), each compressed with zstd. A chunk depends on no other. Any events
 * survive the way there and back bit by bit, whether they make sense or not. */
#ifndef HEDDLE_TRACE_PACK_H
#define HEDDLE_TRACE_PACK_H

#include "trace/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_PACK_EVENTS 65535u /* the most in one chunk, so that shapes have 16-bit numbers */

struct hd_packer;
struct hd_packer *hd_packer_new(void);
void hd_packer_free(struct hd_packer *packer);
/* Packs 1 .. HD_PACK_EVENTS events; the result stays valid until the next call. */
void hd_pack(struct hd_packer *packer, const struct hd_wire_event *event, size_t count,
             const uint8_t **bytes, size_t *length);

struct hd_unpacker;
struct hd_unpacker *hd_unpacker_new(void);
void hd_unpacker_free(struct hd_unpacker *unpacker);
/* The inverse, for untrusted bytes: false if they are not a packed chunk of exactly `count`
 * events. */
bool hd_unpack(struct hd_unpacker *unpacker, const uint8_t *bytes, size_t length,
               struct hd_wire_event *event, size_t count);

#endif
