/* Event chunks of a binary trace, put into one total order. */
#ifndef HEDDLE_TRACE_MERGE_H
#define HEDDLE_TRACE_MERGE_H

#include "trace/build.h"

/* An EVENTS or RECORDS chunk whose checksum was right. */
struct hd_event_chunk {
    const uint8_t *bytes;
    uint32_t length;
    uint32_t count;  /* events, or bytes of records */
    uint64_t offset; /* in the file, for messages */
    uint64_t stamp;  /* first of a stream: what the file says its first event stands under */
    uint32_t next;   /* of the same stream, HD_NONE */
};

struct hd_event_stream {
    uint32_t first, last; /* chunks; HD_NONE: the stream has none */
    uint32_t sequence;    /* of the next chunk */
};

struct hd_event_store {
    HD_VECTOR(struct hd_event_chunk) chunk;
    HD_VECTOR(struct hd_event_stream) stream; /* by number */
    bool records;           /* in place of events (token.h): not all of these are stored */
    uint64_t most_expected; /* events that there may be then */
    /* after so many a thread of its own takes the events; UINT64_MAX: none does */
    uint64_t beside_after;
};

/* Decodes, merges and folds everything, as the trace's `kept` says, into the builder's trace. A
 * store with `damaged` set is cut
 * at the first missing stamp. What had to be left out is said in trace->end.missing. False only for
 * errors that leave nothing to show (limits). */
bool hd_merge(const struct hd_event_store *store, bool damaged,
              const struct hd_trace_options *options, struct hd_builder *builder,
              struct hd_error *error);

/* Moves every WAIT of a merged trace directly behind the signal that woke it. Events keep their
 * numbers. */
void hd_place_waits(struct hd_builder *builder);

#endif
