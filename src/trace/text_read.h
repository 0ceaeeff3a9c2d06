/* What the two halves of the text reader share: text_read.c reads lines, text_settle.c decides what
 * could not be decided line by line. */
#ifndef HEDDLE_TRACE_TEXT_READ_H
#define HEDDLE_TRACE_TEXT_READ_H

#include "trace/build.h"

/* A piece of the file. */
struct words {
    const char *text;
    size_t length;
};

struct hd_text_thread {
    uint32_t last_event;
    uint32_t barrier; /* object whose round it is in, HD_NONE */
    uint64_t round;
    bool has_lines;
};

enum {
    USE_LOCK = 1,
    USE_READ_LOCK = 2,
    USE_CONDITION = 4,
    USE_SEMAPHORE = 8,
    USE_BARRIER = 16,
    USE_WAITED = 32
};

struct hd_text_object {
    unsigned uses;
    uint32_t signal_event; /* latest signal or broadcast, HD_NONE */
    uint64_t signal;       /* and its number */
    uint64_t round;        /* of the barrier, while it is open; 0 = none */
};

struct hd_text_memory {
    uint64_t address;
    uint32_t size;
    bool sized;
};

struct hd_text_variable {
    uint64_t extent;            /* one beyond the last byte that is used */
    uint64_t block, block_size; /* latest alloc */
};

/* An event to come back to. */
struct hd_text_note {
    uint32_t event; /* frees: its extra */
    uint64_t line;
    const char *name;
};

struct hd_text_reader {
    const char *path;
    uint64_t line;
    struct hd_builder *builder;
    struct hd_error *error;
    struct words last_thread; /* most lines are of the thread of the line before */
    uint32_t last_thread_id;
    struct hd_arena arena;
    struct hd_intern operand_words;
    HD_VECTOR(struct hd_text_memory) operand;
    HD_VECTOR(struct hd_text_thread) thread;
    HD_VECTOR(struct hd_text_object) object;
    HD_VECTOR(struct hd_text_variable) variable;
    HD_VECTOR(struct hd_text_note) waits;
    HD_VECTOR(struct hd_text_note) frees;
    HD_VECTOR(struct hd_text_note) blocked;
    uint32_t *thread_number; /* of each interned thread name in the trace */
    uint64_t signals, rounds;
    bool has_read_locks;
};

/* A line, cut into its fields. */
struct hd_text_line {
    uint64_t number;
    struct words thread, op, operand, site;
    unsigned operation;
    bool in_memory; /* the operand is one of memory */
    struct hd_intern_key operand_key, site_key;
    uint32_t operand_id; /* if it was seen before, otherwise HD_INTERN_NONE */
    uint32_t thread_id, site_id;
};

/* Operations are the kinds of events with a text, and: */
enum {
    OP_NONE = 0,
#define X(name, text, class) OP_##name = HD_EV_##name,
    HD_EVENT_KINDS(X)
#undef X
        OP_ALLOC_ZEROED,
    OP_HINT, /* accepted, not an event */
    OP_UNKNOWN
};
unsigned hd_text_operation(struct words op);
static inline bool hd_text_plain_access(unsigned operation) {
    return operation == OP_READ || operation == OP_WRITE;
}

/* Makes an event of a line. */
bool hd_text_event(struct hd_text_reader *r, struct hd_text_line *line);

/* Settles what was left open and hands the names to the trace. */
bool hd_text_settle(struct hd_text_reader *r);

/* An error of the input, with its place. Returns false. */
bool hd_text_fail(struct hd_text_reader *r, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a line has, made printable and short for a message. */
struct hd_text_quote {
    char text[64];
};
struct hd_text_quote hd_text_quote(struct words words);

#endif
