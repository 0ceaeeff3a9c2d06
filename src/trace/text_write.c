/* Writes the text format: see convert.h and, for the format, docs/trace-format.md. */
#include "base/progress.h"
#include "trace/convert.h"
#include "trace/output.h"
#include "trace/text.h"
#include "trace/text_names.h"

#include <string.h>

/* A block over several text variables gets a line for each, but not more than this. */
enum { MOST_LINES = 256 };

struct writer {
    const struct hd_trace *trace;
    const struct hd_text_options *options;
    struct hd_output out;
    struct hd_text_naming naming;
    struct hd_error *error;
};

/* ---- the parts of a line ------------------------------------------------------------------ */

static void put_start(struct writer *w, uint32_t event, const char *op) {
    hd_output_string(&w->out, hd_naming_thread(&w->naming, w->trace->thread[event]));
    hd_output_char(&w->out, '|');
    hd_output_string(&w->out, op);
}

static bool put_end(struct writer *w, uint32_t event) {
    const char *site = hd_naming_site(&w->naming, w->trace->site[event]);
    hd_output_char(&w->out, '|');
    hd_output_string(&w->out, site);
    hd_output_char(&w->out, '\n');
    return true;
}

static void put_offset(struct writer *w, uint64_t offset) {
    hd_output_char(&w->out, '+');
    if (w->trace->format == HD_FORMAT_BINARY || w->trace->hex_offsets)
        hd_output_hex(&w->out, offset);
    else
        hd_output_number(&w->out, offset);
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool plain_line(struct writer *w, uint32_t event, const char *op) {
    put_start(w, event, op);
    return put_end(w, event);
}

static bool object_line(struct writer *w, uint32_t event, const char *op,
                        enum hd_name_class class) {
    const char *name = hd_naming_object(&w->naming, event, class, w->trace->operand[event]);
    put_start(w, event, op);
    hd_output_char(&w->out, '(');
    hd_output_string(&w->out, name);
    if (w->trace->kind[event] == HD_EV_SEM_INIT) {
        hd_output_char(&w->out, ':');
        hd_output_number(&w->out, hd_trace_extra(w->trace, event, 0));
    }
    hd_output_char(&w->out, ')');
    return put_end(w, event);
}

static bool thread_line(struct writer *w, uint32_t event, const char *op) {
    put_start(w, event, op);
    hd_output_char(&w->out, '(');
    hd_output_string(&w->out, hd_naming_thread(&w->naming, (uint32_t)w->trace->operand[event]));
    hd_output_char(&w->out, ')');
    return put_end(w, event);
}

static bool branch_line(struct writer *w, uint32_t event, uint64_t count) {
    put_start(w, event, "branch");
    if (count != 1) {
        hd_output_char(&w->out, '(');
        hd_output_number(&w->out, count);
        hd_output_char(&w->out, ')');
    }
    return put_end(w, event);
}

/* How an atomic was ordered, if not in the usual way. */
static void put_order(struct writer *w, uint32_t event) {
    unsigned order = HD_ATOMIC_ORDER(w->trace->flags[event]);
    if (order == __ATOMIC_SEQ_CST || hd_text_order_name(order) == NULL) return;
    hd_output_char(&w->out, ',');
    hd_output_string(&w->out, hd_text_order_name(order));
}

static bool memory_line(struct writer *w, uint32_t event, const char *op, uint64_t address,
                        uint64_t size, uint64_t *taken) {
    uint64_t start, left;
    const struct hd_named_piece *piece =
        hd_naming_memory(&w->naming, event, address, size, &start, &left);
    *taken = size < left ? size : left;
    uint64_t offset = address - start + piece->offset;
    uint8_t kind = w->trace->kind[event];
    put_start(w, event, op);
    hd_output_char(&w->out, '(');
    hd_output_string(&w->out, piece->name);
    if (offset != 0 || piece->explicit) put_offset(w, offset);
    if (kind != HD_EV_FREE && (*taken != 1 || piece->explicit || kind == HD_EV_ALLOC)) {
        hd_output_char(&w->out, ':');
        hd_output_number(&w->out, *taken);
    }
    if (hd_kind_class(kind) == HD_CLASS_ATOMIC) put_order(w, event);
    hd_output_char(&w->out, ')');
    return put_end(w, event);
}

static bool memory_lines(struct writer *w, uint32_t event, const char *op, uint64_t address,
                         uint64_t size) {
    for (unsigned line = 0; size > 0 && line < MOST_LINES; line++) {
        uint64_t taken = 0;
        if (!memory_line(w, event, op, address, size, &taken)) return false;
        address += taken;
        size -= taken;
    }
    return true;
}

static bool fence_line(struct writer *w, uint32_t event, const char *op) {
    unsigned order = HD_ATOMIC_ORDER(w->trace->flags[event]);
    put_start(w, event, op);
    if (order != __ATOMIC_SEQ_CST && hd_text_order_name(order) != NULL) {
        hd_output_char(&w->out, '(');
        hd_output_string(&w->out, hd_text_order_name(order));
        hd_output_char(&w->out, ')');
    }
    return put_end(w, event);
}

static bool note_line(struct writer *w, uint32_t event, const char *op) {
    put_start(w, event, op);
    /* a binary trace's note is text in the program's memory, which is gone */
    if (w->trace->format != HD_FORMAT_BINARY) {
        const char *text = w->trace->object_names[w->trace->operand[event]];
        if (text[0] != '\0') {
            hd_output_char(&w->out, '(');
            hd_output_string(&w->out, text);
            hd_output_char(&w->out, ')');
        }
    }
    return put_end(w, event);
}

static bool blocked_line(struct writer *w, uint32_t event, const char *op) {
    switch (w->trace->flags[event]) {
    case HD_WAIT_COND:
        return object_line(w, event, op, HD_NAMED_CONDITION);
    case HD_WAIT_BARRIER:
        return object_line(w, event, op, HD_NAMED_BARRIER);
    case HD_WAIT_SEM:
        return object_line(w, event, op, HD_NAMED_SEMAPHORE);
    case HD_WAIT_JOIN:
        return thread_line(w, event, op);
    case HD_WAIT_ONCE:
        return memory_lines(w, event, op, w->trace->operand[event], 1);
    default:
        return object_line(w, event, op, HD_NAMED_LOCK);
    }
}

static bool write_event(struct writer *w, uint32_t event) {
    const struct hd_trace *trace = w->trace;
    unsigned kind = trace->kind[event];
    const char *op = hd_kind_text(kind);
    if (op[0] == '\0') return true;
    /* the format has no word for it: what a block got is memory without one */
    if (kind == HD_EV_ALLOC && (trace->flags[event] & HD_BLOCK_GROWN) != 0) return true;
    if (kind == HD_EV_ALLOC && (trace->flags[event] & HD_BLOCK_ZEROED) != 0) op = "calloc";
    uint64_t address, size;
    switch (kind) {
    case HD_EV_FENCE:
        return fence_line(w, event, op);
    case HD_EV_ACQUIRE:
    case HD_EV_RELEASE:
    case HD_EV_READ_ACQUIRE:
    case HD_EV_READ_RELEASE:
    case HD_EV_TRY_FAILED:
        return object_line(w, event, op, HD_NAMED_LOCK);
    case HD_EV_SIGNAL:
    case HD_EV_BROADCAST:
    case HD_EV_WAIT:
    case HD_EV_WAIT_TIMEOUT:
        return object_line(w, event, op, HD_NAMED_CONDITION);
    case HD_EV_BARRIER_ARRIVE:
        return object_line(w, event, op, HD_NAMED_BARRIER);
    case HD_EV_SEM_INIT:
    case HD_EV_POST:
    case HD_EV_SEM_WAIT:
        return object_line(w, event, op, HD_NAMED_SEMAPHORE);
    case HD_EV_FORK:
    case HD_EV_JOIN:
    case HD_EV_DETACH:
        return thread_line(w, event, op);
    case HD_EV_BEGIN:
    case HD_EV_END:
        return plain_line(w, event, op);
    case HD_EV_BLOCKED:
        return blocked_line(w, event, op);
    case HD_EV_NOTE:
        return note_line(w, event, op);
    case HD_EV_BRANCH:
        return branch_line(w, event, trace->operand[event]);
    default:
        return !hd_event_range(trace, event, &address, &size) ||
               memory_lines(w, event, op, address, size);
    }
}

bool hd_text_write(const struct hd_trace *trace, int fd, const char *path,
                   const struct hd_text_options *options, struct hd_error *error) {
    static const struct hd_text_options defaults;
    if (options == NULL) options = &defaults;
    struct writer w = {.trace = trace, .options = options, .error = error};
    hd_naming_start(&w.naming, trace, &options->names);
    hd_output_open(&w.out, fd, path, error);
    bool good = true;
    bool branches = trace->has_branches && !options->no_branches;
    hd_progress_start(options->progress, "writing the trace", trace->events);
    for (uint32_t e = 0; good && e < trace->events && !w.out.failed; e++) {
        if (branches && trace->branches[e] != 0 && trace->kind[e] != HD_EV_BRANCH &&
            hd_kind_text(trace->kind[e])[0] != '\0')
            good = branch_line(&w, e, trace->branches[e]);
        good = good && write_event(&w, e);
        if (e % 65536 == 0) hd_progress_step(options->progress, e);
    }
    hd_progress_step(options->progress, trace->events);
    if (!hd_output_close(&w.out)) good = false;
    hd_naming_free(&w.naming);
    return good;
}
