/* The view dependency graph as text for graphviz: a cluster for each thread, a box for each block
 * with its views, an edge for each value that leaves a block and enters another. */
#define _GNU_SOURCE /* open_memstream */
#include "base/alloc.h"
#include "lint/lint.h"

#include <stdio.h>

static void print_list(FILE *out, const struct hd_lint *lint, const char *title,
                       const hd_number_list *list) {
    if (list->size == 0) return;
    fprintf(out, "\\n%s", title);
    for (size_t i = 0; i < list->size; i++)
        fprintf(out, "%s%s", i == 0 ? " " : ", ", hd_shared_name(&lint->shared, list->data[i]));
}

static void print_block(FILE *out, const struct hd_lint *lint, uint32_t block, const char *base) {
    const struct hd_atomic_block *at = &lint->blocks.list.data[block];
    char name[512];
    fprintf(out, "    b%u [label=\"%s\\n%s:%u-%u", block,
            hd_lint_block_name(lint, block, name, sizeof name),
            hd_source_relative(lint->source, lint->source->function.data[at->function].file, base),
            at->line, at->end_line);
    print_list(out, lint, "reads", &lint->views.of.data[block].read);
    print_list(out, lint, "writes", &lint->views.of.data[block].write);
    fputs("\"];\n", out);
}

/* A block of several threads stands in the first one's cluster. */
static void print_thread(FILE *out, const struct hd_lint *lint, uint32_t thread, const char *base) {
    const struct hd_thread *at = &lint->views.thread.data[thread];
    fprintf(out, "  subgraph cluster_%u {\n    label=\"%s%s\";\n", thread,
            at->entry == HD_SOURCE_NONE
                ? "any thread"
                : hd_source_text(lint->source, lint->source->function.data[at->entry].name),
            at->many ? " (many)" : "");
    for (uint32_t b = 0; b < lint->views.of.size; b++) {
        bool shown = false;
        for (uint32_t t = 0; t < thread; t++) shown = shown || hd_thread_runs(&lint->views, t, b);
        if (!shown && hd_thread_runs(&lint->views, thread, b)) print_block(out, lint, b, base);
    }
    fputs("  }\n", out);
}

char *hd_lint_dot(const struct hd_lint *lint, const char *base) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) hd_out_of_memory();
    fputs("digraph lint {\n  node [shape=box, fontname=\"monospace\"];\n", out);
    for (uint32_t t = 0; t < lint->views.thread.size; t++) print_thread(out, lint, t, base);
    for (size_t i = 0; i < lint->stale.size; i++) {
        const struct hd_stale *stale = &lint->stale.data[i];
        fprintf(out, "  b%u -> b%u [label=\"%s\"%s];\n", stale->first, stale->second,
                hd_shared_name(&lint->shared, stale->variable),
                stale->control ? ", style=dashed" : "");
    }
    for (size_t i = 0; i < lint->pair.size; i++) {
        const struct hd_view_pair *pair = &lint->pair.data[i];
        fprintf(out, "  b%u -> b%u [dir=none, color=red, label=\"%s | %s\"];\n", pair->first,
                pair->second, hd_shared_name(&lint->shared, pair->one),
                hd_shared_name(&lint->shared, pair->two));
    }
    fputs("}\n", out);
    if (fclose(out) != 0) hd_out_of_memory();
    return text;
}
