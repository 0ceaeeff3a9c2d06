/* Views of blocks: see views.h. The threads are found in threads.c. */
#include "lint/views.h"

#include "base/alloc.h"
#include "lint/threads.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_list(hd_number_list *list) {
    size_t kept = 0;
    if (list->size > 0) qsort(list->data, list->size, sizeof *list->data, by_number);
    for (size_t i = 0; i < list->size; i++)
        if (kept == 0 || list->data[kept - 1] != list->data[i]) list->data[kept++] = list->data[i];
    list->size = kept;
}

bool hd_list_has(const hd_number_list *list, uint32_t number) {
    return list->size > 0 &&
           bsearch(&number, list->data, list->size, sizeof number, by_number) != NULL;
}

void hd_list_intersect(const hd_number_list *one, const hd_number_list *other,
                       hd_number_list *result) {
    result->size = 0;
    for (size_t i = 0, k = 0; i < one->size && k < other->size;) {
        if (one->data[i] == other->data[k]) {
            hd_vector_push(result, one->data[i]);
            i++, k++;
        } else if (one->data[i] < other->data[k])
            i++;
        else
            k++;
    }
}

bool hd_list_is_subset(const hd_number_list *one, const hd_number_list *other) {
    for (size_t i = 0; i < one->size; i++)
        if (!hd_list_has(other, one->data[i])) return false;
    return true;
}

static void add_accesses(const struct hd_source *source, const struct hd_shared *shared,
                         uint32_t step, struct hd_block_view *view) {
    uint8_t mode = source->step.data[step].mode;
    for (uint32_t i = 0; i < shared->count[step]; i++) {
        uint32_t variable = shared->of.data[shared->first[step] + i];
        if ((mode & HD_ACCESS_READ) != 0) hd_vector_push(&view->read, variable);
        if ((mode & HD_ACCESS_WRITE) != 0) hd_vector_push(&view->write, variable);
    }
}

static void make_view(const struct hd_source *source, const struct hd_calls *calls,
                      const struct hd_shared *shared, const struct hd_blocks *blocks,
                      uint32_t block, struct hd_block_view *view) {
    uint64_t bit = hd_block_bit(blocks, block);
    struct hd_source_range steps = source->function.data[blocks->list.data[block].function].steps;
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        if ((blocks->mask[i] & bit) == 0) continue;
        add_accesses(source, shared, i, view);
        hd_calls_reach(calls, i, false, &view->inside);
    }
    for (size_t f = hd_bitset_next(&view->inside, 0); f != SIZE_MAX;
         f = hd_bitset_next(&view->inside, f + 1)) {
        steps = source->function.data[f].steps;
        for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
            add_accesses(source, shared, i, view);
    }
    sort_list(&view->read);
    sort_list(&view->write);
}

void hd_views_build(const struct hd_source *source, const struct hd_calls *calls,
                    const struct hd_shared *shared, struct hd_blocks *blocks,
                    const struct hd_lint_options *options, struct hd_views *views) {
    *views = (struct hd_views){.library = false};
    for (uint32_t b = 0; b < blocks->list.size; b++) {
        struct hd_block_view view = {.inside = {0}};
        make_view(source, calls, shared, blocks, b, &view);
        hd_vector_push(&views->of, view);
    }
    hd_threads_find(source, calls, blocks, options, views);
}

void hd_views_free(struct hd_views *views) {
    for (size_t i = 0; i < views->of.size; i++) {
        hd_vector_free(&views->of.data[i].read);
        hd_vector_free(&views->of.data[i].write);
        hd_bitset_free(&views->of.data[i].inside);
    }
    for (size_t i = 0; i < views->thread.size; i++) {
        hd_bitset_free(&views->thread.data[i].functions);
        hd_bitset_free(&views->thread.data[i].blocks);
    }
    hd_vector_free(&views->of);
    hd_vector_free(&views->thread);
}

bool hd_view_has_step(const struct hd_blocks *blocks, const struct hd_views *views, uint32_t block,
                      uint32_t function, uint32_t step) {
    if (blocks->list.data[block].function == function &&
        (blocks->mask[step] & hd_block_bit(blocks, block)) != 0)
        return true;
    return hd_bitset_has(&views->of.data[block].inside, function);
}

static uint32_t step_in(const struct hd_source *source, const struct hd_shared *shared,
                        const uint64_t *mask, uint64_t bit, struct hd_source_range steps,
                        uint32_t variable, uint8_t mode) {
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
        if ((mask == NULL || (mask[i] & bit) != 0) && (source->step.data[i].mode & mode) != 0 &&
            hd_shared_has(shared, i, variable))
            return i;
    return HD_SOURCE_NONE;
}

uint32_t hd_view_step(const struct hd_source *source, const struct hd_shared *shared,
                      const struct hd_blocks *blocks, const struct hd_views *views, uint32_t block,
                      uint32_t variable, uint8_t mode) {
    const struct hd_source_function *home =
        &source->function.data[blocks->list.data[block].function];
    uint32_t step = step_in(source, shared, blocks->mask, hd_block_bit(blocks, block), home->steps,
                            variable, mode);
    const struct hd_bitset *inside = &views->of.data[block].inside;
    for (size_t f = hd_bitset_next(inside, 0); f != SIZE_MAX && step == HD_SOURCE_NONE;
         f = hd_bitset_next(inside, f + 1))
        step = step_in(source, shared, NULL, 0, source->function.data[f].steps, variable, mode);
    return step;
}

bool hd_thread_runs(const struct hd_views *views, uint32_t thread, uint32_t block) {
    return hd_bitset_has(&views->thread.data[thread].blocks, block);
}
