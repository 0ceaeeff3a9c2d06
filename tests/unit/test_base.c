/* src/base/: arena, vector, map, interning, bit set, varint, progress,
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bitset.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/search.h"
#include "base/varint.h"
#include "base/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state = 7;
static uint64_t random_word(void) { return hd_random(&state); }

static void arena_pieces_do_not_overlap(void **unused) {
    (void)unused;
    struct hd_arena arena = {0};
    enum { PIECES = 2000 };
    static unsigned char *piece[PIECES];
    static size_t size[PIECES];
    for (int i = 0; i < PIECES; i++) {
        size[i] = random_word() % (i % 100 == 0 ? 50000 : 60);
        piece[i] = hd_arena_alloc(&arena, size[i]);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % _Alignof(max_align_t), 0);
        memset(piece[i], i % 256, size[i]);
        char *copy = hd_arena_copy(&arena, "abc", 2);
        assert_string_equal(copy, "ab");
    }
    for (int i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < size[i]; k++) assert_int_equal(piece[i][k], i % 256);
    }
    uint32_t *zeroed = hd_arena_zalloc(&arena, 100, sizeof *zeroed);
    for (int i = 0; i < 100; i++) assert_int_equal(zeroed[i], 0);
    hd_arena_free(&arena);
    assert_null(arena.newest);
}

static void vector_grows_and_refuses_overflow(void **unused) {
    (void)unused;
    HD_VECTOR(uint64_t) list = {0};
    for (uint64_t i = 0; i < 10000; i++) hd_vector_push(&list, i * i);
    for (uint64_t i = 0; i < 10000; i++) assert_int_equal(list.data[i], i * i);
    assert_int_equal(list.size, 10000);
    hd_vector_free(&list);
    assert_null(list.data);
}

static void map_finds_what_was_put(void **unused) {
    (void)unused;
    struct hd_map map = {0};
    assert_int_equal(hd_map_get(&map, 5, 77), 77);
    for (uint32_t i = 0; i < 50000; i++) {
        uint32_t *slot = hd_map_slot(&map, (uint64_t)i * 4096, i);
        assert_non_null(slot);
        assert_int_equal(*slot, i);
    }
    assert_int_equal(map.count, 50000);
    *hd_map_slot(&map, 4096, 0) = 123456;
    assert_int_equal(hd_map_get(&map, 4096, 0), 123456);
    assert_int_equal(hd_map_get(&map, 0, 9), 0);
    for (uint32_t i = 2; i < 50000; i++)
        assert_int_equal(hd_map_get(&map, (uint64_t)i * 4096, 0), i);
    assert_int_equal(hd_map_get(&map, 1, 42), 42);
    hd_map_free(&map);
}

static void equal_strings_have_equal_numbers(void **unused) {
    (void)unused;
    struct hd_intern table = {0};
    assert_int_equal(hd_intern_find(&table, "x", 1), HD_INTERN_NONE);
    /* all lengths around the places where short strings end, all different in one byte only */
    uint32_t expected = 0;
    char text[40];
    for (size_t length = 0; length < sizeof text; length++) {
        for (size_t at = 0; at <= length; at++) {
            memset(text, 'a', sizeof text);
            if (at < length) text[at] = 'b';
            assert_int_equal(hd_intern(&table, text, length), expected);
            assert_int_equal(hd_intern(&table, text, length), expected);
            assert_int_equal(strlen(table.name.data[expected]), length);
            assert_memory_equal(table.name.data[expected], text, length);
            expected++;
        }
    }
    memset(text, 'a', sizeof text);
    assert_int_equal(hd_intern_find(&table, text, 0), 0);
    assert_int_equal(hd_intern_find(&table, "c", 1), HD_INTERN_NONE);
    for (unsigned i = 0; i < 30000; i++) {
        int length = snprintf(text, sizeof text, "variable_number_%u", i);
        assert_int_equal(hd_intern(&table, text, (size_t)length), expected + i);
    }
    assert_int_equal(hd_intern_find(&table, "variable_number_123", 19), expected + 123);
    hd_intern_free(&table);
}

static void bit_set_members(void **unused) {
    (void)unused;
    struct hd_bitset set = {0};
    assert_int_equal(hd_bitset_next(&set, 0), SIZE_MAX);
    static const size_t members[] = {0, 1, 63, 64, 65, 127, 128, 1000, 100000};
    enum { MEMBERS = sizeof members / sizeof members[0] };
    for (size_t i = 0; i < MEMBERS; i++) hd_bitset_add(&set, members[i]);
    assert_int_equal(hd_bitset_count(&set), MEMBERS);
    size_t at = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        at = hd_bitset_next(&set, at);
        assert_int_equal(at, members[i]);
        assert_true(hd_bitset_has(&set, at));
        at++;
    }
    assert_int_equal(hd_bitset_next(&set, at), SIZE_MAX);
    assert_false(hd_bitset_has(&set, 62));
    assert_false(hd_bitset_has(&set, 1u << 30));
    hd_bitset_remove(&set, 64);
    assert_false(hd_bitset_has(&set, 64));
    assert_int_equal(hd_bitset_next(&set, 64), 65);
    hd_bitset_free(&set);
}

static void varints_come_back(void **unused) {
    (void)unused;
    uint8_t bytes[HD_VARINT_BYTES];
    for (unsigned shift = 0; shift < 64; shift++) {
        for (int near = -1; near <= 1; near++) {
            uint64_t value = ((uint64_t)1 << shift) + (uint64_t)(int64_t)near, back = 0;
            size_t length = hd_varint_put(bytes, value);
            assert_int_equal(hd_varint_get(bytes, length, &back), length);
            assert_true(back == value);
            assert_int_equal(hd_varint_get(bytes, length - 1, &back), 0);
            assert_true(hd_unzigzag(hd_zigzag((int64_t)value)) == (int64_t)value);
        }
    }
    assert_int_equal(hd_zigzag(-1), 1);
    assert_int_equal(hd_zigzag(1), 2);
    uint64_t value;
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(hd_varint_get(bytes, sizeof bytes, &value), 0);
    bytes[9] = 0x02; /* the 65th bit */
    assert_int_equal(hd_varint_get(bytes, sizeof bytes, &value), 0);
    bytes[9] = 0x01;
    assert_int_equal(hd_varint_get(bytes, sizeof bytes, &value), 10);
    assert_true(value == UINT64_MAX);
}

static void count_report(struct hd_progress *progress) { ++*(unsigned *)progress->context; }

static void progress_reports_now_and_then(void **unused) {
    (void)unused;
    unsigned reports = 0;
    struct hd_progress progress = {.report = count_report, .context = &reports};
    hd_progress_start(&progress, "counting", 100000);
    for (uint64_t i = 0; i <= 100000; i++) hd_progress_step(&progress, i);
    assert_in_range(reports, 100, 300);
    assert_int_equal(progress.done, 100000);
    hd_progress_start(NULL, "nothing", 1);
    hd_progress_step(NULL, 1);
}

static void put(const char *directory, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void memory_is_what_the_least_group_says(void **unused) {
    (void)unused;
    char top[] = "groups.XXXXXX", path[5][64];
    assert_non_null(mkdtemp(top));
    const char *name[5] = {"memory", "memory/old", "outer", "outer/inner", "outer/inner/own"};
    for (int i = 0; i < 5; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", top, name[i]);
        assert_int_equal(mkdir(path[i], 0700), 0);
    }
    char list[64];
    snprintf(list, sizeof list, "%s/list", top);
    put(path[2], "memory.max", "5000000\n");
    put(path[3], "memory.max", "4000000000\n");
    put(path[4], "memory.max", "max\n");
    put(path[1], "memory.limit_in_bytes", "1000000\n");
    put(top, "list", "0::/outer/inner/own\n");
    assert_int_equal(hd_memory_limit_of_groups(top, list), 5000000); /* the one around it */
    put(top, "list", "5:cpu:/\n4:memory:/old\n0::/outer/inner\n");
    assert_int_equal(hd_memory_limit_of_groups(top, list), 1000000);
    put(top, "list", "0::/\nnonsense\n");
    assert_true(hd_memory_limit_of_groups(top, list) == UINT64_MAX);
    assert_true(hd_memory_limit_of_groups(top, "nowhere") == UINT64_MAX);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", top);
    assert_int_equal(system(command), 0);
    assert_true(hd_memory_limit() > 0);
}

/* ---- allocation -------------------------------------------------------------------------------
 */

static void note_end(void) {
    if (write(STDOUT_FILENO, "cleaned\n", 8) != 8) _exit(3);
}

/* Under AddressSanitizer too, memory that is out is NULL, and not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* Runs `wanted` in a child and checks that it ends as alloc.h says. */
static void expect_out_of_memory(void (*wanted)(void)) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        hd_before_out_of_memory = note_end;
        wanted();
        _exit(0);
    }
    close(pipes[1]);
    char text[8192] = "";
    size_t length = 0;
    ssize_t got;
    while ((got = read(pipes[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    close(pipes[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    const char *end = strstr(text, "cleaned\n"); /* AddressSanitizer has lines of its own */
    assert_non_null(end);
    assert_string_equal(end, "cleaned\nheddle: out of memory; use a smaller trace or program, or a "
                             "machine with more memory\n");
}

/* Sizes that the compiler does not see. */
static volatile size_t huge = SIZE_MAX / 2;

static void want_alloc(void) { free(hd_alloc(huge, 4)); }
static void want_zalloc(void) { free(hd_zalloc(huge, 1)); }
static void want_arena(void) {
    struct hd_arena arena = {0};
    hd_arena_zalloc(&arena, huge, 4);
}
static void want_vector(void) {
    HD_VECTOR(uint64_t) list = {0};
    hd_vector_reserve(&list, huge);
}
static void want_bits(void) {
    struct hd_bitset set = {0};
    hd_bitset_add(&set, huge);
}

static void memory_that_is_out_ends_the_program(void **unused) {
    (void)unused;
    expect_out_of_memory(want_alloc);
    expect_out_of_memory(want_zalloc);
    expect_out_of_memory(want_arena);
    expect_out_of_memory(want_vector);
    expect_out_of_memory(want_bits);
}

static void allocation_of_nothing_is_valid(void **unused) {
    (void)unused;
    void *memory = hd_realloc(hd_zalloc(0, 8), 0, 8);
    assert_non_null(memory);
    free(memory);
    char *text = hd_format("%s %d", "turn", 3);
    assert_string_equal(text, "turn 3");
    free(text);
}

/* ---- search ------------------------------------------------------------------------------- */

static void bounds_agree_with_counting(void **unused) {
    (void)unused;
    uint64_t seed = 7;
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t list[12], count = (uint32_t)hd_random_below(&seed, 13), last = 0;
        for (uint32_t i = 0; i < count; i++) list[i] = last += (uint32_t)hd_random_below(&seed, 3);
        uint32_t value = (uint32_t)hd_random_below(&seed, 20), below = 0, up_to = 0;
        for (uint32_t i = 0; i < count; i++) {
            below += list[i] < value;
            up_to += list[i] <= value;
        }
        assert_int_equal(hd_lower_bound(list, count, value), below);
        assert_int_equal(hd_upper_bound(list, count, value), up_to);
        assert_int_equal(hd_first_not(i, count / 2, count, list[i] < value),
                         below > count / 2 ? below : count / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_out_ends_the_program),
        cmocka_unit_test(allocation_of_nothing_is_valid),
        cmocka_unit_test(bounds_agree_with_counting),
        cmocka_unit_test(arena_pieces_do_not_overlap),
        cmocka_unit_test(vector_grows_and_refuses_overflow),
        cmocka_unit_test(map_finds_what_was_put),
        cmocka_unit_test(equal_strings_have_equal_numbers),
        cmocka_unit_test(bit_set_members),
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(progress_reports_now_and_then),
        cmocka_unit_test(memory_is_what_the_least_group_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
