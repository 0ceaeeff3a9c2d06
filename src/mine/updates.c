/* Violations of write => any, what is pruned of them, and their order. */
#define _GNU_SOURCE /* qsort_r */
#include "mine/updates.h"

#include "base/alloc.h"
#include "base/map.h"

#include <ctype.h>
#include <string.h>

struct found {
    uint32_t function;
    struct hd_update_pair pair;
};

struct finder {
    const struct hd_access_sets *sets;
    const struct hd_correlations *correlations;
    struct hd_updates *out;
    struct hd_map written; /* pair x, y: 1 + index of write(x) => write(y) */
    HD_VECTOR(struct found) found;
    HD_VECTOR(uint32_t) writers; /* of variable v: writers[writer_start[v] ..) */
    uint32_t *writer_start;
};

/* ---- who writes -------------------------------------------------------------------------------
 */

/* Functions that write a variable by themselves: for those that do it through a call, the callee is
 * the place to look at. */
static bool writes(const struct hd_access *access) {
    return (access->mode & HD_MINE_WRITE) && access->by != HD_BY_CALL;
}

static void index_writers(struct finder *finder) {
    const struct hd_access_sets *sets = finder->sets;
    uint32_t *start = hd_zalloc((size_t)sets->variables + 2, sizeof *start);
    for (int round = 0; round < 2; round++) {
        for (uint32_t f = 0; f < sets->functions; f++) {
            uint32_t before = UINT32_MAX;
            for (uint32_t i = sets->start.data[f]; i < sets->start.data[f + 1]; i++) {
                const struct hd_access *access = &sets->access.data[i];
                if (!writes(access) || access->variable == before) continue;
                before = access->variable;
                if (round == 0)
                    start[before + 1]++;
                else
                    finder->writers.data[start[before]++] = f;
            }
        }
        if (round == 1) break;
        for (uint32_t v = 0; v < sets->variables; v++) start[v + 1] += start[v];
        hd_vector_reserve(&finder->writers, start[sets->variables]);
    }
    memmove(start + 1, start, sets->variables * sizeof *start);
    start[0] = 0;
    finder->writer_start = start;
}

static uint32_t line_of_write(const struct hd_access_sets *sets, uint32_t function, uint32_t x) {
    uint32_t first, count = hd_access_sets_find(sets, function, x, &first);
    for (uint32_t i = first; i < first + count; i++)
        if (writes(&sets->access.data[i])) return sets->access.data[i].line;
    return 0;
}

/* ---- pruning ----------------------------------------------------------------------------------
 */

static bool accesses(const struct hd_access_sets *sets, uint32_t function, uint32_t variable,
                     bool by_itself) {
    uint32_t first, count = hd_access_sets_find(sets, function, variable, &first);
    for (uint32_t i = first; i < first + count; i++)
        if (!by_itself || sets->access.data[i].by != HD_BY_CALL) return true;
    return false;
}

/* Callees: their access sets hold what their own callees do. Callers of callers: what they do
 * themselves; with all their callees, a main loop would excuse everything. */
static bool accessed_near(const struct hd_access_sets *sets, uint32_t function, uint32_t y) {
    const uint32_t *callee_start = sets->callee_start.data, *caller_start = sets->caller_start.data;
    for (uint32_t i = callee_start[function]; i < callee_start[function + 1]; i++)
        if (accesses(sets, sets->callee.data[i], y, false)) return true;
    for (uint32_t i = caller_start[function]; i < caller_start[function + 1]; i++) {
        uint32_t caller = sets->caller.data[i];
        if (accesses(sets, caller, y, false)) return true;
        for (uint32_t k = caller_start[caller]; k < caller_start[caller + 1]; k++)
            if (accesses(sets, sets->caller.data[k], y, true)) return true;
    }
    return false;
}

/* ---- violations -------------------------------------------------------------------------------
 */

static uint64_t pair_key(const struct hd_correlation *pair) {
    return (uint64_t)pair->x << 32 | pair->y;
}

static void learn_written(struct finder *finder) {
    for (uint32_t i = 0; i < finder->correlations->list.size; i++) {
        const struct hd_correlation *pair = &finder->correlations->list.data[i];
        if (pair->a1 == HD_MINE_WRITE && pair->a2 == HD_MINE_WRITE)
            *hd_map_slot(&finder->written, pair_key(pair), 0) = i + 1;
    }
}

static void find_violations(struct finder *finder, uint32_t index) {
    const struct hd_access_sets *sets = finder->sets;
    const struct hd_correlation *pair = &finder->correlations->list.data[index];
    uint32_t both = hd_map_get(&finder->written, pair_key(pair), 0);
    size_t before = finder->found.size;
    for (uint32_t i = finder->writer_start[pair->x]; i < finder->writer_start[pair->x + 1]; i++) {
        uint32_t function = finder->writers.data[i];
        if (accesses(sets, function, pair->y, false)) continue;
        finder->out->candidates++;
        if (accessed_near(sets, function, pair->y)) {
            finder->out->pruned++;
            continue;
        }
        struct found found = {function, {both > 0 ? both - 1 : index, 0, 0}};
        found.pair.line = line_of_write(sets, function, pair->x);
        hd_vector_push(&finder->found, found);
    }
    for (size_t i = before; i < finder->found.size; i++)
        finder->found.data[i].pair.violations = (uint32_t)(finder->found.size - before);
}

/* ---- order ------------------------------------------------------------------------------------
 */

static bool both_written(const struct finder *finder, const struct hd_update_pair *pair) {
    return finder->correlations->list.data[pair->correlation].a2 == HD_MINE_WRITE;
}

static int compare_pairs(const struct finder *finder, const struct hd_update_pair *a,
                         const struct hd_update_pair *b) {
    bool both_a = both_written(finder, a), both_b = both_written(finder, b);
    if (both_a != both_b) return both_a ? -1 : 1;
    if (a->violations != b->violations) return a->violations < b->violations ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static int compare_found(const void *left, const void *right, void *finder) {
    const struct found *a = left, *b = right;
    if (a->function != b->function) return a->function < b->function ? -1 : 1;
    return compare_pairs(finder, &a->pair, &b->pair);
}

static int compare_updates(const void *left, const void *right, void *context) {
    const struct finder *finder = context;
    const struct hd_update *a = left, *b = right;
    if (a->special != b->special) return a->special ? 1 : -1;
    const struct hd_update_pair *pair = finder->out->pair.data;
    int order = compare_pairs(finder, &pair[a->first], &pair[b->first]);
    if (order != 0) return order;
    return a->function < b->function ? -1 : a->function > b->function;
}

/* Do two pairs have a variable in common? */
static bool touch(const struct finder *finder, const struct hd_update_pair *one,
                  const struct hd_update_pair *other) {
    const struct hd_correlation *a = &finder->correlations->list.data[one->correlation];
    const struct hd_correlation *b = &finder->correlations->list.data[other->correlation];
    return a->x == b->x || a->x == b->y || a->y == b->x || a->y == b->y;
}

/* The pairs found[from .. to) of one function, as updates. */
static void gather(struct finder *finder, size_t from, size_t to, const bool *special) {
    struct hd_updates *out = finder->out;
    bool *taken = hd_zalloc(to - from, sizeof *taken);
    for (size_t i = from; i < to; i++) {
        if (taken[i - from]) continue;
        taken[i - from] = true;
        struct hd_update update = {.function = finder->found.data[i].function,
                                   .first = (uint32_t)out->pair.size,
                                   .both_written =
                                       both_written(finder, &finder->found.data[i].pair),
                                   .special = special[finder->found.data[i].function]};
        hd_vector_push(&out->pair, finder->found.data[i].pair);
        for (size_t done = update.first; done < out->pair.size; done++)
            for (size_t k = i + 1; k < to; k++) {
                if (taken[k - from] ||
                    !touch(finder, &out->pair.data[done], &finder->found.data[k].pair))
                    continue;
                taken[k - from] = true;
                hd_vector_push(&out->pair, finder->found.data[k].pair);
            }
        update.count = (uint32_t)out->pair.size - update.first;
        hd_vector_push(&out->list, update);
    }
    free(taken);
}

void hd_updates_find(const struct hd_access_sets *sets, const struct hd_correlations *correlations,
                     const bool *special, struct hd_updates *updates) {
    *updates = (struct hd_updates){.candidates = 0};
    struct finder finder = {.sets = sets, .correlations = correlations, .out = updates};
    index_writers(&finder);
    learn_written(&finder);
    for (uint32_t i = 0; i < correlations->list.size; i++) {
        const struct hd_correlation *pair = &correlations->list.data[i];
        if (pair->a1 == HD_MINE_WRITE && pair->a2 == HD_MINE_ANY) find_violations(&finder, i);
    }
    size_t count = finder.found.size;
    if (count > 0)
        qsort_r(finder.found.data, count, sizeof *finder.found.data, compare_found, &finder);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count; next++)
            if (finder.found.data[next].function != finder.found.data[i].function) break;
        gather(&finder, i, next, special);
    }
    if (updates->list.size > 0)
        qsort_r(updates->list.data, updates->list.size, sizeof *updates->list.data, compare_updates,
                &finder);
    hd_map_free(&finder.written);
    hd_vector_free(&finder.found);
    hd_vector_free(&finder.writers);
    free(finder.writer_start);
}

void hd_updates_free(struct hd_updates *updates) {
    hd_vector_free(&updates->list);
    hd_vector_free(&updates->pair);
}

/* ---- special functions ------------------------------------------------------------------------
 */

/* Words that say so, and beginnings of words that do. */
static const char *const special_word[] = {"new",   "dup",  "free", "copy",  "copies", "clear",
                                           "reset", "fini", "move", "clone", "swap",   NULL};
static const char *const special_beginning[] = {"init",   "alloc",   "creat",   "destr",  "dealloc",
                                                "delet",  "releas",  "cleanup", "setup",  "dispos",
                                                "teardo", "duplica", "malloc",  "calloc", NULL};

static bool special_part(const char *word, size_t length) {
    for (size_t i = 0; special_word[i] != NULL; i++)
        if (strlen(special_word[i]) == length && strncasecmp(word, special_word[i], length) == 0)
            return true;
    for (size_t i = 0; special_beginning[i] != NULL; i++) {
        size_t part = strlen(special_beginning[i]);
        if (length >= part && strncasecmp(word, special_beginning[i], part) == 0) return true;
    }
    return false;
}

/* A constructor or destructor of C++: `list::list`, `list::~list`. */
static bool is_structor(const char *name) {
    const char *last = strrchr(name, ':');
    if (last == NULL || last - name < 2 || last[-1] != ':') return false;
    if (last[1] == '~') return true;
    size_t length = strlen(last + 1);
    return (size_t)(last - 1 - name) >= length && strncmp(last - 1 - length, last + 1, length) == 0;
}

/* Words are split at what is no letter and where small letters meet a capital. */
bool hd_mine_special_name(const char *name) {
    if (is_structor(name)) return true;
    while (*name != '\0') {
        while (*name != '\0' && !isalpha((unsigned char)*name)) name++;
        size_t length = 0;
        while (isalpha((unsigned char)name[length]) &&
               !(length > 0 && isupper((unsigned char)name[length]) &&
                 islower((unsigned char)name[length - 1])))
            length++;
        if (length > 0 && special_part(name, length)) return true;
        name += length;
    }
    return false;
}

/* ---- supporters -------------------------------------------------------------------------------
 */

uint32_t hd_mine_supporters(const struct hd_access_sets *sets,
                            const struct hd_correlation *correlation, uint32_t max_distance,
                            struct hd_supporter *supporter, uint32_t most) {
    unsigned mask = hd_mine_mask(correlation->a1, correlation->a2);
    uint32_t found = 0;
    for (int direct = 1; direct >= 0; direct--)
        for (uint32_t f = 0; f < sets->functions && found < most; f++) {
            unsigned bits = hd_mine_together(sets, f, correlation->x, correlation->y, max_distance);
            if (!(bits & mask) || ((bits >> 4 & mask) != 0) != direct) continue;
            uint32_t first;
            if (hd_access_sets_find(sets, f, correlation->x, &first) == 0) continue;
            supporter[found++] = (struct hd_supporter){f, sets->access.data[first].line};
        }
    return found;
}
