/* Reads the text format. Lines are taken in batches: first they are cut into fields and their names
 * looked for, which costs a cache miss each in a large trace, then turned into events in their
 * order (text_events.c). What depends on later lines is settled at the end (text_settle.c). */
#include "trace/text_read.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

struct batch {
    struct hd_text_line line[BATCH];
    unsigned size;
};

#define fail_line(r, ...) hd_text_fail(r, (r)->line, __VA_ARGS__)

/* ---- fields ------------------------------------------------------------------------------- */

static inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static inline struct words trimmed(const char *start, const char *stop) {
    while (start < stop && is_space(*start)) start++;
    while (stop > start && is_space(stop[-1])) stop--;
    return (struct words){start, (size_t)(stop - start)};
}

/* Cuts a line that is neither empty nor a comment. */
static bool cut_line(struct hd_text_reader *r, struct words all, struct hd_text_line *line) {
    const char *stop = all.text + all.length;
    const char *bar = memchr(all.text, '|', all.length);
    if (bar == NULL)
        return fail_line(r, "'%s' is not thread|op(object)|site", hd_text_quote(all).text);
    const char *second = memchr(bar + 1, '|', (size_t)(stop - bar - 1));
    struct words field = trimmed(bar + 1, second != NULL ? second : stop);
    if (field.length == 0) return fail_line(r, "the operation is missing");
    line->number = r->line;
    line->thread = trimmed(all.text, bar);
    line->op = field;
    line->operand = (struct words){"", 0};
    line->site = second != NULL ? trimmed(second + 1, stop) : (struct words){"", 0};
    const char *paren = memchr(field.text, '(', field.length);
    if (paren != NULL) {
        const char *field_stop = field.text + field.length;
        if (field_stop[-1] != ')')
            return fail_line(r, "'%s' does not end with ')'", hd_text_quote(field).text);
        line->op = trimmed(field.text, paren);
        line->operand = trimmed(paren + 1, field_stop - 1);
    } else if (field.text[field.length - 1] == ')') {
        return fail_line(r, "'%s' has ')' without '('", hd_text_quote(field).text);
    }
    line->operation = hd_text_operation(line->op);
    return true;
}

/* ---- batches ------------------------------------------------------------------------------ */

/* Asks the caches for what the line's names will need. */
static inline void expect_names(struct hd_text_reader *r, struct hd_text_line *line) {
    const struct hd_trace_memory *memory = r->builder->memory;
    line->operand_key = hd_intern_key(line->operand.text, line->operand.length);
    line->site_key = hd_intern_key(line->site.text, line->site.length);
    line->in_memory = hd_text_plain_access(line->operation);
    hd_intern_prefetch(line->in_memory ? &r->operand_words : &memory->objects, line->operand_key);
    hd_intern_prefetch(&memory->sites, line->site_key);
}

static inline void expect_operand(struct hd_text_reader *r, struct hd_text_line *line) {
    line->operand_id = HD_INTERN_NONE;
    if (!line->in_memory) return;
    uint32_t id = line->operand_id = hd_intern_find_keyed(&r->operand_words, line->operand_key,
                                                          line->operand.text, line->operand.length);
    if (id != HD_INTERN_NONE) __builtin_prefetch(&r->operand.data[id]);
}

static bool read_batch(struct hd_text_reader *r, struct batch *batch) {
    for (unsigned i = 0; i < batch->size; i++) expect_operand(r, &batch->line[i]);
    if (!hd_build_reserve(r->builder, BATCH, r->error)) return false;
    for (unsigned i = 0; i < batch->size; i++) {
        if (!hd_text_event(r, &batch->line[i])) return false;
    }
    batch->size = 0;
    return true;
}

/* About how many events there will be, from the first lines: growing the columns step by step costs
 * copies. */
static size_t guess_events(const char *bytes, size_t length) {
    size_t sample = length < 65536 ? length : 65536, lines = 1;
    for (size_t i = 0; i < sample; i++) lines += bytes[i] == '\n';
    return sample == 0 ? 0 : (size_t)((double)length / (double)sample * (double)lines * 1.05);
}

static bool read_lines(struct hd_text_reader *r, const char *bytes, size_t length,
                       struct hd_progress *progress) {
    if (!hd_build_reserve(r->builder, guess_events(bytes, length), r->error)) return false;
    struct batch batch = {.size = 0};
    uint64_t number = 0;
    const char *end = bytes + length;
    const char *nul = length == 0 ? NULL : memchr(bytes, '\0', length);
    hd_progress_start(progress, "reading the trace", length);
    for (const char *at = bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        r->line = ++number;
        struct words all = trimmed(at, stop);
        bool good = true;
        if (nul != NULL && nul < stop)
            good = fail_line(r, "a NUL byte: this is no text trace, or a damaged one");
        if (good && all.length != 0 && all.text[0] != '#') {
            good = cut_line(r, all, &batch.line[batch.size]);
            if (good) expect_names(r, &batch.line[batch.size++]);
        }
        /* an earlier line may have an error too, and comes first */
        if (!good) return read_batch(r, &batch) && false;
        if (batch.size == BATCH && !read_batch(r, &batch)) return false;
        if (number % 65536 == 0) hd_progress_step(progress, (uint64_t)(at - bytes));
        at = stop + 1;
    }
    if (!read_batch(r, &batch)) return false;
    hd_progress_step(progress, length);
    return true;
}

/* ---- the file ----------------------------------------------------------------------------- */

bool hd_text_read(const char *bytes, size_t length, const char *path,
                  const struct hd_trace_options *options, struct hd_builder *builder,
                  struct hd_error *error) {
    struct hd_text_reader r = {.path = path, .builder = builder, .error = error};
    struct hd_trace *trace = builder->trace;
    bool good = read_lines(&r, bytes, length, options->progress) && hd_text_settle(&r);
    if (good) {
        trace->exact = true;
        trace->end.whole = true;
        trace->file_bytes = trace->stored_bytes = length;
        trace->raw_events = trace->hook_calls = trace->events;
    }
    hd_intern_free(&r.operand_words);
    hd_arena_free(&r.arena);
    hd_vector_free(&r.thread);
    hd_vector_free(&r.object);
    hd_vector_free(&r.operand);
    hd_vector_free(&r.variable);
    hd_vector_free(&r.waits);
    hd_vector_free(&r.frees);
    hd_vector_free(&r.blocked);
    free(r.thread_number);
    return good;
}
