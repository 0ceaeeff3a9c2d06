/* Packing of wire events: whatever goes in comes out; what is no packed chunk is refused. */
#include "support/trace_help.h"

#include "trace/pack_state.h"

struct fixture {
    struct hd_packer *packer;
    struct hd_unpacker *unpacker;
    struct hd_wire_event event[HD_PACK_EVENTS], back[HD_PACK_EVENTS];
};

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    if (f == NULL) return -1;
    f->packer = hd_packer_new();
    f->unpacker = hd_unpacker_new();
    *state = f;
    return f->packer == NULL || f->unpacker == NULL;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    hd_packer_free(f->packer);
    hd_unpacker_free(f->unpacker);
    free(f);
    return 0;
}

/* Returns the packed size. */
static size_t there_and_back(struct fixture *f, size_t count) {
    const uint8_t *bytes;
    size_t length;
    hd_pack(f->packer, f->event, count, &bytes, &length);
    memset(f->back, 0x55, sizeof f->back);
    assert_true(hd_unpack(f->unpacker, bytes, length, f->back, count));
    assert_memory_equal(f->back, f->event, count * sizeof *f->event);
    return length;
}

/* An event as programs make them, or at random from few or from all possible ones. */
static struct hd_wire_event some_event(unsigned style, uint64_t *address) {
    unsigned kind = 1 + (unsigned)below(HD_EV_KINDS - 1);
    if (style == 0) return (struct hd_wire_event){random_word() | 1, random_word()};
    if (style == 1)
        return (struct hd_wire_event){
            hd_wire_head(kind, (unsigned)below(3), below(4)),
            hd_wire_tail((uint32_t)below(4), (unsigned)below(2), (unsigned)below(2))};
    if (below(10) == 0)
        *address = 0x7f0000000000ull + below(1 << 20);
    else
        *address += 8;
    return (struct hd_wire_event){hd_wire_head(below(4) != 0 ? HD_EV_READ : kind, 8, *address),
                                  hd_wire_tail((uint32_t)(below(20) * 4),
                                               below(50) == 0 ? (unsigned)below(65536) : 1,
                                               below(5) == 0 ? (unsigned)below(300) : 0)};
}

static void random_events_come_back(void **state) {
    struct fixture *f = *state;
    for (unsigned round = 0; round < 300; round++) {
        size_t count = 1 + below(round % 30 == 0 ? 20000 : 300);
        uint64_t address = below(1ull << 48);
        unsigned style = round % 4;
        for (size_t i = 0; i < count; i++)
            f->event[i] = some_event(style == 3 ? (unsigned)below(3) : style, &address);
        there_and_back(f, count);
    }
}

static void extreme_events_come_back(void **state) {
    struct fixture *f = *state;
    static const uint64_t edge[] = {0,
                                    1,
                                    0xff,
                                    0x100,
                                    0xffff,
                                    0x10000,
                                    0xffffff,
                                    0x1000000,
                                    0xffffffff,
                                    0x100000000ull,
                                    0x7fffffffffffull,
                                    0x800000000000ull,
                                    0xffffffffffffull};
    enum { EDGES = sizeof edge / sizeof edge[0] };
    size_t count = 0;
    for (unsigned i = 0; i < EDGES; i++) {
        for (unsigned k = 0; k < EDGES; k++) {
            for (unsigned kind = 1; kind < HD_EV_KINDS; kind += 7) {
                f->event[count++] = (struct hd_wire_event){
                    hd_wire_head(kind, (unsigned)edge[k], edge[i]),
                    hd_wire_tail((uint32_t)edge[k], (unsigned)edge[i], (unsigned)edge[k])};
            }
        }
    }
    there_and_back(f, count);
    f->event[0] = (struct hd_wire_event){UINT64_MAX, UINT64_MAX};
    there_and_back(f, 1);
}

static void a_chunk_full_of_different_shapes(void **state) {
    struct fixture *f = *state;
    for (size_t i = 0; i < HD_PACK_EVENTS; i++)
        f->event[i] = (struct hd_wire_event){hd_wire_head(HD_EV_READ, 4, i * 1000),
                                             hd_wire_tail((uint32_t)i * 17 + 1, 1, 0)};
    there_and_back(f, HD_PACK_EVENTS);
}

/* The goal of the packing, on a loop over two arrays: far below three bytes an event. */
static void regular_loops_pack_well(void **state) {
    struct fixture *f = *state;
    for (size_t i = 0; i < HD_PACK_EVENTS; i++) {
        size_t k = i / 3;
        static const uint32_t site[] = {100, 104, 109};
        f->event[i] = (struct hd_wire_event){
            hd_wire_head(i % 3 == 2 ? HD_EV_WRITE : HD_EV_READ, 8,
                         0x7f0000000000ull + i % 3 * 0x100000 + k * 8 * (1 + i % 3)),
            hd_wire_tail(site[i % 3], 1, i % 3 == 0)};
    }
    assert_in_range(there_and_back(f, HD_PACK_EVENTS), 1, HD_PACK_EVENTS / 100);
    /* a random bucket, then its two fields and its lock */
    for (size_t i = 0; i < HD_PACK_EVENTS; i++) {
        static uint64_t bucket;
        static const unsigned kind[] = {HD_EV_ACQUIRE, HD_EV_READ, HD_EV_READ, HD_EV_RELEASE};
        if (i % 4 == 0) bucket = below(1 << 20);
        uint64_t address = 0x7f0000000000ull + bucket * 16 + (i % 4 == 2 ? 8 : 0);
        if (i % 4 == 0 || i % 4 == 3) address = 0x560000000000ull + bucket % 64 * 40;
        f->event[i] =
            (struct hd_wire_event){hd_wire_head(kind[i % 4], 8, address),
                                   hd_wire_tail(200 + (uint32_t)(i % 4) * 4, 1, i % 4 == 0)};
    }
    assert_in_range(there_and_back(f, HD_PACK_EVENTS), 1, HD_PACK_EVENTS * 2);
}

/* The same events pack to the same bytes, whatever was packed before. */
static void chunks_do_not_depend_on_each_other(void **state) {
    struct fixture *f = *state;
    uint64_t address = 0;
    for (size_t i = 0; i < 5000; i++) f->event[i] = some_event(2, &address);
    const uint8_t *bytes;
    size_t first, second;
    hd_pack(f->packer, f->event, 5000, &bytes, &first);
    uint8_t *copy = malloc(first);
    assert_non_null(copy);
    memcpy(copy, bytes, first);
    hd_pack(f->packer, f->event + 1000, 3000, &bytes, &second);
    hd_pack(f->packer, f->event, 5000, &bytes, &second);
    assert_int_equal(first, second);
    assert_memory_equal(copy, bytes, first);
    free(copy);
}

/* One token and what it asks for, all other columns empty. */
static bool unpack_one(struct fixture *f, uint8_t token, unsigned column, const uint8_t *body,
                       size_t length) {
    uint8_t bytes[COLUMNS + 16] = {0}; /* every column begins with "not compressed" */
    size_t at = 0;
    bytes[at + 1] = token;
    at += 2;
    for (unsigned i = 1; i < COLUMNS; i++) {
        at++;
        bool this_one = i == column || (i == column + 1 && column == COLUMN_SHAPE_LOW);
        if (!this_one) continue;
        memcpy(bytes + at, body, length);
        at += length;
    }
    return hd_unpack(f->unpacker, bytes, at, f->back, 1);
}

static void tokens_that_refer_to_nothing_are_refused(void **state) {
    struct fixture *f = *state;
    static const uint8_t new_shape[NEW_SHAPE_BYTES] = {HD_EV_READ, 4, 1}, number[] = {1};
    assert_true(unpack_one(f, SHAPE_NEW, COLUMN_NEW, new_shape, sizeof new_shape));
    assert_int_equal(hd_wire_kind(f->back[0].head), HD_EV_READ);
    assert_int_equal(hd_wire_site(f->back[0].tail), 1);
    assert_false(unpack_one(f, SHAPE_NEXT, COLUMNS, NULL, 0));   /* nothing was before */
    assert_false(unpack_one(f, SHAPE_SECOND, COLUMNS, NULL, 0)); /* nor before that */
    assert_false(unpack_one(f, SHAPE_KNOWN, COLUMN_SHAPE_LOW, number, 1));
    assert_false(unpack_one(f, SHAPE_KNOWN, COLUMN_SHAPE_LOW, (const uint8_t[]){0}, 1));
    assert_false(unpack_one(f, SHAPE_NEW | TOKEN_UNUSED, COLUMN_NEW, new_shape, sizeof new_shape));
    assert_false(unpack_one(f, SHAPE_NEW | OPERAND_WAYS << TOKEN_OPERAND_SHIFT, COLUMN_NEW,
                            new_shape, sizeof new_shape));
}

static void what_is_no_chunk_is_refused(void **state) {
    struct fixture *f = *state;
    uint64_t address = 0;
    for (size_t i = 0; i < 400; i++) f->event[i] = some_event((unsigned)i % 3, &address);
    const uint8_t *bytes;
    size_t length;
    hd_pack(f->packer, f->event, 400, &bytes, &length);
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *copy = malloc(cut == 0 ? 1 : cut);
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        assert_false(hd_unpack(f->unpacker, copy, cut, f->back, 400));
        free(copy);
    }
    assert_false(hd_unpack(f->unpacker, bytes, length, f->back, 399));
    assert_false(hd_unpack(f->unpacker, bytes, length, f->back, 401));
    assert_false(hd_unpack(f->unpacker, bytes, length, f->back, 0));
    assert_false(hd_unpack(f->unpacker, bytes, length, f->back, HD_PACK_EVENTS + 1));
    /* a changed byte may give other events, but nothing worse */
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(copy, bytes, length);
        for (unsigned k = 0; k <= round % 3; k++) copy[below(length)] = (uint8_t)random_word();
        (void)hd_unpack(f->unpacker, copy, length, f->back, 400);
    }
    free(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_events_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extreme_events_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_chunk_full_of_different_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(regular_loops_pack_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks_do_not_depend_on_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_that_refer_to_nothing_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_chunk_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
