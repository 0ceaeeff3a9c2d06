/* Structs as JSON objects. See fields.h. */
#include "run/fields.h"

#include "base/alloc.h"
#include "base/json.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- writing -------------------------------------------------------------------------------- */

json_t *hd_fields_bytes_write(const char *bytes) {
    json_t *text = json_string(bytes);
    if (text != NULL) return text;
    static const char digit[] = "0123456789abcdef";
    size_t length = strlen(bytes);
    char *hex = hd_alloc(2 * length + 1, 1), *at = hex;
    for (size_t i = 0; i < length; i++) {
        *at++ = digit[(unsigned char)bytes[i] >> 4];
        *at++ = digit[bytes[i] & 15];
    }
    *at = '\0';
    text = json_pack("{s:s}", "hex", hex);
    free(hex);
    return text;
}

static uint64_t number_at(const struct hd_field *field, const void *object) {
    const char *at = (const char *)object + field->offset;
    uint32_t small;
    uint64_t large;
    if (field->size == sizeof small) {
        memcpy(&small, at, sizeof small);
        return small;
    }
    memcpy(&large, at, sizeof large);
    return large;
}

static json_t *write_text(const char *text) {
    return text == NULL || *text == '\0' ? NULL : hd_json_text(text);
}

static json_t *write_field(const struct hd_field *field, const void *object) {
    const void *at = (const char *)object + field->offset;
    uint64_t number;
    if (field->write != NULL) return field->write(object);
    switch (field->type) {
    case HD_FIELD_IS_TEXT:
        return write_text(*(const char *const *)at);
    case HD_FIELD_IS_BYTES:
        return *(const char *const *)at != NULL ? hd_fields_bytes_write(*(const char *const *)at)
                                                : NULL;
    case HD_FIELD_IS_CHARS:
        return *(const char *)at != '\0' ? hd_fields_bytes_write(at) : NULL;
    case HD_FIELD_IS_NUMBER:
        number = number_at(field, object);
        return number != 0 ? json_integer((json_int_t)number) : NULL;
    case HD_FIELD_IS_INT:
        return *(const int *)at != 0 ? json_integer(*(const int *)at) : NULL;
    case HD_FIELD_IS_FLAG:
        return *(const bool *)at ? json_true() : NULL;
    case HD_FIELD_IS_WORD:
        number = number_at(field, object);
        return number < field->most && field->word[number] != NULL
                   ? json_string(field->word[number])
                   : NULL;
    case HD_FIELD_IS_OTHER:
        break;
    }
    return NULL;
}

json_t *hd_fields_write(const struct hd_field *fields, const void *object) {
    json_t *root = json_object();
    for (const struct hd_field *field = fields; field->name != NULL; field++) {
        json_t *value = write_field(field, object);
        if (value != NULL) json_object_set_new(root, field->name, value);
    }
    return root;
}

/* ---- reading -------------------------------------------------------------------------------- */

bool hd_fields_refuse(const struct hd_fields_in *in, const char *where, const char *what) {
    return hd_fail(in->error, HD_ERR_FORMAT, "%s: %s %s", in->name, where, what);
}

bool hd_fields_text(struct hd_fields_in *in, const json_t *value, const char *where,
                    const char **text) {
    if (!json_is_string(value)) return hd_fields_refuse(in, where, "must be a text");
    for (const char *c = json_string_value(value); *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return hd_fields_refuse(in, where, "must have no control characters");
    *text = hd_arena_copy(in->arena, json_string_value(value), json_string_length(value));
    return true;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(struct hd_fields_in *in, const char *hex, const char *where,
                     const char **bytes) {
    size_t length = strlen(hex) / 2;
    char *to = hd_arena_alloc(in->arena, length + 1);
    for (size_t i = 0; i < length; i++) {
        int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0 || (high | low) == 0)
            return hd_fields_refuse(in, where, "must have pairs of hexadecimal digits, no zeros");
        to[i] = (char)(high << 4 | low);
    }
    if (hex[2 * length] != '\0')
        return hd_fields_refuse(in, where, "must have pairs of hexadecimal digits, no zeros");
    to[length] = '\0';
    *bytes = to;
    return true;
}

bool hd_fields_bytes(struct hd_fields_in *in, const json_t *value, const char *where,
                     const char **bytes) {
    const char *hex = json_string_value(json_object_get(value, "hex"));
    if (hex != NULL && json_object_size(value) == 1) return read_hex(in, hex, where, bytes);
    if (!json_is_string(value)) return hd_fields_refuse(in, where, "must be a text");
    *bytes = hd_arena_copy(in->arena, json_string_value(value), json_string_length(value));
    return true;
}

bool hd_fields_number(struct hd_fields_in *in, const json_t *value, const char *where,
                      uint64_t most, uint64_t *number) {
    json_int_t given = json_integer_value(value);
    if (!json_is_integer(value)) return hd_fields_refuse(in, where, "must be a whole number");
    if (most != UINT64_MAX && (given < 0 || (uint64_t)given > most)) {
        char range[64];
        snprintf(range, sizeof range, "must be from 0 to %llu", (unsigned long long)most);
        return hd_fields_refuse(in, where, range);
    }
    *number = (uint64_t)given;
    return true;
}

static void set_number(const struct hd_field *field, void *object, uint64_t number) {
    uint32_t small = (uint32_t)number;
    if (field->size == sizeof small)
        memcpy((char *)object + field->offset, &small, sizeof small);
    else
        memcpy((char *)object + field->offset, &number, sizeof number);
}

static bool read_word(struct hd_fields_in *in, const json_t *value, const char *where,
                      const struct hd_field *field, void *object) {
    const char *word = json_string_value(value);
    for (uint32_t i = 0; word != NULL && i < field->most; i++) {
        if (field->word[i] == NULL || strcmp(field->word[i], word) != 0) continue;
        set_number(field, object, i);
        return true;
    }
    return hd_fields_refuse(in, where, "must be one of the words that this heddle knows");
}

static bool read_chars(struct hd_fields_in *in, const json_t *value, const char *where,
                       const struct hd_field *field, char *to) {
    const char *bytes;
    if (!hd_fields_bytes(in, value, where, &bytes)) return false;
    if (strlen(bytes) >= field->size) return hd_fields_refuse(in, where, "is too long");
    strcpy(to, bytes);
    return true;
}

static bool read_int(struct hd_fields_in *in, const json_t *value, const char *where, int *to) {
    json_int_t given = json_integer_value(value);
    if (!json_is_integer(value) || given < INT_MIN || given > INT_MAX)
        return hd_fields_refuse(in, where, "must be a whole number of 32 bits");
    *to = (int)given;
    return true;
}

static bool read_field(struct hd_fields_in *in, const json_t *value, const char *where,
                       const struct hd_field *field, void *object) {
    void *at = (char *)object + field->offset;
    uint64_t number;
    switch (field->type) {
    case HD_FIELD_IS_TEXT:
        return hd_fields_text(in, value, where, at);
    case HD_FIELD_IS_BYTES:
        return hd_fields_bytes(in, value, where, at);
    case HD_FIELD_IS_CHARS:
        return read_chars(in, value, where, field, at);
    case HD_FIELD_IS_NUMBER:
        if (!hd_fields_number(in, value, where, field->most, &number)) return false;
        set_number(field, object, number);
        return true;
    case HD_FIELD_IS_INT:
        return read_int(in, value, where, at);
    case HD_FIELD_IS_FLAG:
        if (!json_is_boolean(value)) return hd_fields_refuse(in, where, "must be true or false");
        *(bool *)at = json_is_true(value);
        return true;
    case HD_FIELD_IS_WORD:
        return read_word(in, value, where, field, object);
    case HD_FIELD_IS_OTHER:
        return field->read(in, value, where, object);
    }
    return false;
}

bool hd_fields_read(struct hd_fields_in *in, const json_t *value, const char *where,
                    const struct hd_field *fields, void *object) {
    char path[160];
    if (!json_is_object(value)) return hd_fields_refuse(in, where, "must be an object");
    for (const struct hd_field *field = fields; field->name != NULL; field++) {
        if (!field->needed || json_object_get(value, field->name) != NULL) continue;
        return hd_fail(in->error, HD_ERR_FORMAT, "%s: %s has no \"%s\"", in->name,
                       *where != '\0' ? where : "this", field->name);
    }
    const char *key;
    json_t *part;
    json_object_foreach((json_t *)value, key, part) {
        const struct hd_field *field = fields;
        while (field->name != NULL && strcmp(field->name, key) != 0) field++;
        if (field->name == NULL)
            return hd_fail(in->error, HD_ERR_FORMAT, "%s: %s%sunknown field \"%.40s\"", in->name,
                           where, *where != '\0' ? " has an " : "", key);
        snprintf(path, sizeof path, "%.120s%s%.36s", where, *where != '\0' ? "." : "", key);
        if (!read_field(in, part, path, field, object)) return false;
    }
    return true;
}

json_t *hd_fields_parse(const struct hd_fields_in *in, const char *text, size_t bytes) {
    json_error_t problem;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL)
        hd_fail(in->error, HD_ERR_FORMAT, "%s: line %d: %s", in->name, problem.line, problem.text);
    return root;
}

bool hd_fields_schema(const struct hd_fields_in *in, const json_t *root, const char *schema,
                      const char *what) {
    if (!json_is_object(root))
        return hd_fail(in->error, HD_ERR_FORMAT, "%s: a %s must be an object", in->name, what);
    const char *given = json_string_value(json_object_get(root, "schema"));
    if (given == NULL)
        return hd_fail(in->error, HD_ERR_FORMAT, "%s: this is no %s: it has no \"schema\"",
                       in->name, what);
    return strcmp(given, schema) == 0 ||
           hd_fail(in->error, HD_ERR_UNSUPPORTED, "%s: schema \"%.60s\" is not \"%s\"", in->name,
                   given, schema);
}

/* A table has a field for it, since an unknown one would be refused. */
bool hd_fields_skip(struct hd_fields_in *in, const json_t *value, const char *where, void *object) {
    (void)in;
    (void)value;
    (void)where;
    (void)object;
    return true;
}
