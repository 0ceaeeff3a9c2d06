/* See packed.h. In place of a number of bytes, 0 says that there are none at all; n + 1, n bytes.
 */
#include "base/packed.h"

#include "base/alloc.h"
#include "base/varint.h"

#include <string.h>

static void put(struct hd_packed *to, const void *bytes, size_t count) {
    hd_vector_reserve(&to->bytes, count);
    if (count > 0) memcpy(to->bytes.data + to->bytes.size, bytes, count);
    to->bytes.size += count;
}

void hd_pack_number(struct hd_packed *to, uint64_t number) {
    uint8_t bytes[HD_VARINT_BYTES];
    put(to, bytes, hd_varint_put(bytes, number));
}

void hd_pack_bytes(struct hd_packed *to, const void *bytes, size_t count) {
    hd_pack_number(to, bytes != NULL ? (uint64_t)count + 1 : 0);
    if (bytes == NULL) return;
    put(to, bytes, count);
    put(to, "", 1);
}

void hd_pack_text(struct hd_packed *to, const char *text) {
    hd_pack_bytes(to, text, text != NULL ? strlen(text) : 0);
}

uint64_t hd_unpack_number(struct hd_unpack *in) {
    uint64_t number = 0;
    size_t took =
        in->good ? hd_varint_get((const uint8_t *)in->at, (size_t)(in->end - in->at), &number) : 0;
    if (took == 0) {
        in->good = false;
        return 0;
    }
    in->at += took;
    return number;
}

uint64_t hd_unpack_most(struct hd_unpack *in, uint64_t most) {
    uint64_t number = hd_unpack_number(in);
    if (number <= most) return number;
    in->good = false;
    return 0;
}

const char *hd_unpack_bytes(struct hd_unpack *in, size_t *count) {
    uint64_t bytes = hd_unpack_number(in);
    *count = 0;
    if (!in->good || bytes == 0) return NULL;
    bytes--;
    size_t left = (size_t)(in->end - in->at);
    if (bytes >= left || in->at[bytes] != '\0') {
        in->good = false;
        return NULL;
    }
    const char *here = in->at;
    in->at += bytes + 1;
    *count = (size_t)bytes;
    return here;
}

const char *hd_unpack_text(struct hd_unpack *in) {
    size_t count;
    const char *text = hd_unpack_bytes(in, &count);
    return text != NULL ? text : "";
}

char *hd_unpack_copy(struct hd_unpack *in, size_t *count) {
    const char *bytes = hd_unpack_bytes(in, count);
    if (bytes == NULL) return NULL;
    char *own = hd_alloc(*count + 1, 1);
    memcpy(own, bytes, *count + 1);
    return own;
}
