/* The steps of MoTH one after the other. */
#include "lint/lint.h"

#include "lint/detect.h"

#include <stdio.h>

struct hd_lint_options hd_lint_defaults(void) {
    struct hd_lint_options options = {.views = true, .stale = true};
    for (unsigned i = 0; i < HD_REFINEMENTS; i++) options.refine[i] = true;
    return options;
}

void hd_lint_run(const struct hd_source *source, const struct hd_lint_options *options,
                 struct hd_lint *lint) {
    *lint = (struct hd_lint){.source = source, .options = *options};
    hd_calls_build(source, &lint->calls);
    hd_shared_build(source, &lint->calls, &lint->shared);
    hd_blocks_init(source, &lint->blocks);
    hd_causal_build(source, &lint->calls, &lint->shared, options->refine[HD_REFINE_REREAD],
                    &lint->blocks, &lint->graph);
    hd_blocks_note_unknown(source, lint->calls.function, &lint->blocks);
    hd_views_build(source, &lint->calls, &lint->shared, &lint->blocks, options, &lint->views);
    if (options->method == HD_LINT_ARTHO) {
        hd_lint_find_artho(lint);
        return;
    }
    if (options->views) hd_lint_find_views(lint);
    if (options->stale) hd_lint_find_stale(lint);
}

void hd_lint_free(struct hd_lint *lint) {
    hd_views_free(&lint->views);
    hd_causal_free(&lint->graph);
    hd_blocks_free(&lint->blocks);
    hd_shared_free(&lint->shared);
    hd_calls_free(&lint->calls);
    hd_vector_free(&lint->stale);
    hd_vector_free(&lint->pair);
    hd_vector_free(&lint->way);
    hd_vector_free(&lint->number);
}

const char *hd_lint_block_name(const struct hd_lint *lint, uint32_t block, char *buffer,
                               size_t size) {
    const struct hd_atomic_block *at = &lint->blocks.list.data[block];
    const char *function =
        hd_source_text(lint->source, lint->source->function.data[at->function].name);
    char lock[256];
    if (at->step == HD_SOURCE_NONE)
        snprintf(buffer, size, "%s", function);
    else
        snprintf(buffer, size, "%s under %s", function,
                 hd_source_path_name(lint->source, at->path, lock, sizeof lock));
    return buffer;
}
