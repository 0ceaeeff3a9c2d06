/* Structs as JSON objects, both ways from one table of fields, so that what is written can be read
 * back without loss. Reading is strict, since the text may come from anywhere: a field that is
 * unknown, missing, of another type or out of range is an error that names the file and the field.
 *
 *     static const struct hd_field fields[] = {
 *         HD_FIELD_NUMBER(struct hd_steering, quantum, UINT32_MAX), ..., HD_FIELDS_END};
 *     json_t *object = hd_fields_write(fields, &steering);
 *     good = hd_fields_read(&in, object, "control", fields, &steering);
 */
#ifndef HEDDLE_RUN_FIELDS_H
#define HEDDLE_RUN_FIELDS_H

#include "base/arena.h"
#include "base/status.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Where the text comes from, and where its strings go. */
struct hd_fields_in {
    const char *name; /* of the file, for errors */
    struct hd_arena *arena;
    struct hd_error *error;
    void *context; /* for the functions of HD_FIELD_OTHER */
};

enum hd_field_type {
    HD_FIELD_IS_TEXT,   /* const char *, to be shown: no control characters. Not written if empty */
    HD_FIELD_IS_BYTES,  /* const char *, any bytes. Not written if NULL */
    HD_FIELD_IS_CHARS,  /* char[]. Not written if empty */
    HD_FIELD_IS_NUMBER, /* uint32_t or uint64_t. Not written if 0 */
    HD_FIELD_IS_INT,    /* int. Not written if 0 */
    HD_FIELD_IS_FLAG,   /* bool. Not written if false */
    HD_FIELD_IS_WORD,   /* an enum, by its words */
    HD_FIELD_IS_OTHER   /* read and written by functions, which are given the whole struct; one
                         * that returns NULL leaves the field out */
};

struct hd_field {
    const char *name;
    enum hd_field_type type;
    size_t offset, size;
    bool needed;
    uint64_t most;           /* NUMBER; UINT64_MAX: any 64 bits, negative numbers included */
    const char *const *word; /* WORD: `most` of them; NULL: a number without a word */
    bool (*read)(struct hd_fields_in *in, const json_t *value, const char *where, void *object);
    json_t *(*write)(const void *object); /* OTHER, or in place of the type's own way */
};

#define HD_FIELD_AT(structure, member) \
    .offset = offsetof(structure, member), .size = sizeof(((structure *)0)->member)
#define HD_FIELD_TEXT(structure, member) \
    { .name = #member, .type = HD_FIELD_IS_TEXT, HD_FIELD_AT(structure, member) }
#define HD_FIELD_BYTES(structure, member) \
    { .name = #member, .type = HD_FIELD_IS_BYTES, HD_FIELD_AT(structure, member) }
#define HD_FIELD_CHARS(structure, member) \
    { .name = #member, .type = HD_FIELD_IS_CHARS, HD_FIELD_AT(structure, member) }
#define HD_FIELD_NUMBER(structure, member, largest)                     \
    {                                                                   \
        .name = #member, .type = HD_FIELD_IS_NUMBER, .most = (largest), \
        HD_FIELD_AT(structure, member)                                  \
    }
#define HD_FIELD_INT(structure, member) \
    { .name = #member, .type = HD_FIELD_IS_INT, HD_FIELD_AT(structure, member) }
#define HD_FIELD_FLAG(structure, member) \
    { .name = #member, .type = HD_FIELD_IS_FLAG, HD_FIELD_AT(structure, member) }
#define HD_FIELD_WORD(structure, member, words)                                     \
    {                                                                               \
        .name = #member, .type = HD_FIELD_IS_WORD, .needed = true, .word = (words), \
        .most = sizeof(words) / sizeof *(words), HD_FIELD_AT(structure, member)     \
    }
#define HD_FIELD_OTHER(label, reader, writer) \
    { .name = (label), .type = HD_FIELD_IS_OTHER, .read = (reader), .write = (writer) }
#define HD_FIELD_NEEDED(label, reader, writer)                                        \
    {                                                                                 \
        .name = (label), .type = HD_FIELD_IS_OTHER, .needed = true, .read = (reader), \
        .write = (writer)                                                             \
    }
#define HD_FIELDS_END \
    { .name = NULL }

json_t *hd_fields_write(const struct hd_field *fields, const void *object);
/* Fields that are not there stay as they are. `where` is the path to the object ("": the root). */
bool hd_fields_read(struct hd_fields_in *in, const json_t *value, const char *where,
                    const struct hd_field *fields, void *object);

/* For the functions of other fields. */
bool hd_fields_refuse(const struct hd_fields_in *in, const char *where, const char *what);
bool hd_fields_text(struct hd_fields_in *in, const json_t *value, const char *where,
                    const char **text);
bool hd_fields_number(struct hd_fields_in *in, const json_t *value, const char *where,
                      uint64_t most, uint64_t *number);
/* Bytes that may be no UTF-8 are {"hex": "..."}. */
json_t *hd_fields_bytes_write(const char *bytes);
bool hd_fields_bytes(struct hd_fields_in *in, const json_t *value, const char *where,
                     const char **bytes);
/* The whole text; NULL if it is no JSON. */
json_t *hd_fields_parse(const struct hd_fields_in *in, const char *text, size_t bytes);
/* Is it an object whose "schema" is this one? `what` it should be: "schedule". */
bool hd_fields_schema(const struct hd_fields_in *in, const json_t *root, const char *schema,
                      const char *what);
/* For a field that was read already ("schema"). */
bool hd_fields_skip(struct hd_fields_in *in, const json_t *value, const char *where, void *object);

#endif
