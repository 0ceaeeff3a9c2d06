/* The layout of a binary trace file (.hdt), shared by its writer and its reader; described in
 * docs/trace-format.md. All numbers are little-endian. */
#ifndef HEDDLE_TRACE_FORMAT_H
#define HEDDLE_TRACE_FORMAT_H

#include "trace/trace.h"

#include <string.h>
#include <xxhash.h>

#define HD_FILE_MAGIC "\x89HDT\r\n\x1a\n"
enum { HD_FILE_MAGIC_BYTES = 8, HD_FILE_VERSION = 1 };

/* Feature bits: what a reader must know to understand the file. */
enum {
    HD_FEATURE_NAMES = 1,       /* operands and sites are numbers of names in NAMES chunks */
    HD_FEATURE_OLD = 2 | 4 | 8, /* as the next, in other forms: not read any more */
    HD_FEATURE_RECORDS = 16, /* events that came as expected are not stored (expect.h, token.h) */
    HD_FEATURES_KNOWN = HD_FEATURE_NAMES | HD_FEATURE_RECORDS
};

struct hd_file_header {
    char magic[HD_FILE_MAGIC_BYTES];
    uint32_t version;
    uint32_t features;
    uint64_t reserved;
    uint64_t checksum; /* of what stands before it */
};

#define HD_FOURCC(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define HD_CHUNK_ABOUT HD_FOURCC('A', 'B', 'O', 'U')
#define HD_CHUNK_MODULE HD_FOURCC('M', 'O', 'D', 'U')
#define HD_CHUNK_NAMES HD_FOURCC('N', 'A', 'M', 'E')
#define HD_CHUNK_EVENTS_TYPE HD_FOURCC('E', 'V', 'N', 'T')
#define HD_CHUNK_RECORDS_TYPE HD_FOURCC('R', 'E', 'C', 'O')
#define HD_CHUNK_END HD_FOURCC('E', 'N', 'D', ' ')

struct hd_file_chunk {
    uint32_t type;
    uint32_t length;   /* of the payload that follows */
    uint32_t stream;   /* EVENTS, RECORDS; NAMES: enum hd_name_list */
    uint32_t sequence; /* EVENTS, RECORDS: of the stream, from 0 */
    uint32_t
        count; /* events, names; RECORDS: bytes of them, which are compressed if fewer follow */
    uint32_t reserved;
    uint64_t stamp; /* EVENTS, RECORDS, first of a stream: its STAMP, if one comes before its first
                       event */
    uint64_t checksum; /* of header, payload and place in the file */
};

enum { HD_RECORDS_LIMIT = 1 << 20 }; /* bytes of records in a chunk */

enum hd_name_list {
    HD_NAMES_THREADS = 0,
    HD_NAMES_VARIABLES,
    HD_NAMES_OBJECTS,
    HD_NAMES_SITES,
    HD_NAME_LISTS
};
enum {
    HD_NAMES_BYTES = 1 << 20, /* raw bytes of names after which a chunk is closed */
    HD_NAME_LIMIT = 1 << 16   /* bytes of one name */
};

_Static_assert(sizeof(struct hd_file_header) == 32, "no padding");
_Static_assert(sizeof(struct hd_file_chunk) == 40, "no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "headers are stored as they are in memory");

static inline uint64_t hd_file_header_checksum(const struct hd_file_header *header) {
    return XXH3_64bits(header, offsetof(struct hd_file_header, checksum));
}

/* A chunk that was moved or repeated does not check either. */
static inline uint64_t hd_file_chunk_checksum(const struct hd_file_chunk *header,
                                              const void *payload, uint64_t offset) {
    uint64_t seed = XXH3_64bits_withSeed(header, offsetof(struct hd_file_chunk, checksum), offset);
    return XXH3_64bits_withSeed(payload, header->length, seed);
}

/* ---- payloads of single records ----------------------------------------------------------- */

/* ABOUT: the format the trace came from, and how it was written */
enum { HD_ABOUT_FORMAT_MASK = 0xff, HD_ABOUT_HEX_OFFSETS = 0x100 };
/* END flags */
enum { HD_END_EXITED = 1, HD_END_SIGNALED = 2, HD_END_DEADLOCKED = 4, HD_END_BRANCHES = 8 };

/* Fields are put one after the other without padding; a string is its length and its bytes. */
struct hd_fields {
    uint8_t *bytes;
    size_t at, size;
    bool failed; /* did not fit, or ran past the end */
};

static inline void hd_put_bytes(struct hd_fields *to, const void *bytes, size_t length) {
    if (to->failed || length > to->size - to->at) {
        to->failed = true;
        return;
    }
    if (length != 0) memcpy(to->bytes + to->at, bytes, length);
    to->at += length;
}
static inline void hd_put32(struct hd_fields *to, uint32_t value) { hd_put_bytes(to, &value, 4); }
static inline void hd_put64(struct hd_fields *to, uint64_t value) { hd_put_bytes(to, &value, 8); }
static inline void hd_put_string(struct hd_fields *to, const char *string) {
    size_t length = strlen(string);
    hd_put32(to, (uint32_t)length);
    hd_put_bytes(to, string, length);
}

static inline void hd_get_bytes(struct hd_fields *from, void *bytes, size_t length) {
    if (from->failed || length > from->size - from->at) {
        from->failed = true;
        memset(bytes, 0, length);
        return;
    }
    memcpy(bytes, from->bytes + from->at, length);
    from->at += length;
}
static inline uint32_t hd_get32(struct hd_fields *from) {
    uint32_t value;
    hd_get_bytes(from, &value, 4);
    return value;
}
static inline uint64_t hd_get64(struct hd_fields *from) {
    uint64_t value;
    hd_get_bytes(from, &value, 8);
    return value;
}
/* The bytes of a string, not NUL-terminated; NULL if they are not there. */
static inline const char *hd_get_string(struct hd_fields *from, size_t *length) {
    *length = hd_get32(from);
    if (from->failed || *length > from->size - from->at) {
        from->failed = true;
        *length = 0;
        return NULL;
    }
    const char *string = (const char *)from->bytes + from->at;
    from->at += *length;
    return string;
}

/* ---- the writer, as the rest of src/trace/ sees it ---------------------------------------- */

/* hd_writer_open with feature bits and where the trace came from (HD_ABOUT_...). */
struct hd_writer *hd_writer_create(const char *path, const struct hd_trace_about *about,
                                   uint32_t features, uint32_t origin, struct hd_error *error);
/* A list of names (NULL entries allowed), in as many chunks as it takes. */
bool hd_writer_names(struct hd_writer *writer, enum hd_name_list list, char *const *name,
                     uint32_t count, struct hd_error *error);

#endif
