/* Correlations, sets of variables and inconsistent updates of random access sets, against their
 * definitions read off the unsorted lists of accesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mine/updates.h"

enum { FUNCTIONS = 40, VARIABLES = 8, ACCESSES = 40 };

/* What the code under test gets, before it was sorted and merged. */
struct program {
    uint32_t functions, variables;
    uint32_t count[FUNCTIONS];
    struct hd_access access[FUNCTIONS][ACCESSES];
    bool calls[FUNCTIONS][FUNCTIONS];
    bool special[FUNCTIONS];
};

static uint32_t roll(uint64_t *dice, uint32_t limit) {
    return (uint32_t)hd_random_below(dice, limit);
}

static void access(struct program *program, uint32_t f, uint32_t variable, uint32_t line,
                   uint8_t mode, uint8_t by) {
    program->access[f][program->count[f]++] = (struct hd_access){variable, line, mode, by};
}

/* Pairs and a triple of variables come together most of the time. */
static void make(uint64_t *dice, struct program *program) {
    memset(program, 0, sizeof *program);
    program->functions = 10 + roll(dice, FUNCTIONS - 9);
    program->variables = VARIABLES;
    for (uint32_t f = 0; f < program->functions; f++) {
        for (unsigned i = roll(dice, 5); i > 0; i--)
            access(program, f, roll(dice, VARIABLES), roll(dice, 60), (uint8_t)(1 + roll(dice, 4)),
                   (uint8_t)roll(dice, 3));
        if (roll(dice, 4) != 0) {
            uint32_t line = roll(dice, 60);
            uint8_t mode = (uint8_t)(1 + roll(dice, 3));
            for (uint32_t v = 0; v < 3; v++)
                if (roll(dice, 12) != 0)
                    access(program, f, v, line + roll(dice, 6), mode, roll(dice, 5) == 0);
        }
        if (roll(dice, 2) == 0) {
            uint32_t line = roll(dice, 60);
            access(program, f, 3, line, HD_MINE_WRITE, HD_BY_TEXT);
            if (roll(dice, 9) != 0)
                access(program, f, 4, line + roll(dice, 12), (uint8_t)(1 + roll(dice, 3)),
                       HD_BY_TEXT);
        }
        for (unsigned i = roll(dice, 3); i > 0; i--)
            program->calls[f][roll(dice, program->functions)] = true;
        program->special[f] = roll(dice, 5) == 0;
    }
}

static void hand_over(const struct program *program, struct hd_access_sets *sets) {
    *sets =
        (struct hd_access_sets){.functions = program->functions, .variables = program->variables};
    for (uint32_t f = 0; f < program->functions; f++) {
        hd_vector_push(&sets->start, (uint32_t)sets->access.size);
        hd_vector_push(&sets->callee_start, (uint32_t)sets->callee.size);
        for (uint32_t i = 0; i < program->count[f]; i++)
            hd_vector_push(&sets->access, program->access[f][i]);
        for (uint32_t g = 0; g < program->functions; g++)
            if (program->calls[f][g]) hd_vector_push(&sets->callee, g);
    }
    hd_vector_push(&sets->start, (uint32_t)sets->access.size);
    hd_vector_push(&sets->callee_start, (uint32_t)sets->callee.size);
    hd_access_sets_finish(sets);
}

/* ---- by definition ----------------------------------------------------------------------------
 */

static bool does(const struct program *program, uint32_t f, uint8_t mode, uint32_t variable) {
    for (uint32_t i = 0; i < program->count[f]; i++)
        if (program->access[f][i].variable == variable && (program->access[f][i].mode & mode))
            return true;
    return false;
}

static uint32_t number_of(const struct program *program, uint8_t mode, uint32_t variable) {
    uint32_t count = 0;
    for (uint32_t f = 0; f < program->functions; f++) count += does(program, f, mode, variable);
    return count;
}

static bool together(const struct program *program, uint32_t f, uint8_t a1, uint32_t x, uint8_t a2,
                     uint32_t y, uint32_t distance, bool directly) {
    for (uint32_t i = 0; i < program->count[f]; i++)
        for (uint32_t k = 0; k < program->count[f]; k++) {
            const struct hd_access *a = &program->access[f][i], *b = &program->access[f][k];
            if (a->variable != x || b->variable != y || !(a->mode & a1) || !(b->mode & a2))
                continue;
            if (labs((long)a->line - (long)b->line) >= (long)distance) continue;
            if (!directly || (a->by == HD_BY_TEXT && b->by == HD_BY_TEXT)) return true;
        }
    return false;
}

static bool correlated(const struct program *program, const struct hd_mine_options *options,
                       struct hd_correlation *c) {
    c->support = c->direct = 0;
    c->functions = number_of(program, c->a1, c->x);
    for (uint32_t f = 0; f < program->functions; f++) {
        c->support += together(program, f, c->a1, c->x, c->a2, c->y, options->max_distance, false);
        c->direct += together(program, f, c->a1, c->x, c->a2, c->y, options->max_distance, true);
    }
    return c->support >= options->min_support && c->direct >= options->min_direct &&
           c->support >= options->min_confidence * c->functions &&
           number_of(program, HD_MINE_ANY, c->x) <= options->max_functions &&
           number_of(program, HD_MINE_ANY, c->y) <= options->max_functions;
}

static const struct hd_correlation *find(const struct hd_correlations *list,
                                         const struct hd_correlation *wanted) {
    for (size_t i = 0; i < list->list.size; i++) {
        const struct hd_correlation *c = &list->list.data[i];
        if (c->x == wanted->x && c->y == wanted->y && c->a1 == wanted->a1 && c->a2 == wanted->a2)
            return c;
    }
    return NULL;
}

static uint32_t check_pairs(uint64_t seed, const struct program *program,
                            const struct hd_mine_options *options,
                            const struct hd_correlations *got) {
    uint32_t count = 0;
    struct hd_correlation c;
    for (c.x = 0; c.x < VARIABLES; c.x++)
        for (c.y = 0; c.y < VARIABLES; c.y++)
            for (c.a1 = 1; c.a1 <= 3 && c.x != c.y; c.a1++)
                for (c.a2 = 1; c.a2 <= 3; c.a2++) {
                    bool holds = correlated(program, options, &c);
                    const struct hd_correlation *found = find(got, &c);
                    if (holds != (found != NULL))
                        fail_msg("seed %llu: %u(%u) => %u(%u), %u of %u, %s",
                                 (unsigned long long)seed, c.a1, c.x, c.a2, c.y, c.support,
                                 c.functions, holds ? "is missing" : "does not hold");
                    count += holds;
                    if (!holds) continue;
                    assert_int_equal(found->support, c.support);
                    assert_int_equal(found->direct, c.direct);
                    assert_int_equal(found->functions, c.functions);
                }
    assert_int_equal(got->list.size, count);
    return count;
}

static void check_order(const struct hd_mine_options *options, const struct hd_correlations *got) {
    for (size_t i = 1; i < got->list.size; i++) {
        const struct hd_correlation *a = &got->list.data[i - 1], *b = &got->list.data[i];
        if (b->support >= options->high_support) {
            assert_true(a->support >= options->high_support);
            assert_true(hd_correlation_confidence(a) >= hd_correlation_confidence(b));
        } else if (a->support < options->high_support) {
            assert_true(a->support >= b->support);
        }
    }
}

static void check_sets(const struct program *program, const struct hd_mine_options *options,
                       const struct hd_correlations *got) {
    for (size_t s = 0; s < got->set.size; s++) {
        const struct hd_correlated_set *set = &got->set.data[s];
        const uint32_t *member = got->member.data + set->first;
        uint32_t support = 0, most = 0;
        assert_true(set->count >= 3);
        for (uint32_t f = 0; f < program->functions; f++) {
            bool all = true;
            for (uint32_t i = 0; i < set->count; i++)
                for (uint32_t k = i + 1; k < set->count; k++)
                    all = all && together(program, f, set->mode, member[i], set->mode, member[k],
                                          options->max_distance, false);
            support += all;
        }
        for (uint32_t i = 0; i < set->count; i++) {
            uint32_t functions = number_of(program, set->mode, member[i]);
            if (functions > most) most = functions;
        }
        assert_int_equal(set->support, support);
        assert_int_equal(set->functions, most);
        assert_true(support >= options->min_support && support >= options->min_confidence * most);
    }
}

static bool part_of(const struct hd_correlations *got, const uint32_t *three, uint8_t mode) {
    for (size_t s = 0; s < got->set.size; s++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < got->set.data[s].count && got->set.data[s].mode == mode; i++)
            for (int k = 0; k < 3; k++)
                found += got->member.data[got->set.data[s].first + i] == three[k];
        if (found == 3) return true;
    }
    return false;
}

/* Three variables that hold as a set are part of a set that is listed. */
static void check_triples(uint64_t seed, const struct program *program,
                          const struct hd_mine_options *options,
                          const struct hd_correlations *got) {
    for (uint8_t mode = HD_MINE_WRITE; mode <= HD_MINE_ANY; mode++)
        for (uint32_t code = 0; code < VARIABLES * VARIABLES * VARIABLES; code++) {
            uint32_t v[3] = {code % VARIABLES, code / VARIABLES % VARIABLES,
                             code / VARIABLES / VARIABLES};
            if (v[0] >= v[1] || v[1] >= v[2]) continue;
            uint32_t support = 0, direct = 0, most = 0;
            for (uint32_t f = 0; f < program->functions; f++) {
                bool all = true, by_text = true;
                for (int i = 0; i < 3; i++) {
                    uint32_t x = v[i], y = v[(i + 1) % 3], distance = options->max_distance;
                    all = all && together(program, f, mode, x, mode, y, distance, false);
                    by_text = by_text && together(program, f, mode, x, mode, y, distance, true);
                }
                support += all;
                direct += by_text;
            }
            for (int i = 0; i < 3; i++) {
                uint32_t functions = number_of(program, mode, v[i]);
                if (functions > most) most = functions;
                if (number_of(program, HD_MINE_ANY, v[i]) > options->max_functions) support = 0;
            }
            if (support >= options->min_support && direct >= options->min_direct &&
                support >= options->min_confidence * most && !part_of(got, v, mode))
                fail_msg("seed %llu: %u, %u, %u are no set", (unsigned long long)seed, v[0], v[1],
                         v[2]);
        }
}

/* ---- updates ----------------------------------------------------------------------------------
 */

static bool deals_with(const struct program *program, uint32_t f, uint32_t variable, bool itself) {
    for (uint32_t i = 0; i < program->count[f]; i++)
        if (program->access[f][i].variable == variable &&
            (!itself || program->access[f][i].by != HD_BY_CALL))
            return true;
    return false;
}

static bool excused(const struct program *program, uint32_t f, uint32_t y) {
    for (uint32_t g = 0; g < program->functions; g++) {
        if (program->calls[f][g] && deals_with(program, g, y, false)) return true;
        if (!program->calls[g][f]) continue;
        if (deals_with(program, g, y, false)) return true;
        for (uint32_t h = 0; h < program->functions; h++)
            if (program->calls[h][g] && deals_with(program, h, y, true)) return true;
    }
    return false;
}

static bool violates(const struct program *program, uint32_t f, const struct hd_correlation *c) {
    bool writes = false;
    for (uint32_t i = 0; i < program->count[f]; i++)
        writes = writes || (program->access[f][i].variable == c->x &&
                            (program->access[f][i].mode & HD_MINE_WRITE) &&
                            program->access[f][i].by != HD_BY_CALL);
    return writes && !deals_with(program, f, c->y, false) && !excused(program, f, c->y);
}

static uint32_t check_updates(const struct program *program, const struct hd_correlations *list,
                              const struct hd_updates *got) {
    uint32_t count = 0;
    for (size_t i = 0; i < list->list.size; i++) {
        const struct hd_correlation *c = &list->list.data[i];
        if (c->a1 != HD_MINE_WRITE || c->a2 != HD_MINE_ANY) continue;
        uint32_t violations = 0, found = 0;
        for (uint32_t f = 0; f < program->functions; f++) violations += violates(program, f, c);
        for (size_t u = 0; u < got->list.size; u++)
            for (uint32_t p = 0; p < got->list.data[u].count; p++) {
                const struct hd_update_pair *pair = &got->pair.data[got->list.data[u].first + p];
                const struct hd_correlation *shown = &list->list.data[pair->correlation];
                if (shown->x != c->x || shown->y != c->y) continue;
                assert_true(violates(program, got->list.data[u].function, c));
                assert_int_equal(pair->violations, violations);
                struct hd_correlation both = {c->x, c->y, HD_MINE_WRITE, HD_MINE_WRITE, 0, 0, 0};
                assert_int_equal(shown->a2 == HD_MINE_WRITE, find(list, &both) != NULL);
                found++;
            }
        assert_int_equal(found, violations);
        count += found;
    }
    assert_int_equal(got->candidates - got->pruned, count);
    assert_int_equal(got->pair.size, count);
    for (size_t u = 1; u < got->list.size; u++) {
        const struct hd_update *a = &got->list.data[u - 1], *b = &got->list.data[u];
        assert_true(!a->special || b->special);
        if (a->special != b->special) continue;
        assert_true(a->both_written || !b->both_written);
        if (a->both_written == b->both_written)
            assert_true(got->pair.data[a->first].violations <= got->pair.data[b->first].violations);
    }
    return count;
}

static void random_programs(void **state) {
    (void)state;
    enum { PROGRAMS = 700 };
    uint64_t pairs = 0, sets = 0, updates = 0, pruned = 0, popular = 0;
    printf("seeds 1 to %d\n", PROGRAMS);
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        uint64_t dice = seed;
        static struct program program;
        make(&dice, &program);
        struct hd_mine_options options = hd_mine_defaults();
        options.min_support = 2 + roll(&dice, 6);
        options.min_direct = roll(&dice, 4);
        options.max_distance = 1 + roll(&dice, 12);
        options.high_support = 10;
        options.max_functions = 5 + roll(&dice, FUNCTIONS);
        options.min_confidence = 0.5 + 0.1 * roll(&dice, 5);
        struct hd_access_sets access_sets;
        hand_over(&program, &access_sets);
        struct hd_correlations correlations;
        hd_correlate(&access_sets, &options, &correlations);
        pairs += check_pairs(seed, &program, &options, &correlations);
        check_order(&options, &correlations);
        check_sets(&program, &options, &correlations);
        check_triples(seed, &program, &options, &correlations);
        struct hd_updates found;
        hd_updates_find(&access_sets, &correlations, program.special, &found);
        updates += check_updates(&program, &correlations, &found);
        sets += correlations.set.size;
        pruned += found.pruned;
        popular += correlations.popular;
        hd_updates_free(&found);
        hd_correlations_free(&correlations);
        hd_access_sets_free(&access_sets);
    }
    printf("%llu correlations, %llu sets, %llu updates, %llu pruned, %llu popular variables\n",
           (unsigned long long)pairs, (unsigned long long)sets, (unsigned long long)updates,
           (unsigned long long)pruned, (unsigned long long)popular);
    assert_true(pairs > 7000 && sets > 180 && updates > 180 && pruned > 800 && popular > 800);
}

static void names(void **state) {
    (void)state;
    static const char *const special[] = {
        "cache_init",    "initServer", "list_free", "freeClient",  "createString", "buf::buf",
        "ns::buf::~buf", "dup_node",   "reset",     "xDestroyAll", "string_new",   "AllocPage"};
    static const char *const plain[] = {"freeze",    "newline", "duplex_set", "update",
                                        "copyright", "renewal", "buf::bufs",  "a::b",
                                        "",          "_",       "rx",         "flush"};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (!hd_mine_special_name(special[i])) fail_msg("%s is special", special[i]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (hd_mine_special_name(plain[i])) fail_msg("%s is not special", plain[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
