/* Records that are taken apart and compressed come back byte by byte; what nobody packed is
 * refused.
 */
#include "support/trace_help.h"

#include "trace/format.h"
#include "trace/lanes.h"
#include "trace/token.h"

enum { ROOM = 1 << 16 };

/* Records of all kinds, which need not make sense together. */
static size_t some_records(uint8_t *record) {
    static struct hd_expected link[8];
    struct hd_expect e = {.link = link};
    uint8_t *at = record, *end = record + below(ROOM - HD_TOKEN_BYTES);
    for (unsigned i = 1; i < 8; i++) {
        link[i] = (struct hd_expected){.shape = HD_EV_READ | 8 << 8, .rest = 1, .operand = 4096};
        link[i].exit = (uint32_t)below(8) * HD_LINK_BYTES;
    }
    while (at < end) {
        uint64_t met = below(3) ? below(300) : random_word() >> 17;
        e.at = (uint32_t)below(8) * HD_LINK_BYTES;
        e.before = (uint32_t)below(8) * HD_LINK_BYTES;
        e.met[0] = below(2) ? met : 0;
        uint32_t to = (1 + (uint32_t)below(7)) * HD_LINK_BYTES;
        switch (below(8)) {
        case 0:
            at = hd_token_put_event(at, (uint32_t)below(3) * HD_LINK_BYTES, random_word(),
                                    random_word(), met);
            break;
        case 1:
            at = hd_token_put_other(at, HD_TOKEN_STAMP, met, random_word(), 8);
            break;
        case 2:
            at = hd_token_put_other(at, HD_TOKEN_STAMP_NEAR, met, below(1 << 16), 2);
            break;
        case 3:
            at = hd_token_put_other(at, HD_TOKEN_THREAD, met, below(100), 4);
            break;
        case 4:
            at = hd_token_put_choices(at, random_word() >> below(64));
            break;
        case 5:
            at = hd_token_put_other(at, HD_TOKEN_MET, met, 0, 0);
            break;
        default:
            at = hd_token_put(at, &e, to, 4096 + 8 * (random_word() >> (17 + below(40))),
                              below(2) ? 1 : (uint32_t)random_word(), met);
        }
    }
    return (size_t)(at - record);
}

static void there_and_back(void **unused) {
    (void)unused;
    uint8_t *record = malloc(ROOM), *back = malloc(ROOM);
    assert_true(record != NULL && back != NULL);
    struct hd_lanes *lanes = hd_lanes_new();
    for (unsigned round = 0; round < 300; round++) {
        size_t length = some_records(record);
        const uint8_t *packed;
        size_t stored = hd_lanes_pack(lanes, record, length, &packed);
        assert_true(stored != 0);
        uint8_t *copy = malloc(stored);
        assert_non_null(copy);
        memcpy(copy, packed, stored);
        memset(back, 0, ROOM);
        assert_true(hd_lanes_unpack(lanes, copy, stored, back, length));
        assert_memory_equal(back, record, length);
        /* not as long as it says, cut short, or with a byte of another value */
        if (length > 0) assert_false(hd_lanes_unpack(lanes, copy, stored, back, length - 1));
        assert_false(hd_lanes_unpack(lanes, copy, stored, back, length + 1));
        assert_false(hd_lanes_unpack(lanes, copy, below(stored), back, length));
        copy[below(stored)] ^= (uint8_t)(1 + below(255));
        (void)hd_lanes_unpack(lanes, copy, stored, back, length);
        free(copy);
    }
    hd_lanes_free(lanes);
    free(record);
    free(back);
}

static void what_is_no_record_is_not_packed(void **unused) {
    (void)unused;
    struct hd_lanes *lanes = hd_lanes_new();
    const uint8_t *packed;
    uint8_t record[HD_TOKEN_BYTES];
    size_t length = (size_t)(hd_token_put_event(record, HD_LINK_BYTES, 1, 1, 0) - record);
    assert_int_equal(hd_lanes_pack(lanes, record, length - 1, &packed), 0);
    record[0] = HD_TOKEN_OTHER | 7 << 2;
    assert_int_equal(hd_lanes_pack(lanes, record, length, &packed), 0);
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t bytes[300], out[400];
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = below(3) ? 0 : (uint8_t)random_word();
        (void)hd_lanes_pack(lanes, bytes, below(sizeof bytes), &packed);
        (void)hd_lanes_unpack(lanes, bytes, sizeof bytes, out, below(sizeof out));
    }
    hd_lanes_free(lanes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back),
                                       cmocka_unit_test(what_is_no_record_is_not_packed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
