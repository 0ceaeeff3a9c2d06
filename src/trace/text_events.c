/* What the lines of a text trace mean: each becomes an event, its names numbers. What depends on
 * later lines is noted for text_settle.c. */
#include "trace/format.h"
#include "trace/text.h"
#include "trace/text_read.h"

#include <stdio.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------------------------- */

struct hd_text_quote hd_text_quote(struct words words) {
    struct hd_text_quote out;
    size_t at = 0;
    for (size_t i = 0; i < words.length && at < sizeof out.text - 5; i++) {
        unsigned char c = (unsigned char)words.text[i];
        out.text[at++] = c < ' ' || c == 0x7f ? '?' : (char)c;
    }
    out.text[at] = '\0';
    if (at < words.length) strcpy(out.text + at, "...");
    return out;
}

#define fail_line(r, ...) hd_text_fail(r, (r)->line, __VA_ARGS__)

/* ---- names -------------------------------------------------------------------------------- */

static bool intern_keyed(struct hd_text_reader *r, struct hd_intern *table, struct words words,
                         struct hd_intern_key key, uint32_t *id) {
    *id = 0;
    if (words.length >= HD_NAME_LIMIT)
        return fail_line(r, "a name of %zu bytes; %d are the most", words.length,
                         HD_NAME_LIMIT - 1);
    *id = hd_intern_keyed(table, key, words.text, words.length);
    return true;
}

static bool intern(struct hd_text_reader *r, struct hd_intern *table, struct words words,
                   uint32_t *id) {
    return intern_keyed(r, table, words, hd_intern_key(words.text, words.length), id);
}

static bool thread_of(struct hd_text_reader *r, struct words words, uint32_t *id) {
    if (words.length == 0) return fail_line(r, "the thread is missing");
    struct hd_intern *table = &r->builder->memory->threads;
    if (!intern(r, table, words, id)) return false;
    if (*id < r->thread.size) return true;
    if (*id >= HD_THREAD_LIMIT)
        return hd_fail(r->error, HD_ERR_LIMIT, "%s:%llu: more than %u threads", r->path,
                       (unsigned long long)r->line, HD_THREAD_LIMIT);
    struct hd_text_thread fresh = {.last_event = HD_NONE, .barrier = HD_NONE};
    hd_vector_push(&r->thread, fresh);
    return true;
}

static bool object_of(struct hd_text_reader *r, struct words words, struct hd_intern_key key,
                      unsigned use, uint32_t *id) {
    if (!intern_keyed(r, &r->builder->memory->objects, words, key, id)) return false;
    if (*id == r->object.size) {
        struct hd_text_object fresh = {.signal_event = HD_NONE};
        hd_vector_push(&r->object, fresh);
    }
    r->object.data[*id].uses |= use;
    return true;
}

static bool new_operand(struct hd_text_reader *r, struct words words) {
    struct hd_text_memory fresh = {0};
    uint64_t offset, size;
    uint32_t variable = 0;
    size_t length = hd_text_operand(words.text, words.length, &offset, &size, &fresh.sized);
    if (!intern(r, &r->builder->memory->variables, (struct words){words.text, length}, &variable))
        return false;
    if (variable == r->variable.size) hd_vector_push(&r->variable, ((struct hd_text_variable){0}));
    if (variable >= (uint32_t)1 << (48 - HD_TEXT_SHIFT))
        return hd_fail(r->error, HD_ERR_LIMIT, "%s:%llu: more than %u variables", r->path,
                       (unsigned long long)r->line, 1u << (48 - HD_TEXT_SHIFT));
    if (size == 0) return fail_line(r, "'%s' has size 0", hd_text_quote(words).text);
    if (offset >= HD_TEXT_SPAN || size > HD_TEXT_SPAN - offset)
        return fail_line(r, "'%s' ends beyond byte %llu of its variable, which is the limit",
                         hd_text_quote(words).text, (unsigned long long)HD_TEXT_SPAN);
    if (offset != 0 && hd_text_hex_offset(words.text, words.length))
        r->builder->trace->hex_offsets = true;
    fresh.address = (uint64_t)variable << HD_TEXT_SHIFT | offset;
    fresh.size = (uint32_t)size;
    uint64_t *extent = &r->variable.data[variable].extent;
    if (*extent < offset + size) *extent = offset + size;
    hd_vector_push(&r->operand, fresh);
    return true;
}

/* Operands are interned as they are written, so that each is cut into its parts once. */
static bool operand_of(struct hd_text_reader *r, struct words words, struct hd_intern_key key,
                       const struct hd_text_memory **operand) {
    uint32_t id = 0;
    if (!intern_keyed(r, &r->operand_words, words, key, &id)) return false;
    if (id == r->operand.size && !new_operand(r, words)) return false;
    *operand = &r->operand.data[id];
    return true;
}

/* ---- events ------------------------------------------------------------------------------- */

static bool emit(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind,
                 unsigned flags, uint64_t operand) {
    if (!hd_build_reserve(r->builder, 1, r->error)) return false;
    struct hd_trace *trace = r->builder->trace;
    struct hd_text_thread *thread = &r->thread.data[line->thread_id];
    uint32_t at = trace->events++;
    trace->thread[at] = (uint16_t)line->thread_id;
    trace->kind[at] = (uint8_t)kind;
    trace->flags[at] = (uint8_t)flags;
    trace->operand[at] = operand;
    trace->site[at] = line->site_id;
    trace->stack[at] = 0;
    trace->branches[at] = 0;
    trace->calls[at] = 1;
    /* the first of its participants to go on closes a barrier's round */
    if (thread->barrier != HD_NONE) {
        struct hd_text_object *barrier = &r->object.data[thread->barrier];
        if (barrier->round == thread->round) barrier->round = 0;
        thread->barrier = HD_NONE;
    }
    thread->has_lines = true;
    thread->last_event = at;
    return true;
}

static bool emit_extra(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind,
                       unsigned flags, uint64_t operand, uint64_t extra) {
    if (!emit(r, line, kind, flags, operand)) return false;
    hd_build_extra(r->builder, r->builder->trace->events - 1, extra);
    return true;
}

static bool emit_access(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind) {
    const struct hd_text_memory *operand;
    if (line->operand_id != HD_INTERN_NONE)
        operand = &r->operand.data[line->operand_id];
    else if (!operand_of(r, line->operand, line->operand_key, &operand))
        return false;
    if (operand->size <= UINT8_MAX) return emit(r, line, kind, operand->size, operand->address);
    return emit_extra(r, line, kind, 0, operand->address, operand->size);
}

static bool emit_atomic(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind) {
    struct words words = line->operand;
    unsigned order = __ATOMIC_SEQ_CST;
    size_t comma = words.length;
    while (comma > 0 && words.text[comma - 1] != ',') comma--;
    if (comma > 0) {
        unsigned named = hd_text_order(words.text + comma, words.length - comma);
        if (hd_text_order_name(named) != NULL) {
            order = named;
            words.length = comma - 1;
            if (words.length == 0) return fail_line(r, "the object is missing");
        }
    }
    const struct hd_text_memory *operand;
    if (!operand_of(r, words, hd_intern_key(words.text, words.length), &operand)) return false;
    unsigned log = (unsigned)__builtin_ctz(operand->size);
    if (operand->size != 1u << log || log > 4)
        return fail_line(r, "an atomic of %u bytes; it can have 1, 2, 4, 8 or 16", operand->size);
    return emit(r, line, kind, log | order << 4, operand->address);
}

static bool emit_fence(struct hd_text_reader *r, const struct hd_text_line *line) {
    unsigned order = __ATOMIC_SEQ_CST;
    if (line->operand.length != 0) {
        order = hd_text_order(line->operand.text, line->operand.length);
        if (hd_text_order_name(order) == NULL)
            return fail_line(r, "'%s' is no memory order", hd_text_quote(line->operand).text);
    }
    return emit(r, line, HD_EV_FENCE, order << 4, 0);
}

static bool emit_lock(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind) {
    bool shared = kind == HD_EV_READ_ACQUIRE || kind == HD_EV_READ_RELEASE;
    uint32_t object;
    if (!object_of(r, line->operand, line->operand_key,
                   shared ? USE_LOCK | USE_READ_LOCK : USE_LOCK, &object))
        return false;
    r->has_read_locks |= shared;
    return emit(r, line, kind, shared ? HD_LOCK_RWLOCK : HD_LOCK_MUTEX, object);
}

static bool emit_signal(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind) {
    uint32_t object;
    if (!object_of(r, line->operand, line->operand_key, USE_CONDITION, &object)) return false;
    struct hd_text_object *condition = &r->object.data[object];
    condition->signal_event = r->builder->trace->events;
    condition->signal = ++r->signals;
    return emit_extra(r, line, kind, 0, object, r->signals);
}

/* The signal that woke a waiter is the latest one given while it had nothing else to do. */
static bool emit_wait(struct hd_text_reader *r, const struct hd_text_line *line) {
    uint32_t object;
    if (!object_of(r, line->operand, line->operand_key, USE_WAITED, &object)) return false;
    const struct hd_text_object *condition = &r->object.data[object];
    uint32_t last = r->thread.data[line->thread_id].last_event;
    struct hd_text_note note = {.event = r->builder->trace->events, .line = r->line};
    hd_vector_push(&r->waits, note);
    if (condition->signal_event != HD_NONE && (last == HD_NONE || last < condition->signal_event))
        return emit_extra(r, line, HD_EV_WAIT, 0, object, condition->signal);
    return emit(r, line, HD_EV_WAIT, 0, object);
}

static bool emit_object(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind,
                        unsigned use) {
    uint32_t object;
    return object_of(r, line->operand, line->operand_key, use, &object) &&
           emit(r, line, kind, 0, object);
}

static bool emit_barrier(struct hd_text_reader *r, const struct hd_text_line *line) {
    uint32_t object;
    if (!object_of(r, line->operand, line->operand_key, USE_BARRIER, &object)) return false;
    /* the round is looked up after this thread's own earlier round was closed */
    if (!emit(r, line, HD_EV_BARRIER_ARRIVE, 0, object)) return false;
    struct hd_text_object *barrier = &r->object.data[object];
    if (barrier->round == 0) barrier->round = ++r->rounds;
    struct hd_text_thread *thread = &r->thread.data[line->thread_id];
    thread->barrier = object;
    thread->round = barrier->round;
    hd_build_extra(r->builder, r->builder->trace->events - 1, barrier->round);
    return true;
}

static bool emit_sem_init(struct hd_text_reader *r, const struct hd_text_line *line) {
    uint64_t value = 0;
    bool valued;
    struct words name = line->operand;
    name.length = hd_text_valued(name.text, name.length, &value, &valued);
    if (value > UINT32_MAX)
        return fail_line(r, "the value in '%s' is too large", hd_text_quote(line->operand).text);
    uint32_t object;
    return object_of(r, name, hd_intern_key(name.text, name.length), USE_SEMAPHORE, &object) &&
           emit_extra(r, line, HD_EV_SEM_INIT, 0, object, value);
}

static bool emit_thread(struct hd_text_reader *r, const struct hd_text_line *line, unsigned kind) {
    uint32_t other;
    return thread_of(r, line->operand, &other) && emit(r, line, kind, 0, other);
}

static bool emit_alloc(struct hd_text_reader *r, const struct hd_text_line *line, bool zeroed) {
    const struct hd_text_memory *operand;
    if (!operand_of(r, line->operand, line->operand_key, &operand)) return false;
    struct hd_text_variable *variable = &r->variable.data[operand->address >> HD_TEXT_SHIFT];
    variable->block = operand->address;
    variable->block_size = operand->size;
    return emit_extra(r, line, HD_EV_ALLOC,
                      zeroed ? HD_BLOCK_HEAP | HD_BLOCK_ZEROED : HD_BLOCK_HEAP, operand->address,
                      operand->size);
}

/* A free is as large as the block it frees; where no alloc says, as what the trace uses of it. */
static bool emit_free(struct hd_text_reader *r, const struct hd_text_line *line) {
    const struct hd_text_memory *operand;
    if (!operand_of(r, line->operand, line->operand_key, &operand)) return false;
    const struct hd_text_variable *variable = &r->variable.data[operand->address >> HD_TEXT_SHIFT];
    uint64_t size = operand->sized ? operand->size : 0;
    if (size == 0 && variable->block == operand->address) size = variable->block_size;
    if (size == 0) {
        struct hd_text_note note = {.event = r->builder->trace->extras, .line = r->line};
        hd_vector_push(&r->frees, note);
    }
    return emit_extra(r, line, HD_EV_FREE, HD_BLOCK_HEAP, operand->address, size);
}

static bool emit_blocked(struct hd_text_reader *r, const struct hd_text_line *line) {
    char *name = hd_arena_copy(&r->arena, line->operand.text, line->operand.length);
    struct hd_text_note note = {.event = r->builder->trace->events, .line = r->line, .name = name};
    hd_vector_push(&r->blocked, note);
    return emit(r, line, HD_EV_BLOCKED, 0, 0);
}

static bool emit_branch(struct hd_text_reader *r, const struct hd_text_line *line) {
    uint64_t count = 1;
    if (line->operand.length != 0) {
        count = 0;
        for (size_t i = 0; i < line->operand.length; i++) {
            char c = line->operand.text[i];
            if (c < '0' || c > '9' || count > UINT32_MAX)
                return fail_line(r, "'%s' is no number of branches",
                                 hd_text_quote(line->operand).text);
            count = count * 10 + (uint64_t)(c - '0');
        }
    }
    if (!emit(r, line, HD_EV_BRANCH, 0, count)) return false;
    struct hd_trace *trace = r->builder->trace;
    trace->branches[trace->events - 1] = count > UINT16_MAX ? UINT16_MAX : (uint16_t)count;
    trace->has_branches = true;
    return true;
}

/* ---- operations --------------------------------------------------------------------------- */

static const struct {
    const char *text;
    unsigned operation;
} operations[] = {
#define X(name, text, class) {text, OP_##name},
    HD_EVENT_KINDS(X)
#undef X
        {"calloc", OP_ALLOC_ZEROED},
    {"req", OP_HINT},
    {"dummy", OP_HINT},
};

/* The first kind with this text stands for it: "aw" is an atomic write, not the end of a once. */
unsigned hd_text_operation(struct words op) {
    if (op.length == 1 && op.text[0] == 'r') return OP_READ;
    if (op.length == 1 && op.text[0] == 'w') return OP_WRITE;
    if (op.length == 0) return OP_UNKNOWN;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (op.length == strlen(operations[i].text) &&
            memcmp(operations[i].text, op.text, op.length) == 0)
            return operations[i].operation;
    }
    return OP_UNKNOWN;
}

static bool needs_operand(unsigned operation) {
    switch (operation) {
    case OP_FENCE:
    case OP_BEGIN:
    case OP_END:
    case OP_NOTE:
    case OP_BRANCH:
    case OP_HINT:
        return false;
    default:
        return true;
    }
}

/* Who wrote the line and where; most lines are of the thread of the line before. */
static bool place_line(struct hd_text_reader *r, struct hd_text_line *line) {
    struct words thread = line->thread;
    if (thread.length != 0 && thread.length == r->last_thread.length &&
        memcmp(thread.text, r->last_thread.text, thread.length) == 0) {
        line->thread_id = r->last_thread_id;
    } else {
        if (!thread_of(r, thread, &line->thread_id)) return false;
        r->last_thread = thread;
        r->last_thread_id = line->thread_id;
    }
    line->site_id = 0; /* no site */
    if (line->site.length == 0) return true;
    if (!intern_keyed(r, &r->builder->memory->sites, line->site, line->site_key, &line->site_id))
        return false;
    line->site_id++;
    return true;
}

bool hd_text_event(struct hd_text_reader *r, struct hd_text_line *line) {
    unsigned operation = line->operation;
    r->line = line->number;
    /* a hint leaves nothing behind, not even names */
    if (operation == OP_HINT && line->thread.length != 0) return true;
    if (!place_line(r, line)) return false;
    if (needs_operand(operation) && line->operand.length == 0 && operation != OP_UNKNOWN) {
        struct hd_text_quote name = hd_text_quote(line->op);
        return fail_line(r, "%s needs an object, as in %s(x)", name.text, name.text);
    }
    switch (operation) {
    case OP_READ:
    case OP_WRITE:
        return emit_access(r, line, operation);
    case OP_ATOMIC_READ:
    case OP_ATOMIC_WRITE:
    case OP_ATOMIC_UPDATE:
        return emit_atomic(r, line, operation);
    case OP_FENCE:
        return emit_fence(r, line);
    case OP_ACQUIRE:
    case OP_RELEASE:
    case OP_READ_ACQUIRE:
    case OP_READ_RELEASE:
    case OP_TRY_FAILED:
        return emit_lock(r, line, operation);
    case OP_SIGNAL:
    case OP_BROADCAST:
        return emit_signal(r, line, operation);
    case OP_WAIT:
        return emit_wait(r, line);
    case OP_WAIT_TIMEOUT:
        return emit_object(r, line, operation, USE_WAITED);
    case OP_BARRIER_ARRIVE:
        return emit_barrier(r, line);
    case OP_SEM_INIT:
        return emit_sem_init(r, line);
    case OP_POST:
        return emit_object(r, line, operation, USE_SEMAPHORE);
    case OP_FORK:
    case OP_JOIN:
    case OP_DETACH:
        return emit_thread(r, line, operation);
    case OP_BEGIN:
    case OP_END:
        return emit(r, line, operation, 0, line->thread_id);
    case OP_ALLOC:
    case OP_ALLOC_ZEROED:
        return emit_alloc(r, line, operation == OP_ALLOC_ZEROED);
    case OP_FREE:
        return emit_free(r, line);
    case OP_BLOCKED:
        return emit_blocked(r, line);
    case OP_NOTE:
        return emit_object(r, line, operation, 0);
    case OP_BRANCH:
        return emit_branch(r, line);
    case OP_HINT:
        return true;
    default:
        return fail_line(r, "unknown operation '%s'", hd_text_quote(line->op).text);
    }
}
