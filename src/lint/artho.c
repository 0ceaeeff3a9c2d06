/* Plain view consistency (Artho, Havelund and Biere 2003), for comparison: a view is the set of all
 * variables that a block accesses, read or written. The views of one thread that overlap a maximal
 * view of another must form a chain. It knows no correlation and no stale values. */
#include "lint/detect.h"

struct search {
    struct hd_lint *lint;
    HD_VECTOR(hd_number_list) view; /* by block */
    struct hd_map pair;             /* known pairs of blocks */
};

/* Both lists are ascending. */
static hd_number_list united(const hd_number_list *one, const hd_number_list *other) {
    hd_number_list both = {0};
    for (size_t i = 0, k = 0; i < one->size || k < other->size;) {
        bool mine = i < one->size && (k == other->size || one->data[i] <= other->data[k]);
        uint32_t next = mine ? one->data[i++] : other->data[k++];
        if (mine && k < other->size && other->data[k] == next) k++;
        hd_vector_push(&both, next);
    }
    return both;
}

/* Of equal views the first is maximal. One variable alone is always accessed as a whole. */
static bool is_maximal(const struct search *search, uint32_t thread, uint32_t block) {
    const hd_number_list *view = &search->view.data[block];
    for (uint32_t b = 0; b < search->view.size; b++) {
        const hd_number_list *other = &search->view.data[b];
        if (b == block || !hd_thread_runs(&search->lint->views, thread, b)) continue;
        if (hd_list_is_subset(view, other) && (view->size < other->size || b < block)) return false;
    }
    return view->size > 1;
}

/* A variable that only the first of two lists has. */
static uint32_t own_of(const hd_number_list *one, const hd_number_list *other) {
    size_t i = 0;
    while (hd_list_has(other, one->data[i])) i++;
    return one->data[i];
}

static void check_pair(struct search *search, struct hd_view_pair *pair) {
    const hd_number_list *maximal = &search->view.data[pair->maximal];
    hd_number_list one = {0}, two = {0};
    hd_list_intersect(maximal, &search->view.data[pair->first], &one);
    hd_list_intersect(maximal, &search->view.data[pair->second], &two);
    if (!hd_list_is_subset(&one, &two) && !hd_list_is_subset(&two, &one)) {
        pair->one = own_of(&one, &two);
        pair->two = own_of(&two, &one);
        hd_lint_keep_pair(search->lint, &search->pair, pair, &one, &two, maximal);
    }
    hd_vector_free(&one);
    hd_vector_free(&two);
}

/* All views of a thread against a maximal view of another. */
static void check_thread(struct search *search, uint32_t thread, uint32_t other, uint32_t maximal) {
    const struct hd_views *views = &search->lint->views;
    for (uint32_t a = 0; a < search->view.size; a++)
        for (uint32_t b = a + 1; b < search->view.size; b++) {
            if (!hd_thread_runs(views, thread, a) || !hd_thread_runs(views, thread, b)) continue;
            struct hd_view_pair pair = {.first = a,
                                        .second = b,
                                        .maximal = maximal,
                                        .thread = thread,
                                        .other = other,
                                        .mode = HD_ACCESS_READ_WRITE,
                                        .common = HD_SOURCE_NONE};
            check_pair(search, &pair);
        }
}

void hd_lint_find_artho(struct hd_lint *lint) {
    struct search search = {.lint = lint};
    uint32_t threads = (uint32_t)lint->views.thread.size;
    for (uint32_t b = 0; b < lint->views.of.size; b++)
        hd_vector_push(&search.view,
                       united(&lint->views.of.data[b].read, &lint->views.of.data[b].write));
    for (uint32_t p = 0; p < threads; p++)
        for (uint32_t b = 0; b < search.view.size; b++) {
            if (!hd_thread_runs(&lint->views, p, b) || !is_maximal(&search, p, b)) continue;
            for (uint32_t q = 0; q < threads; q++)
                if (hd_lint_at_once(lint, p, q)) check_thread(&search, q, p, b);
        }
    for (size_t i = 0; i < search.view.size; i++) hd_vector_free(&search.view.data[i]);
    hd_vector_free(&search.view);
    hd_map_free(&search.pair);
}
