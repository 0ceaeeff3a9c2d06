/* The programmer's words for threads, memory, locks and events of a model. Places in the source are
 * in describe_place.c. */
#include "model/describe.h"
#include "base/alloc.h"

#include "model/describe_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of a recorded program's objects is looked up by its first byte: what stands there is the
 * lock or condition variable, however large. */
#define OBJECT_BYTES 1

static const char *text_of(struct hd_describe *describe, const char *text) {
    return hd_pool_text(describe->pool, text);
}

/* ---- life --------------------------------------------------------------------------------- */

struct hd_describe *hd_describe_open(const struct hd_model *model) {
    struct hd_describe *describe = hd_zalloc(1, sizeof *describe);
    describe->model = model;
    describe->trace = model->trace;
    describe->pool = hd_pool_new();
    return describe;
}

void hd_describe_close(struct hd_describe *describe) {
    if (!describe) return;
    hd_symbols_close(describe->symbols);
    hd_map_free(&describe->stacks);
    hd_map_free(&describe->places);
    hd_vector_free(&describe->stack);
    hd_vector_free(&describe->place);
    hd_names_close(describe->names);
    hd_map_free(&describe->source_names);
    hd_vector_free(&describe->source_name);
    free(describe->thread_name);
    free(describe->frame_start);
    hd_pool_free(describe->pool);
    free(describe);
}

uint32_t hd_describe_warnings(const struct hd_describe *describe, const char *const **lines) {
    *lines = NULL;
    return describe->symbols ? hd_symbols_warnings(describe->symbols, lines) : 0;
}

struct hd_symbols *hd_describe_symbols(struct hd_describe *describe) {
    if (!describe->symbols) describe->symbols = hd_symbols_open(describe->trace);
    return describe->symbols;
}

/* ---- threads ------------------------------------------------------------------------------ */

const char *hd_describe_thread(struct hd_describe *describe, uint32_t thread) {
    uint32_t threads = describe->model->threads;
    if (thread >= threads) return "?";
    if (describe->trace->thread_names && describe->trace->thread_names[thread])
        return describe->trace->thread_names[thread];
    if (!describe->thread_name)
        describe->thread_name = hd_zalloc(threads, sizeof *describe->thread_name);
    const char **name = &describe->thread_name[thread];
    if (!*name) *name = hd_pool_format(describe->pool, "T%u", thread);
    return *name;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* "allocated in f (file.c:12)", or as much of it as is known. */
static void append_place(struct hd_describe *describe, char *text, size_t size, const char *verb,
                         uint32_t event) {
    const char *function = hd_describe_function(describe, event);
    const char *site = hd_describe_site(describe, event);
    size_t used = strlen(text);
    if (*function && *site)
        snprintf(text + used, size - used, " %s in %s (%s)", verb, function, site);
    else if (*function || *site)
        snprintf(text + used, size - used, " %s at %s", verb, *site ? site : function);
}

static const char *descriptor_word(unsigned type) {
    switch (type) {
    case HD_BLOCK_PIPE:
        return "pipe";
    case HD_BLOCK_SOCKET:
        return "socket";
    case HD_BLOCK_COUNTER:
        return "eventfd";
    case HD_BLOCK_EPOLL:
        return "epoll instance";
    case HD_BLOCK_KERNEL:
        return "descriptor";
    default:
        return "file";
    }
}

/* "descriptor 5 (pipe made at file.c:12)". */
static const char *descriptor(struct hd_describe *describe, uint64_t address, uint32_t block,
                              enum hd_detail detail) {
    static const char *const standard[] = {"standard input", "standard output", "standard error"};
    const struct hd_model *model = describe->model;
    uint32_t number = hd_descriptor_number(address);
    const char *name = hd_pool_format(describe->pool, "descriptor %u", number);
    if (detail != HD_LONG) return name;
    uint32_t made = block < model->blocks ? model->block[block].alloc : HD_NONE;
    const char *site = made < model->events ? hd_describe_site(describe, made) : "";
    if (*site != '\0')
        return hd_pool_format(describe->pool, "%s (%s made at %s)", name,
                              descriptor_word(model->block[block].type), site);
    if (made == HD_NONE && number < 3)
        return hd_pool_format(describe->pool, "%s (%s)", name, standard[number]);
    return name;
}

const char *hd_describe_block(struct hd_describe *describe, uint32_t index, enum hd_detail detail) {
    const struct hd_model *model = describe->model;
    if (index >= model->blocks) return "?";
    const struct hd_block *block = &model->block[index];
    if (hd_trace_is_descriptor(model->trace, block->address))
        return descriptor(describe, block->address, index, detail);
    if (block->type == HD_BLOCK_STACK) {
        uint32_t thread = block->alloc < model->events ? model->thread[block->alloc] : HD_NONE;
        return hd_pool_format(describe->pool, "stack of %s", hd_describe_thread(describe, thread));
    }
    const char *word = block->type == HD_BLOCK_MMAP ? "mapping" : "block";
    if (detail != HD_LONG)
        return hd_pool_format(describe->pool, "%s#%u",
                              block->type == HD_BLOCK_MMAP ? "map" : "heap", index);
    char text[1024];
    snprintf(text, sizeof text, "%llu-byte %s", (unsigned long long)block->bytes, word);
    if (block->alloc < model->events)
        append_place(describe, text, sizeof text,
                     block->type == HD_BLOCK_MMAP ? "mapped" : "allocated", block->alloc);
    return text_of(describe, text);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* "heap#1->count", or "field count of struct queue, in 192-byte block ...". */
static const char *part_of_block(struct hd_describe *describe, const struct hd_pointee *type,
                                 const char *part, const char *plain, uint64_t start,
                                 enum hd_detail detail) {
    if (detail != HD_LONG) {
        const char *from = start == 0 ? plain
                                      : hd_pool_format(describe->pool, "%s+%llu", plain,
                                                       (unsigned long long)start);
        return hd_pool_format(describe->pool, "%s->%s", from, part);
    }
    return hd_pool_format(describe->pool, "%s %s of %s, in %s", *part == '{' ? "fields" : "field",
                          part, hd_pointee_name(type), plain);
}

/* `location` tells which accesses to ask, HD_NONE if there are none. */
static const char *in_block(struct hd_describe *describe, uint32_t block, uint64_t address,
                            uint64_t size, uint32_t location, enum hd_detail detail) {
    uint32_t whole = describe->model->block[block].whole;
    if (whole < describe->model->blocks) block = whole;
    const char *name = hd_describe_block(describe, block, detail);
    uint64_t begin = describe->model->block[block].address, start;
    unsigned long long offset = address >= begin ? address - begin : 0;
    const char *plain = name;
    if (detail == HD_LONG)
        plain = hd_pool_format(describe->pool, "%s, offset %llu", name, offset);
    else if (offset != 0)
        plain = hd_pool_format(describe->pool, "%s+%llu", name, offset);
    const struct hd_pointee *type = hd_describe_structure(describe, block, location, &start);
    if (type == NULL || address < start || start < begin) return plain;
    const char *part = hd_pointee_part(type, address - start, size);
    if (*part != '.') return plain; /* all of it, or what has no name */
    return part_of_block(describe, type, part + 1, detail == HD_LONG ? plain : name, start - begin,
                         detail);
}

static bool is_named(const struct hd_describe *describe) {
    return describe->trace->format != HD_FORMAT_BINARY || describe->trace->variable_names ||
           describe->trace->object_names;
}

/* Text traces: a made-up address is a name and an offset. */
static const char *named_memory(struct hd_describe *describe, uint64_t address) {
    uint64_t variable = address >> HD_TEXT_SHIFT;
    uint64_t offset = address & (((uint64_t)1 << HD_TEXT_SHIFT) - 1);
    const struct hd_trace *trace = describe->trace;
    if (variable >= trace->variables || !trace->variable_names[variable]) return "?";
    const char *name = trace->variable_names[variable];
    if (!offset) return name;
    return hd_pool_format(describe->pool, "%s+%llu", name, (unsigned long long)offset);
}

static bool is_stack(const struct hd_describe *describe, uint32_t block) {
    return block < describe->model->blocks && describe->model->block[block].type == HD_BLOCK_STACK;
}

/* A local variable, when `event` touched it; else the stack that it is on. */
static const char *on_stack(struct hd_describe *describe, uint32_t event, uint64_t address,
                            uint64_t size, uint32_t block, enum hd_detail detail) {
    const char *name = hd_describe_local(describe, event, block, address, size);
    if (name == NULL) return in_block(describe, block, address, size, HD_NONE, detail);
    uint32_t first = describe->model->block[block].alloc;
    const char *thread = hd_describe_thread(describe, describe->model->thread[first]);
    if (detail == HD_SHORT) return name;
    return hd_pool_format(describe->pool, detail == HD_LONG ? "%s, on the stack of %s" : "%s of %s",
                          name, thread);
}

/* What `event` touches there. */
static const char *memory(struct hd_describe *describe, uint32_t event, uint64_t address,
                          uint64_t size, uint32_t block, uint32_t location, enum hd_detail detail) {
    if (is_named(describe)) return named_memory(describe, address);
    if (hd_trace_is_descriptor(describe->trace, address))
        return descriptor(describe, address, block, detail);
    if (is_stack(describe, block)) return on_stack(describe, event, address, size, block, detail);
    if (block < describe->model->blocks)
        return in_block(describe, block, address, size, location, detail);
    const char *name =
        hd_symbols_variable(hd_describe_symbols(describe), address, size, NULL, NULL);
    if (name) return name;
    return hd_pool_format(describe->pool, "0x%llx", (unsigned long long)address);
}

/* What debug information can't name: memory of blocks, and addresses of nothing it knows. */
static bool is_nameless(struct hd_describe *describe, const struct hd_location *location,
                        uint64_t size) {
    if (is_named(describe) || hd_trace_is_descriptor(describe->trace, location->address))
        return false;
    if (location->block < describe->model->blocks) return true;
    return hd_symbols_variable(hd_describe_symbols(describe), location->address, size, NULL,
                               NULL) == NULL;
}

/* Short: the expression of the source. Long: its struct and field, and what memory it is. */
static const char *with_name(struct hd_describe *describe, const struct hd_name *name,
                             const char *plain, enum hd_detail detail) {
    if (detail != HD_LONG) return text_of(describe, name->expression);
    if (strncmp(plain, "field", 5) == 0) return plain; /* the debug information says it too */
    const char *known = *name->variable != '\0' ? name->variable : name->expression;
    return hd_pool_format(describe->pool, "%s, in %s", known, plain);
}

/* By the first of its accesses that the source names. */
static const struct hd_name *name_of_location(struct hd_describe *describe, uint32_t index) {
    const struct hd_model *model = describe->model;
    for (uint32_t i = model->location_start[index]; i < model->location_start[index + 1]; i++) {
        enum hd_event_class class = hd_kind_class(model->kind[model->location_event[i]]);
        if (class != HD_CLASS_ACCESS && class != HD_CLASS_ATOMIC) continue;
        const struct hd_name *name = hd_describe_source_name(describe, model->location_event[i]);
        if (name != NULL) return name;
    }
    return NULL;
}

const char *hd_describe_location(struct hd_describe *describe, uint32_t index,
                                 enum hd_detail detail) {
    if (index >= describe->model->locations) return "?";
    const struct hd_location *location = &describe->model->location[index];
    uint32_t first = describe->model->location_event[describe->model->location_start[index]];
    const char *plain =
        memory(describe, first, location->address, location->bytes, location->block, index, detail);
    if (!hd_describe_has_names(describe) || !is_nameless(describe, location, location->bytes))
        return plain;
    const struct hd_name *name = name_of_location(describe, index);
    return name != NULL ? with_name(describe, name, plain, detail) : plain;
}

/* ---- locks and other objects -------------------------------------------------------------- */

static const char *named_object(struct hd_describe *describe, uint64_t operand) {
    const struct hd_trace *trace = describe->trace;
    if (operand >= trace->objects || !trace->object_names[operand]) return "?";
    return trace->object_names[operand];
}

/* An object that `event`, the first to do so, uses. */
static const char *object_at(struct hd_describe *describe, uint32_t event, uint64_t operand,
                             uint32_t block, const char *word, enum hd_detail detail) {
    if (is_named(describe)) return named_object(describe, operand);
    const char *text = memory(describe, event, operand, OBJECT_BYTES, block, HD_NONE, detail);
    if (detail != HD_LONG || block >= describe->model->blocks) return text;
    return hd_pool_format(describe->pool, "%s in %s", word, text);
}

/* HD_NONE unless it is on a stack, where what is there depends on when. */
static uint32_t first_use(const struct hd_describe *describe, enum hd_event_class class,
                          uint32_t index) {
    const struct hd_model *model = describe->model;
    if (!is_stack(describe, class == HD_CLASS_LOCK ? model->lock[index].block
                                                   : model->sync_object[index].block))
        return HD_NONE;
    for (uint32_t e = 0; e < model->events; e++)
        if (hd_kind_class(model->kind[e]) == class && model->object[e] == index) return e;
    return HD_NONE;
}

static const char *lock_word(unsigned type) {
    switch (type & HD_LOCK_TYPE_MASK) {
    case HD_LOCK_MUTEX:
        return "mutex";
    case HD_LOCK_RWLOCK:
        return "read-write lock";
    case HD_LOCK_SPIN:
        return "spin lock";
    default:
        return "lock";
    }
}

const char *hd_describe_lock(struct hd_describe *describe, uint32_t index, enum hd_detail detail) {
    if (index >= describe->model->locks) return "?";
    const struct hd_lock *lock = &describe->model->lock[index];
    return object_at(describe, first_use(describe, HD_CLASS_LOCK, index), lock->operand,
                     lock->block, lock_word(lock->type), detail);
}

static const char *object_word(unsigned type) {
    switch (type) {
    case HD_OBJECT_COND:
        return "condition variable";
    case HD_OBJECT_BARRIER:
        return "barrier";
    case HD_OBJECT_SEM:
        return "semaphore";
    case HD_OBJECT_ONCE:
        return "once control";
    default:
        return "object";
    }
}

static const char *note_text(struct hd_describe *describe, uint64_t operand) {
    if (is_named(describe)) return named_object(describe, operand);
    const char *text = operand ? hd_symbols_text(hd_describe_symbols(describe), operand) : NULL;
    return text ? text : "";
}

const char *hd_describe_object(struct hd_describe *describe, uint32_t index,
                               enum hd_detail detail) {
    if (index >= describe->model->objects) return "?";
    const struct hd_object *object = &describe->model->sync_object[index];
    if (object->type == HD_OBJECT_NOTE) return note_text(describe, object->operand);
    return object_at(describe, first_use(describe, HD_CLASS_SYNC, index), object->operand,
                     object->block, object_word(object->type), detail);
}

/* ---- events ------------------------------------------------------------------------------- */

static const char *blocked_on(struct hd_describe *describe, uint32_t event, enum hd_detail detail) {
    uint32_t object = describe->model->object[event];
    switch (describe->model->flags[event]) {
    case HD_WAIT_LOCK:
        return hd_describe_lock(describe, object, detail);
    case HD_WAIT_JOIN:
        return hd_describe_thread(describe, object);
    default:
        return hd_describe_object(describe, object, detail);
    }
}

/* A use after free says so. */
static const char *with_end(struct hd_describe *describe, uint32_t event, uint32_t block,
                            const char *text) {
    uint32_t end = block < describe->model->blocks ? describe->model->block[block].free : HD_NONE;
    if (end == HD_NONE || end >= event) return text;
    char freed[1024];
    snprintf(freed, sizeof freed, "%s,", text);
    bool closed = hd_trace_is_descriptor(describe->trace, describe->model->block[block].address);
    append_place(describe, freed, sizeof freed, closed ? "closed" : "freed", end);
    return freed[strlen(freed) - 1] == ',' ? text : text_of(describe, freed);
}

/* HD_NONE for an access of no bytes. */
static uint32_t first_location(const struct hd_model *model, uint32_t event) {
    const uint32_t *list;
    return hd_model_locations(model, event, &list) ? list[0] : HD_NONE;
}

static const char *accessed_plain(struct hd_describe *describe, uint32_t event, uint32_t first,
                                  enum hd_detail detail) {
    const struct hd_model *model = describe->model;
    const struct hd_location *location = &model->location[first];
    uint64_t size = hd_trace_size(model->trace, event);
    if (is_stack(describe, location->block))
        return memory(describe, event, location->address, size, location->block, first, detail);
    /* the programs that ask walk over events, and neighbours are often about the same thing */
    struct hd_recent_memory *recent =
        &describe->recent[(first * 2 + (detail == HD_LONG)) % HD_RECENT];
    if (recent->text && recent->location == first && recent->size == size &&
        recent->detail == (uint8_t)detail && recent->block == location->block)
        return recent->text;
    const char *text =
        memory(describe, event, location->address, size, location->block, first, detail);
    *recent = (struct hd_recent_memory){text, size, first, location->block, (uint8_t)detail};
    return text;
}

static const char *accessed(struct hd_describe *describe, uint32_t event, enum hd_detail detail) {
    const struct hd_model *model = describe->model;
    uint32_t first = first_location(model, event);
    if (first == HD_NONE) return "";
    const struct hd_location *location = &model->location[first];
    const char *text = accessed_plain(describe, event, first, detail);
    if (hd_describe_has_names(describe) && hd_kind_class(model->kind[event]) != HD_CLASS_MEMORY &&
        is_nameless(describe, location, hd_trace_size(model->trace, event))) {
        const struct hd_name *name = hd_describe_source_name(describe, event);
        if (name != NULL) text = with_name(describe, name, text, detail);
    }
    return detail == HD_LONG ? with_end(describe, event, location->block, text) : text;
}

const char *hd_describe_plain(struct hd_describe *describe, uint32_t event) {
    const struct hd_model *model = describe->model;
    if (event >= model->events) return "?";
    enum hd_event_class class = hd_kind_class(model->kind[event]);
    uint32_t first = class == HD_CLASS_ACCESS || class == HD_CLASS_ATOMIC
                         ? first_location(model, event)
                         : HD_NONE;
    return first != HD_NONE ? accessed_plain(describe, event, first, HD_SHORT)
                            : hd_describe_event(describe, event, HD_SHORT);
}

const char *hd_describe_variable(struct hd_describe *describe, uint32_t event) {
    const struct hd_model *model = describe->model;
    if (event >= model->events) return NULL;
    enum hd_event_class class = hd_kind_class(model->kind[event]);
    if (class != HD_CLASS_ACCESS && class != HD_CLASS_ATOMIC) return NULL;
    const struct hd_name *name = hd_describe_source_name(describe, event);
    if (name != NULL && *name->variable != '\0') return name->variable;
    uint32_t first = first_location(model, event);
    if (first == HD_NONE || is_nameless(describe, &model->location[first], 1)) return NULL;
    const char *plain = accessed_plain(describe, event, first, HD_SHORT);
    const char *index = strchr(plain, '[');
    if (index == NULL) return plain;
    return hd_pool_format(describe->pool, "%.*s", (int)(index - plain), plain);
}

const char *hd_describe_event(struct hd_describe *describe, uint32_t event, enum hd_detail detail) {
    const struct hd_model *model = describe->model;
    if (event >= model->events) return "?";
    uint32_t object = model->object[event];
    enum hd_event_kind kind = model->kind[event];
    switch (hd_kind_class(kind)) {
    case HD_CLASS_ACCESS:
    case HD_CLASS_ATOMIC:
        return accessed(describe, event, detail);
    case HD_CLASS_MEMORY:
        if (object != HD_NONE && !is_named(describe))
            return hd_describe_block(describe, object, detail);
        return object != HD_NONE ? named_memory(describe, model->block[object].address)
                                 : accessed(describe, event, detail);
    case HD_CLASS_LOCK:
        return object == HD_NONE ? "" : hd_describe_lock(describe, object, detail);
    case HD_CLASS_SYNC:
        return object == HD_NONE ? "" : hd_describe_object(describe, object, detail);
    case HD_CLASS_THREAD:
        if (object == HD_NONE) return "";
        if (kind == HD_EV_BLOCKED) return blocked_on(describe, event, detail);
        return kind == HD_EV_BEGIN || kind == HD_EV_END ? "" : hd_describe_thread(describe, object);
    case HD_CLASS_MARK:
        if (object == HD_NONE || kind == HD_EV_BRANCH) return "";
        if (kind == HD_EV_NOTE &&
            (hd_model_is_lock_life(model, event) || hd_note_is_child(model->flags[event])))
            return hd_describe_lock(describe, object, detail);
        if (kind == HD_EV_NOTE) return hd_describe_object(describe, object, detail);
        return hd_pool_format(describe->pool, "signal %u", object);
    default:
        return "";
    }
}

bool hd_describe_address(const struct hd_describe *describe, uint32_t event, uint64_t *address) {
    const struct hd_model *model = describe->model;
    uint32_t first;
    if (is_named(describe) || event >= model->events) return false;
    uint32_t object = model->object[event];
    enum hd_event_class class = hd_kind_class(model->kind[event]);
    if (model->kind[event] == HD_EV_BLOCKED) {
        if (model->flags[event] == HD_WAIT_JOIN) return false;
        class = model->flags[event] == HD_WAIT_LOCK ? HD_CLASS_LOCK : HD_CLASS_SYNC;
    }
    switch (class) {
    case HD_CLASS_ACCESS:
    case HD_CLASS_ATOMIC:
        first = first_location(model, event);
        if (first == HD_NONE) return false;
        *address = model->location[first].address;
        return true;
    case HD_CLASS_LOCK:
        if (object >= model->locks) return false;
        *address = model->lock[object].operand;
        return true;
    case HD_CLASS_SYNC:
        if (object >= model->objects) return false;
        *address = model->sync_object[object].operand;
        return true;
    case HD_CLASS_MEMORY:
        if (object < model->blocks)
            *address = model->block[object].address;
        else if ((first = first_location(model, event)) != HD_NONE)
            *address = model->location[first].address;
        else
            return false;
        return true;
    default:
        return false;
    }
}
