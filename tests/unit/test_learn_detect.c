/* AVIO's detection over a trace: Table 4.1's eight cases and their extension to several remote
 * accesses, updates, freed memory, granularity; and random traces against the definition, byte by
 * byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "learn/detect.h"
#include "oracle/model_random.h"
#include "support/model_make.h"

/* ---- by hand ----------------------------------------------------------------------------------
 */

/* The patterns that are found, in the order in which they end: "R-W-R T1@3". */
static const char *found(const char *lines, enum hd_granularity granularity) {
    static char words[512];
    struct hd_model model;
    struct hd_detected detected;
    model_read(lines, strlen(lines), false, &model);
    hd_detect(&model, granularity, &detected, NULL, NULL);
    words[0] = '\0';
    for (size_t i = 0; i < detected.violation.size; i++) {
        const struct hd_detected_violation *v = &detected.violation.data[i];
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s %u-%u-%u", i > 0 ? ", " : "",
                 hd_pattern_name(v->pattern), v->first, v->remote, v->second);
    }
    hd_detected_free(&detected);
    hd_model_free(&model);
    return words;
}

static void the_cases(void **state) {
    (void)state;
    static const struct {
        const char *lines, *found;
    } cases[] = {
        /* Table 4.1 */
        {"A|r(x)\nB|r(x)\nA|r(x)\n", ""},
        {"A|w(x)\nB|r(x)\nA|r(x)\n", ""},
        {"A|r(x)\nB|w(x)\nA|r(x)\n", "R-W-R 0-1-2"},
        {"A|w(x)\nB|w(x)\nA|r(x)\n", "W-W-R 0-1-2"},
        {"A|r(x)\nB|r(x)\nA|w(x)\n", ""},
        {"A|w(x)\nB|r(x)\nA|w(x)\n", "W-R-W 0-1-2"},
        {"A|r(x)\nB|w(x)\nA|w(x)\n", "R-W-W 0-1-2"},
        {"A|w(x)\nB|w(x)\nA|w(x)\n", ""},
        /* several remote accesses: the last write counts, and whether a read came first */
        {"A|r(x)\nB|w(x)\nB|r(x)\nA|r(x)\n", "R-W-R 0-1-3"},
        {"A|r(x)\nB|w(x)\nC|w(x)\nB|r(x)\nA|r(x)\n", "W-W-R 1-2-3, R-W-R 0-2-4"},
        {"A|w(x)\nB|r(x)\nB|w(x)\nA|w(x)\n", "W-R-W 0-1-3"},
        {"A|w(x)\nB|w(x)\nB|r(x)\nA|w(x)\n", ""},
        {"A|w(x)\nB|w(x)\nC|r(x)\nA|w(x)\n", ""},
        /* of both threads */
        {"A|r(x)\nB|r(x)\nA|w(x)\nB|w(x)\n", "R-W-W 1-2-3"},
        /* what comes between is to other memory, or of the same thread */
        {"A|r(x)\nB|w(y)\nA|r(x)\n", ""},
        {"A|r(x)\nA|w(x)\nA|r(x)\n", ""},
        {"B|w(x)\nA|r(x)\nA|r(x)\n", ""},
        /* updates read and write; three of them are meant so */
        {"A|arw(x)\nB|arw(x)\nA|arw(x)\n", ""},
        {"A|arw(x)\nB|aw(x)\nA|arw(x)\n", "R-W-W 0-1-2"},
        {"A|arw(x)\nB|ar(x)\nA|arw(x)\n", "W-R-W 0-1-2"},
        {"A|aw(x)\nB|arw(x)\nA|aw(x)\n", "W-R-W 0-1-2"},
        {"A|r(x)\nB|arw(x)\nA|r(x)\n", "R-W-R 0-1-2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(found(cases[i].lines, HD_GRANULARITY_BYTE), cases[i].found);
}

static void freed_memory_has_no_history(void **state) {
    (void)state;
    assert_string_equal(found("A|alloc(p:8)\nA|w(p:8)\nB|r(p:8)\nA|free(p)\nA|alloc(p:8)\n"
                              "A|w(p:8)\n",
                              HD_GRANULARITY_BYTE),
                        "");
    assert_string_equal(
        found("A|alloc(p:8)\nA|w(p:8)\nB|r(p:8)\nA|w(p:8)\nA|free(p)\n", HD_GRANULARITY_BYTE),
        "W-R-W 1-2-3");
}

/* Neighbours meet in a word, and in a line, but not byte by byte. */
static void granularity(void **state) {
    (void)state;
    static const char neighbours[] = "A|r(x:4)\nB|w(x+4:4)\nA|r(x:4)\n";
    static const char far[] = "A|r(x:4)\nB|w(x+40:4)\nA|r(x:4)\n";
    assert_string_equal(found(neighbours, HD_GRANULARITY_BYTE), "");
    assert_string_equal(found(neighbours, HD_GRANULARITY_WORD), "R-W-R 0-1-2");
    assert_string_equal(found(far, HD_GRANULARITY_WORD), "");
    assert_string_equal(found(far, HD_GRANULARITY_LINE), "R-W-R 0-1-2");
    /* a part of the bytes is enough */
    assert_string_equal(found("A|r(x:8)\nB|w(x+6:4)\nA|r(x:8)\n", HD_GRANULARITY_BYTE),
                        "R-W-R 0-1-2");
}

/* Executions are counted, groups by the code are listed once. */
static void counted_by_code(void **state) {
    (void)state;
    static const char lines[] = "A|r(x)|p\nB|w(x)|q\nA|r(x)|i\nB|w(x)|q\nA|r(x)|i\nB|w(x)|q\n"
                                "A|r(x)|i\nC|w(y)|other\nC|w(y)|other\n";
    struct hd_model model;
    struct hd_detected detected;
    model_read(lines, strlen(lines), false, &model);
    hd_detect(&model, HD_GRANULARITY_BYTE, &detected, NULL, NULL);
    assert_int_equal(detected.violation.size, 3); /* p q i, q i q and i q i */
    assert_int_equal(detected.violation.data[1].pattern, HD_PATTERN_WRW);
    assert_int_equal(detected.violation.data[2].instances, 2);
    assert_int_equal(detected.executed.size, 2); /* i and q; y is of one thread */
    assert_int_equal(detected.executed.data[0].event, 2);
    assert_int_equal(detected.executed.data[0].violations, 3);
    assert_int_equal(detected.executed.data[1].violations, 2);
    hd_detected_free(&detected);
    hd_model_free(&model);
}

/* Memory that another thread comes to later counts too: that it did not come in between is what is
 * learned. */
static void executed_before_others_come(void **state) {
    (void)state;
    static const char lines[] = "A|w(x)|p\nA|r(x)|i\nB|w(x)|q\nA|r(x)|late\nA|r(x)|again\n";
    struct hd_model model;
    struct hd_detected detected;
    model_read(lines, strlen(lines), false, &model);
    hd_detect(&model, HD_GRANULARITY_BYTE, &detected, NULL, NULL);
    assert_int_equal(detected.executed.size, 3);
    static const bool met[] = {false, true, true};
    static const uint32_t violations[] = {0, 1, 0};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(detected.executed.data[i].met, met[i]);
        assert_int_equal(detected.executed.data[i].violations, violations[i]);
    }
    hd_detected_free(&detected);
    hd_model_free(&model);
}

/* ---- the definition, byte by byte -------------------------------------------------------------
 */

struct found {
    uint32_t first, remote, second;
    enum hd_pattern pattern;
};
struct list {
    HD_VECTOR(struct found) all;
};

static void note(void *context, uint32_t first, uint32_t remote, uint32_t second,
                 enum hd_pattern pattern) {
    struct list *list = context;
    struct found found = {first, remote, second, pattern};
    hd_vector_push(&list->all, found);
}

/* Is a location in a granule? Byte by byte, only in the same life of its memory as `life`: the
 * model says which lives there are, and blocks may begin over others. */
static bool is_in(const struct hd_model *model, uint32_t location, uint64_t granule, unsigned shift,
                  uint32_t life) {
    const struct hd_location *at = &model->location[location];
    if (shift == 0 && at->block != life) return false;
    return at->address >> shift <= granule && (at->address + at->bytes - 1) >> shift >= granule;
}

/* Does an event touch a granule; or does the memory there begin or end with it? */
static bool touches(const struct hd_model *model, uint32_t event, uint64_t granule, unsigned shift,
                    uint32_t life) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, event, &location);
    for (uint32_t i = 0; i < count; i++)
        if (is_in(model, location[i], granule, shift, life)) return true;
    return false;
}

/* Of a block, coarsely: a word that begins in it, a line that is in it as a whole. */
static bool is_inside(uint64_t granule, unsigned shift, uint64_t low, uint64_t high) {
    uint64_t begin = granule << shift;
    return shift == 3 ? begin >= low && begin < high
                      : begin >= low && begin + 64 <= ((high + 7) & ~7ull);
}

static bool ends_history(const struct hd_model *model, uint32_t event, uint64_t granule,
                         unsigned shift, uint32_t life) {
    bool frees = model->kind[event] == HD_EV_FREE;
    if (!frees && model->kind[event] != HD_EV_ALLOC) return false;
    if (shift == 0) return frees && touches(model, event, granule, shift, life);
    uint32_t block = model->object[event];
    if (block != HD_NONE) {
        const struct hd_block *memory = &model->block[block];
        bool used = false; /* by an access that was seen */
        for (uint32_t l = model->block_start[block]; l < model->block_start[block + 1]; l++)
            used |= is_in(model, l, granule, shift, life);
        return used && is_inside(granule, shift, memory->address, memory->address + memory->bytes);
    }
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, event, &location);
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_location *at = &model->location[location[i]];
        if (is_in(model, location[i], granule, shift, life) &&
            is_inside(granule, shift, at->address, at->address + at->bytes))
            return true;
    }
    return false;
}

static void add_once(struct list *list, struct found found) {
    for (size_t i = 0; i < list->all.size; i++)
        if (memcmp(&list->all.data[i], &found, sizeof found) == 0) return;
    hd_vector_push(&list->all, found);
}

/* What an I does at one granule, by looking back over the whole trace. */
static void by_definition(const struct hd_model *model, uint32_t second, uint64_t granule,
                          unsigned shift, uint32_t life, struct list *list) {
    uint32_t first = HD_NONE, last_write = HD_NONE, first_remote = HD_NONE;
    for (uint32_t e = second; e-- > 0;) {
        if (ends_history(model, e, granule, shift, life)) return;
        if (hd_access_does(model, e) == 0 || !touches(model, e, granule, shift, life)) continue;
        if (model->thread[e] == model->thread[second]) {
            first = e;
            break;
        }
        if (last_write == HD_NONE && hd_access_does(model, e) & HD_DOES_WRITE) last_write = e;
        first_remote = e;
    }
    if (first == HD_NONE || first_remote == HD_NONE) return;
    enum hd_pattern pattern = HD_PATTERN_NONE;
    if (last_write != HD_NONE) pattern = hd_pattern_of_events(model, first, last_write, second);
    if (pattern != HD_PATTERN_NONE && pattern != HD_PATTERN_WRW) {
        add_once(list, (struct found){first, last_write, second, pattern});
        return;
    }
    pattern = hd_pattern_of_events(model, first, first_remote, second);
    if (pattern == HD_PATTERN_WRW)
        add_once(list, (struct found){first, first_remote, second, pattern});
}

static bool has(const struct list *list, const struct found *found) {
    for (size_t i = 0; i < list->all.size; i++)
        if (memcmp(&list->all.data[i], found, sizeof *found) == 0) return true;
    return false;
}

/* Several P of one execution may be the same access in the code: then one of them is given. */
static bool has_like(const struct hd_model *model, const struct list *list,
                     const struct found *found) {
    for (size_t i = 0; i < list->all.size; i++) {
        const struct found *other = &list->all.data[i];
        if (other->second == found->second && other->pattern == found->pattern &&
            model->site[other->first] == model->site[found->first] &&
            model->site[other->remote] == model->site[found->remote] &&
            hd_access_does(model, other->first) == hd_access_does(model, found->first) &&
            hd_access_does(model, other->remote) == hd_access_does(model, found->remote))
            return true;
    }
    return false;
}

static size_t compare(uint64_t seed, enum hd_granularity granularity) {
    static const unsigned shifts[] = {0, 3, 6};
    unsigned shift = shifts[granularity];
    struct hd_trace trace = random_trace(seed, 20 + seed % 200);
    struct dice dice = {seed};
    for (uint32_t e = 0; e < trace.events; e++) trace.site[e] = 1 + roll(&dice, 12);
    struct hd_model model;
    struct hd_model_options options = {.lenient = true};
    struct hd_error error;
    if (!hd_model_build(&trace, &options, &model, &error)) fail_msg("%s", error.message);
    struct list got = {.all = {0}}, wanted = {.all = {0}};
    struct hd_detected detected;
    hd_detect(&model, granularity, &detected, note, &got);
    for (uint32_t e = 0; e < model.events; e++) {
        const uint32_t *location;
        uint32_t count =
            hd_access_does(&model, e) != 0 ? hd_model_locations(&model, e, &location) : 0;
        if (count == 0) continue;
        for (uint32_t i = 0; i < count; i++) {
            const struct hd_location *at = &model.location[location[i]];
            for (uint64_t granule = at->address >> shift;
                 granule <= (at->address + at->bytes - 1) >> shift; granule++)
                by_definition(&model, e, granule, shift, at->block, &wanted);
        }
    }
    for (size_t i = 0; i < got.all.size; i++)
        if (!has(&wanted, &got.all.data[i]))
            fail_msg("seed %llu: %u-%u-%u is no violation", (unsigned long long)seed,
                     got.all.data[i].first, got.all.data[i].remote, got.all.data[i].second);
    for (size_t i = 0; i < wanted.all.size; i++)
        if (!has_like(&model, &got, &wanted.all.data[i]))
            fail_msg("seed %llu: %u-%u-%u was not found", (unsigned long long)seed,
                     wanted.all.data[i].first, wanted.all.data[i].remote,
                     wanted.all.data[i].second);
    size_t violations = wanted.all.size, counted = 0;
    for (size_t i = 0; i < detected.violation.size; i++)
        counted += detected.violation.data[i].instances;
    assert_int_equal(counted, got.all.size);
    hd_vector_free(&got.all);
    hd_vector_free(&wanted.all);
    hd_detected_free(&detected);
    hd_model_free(&model);
    return violations;
}

static void random_traces(void **state) {
    (void)state;
    size_t violations[3] = {0};
    for (uint64_t seed = 1; seed <= 1500; seed++)
        for (unsigned g = HD_GRANULARITY_BYTE; g <= HD_GRANULARITY_LINE; g++)
            violations[g] += compare(seed, g);
    for (unsigned g = HD_GRANULARITY_BYTE; g <= HD_GRANULARITY_LINE; g++)
        assert_true(violations[g] > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cases),
        cmocka_unit_test(freed_memory_has_no_history),
        cmocka_unit_test(granularity),
        cmocka_unit_test(counted_by_code),
        cmocka_unit_test(executed_before_others_come),
        cmocka_unit_test(random_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
