/* Closed frequent itemsets against naive counting of all subsets on small random databases, and
 * against the closure of intersections on larger ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mine/closed.h"

enum { MOST = 200, ANY_NUMBER = 1 << 30 };

static uint32_t roll(uint64_t *dice, uint32_t limit) {
    return (uint32_t)hd_random_below(dice, limit);
}

/* Transaction t as the set of bits row[t]. */
struct database {
    uint32_t rows, items;
    uint64_t row[MOST];
};

static uint32_t support_of(const struct database *data, uint64_t set) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < data->rows; t++) count += (data->row[t] & set) == set;
    return count;
}

/* Some items come in groups, so that there are sets with equal support to tell apart. */
static void make(uint64_t *dice, struct database *data, uint32_t rows, uint32_t items) {
    uint64_t group[4];
    data->rows = rows;
    data->items = items;
    for (int g = 0; g < 4; g++) {
        group[g] = 0;
        for (unsigned i = roll(dice, 5); i > 0; i--) group[g] |= 1ull << roll(dice, items);
    }
    unsigned density = 1 + roll(dice, 6);
    for (uint32_t t = 0; t < rows; t++) {
        data->row[t] = 0;
        for (uint32_t i = 0; i < items; i++)
            if (roll(dice, 10) < density) data->row[t] |= 1ull << i;
        for (int g = 0; g < 4; g++)
            if (roll(dice, 3) == 0) data->row[t] |= group[g];
    }
}

/* Items of a transaction in random order. */
static void mine(uint64_t *dice, const struct database *data, uint32_t min_support, uint32_t most,
                 struct hd_closed_sets *sets) {
    static uint32_t start[MOST + 1], item[MOST * 64];
    uint32_t used = 0;
    for (uint32_t t = 0; t < data->rows; t++) {
        start[t] = used;
        for (uint32_t i = 0; i < data->items; i++)
            if (data->row[t] >> i & 1) item[used++] = i;
        for (uint32_t i = used; i > start[t] + 1; i--) {
            uint32_t other = start[t] + roll(dice, i - start[t]), kept = item[i - 1];
            item[i - 1] = item[other];
            item[other] = kept;
        }
    }
    start[data->rows] = used;
    struct hd_transactions transactions = {start, item, data->rows, data->items};
    hd_closed_mine(&transactions, min_support, most, sets);
}

struct found {
    uint64_t set;
    uint32_t support;
};

static int compare(const void *left, const void *right) {
    const struct found *a = left, *b = right;
    return a->set < b->set ? -1 : a->set > b->set;
}

/* As masks, sorted; the caller frees. */
static struct found *as_masks(const struct hd_closed_sets *sets) {
    uint32_t count = hd_closed_sets_count(sets);
    struct found *list = calloc(count + 1, sizeof *list);
    assert_non_null(list);
    for (uint32_t s = 0; s < count; s++) {
        list[s].support = sets->support.data[s];
        for (uint32_t i = sets->start.data[s]; i < sets->start.data[s + 1]; i++) {
            if (i > sets->start.data[s]) assert_true(sets->item.data[i - 1] < sets->item.data[i]);
            list[s].set |= 1ull << sets->item.data[i];
        }
    }
    qsort(list, count, sizeof *list, compare);
    return list;
}

static bool is_closed(const struct database *data, uint64_t set, uint32_t support) {
    for (uint32_t i = 0; i < data->items; i++)
        if (!(set >> i & 1) && support_of(data, set | 1ull << i) == support) return false;
    return true;
}

static void same(uint64_t seed, const struct found *got, uint32_t count, const struct found *wanted,
                 uint32_t wanted_count) {
    if (count != wanted_count)
        fail_msg("seed %llu: %u closed sets instead of %u", (unsigned long long)seed, count,
                 wanted_count);
    for (uint32_t i = 0; i < count; i++)
        if (got[i].set != wanted[i].set || got[i].support != wanted[i].support)
            fail_msg("seed %llu: set %llx with support %u instead of %llx with %u",
                     (unsigned long long)seed, (unsigned long long)got[i].set, got[i].support,
                     (unsigned long long)wanted[i].set, wanted[i].support);
}

static void every_subset_counted(void **state) {
    (void)state;
    enum { DATABASES = 4000, ITEMS = 10 };
    static struct found wanted[1 << ITEMS];
    uint64_t total = 0, large = 0, not_closed = 0, nothing = 0;
    printf("seeds 1 to %d\n", DATABASES);
    for (uint64_t seed = 1; seed <= DATABASES; seed++) {
        uint64_t dice = seed;
        struct database data;
        make(&dice, &data, roll(&dice, 24), 1 + roll(&dice, ITEMS));
        uint32_t min_support = 1 + roll(&dice, 5), count = 0;
        for (uint64_t set = 1; set < 1ull << data.items; set++) {
            uint32_t support = support_of(&data, set);
            if (support < min_support) continue;
            if (is_closed(&data, set, support))
                wanted[count++] = (struct found){set, support};
            else
                not_closed++;
        }
        struct hd_closed_sets sets;
        mine(&dice, &data, min_support, ANY_NUMBER, &sets);
        assert_false(sets.cut_short);
        struct found *got = as_masks(&sets);
        same(seed, got, hd_closed_sets_count(&sets), wanted, count);
        for (uint32_t i = 0; i < count; i++) large += __builtin_popcountll(wanted[i].set) >= 3;
        total += count;
        nothing += count == 0;
        free(got);
        hd_closed_sets_free(&sets);
    }
    printf(
        "%llu closed sets, %llu of three items and more, %llu frequent ones that are not closed, "
        "%llu databases without any\n",
        (unsigned long long)total, (unsigned long long)large, (unsigned long long)not_closed,
        (unsigned long long)nothing);
    assert_true(total > 50000 && large > 28000 && not_closed > 100000 && nothing > 50);
}

/* All closed sets are intersections of transactions: the family of them, transaction by
 * transaction. */
static uint32_t intersections(const struct database *data, uint32_t min_support,
                              struct found *family, uint32_t room) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < data->rows; t++) {
        uint32_t before = count;
        for (uint32_t i = 0; i <= before; i++) {
            uint64_t set = i < before ? family[i].set & data->row[t] : data->row[t];
            if (set == 0) continue;
            bool known = false;
            for (uint32_t k = 0; k < count && !known; k++) known = family[k].set == set;
            if (!known) {
                assert_true(count < room);
                family[count++].set = set;
            }
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t support = support_of(data, family[i].set);
        if (support >= min_support) family[kept++] = (struct found){family[i].set, support};
    }
    qsort(family, kept, sizeof *family, compare);
    return kept;
}

static void larger_databases(void **state) {
    (void)state;
    enum { DATABASES = 120, ROOM = 20000 };
    static struct found family[ROOM];
    uint64_t total = 0, widest = 0;
    printf("seeds 100001 to %d\n", 100000 + DATABASES);
    for (uint64_t seed = 100001; seed <= 100000 + DATABASES; seed++) {
        uint64_t dice = seed;
        struct database data;
        make(&dice, &data, 30 + roll(&dice, 120), 64);
        /* thin it out: the family of intersections must stay small */
        for (uint32_t t = 0; t < data.rows; t++)
            for (uint32_t i = 0; i < 64; i++)
                if (roll(&dice, 8) != 0 && i % 3 != 0) data.row[t] &= ~(1ull << i);
        for (uint32_t t = 0; t < data.rows; t++)
            while (__builtin_popcountll(data.row[t]) > 9) data.row[t] &= ~(1ull << roll(&dice, 64));
        uint32_t min_support = 2 + roll(&dice, 6);
        uint32_t wanted = intersections(&data, min_support, family, ROOM);
        struct hd_closed_sets sets;
        mine(&dice, &data, min_support, ANY_NUMBER, &sets);
        struct found *got = as_masks(&sets);
        same(seed, got, hd_closed_sets_count(&sets), family, wanted);
        total += wanted;
        for (uint32_t i = 0; i < wanted; i++)
            if ((unsigned)__builtin_popcountll(family[i].set) > widest)
                widest = (unsigned)__builtin_popcountll(family[i].set);
        free(got);
        hd_closed_sets_free(&sets);
    }
    printf("%llu closed sets, the widest of %llu items\n", (unsigned long long)total,
           (unsigned long long)widest);
    assert_true(total > 5000 && widest >= 4);
}

/* The example of the dissertation, section 5.3.3: {w,y,z}, {v,w,y,z}, {w,x,y}. */
static void the_papers_example(void **state) {
    (void)state;
    enum { V, W, X, Y, Z };
    uint64_t dice = 1;
    struct database data = {
        3,
        5,
        {1 << W | 1 << Y | 1 << Z, 1 << V | 1 << W | 1 << Y | 1 << Z, 1 << W | 1 << X | 1 << Y}};
    struct hd_closed_sets sets;
    mine(&dice, &data, 3, ANY_NUMBER, &sets);
    struct found *got = as_masks(&sets);
    same(0, got, hd_closed_sets_count(&sets), (struct found[]){{1 << W | 1 << Y, 3}}, 1);
    free(got);
    hd_closed_sets_free(&sets);
    mine(&dice, &data, 2, ANY_NUMBER, &sets);
    got = as_masks(&sets);
    same(0, got, hd_closed_sets_count(&sets),
         (struct found[]){{1 << W | 1 << Y, 3}, {1 << W | 1 << Y | 1 << Z, 2}}, 2);
    free(got);
    hd_closed_sets_free(&sets);
}

/* 2^30 sets are there; a limit ends the search, and what was found is still closed. */
static void a_limit_on_sets(void **state) {
    (void)state;
    uint64_t dice = 1;
    struct database data = {60, 30, {0}};
    for (uint32_t t = 0; t < data.rows; t++) data.row[t] = ((1ull << 30) - 1) & ~(1ull << t % 30);
    struct hd_closed_sets sets;
    mine(&dice, &data, 1, 500, &sets);
    assert_true(sets.cut_short);
    assert_int_equal(hd_closed_sets_count(&sets), 500);
    struct found *got = as_masks(&sets);
    for (uint32_t i = 0; i < 500; i++) {
        assert_int_equal(got[i].support, support_of(&data, got[i].set));
        assert_true(is_closed(&data, got[i].set, got[i].support));
    }
    free(got);
    hd_closed_sets_free(&sets);
}

/* Nothing in, nothing out. */
static void empty_databases(void **state) {
    (void)state;
    uint64_t dice = 1;
    struct database data = {0, 0, {0}};
    struct hd_closed_sets sets;
    mine(&dice, &data, 1, ANY_NUMBER, &sets);
    assert_int_equal(hd_closed_sets_count(&sets), 0);
    hd_closed_sets_free(&sets);
    data.rows = 3;
    data.items = 4;
    mine(&dice, &data, 0, ANY_NUMBER, &sets);
    assert_int_equal(hd_closed_sets_count(&sets), 0);
    hd_closed_sets_free(&sets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_subset_counted), cmocka_unit_test(larger_databases),
        cmocka_unit_test(the_papers_example), cmocka_unit_test(a_limit_on_sets),
        cmocka_unit_test(empty_databases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
