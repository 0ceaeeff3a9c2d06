/* Interleaving coverage: sizes against explicit enumeration, what is covered against the
 * definitions, accumulation in any order, the file, and what is called infeasible against brute
 * force. */
#include "oracle/random_query.h"
#include "oracle/reorder_search.h"
#include "support/model_make.h"

#include "cover/cover.h"
#include "facts/patterns.h"

/* ---- the worked example (Figure 6.2) ----------------------------------------------------------
 */

/* Four threads, each with one read and one write of v and of u. By hand:
 *   ALL      16! / (4!)^4 = 63063000
 *   TPAIR    6 pairs of threads, each 8 choose 4 = 70 orders: 420
 *   SVAR     6 pairs, 2 variables, 4 choose 2 = 6 orders: 72
 *   PInv     4 threads with one consecutive pair for each of 2 variables, and 3 other threads with
 * 2 accesses to it: 4 * 2 * 6 = 48 Def-Use  8 reads, each sees its own thread (or the initial
 * value) or one of 3 other writes: 32 LR-Inv   each of the 8 consecutive pairs is a read and a
 * write (or the reverse), which any of the other threads' writes breaks: 8 LR-Def   8 reads, local
 * or remote: 16 */
static const char worked[] = "T1|r(v)|a1\nT1|r(u)|a2\nT1|w(v)|a3\nT1|w(u)|a4\n"
                             "T2|r(v)|b1\nT2|w(v)|b2\nT2|r(u)|b3\nT2|w(u)|b4\n"
                             "T3|w(v)|c1\nT3|r(v)|c2\nT3|r(u)|c3\nT3|w(u)|c4\n"
                             "T4|r(u)|d1\nT4|r(v)|d2\nT4|w(v)|d3\nT4|w(u)|d4\n";

static void worked_example(void **state) {
    (void)state;
    static const char *const size[] = {"63063000", "420", "72", "48", "32", "8", "16"};
    struct hd_model model;
    model_read(worked, sizeof worked - 1, false, &model);
    struct hd_cover_measure measure = hd_cover_measure(&model);
    assert_int_equal(measure.threads, 4);
    assert_int_equal(measure.variables, 2);
    for (unsigned c = 0; c < HD_CRITERION_COUNT; c++) {
        char text[HD_SIZE_TEXT];
        hd_size_text(measure.size[c], text);
        assert_string_equal(text, size[c]);
    }
    hd_model_free(&model);
}

static void large_sizes(void **state) {
    (void)state;
    char text[HD_SIZE_TEXT];
    uint64_t even[] = {50, 50}, nine[] = {9, 9, 9, 9}, million[] = {500000, 500000};
    hd_size_text(hd_size_interleavings(even, 2), text);
    assert_string_equal(text, "1.01 * 10^29"); /* 100891344545564193334812497256 */
    hd_size_text(hd_size_interleavings(nine, 4), text);
    assert_string_equal(text, "21452752266265320000");
    hd_size_text(hd_size_interleavings(million, 2), text);
    assert_string_equal(text, "7.90 * 10^301026");
    hd_size_text(hd_size_of(0), text);
    assert_string_equal(text, "0");
}

/* ---- by definition ----------------------------------------------------------------------------
 */

static bool is_counted(const struct hd_model *m, uint32_t e, uint32_t location) {
    return hd_access_does(m, e) != 0 && m->location[location].shared &&
           small_touches(m, e, location);
}

/* Interleavings of two or more sequences, one step after the other. */
static uint64_t enumerate(uint64_t *left, uint32_t count) {
    bool any = false;
    uint64_t ways = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (left[i] == 0) continue;
        any = true;
        left[i]--;
        ways += enumerate(left, count);
        left[i]++;
    }
    return any ? ways : 1;
}

struct naive {
    uint64_t size[HD_CRITERION_COUNT], covered[HD_CRITERION_COUNT];
};

static uint32_t next_of(const struct hd_model *m, uint32_t e, uint32_t location) {
    for (uint32_t k = e + 1; k < m->events; k++)
        if (m->thread[k] == m->thread[e] && is_counted(m, k, location)) return k;
    return HD_NONE;
}

/* The whole of what other threads did between i and k, by the definition of serializability: is
 * there a place for the block of remote accesses, before i or after k, where every read of the
 * three parties sees the same and the last write is the same? */
static bool serializable(const struct hd_model *m, uint32_t location, uint32_t i, uint32_t k) {
    uint32_t list[64], count = 0;
    /* Between two atomic updates further ones do not count: each is whole in itself. */
    bool updates = hd_access_does(m, i) == HD_DOES_UPDATE && hd_access_does(m, k) == HD_DOES_UPDATE;
    for (uint32_t e = i + 1; e < k; e++)
        if (is_counted(m, e, location) && !(updates && hd_access_does(m, e) == HD_DOES_UPDATE))
            list[count++] = e;
    if (count == 0) return true;
    for (int after = 0; after < 2; after++) {
        /* values: 0 before, 1 .. n+2 written by the access at that place of the observed order */
        uint32_t order[66], seen[66] = {0}, place[66], n = count + 2, value = 0, last, was;
        order[0] = i;
        for (uint32_t e = 0; e < count; e++) order[e + 1] = list[e];
        order[n - 1] = k;
        for (uint32_t e = 0; e < n; e++) {
            seen[e] = value;
            if ((hd_access_does(m, order[e]) & HD_DOES_WRITE) != 0) value = e + 1;
        }
        last = value;
        for (uint32_t e = 0; e < count; e++) place[after ? e + 2 : e] = e + 1;
        place[after ? 0 : count] = 0;
        place[after ? 1 : count + 1] = n - 1;
        value = 0;
        bool same = true;
        for (uint32_t e = 0; e < n; e++) {
            unsigned does = hd_access_does(m, order[place[e]]);
            if ((does & HD_DOES_READ) != 0 && seen[place[e]] != value) same = false;
            if ((does & HD_DOES_WRITE) != 0) value = place[e] + 1;
        }
        was = value;
        if (same && was == last) return true;
    }
    return false;
}

static void naive_location(const struct hd_model *m, uint32_t location, struct naive *n) {
    for (uint32_t e = 0; e < m->events; e++) {
        if (!is_counted(m, e, location)) continue;
        uint32_t k = next_of(m, e, location);
        bool breakable = false, remote_write = false;
        for (uint32_t j = 0; j < m->events; j++) {
            if (m->thread[j] == m->thread[e] || !is_counted(m, j, location)) continue;
            if (k != HD_NONE) {
                n->size[HD_COVER_PINV]++;
                n->covered[HD_COVER_PINV] += e < j && j < k;
                breakable |= hd_pattern_of(hd_access_does(m, e), hd_access_does(m, j),
                                           hd_access_does(m, k), false) != HD_PATTERN_NONE;
            }
            bool writes = (hd_access_does(m, j) & HD_DOES_WRITE) != 0;
            remote_write |= writes;
            if ((hd_access_does(m, e) & HD_DOES_READ) != 0) n->size[HD_COVER_DEF_USE] += writes;
        }
        n->size[HD_COVER_LR_INV] += breakable;
        if (k != HD_NONE) n->covered[HD_COVER_LR_INV] += !serializable(m, location, e, k);
        if ((hd_access_does(m, e) & HD_DOES_READ) == 0) continue;
        n->size[HD_COVER_DEF_USE]++;
        n->size[HD_COVER_LR_DEF] += 1 + remote_write;
        n->covered[HD_COVER_DEF_USE]++;
        n->covered[HD_COVER_LR_DEF]++;
    }
}

static void naive_measure(const struct hd_model *m, struct naive *n) {
    uint64_t all[SIM_THREADS] = {0}, some[SIM_THREADS], two[2];
    uint32_t threads = 0;
    memset(n, 0, sizeof *n);
    for (uint32_t e = 0; e < m->events; e++) {
        bool counted = false;
        for (uint32_t l = 0; l < m->locations; l++) counted |= is_counted(m, e, l);
        all[m->thread[e]] += counted;
    }
    for (uint32_t t = 0; t < SIM_THREADS; t++)
        if (all[t] > 0) some[threads++] = t;
    uint64_t length[SIM_THREADS];
    for (uint32_t i = 0; i < threads; i++) length[i] = all[some[i]];
    n->size[HD_COVER_ALL] = enumerate(length, threads);
    for (uint32_t i = 0; i < threads; i++)
        for (uint32_t j = i + 1; j < threads; j++) {
            two[0] = all[some[i]], two[1] = all[some[j]];
            n->size[HD_COVER_TPAIR] += enumerate(two, 2);
            for (uint32_t l = 0; l < m->locations; l++) {
                if (!m->location[l].shared) continue;
                two[0] = two[1] = 0;
                for (uint32_t e = 0; e < m->events; e++) {
                    two[0] += m->thread[e] == some[i] && is_counted(m, e, l);
                    two[1] += m->thread[e] == some[j] && is_counted(m, e, l);
                }
                n->size[HD_COVER_SVAR] += enumerate(two, 2);
            }
        }
    for (uint32_t l = 0; l < m->locations; l++) naive_location(m, l, n);
}

/* ---- random traces ----------------------------------------------------------------------------
 */

static bool random_model(uint64_t seed, struct hd_model *model, struct text_trace *text) {
    struct hd_error error;
    random_trace(seed, text);
    for (unsigned i = 0; i < text->lines; i++) { /* a site for each event */
        size_t used = strlen(text->line[i]);
        char *bar = strchr(strchr(text->line[i], '|') + 1, '|');
        if (bar != NULL) used = (size_t)(bar - text->line[i]);
        snprintf(text->line[i] + used, TEXT_WIDTH - used, "|s%u", i);
    }
    return model_of_text(text, model, &error);
}

/* An event that touches several locations has one site for all of them. */
static bool is_simple(const struct hd_model *model) {
    for (uint32_t e = 0; e < model->events; e++) {
        const uint32_t *list;
        if (hd_access_does(model, e) != 0 && hd_model_locations(model, e, &list) != 1) return false;
    }
    return true;
}

static void random_sizes(void **state) {
    (void)state;
    unsigned long with_shared = 0, simple = 0, inv = 0;
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct hd_model model;
        struct text_trace text;
        if (!random_model(seed, &model, &text)) fail_msg("seed %llu", (unsigned long long)seed);
        struct naive naive;
        naive_measure(&model, &naive);
        struct hd_cover_measure measure = hd_cover_measure(&model);
        with_shared += measure.variables > 0;
        inv += naive.covered[HD_COVER_LR_INV];
        for (unsigned c = 0; c < HD_CRITERION_COUNT && measure.variables > 0; c++) {
            if (!measure.size[c].exact || (uint64_t)measure.size[c].value != naive.size[c])
                fail_msg("seed %llu, %s: %llu instead of %llu", (unsigned long long)seed,
                         hd_criterion_name(c), (unsigned long long)measure.size[c].value,
                         (unsigned long long)naive.size[c]);
            if (c >= HD_COVER_KEPT && measure.covered[c] != naive.covered[c])
                fail_msg("seed %llu, %s covered: %llu instead of %llu", (unsigned long long)seed,
                         hd_criterion_name(c), (unsigned long long)measure.covered[c],
                         (unsigned long long)naive.covered[c]);
        }
        /* With a site for each event, properties by sites are those by events. */
        if (is_simple(&model) && measure.variables > 0) {
            struct hd_cover cover = {0};
            struct hd_describe *describe = hd_describe_open(&model);
            struct hd_analysis analysis = {.model = &model, .describe = describe};
            hd_cover_add(&cover, &analysis, "run", false);
            hd_analysis_free(&analysis);
            for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
                struct hd_cover_count count = hd_cover_count(&cover, c);
                assert_int_equal(count.properties, naive.size[c]);
                assert_int_equal(count.covered, naive.covered[c]);
            }
            hd_describe_close(describe);
            hd_cover_free(&cover);
            simple++;
        }
        hd_model_free(&model);
    }
    printf("# %lu traces with shared locations, %lu by sites, %lu pairs interleaved\n", with_shared,
           simple, inv);
    assert_true(with_shared > 2500 && simple > 2000 && inv > 1000);
}

/* ---- feasibility ------------------------------------------------------------------------------
 */

/* Is there a reordering, of whatever values, with i, then j, then k? */
static bool by_force(const struct small *small, uint32_t i, uint32_t j, uint32_t k) {
    struct hd_precedes order[2] = {{i, j}, {j, k}};
    struct hd_stop stop = {k, true};
    struct hd_query query = {.stop = &stop,
                             .stops = 1,
                             .order = order,
                             .orders = 2,
                             .reader = HD_NONE,
                             .writer = HD_NONE};
    uint32_t path[SMALL_EVENTS], length;
    return search_decide(small, HD_CSR, &query, path, &length);
}

/* Is there a reordering in which a read sees this write (HD_NONE: the initial value)? */
static bool sees_by_force(const struct small *small, uint32_t write, uint32_t read) {
    struct hd_stop stop = {read, true};
    struct hd_query query = {.stop = &stop, .stops = 1, .reader = read, .writer = write};
    uint32_t path[SMALL_EVENTS], length;
    return search_decide(small, HD_CSR, &query, path, &length);
}

static void check_reads(const struct hd_cover_orders *orders, const struct small *small,
                        uint32_t location, unsigned long *unseen) {
    const struct hd_model *m = orders->model;
    for (uint32_t r = 0; r < m->events; r++) {
        if (!is_counted(m, r, location) || (hd_access_does(m, r) & HD_DOES_READ) == 0) continue;
        if (__builtin_popcountll(small->event[r].touches) != 1)
            continue; /* brute force asks for one */
        struct hd_cover_read read = {r, HD_NONE, HD_NONE};
        for (uint32_t w = 0; w < r; w++) {
            if (!is_counted(m, w, location) || (hd_access_does(m, w) & HD_DOES_WRITE) == 0)
                continue;
            read.seen = w;
            if (m->thread[w] == m->thread[r]) read.own_write = w;
        }
        for (uint32_t w = 0; w < m->events; w++) {
            if (m->thread[w] == m->thread[r] || !is_counted(m, w, location) ||
                (hd_access_does(m, w) & HD_DOES_WRITE) == 0 || hd_cover_sees(orders, &read, w))
                continue;
            ++*unseen;
            assert_false(sees_by_force(small, w, r));
        }
        if (hd_cover_sees_local(orders, &read)) continue;
        ++*unseen;
        assert_false(sees_by_force(small, read.own_write, r));
    }
}

static void infeasible_is_proved(void **state) {
    (void)state;
    unsigned long ruled_out = 0, left = 0, unseen = 0;
    for (uint64_t seed = 1; seed <= 12000; seed++) {
        struct hd_model model;
        struct text_trace text;
        struct small small;
        random_model(seed, &model, &text);
        small_build(&small, &model);
        struct hd_clocks *clocks = hd_clocks_build(&model);
        struct hd_cover_orders orders = {&model, clocks};
        for (uint32_t l = 0; l < model.locations; l++)
            for (uint32_t i = 0; i < model.events; i++) {
                uint32_t k = is_counted(&model, i, l) ? next_of(&model, i, l) : HD_NONE;
                for (uint32_t j = 0; k != HD_NONE && j < model.events; j++) {
                    if (model.thread[j] == model.thread[i] || !is_counted(&model, j, l)) continue;
                    if (hd_cover_between(&orders, i, j, k)) {
                        left++;
                        continue;
                    }
                    ruled_out++;
                    if (by_force(&small, i, j, k))
                        fail_msg("seed %llu: %u %u %u is possible", (unsigned long long)seed, i, j,
                                 k);
                }
            }
        for (uint32_t l = 0; l < model.locations; l++) check_reads(&orders, &small, l, &unseen);
        hd_clocks_free(clocks);
        hd_model_free(&model);
    }
    printf("# %lu ruled out, %lu left, %lu writes that can't be seen\n", ruled_out, left, unseen);
    assert_true(ruled_out > 250 && left > 5000 && unseen > 500);
}

/* ---- over runs --------------------------------------------------------------------------------
 */

static void add_text(struct hd_cover *cover, const char *text, const char *name, bool feasible) {
    struct hd_model model;
    model_read(text, strlen(text), false, &model);
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_analysis analysis = {.model = &model, .describe = describe};
    hd_cover_add(cover, &analysis, name, feasible);
    hd_analysis_free(&analysis);
    hd_describe_close(describe);
    hd_model_free(&model);
}

/* The same set of properties, told by words, with the same counts. */
static void assert_same_cover(const struct hd_cover *a, const struct hd_cover *b) {
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        assert_int_equal(a->kept[c].list.size, b->kept[c].list.size);
        for (size_t i = 0; i < a->kept[c].list.size; i++) {
            const struct hd_property *p = &a->kept[c].list.data[i];
            bool found = false;
            for (size_t k = 0; k < b->kept[c].list.size && !found; k++) {
                const struct hd_property *q = &b->kept[c].list.data[k];
                found = strcmp(hd_cover_site(a, p->site[0]), hd_cover_site(b, q->site[0])) == 0 &&
                        (c == HD_COVER_LR_DEF ? p->site[1] == q->site[1]
                                              : strcmp(hd_cover_site(a, p->site[1]),
                                                       hd_cover_site(b, q->site[1])) == 0) &&
                        strcmp(hd_cover_site(a, p->site[2]), hd_cover_site(b, q->site[2])) == 0;
                if (!found) continue;
                assert_int_equal(p->runs, q->runs);
                assert_int_equal(p->infeasible, q->infeasible);
                assert_int_equal(p->unserializable, q->unserializable);
                assert_true(hd_cover_gap(a, p) == hd_cover_gap(b, q));
            }
            assert_true(found);
        }
    }
}

static const char *const runs[] = {
    "T1|r(x)|a\nT1|w(x)|b\nT2|r(x)|c\nT2|w(x)|d\n", "T1|r(x)|a\nT2|r(x)|c\nT2|w(x)|d\nT1|w(x)|b\n",
    "T2|r(x)|c\nT2|w(x)|d\nT2|w(x)|e\nT1|r(x)|a\nT1|w(x)|b\n",
    "T1|acq(m)|f\nT1|r(x)|a\nT1|w(x)|b\nT1|rel(m)|g\nT2|acq(m)|h\nT2|r(x)|c\nT2|rel(m)|k\n"};
enum { RUNS = sizeof runs / sizeof *runs };

static void any_order(void **state) {
    (void)state;
    for (unsigned feasible = 0; feasible < 2; feasible++) {
        struct hd_cover forward = {0}, backward = {0}, merged = {0}, part = {0};
        for (unsigned i = 0; i < RUNS; i++) add_text(&forward, runs[i], "f", feasible);
        for (unsigned i = RUNS; i-- > 0;) add_text(&backward, runs[i], "b", feasible);
        add_text(&merged, runs[2], "m", feasible);
        add_text(&merged, runs[0], "m", feasible);
        add_text(&part, runs[3], "p", feasible);
        add_text(&part, runs[1], "p", feasible);
        hd_cover_merge(&merged, &part);
        assert_same_cover(&forward, &backward);
        assert_same_cover(&forward, &merged);
        assert_int_equal(merged.run.size, RUNS);
        uint32_t *growth = hd_cover_growth(&merged, HD_COVER_PINV);
        assert_int_equal(growth[RUNS - 1], hd_cover_count(&forward, HD_COVER_PINV).covered);
        free(growth);
        hd_cover_free(&forward);
        hd_cover_free(&backward);
        hd_cover_free(&merged);
        hd_cover_free(&part);
    }
}

/* x is locked in the last run, and only there: what the lock rules out is open because of the other
 * runs, or infeasible if there are none. */
static void open_and_infeasible(void **state) {
    (void)state;
    struct hd_cover locked = {0};
    add_text(&locked, runs[3], "locked", true);
    struct hd_cover_count count = hd_cover_count(&locked, HD_COVER_PINV);
    assert_int_equal(count.properties, 1);
    assert_int_equal(count.infeasible, 1);
    uint32_t open, *list = hd_cover_open(&locked, HD_COVER_PINV, &open);
    assert_int_equal(open, 0);
    free(list);
    add_text(&locked, runs[0], "free", true);
    list = hd_cover_open(&locked, HD_COVER_LR_INV, &open);
    assert_int_equal(open, 2);
    assert_true(hd_cover_count(&locked, HD_COVER_PINV).infeasible == 0);
    free(list);
    add_text(&locked, runs[1], "interleaved", true);
    list = hd_cover_open(&locked, HD_COVER_LR_INV, &open);
    assert_int_equal(open, 1); /* c, d */
    assert_string_equal(
        hd_cover_site(&locked, locked.kept[HD_COVER_LR_INV].list.data[list[0]].site[0]), "c r");
    free(list);
    hd_cover_free(&locked);
}

/* ---- the file ---------------------------------------------------------------------------------
 */

static void there_and_back(void **state) {
    (void)state;
    struct hd_cover cover = {0}, again;
    struct hd_error error;
    for (unsigned i = 0; i < RUNS; i++) add_text(&cover, runs[i], "a run", true);
    char *text = hd_cover_write(&cover);
    if (!hd_cover_read(text, strlen(text), "file", &again, &error)) fail_msg("%s", error.message);
    assert_same_cover(&cover, &again);
    char *second = hd_cover_write(&again);
    struct hd_cover third;
    assert_true(hd_cover_read(second, strlen(second), "file", &third, &error));
    assert_same_cover(&cover, &third);
    /* Cut anywhere, it is refused. */
    for (size_t cut = 0; cut < strlen(text); cut++) {
        struct hd_cover part;
        assert_false(hd_cover_read(text, cut, "file", &part, &error));
        assert_true(strncmp(error.message, "file", 4) == 0);
    }
    free(text);
    free(second);
    hd_cover_free(&cover);
    hd_cover_free(&again);
    hd_cover_free(&third);
}

static void damaged_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"heddle-cover/2\nend\n",
         "file was written by another version of heddle: heddle-cover/2 instead of heddle-cover/1"},
        {"something else\n", "file is no coverage file (see 'heddle cover -o')"},
        {"heddle-cover/1\nsite a\nsite a\nend\n", "file:3: a site that was there before"},
        {"heddle-cover/1\nsite a\nLR-Inv 1 2 0 0 -\nend\n", "file:3: a site that is not there"},
        {"heddle-cover/1\nsite a\nLR-Inv 1 1 1 1 -\nend\n", "file:3: a run that is not there"},
        {"heddle-cover/1\nsite a\nLR-Inv 1 1 0 0 x\nend\n", "file:3: unknown flags"},
        {"heddle-cover/1\nsite a\nLR-Inv 1 1 0 0 -\nLR-Inv 1 1 0 0 -\nend\n",
         "file:4: a property that was there before"},
        {"heddle-cover/1\nsite a\npair 1 1 99999999999999999999 1\nend\n",
         "file:3: not a pair: pair SITE SITE GAP INSTANCES"},
        {"heddle-cover/1\nend\nend\n", "file:3: more lines after the end"},
        {"heddle-cover/1\nhello\nend\n", "file:2: neither run, site, pair nor property"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_cover cover;
        struct hd_error error;
        assert_false(hd_cover_read(cases[i].text, strlen(cases[i].text), "file", &cover, &error));
        assert_string_equal(error.message, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example), cmocka_unit_test(large_sizes),
        cmocka_unit_test(random_sizes),   cmocka_unit_test(infeasible_is_proved),
        cmocka_unit_test(any_order),      cmocka_unit_test(open_and_infeasible),
        cmocka_unit_test(there_and_back), cmocka_unit_test(damaged_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
