/* See sarif_parts.h: paths, places, messages. */
#define _GNU_SOURCE /* vasprintf */
#include "report/sarif_parts.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A path as a URI may have it: all but letters, digits and a few characters in percent form. */
static char *encode(const char *prefix, const char *path, const char *suffix) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/+@,";
    char *text = hd_alloc(strlen(prefix) + 3 * strlen(path) + strlen(suffix) + 1, 1);
    size_t used = strlen(prefix);
    memcpy(text, prefix, used);
    for (; *path != '\0'; path++) {
        if (strchr(plain, *path) != NULL) {
            text[used++] = *path;
            continue;
        }
        static const char digit[] = "0123456789ABCDEF";
        text[used++] = '%';
        text[used++] = digit[(unsigned char)*path >> 4];
        text[used++] = digit[(unsigned char)*path & 15];
    }
    memcpy(text + used, suffix, strlen(suffix) + 1);
    return text;
}

static json_t *uri(const char *prefix, const char *path, const char *suffix) {
    char *text = encode(prefix, path, suffix);
    json_t *value = json_pack("{s:s}", "uri", text);
    free(text);
    return value;
}

json_t *hd_sarif_directory(const char *path) {
    size_t length = strlen(path);
    return uri("file://", path, length > 0 && path[length - 1] == '/' ? "" : "/");
}

json_t *hd_sarif_artifact(const char *path) {
    if (*path == '/') return uri("file://", path, "");
    while (strncmp(path, "./", 2) == 0) path += 2;
    json_t *value = uri("", path, "");
    json_object_set_new(value, "uriBaseId", json_string(HD_SARIF_ROOT));
    return value;
}

json_t *hd_sarif_message(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) hd_out_of_memory();
    va_end(arguments);
    /* a brace would begin a placeholder (3.11.5): two of them are one */
    char *escaped = hd_alloc(2 * strlen(text) + 1, 1), *to = escaped;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '{' || *from == '}') *to++ = *from;
        *to++ = *from;
    }
    *to = '\0';
    json_t *message = json_pack("{s:o}", "text", hd_json_text(escaped));
    free(escaped);
    free(text);
    return message;
}

json_t *hd_sarif_location(const struct hd_sarif_place *place, json_t *message) {
    json_t *location = json_object();
    if (place->file != NULL && *place->file != '\0') {
        json_t *physical = json_pack("{s:o}", "artifactLocation", hd_sarif_artifact(place->file));
        if (place->line > 0) {
            json_t *region = json_pack("{s:I}", "startLine", HD_INT(place->line));
            if (place->column > 0)
                json_object_set_new(region, "startColumn", hd_json_number(place->column));
            json_object_set_new(physical, "region", region);
        }
        json_object_set_new(location, "physicalLocation", physical);
    }
    if (place->function != NULL && *place->function != '\0')
        json_object_set_new(
            location, "logicalLocations",
            json_pack("[{s:o, s:s}]", "name", hd_json_text(place->function), "kind", "function"));
    else if (json_object_size(location) == 0 && place->site != NULL && *place->site != '\0')
        json_object_set_new(location, "logicalLocations",
                            json_pack("[{s:o}]", "name", hd_json_text(place->site)));
    if (message != NULL) json_object_set_new(location, "message", message);
    return location;
}
