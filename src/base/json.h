/* Values for JSON reports. */
#ifndef HEDDLE_BASE_JSON_H
#define HEDDLE_BASE_JSON_H

#include <jansson.h>
#include <stdint.h>

/* A number for json_pack's "I". */
#define HD_INT(number) ((json_int_t)(number))

static inline json_t *hd_json_number(uint64_t value) { return json_integer((json_int_t)value); }

/* NULL is "". */
static inline json_t *hd_json_text(const char *text) {
    json_t *string = json_string(text != NULL ? text : "");
    return string != NULL ? string : json_string("(not UTF-8)");
}

static inline json_t *hd_json_text_or_null(const char *text) {
    return text == NULL || *text == '\0' ? json_null() : hd_json_text(text);
}

#endif
