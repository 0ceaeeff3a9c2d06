/* Filling a struct hd_trace: growing columns, extras, warnings, and what owns them. Used by the
 * readers of all formats. */
#ifndef HEDDLE_TRACE_BUILD_H
#define HEDDLE_TRACE_BUILD_H

#include "base/arena.h"
#include "base/intern.h"
#include "base/progress.h"
#include "base/vector.h"
#include "trace/trace.h"

#define HD_EVENT_LIMIT (UINT32_MAX - 1) /* event numbers are 32 bits, HD_NONE is taken */
#define HD_THREAD_LIMIT 65536u

/* What trace->memory points to. The columns are not in it: each is a malloc of its own. */
struct hd_trace_memory {
    struct hd_arena arena;
    struct hd_intern threads, variables, objects, sites; /* text */
    HD_VECTOR(char *) warning;
    HD_VECTOR(struct hd_trace_module) module;
};

struct hd_builder {
    struct hd_trace *trace;
    struct hd_trace_memory *memory;
    size_t capacity;       /* of the event columns */
    size_t extra_capacity; /* of the extra columns */
    size_t most;           /* events; a few more may be added */
    bool full;             /* there would have been more, */
    uint32_t full_at;      /* and so many came before */
    uint64_t most_recorded;
};

/* Makes *trace an empty one. On any failure from here on, hd_trace_free cleans up. */
void hd_build_start(struct hd_builder *builder, struct hd_trace *trace,
                    enum hd_trace_format format);
/* Room for `more` further events in all columns; false if a trace can't have that many. */
bool hd_build_grow(struct hd_builder *builder, size_t more, struct hd_error *error);
static inline bool hd_build_reserve(struct hd_builder *builder, size_t more,
                                    struct hd_error *error) {
    return more <= builder->capacity - builder->trace->events ||
           hd_build_grow(builder, more, error);
}
/* Only the first events stay. */
void hd_build_cut(struct hd_builder *builder, uint32_t events);
/* So many events more were recorded, whatever is kept of them; false if these are too many. */
bool hd_build_recorded(struct hd_builder *builder, uint64_t events, struct hd_error *error);
/* From now on events get their numbers from whoever adds them. */
void hd_build_numbers(struct hd_builder *builder);
/* Gives an event its extra value; events come in ascending order. */
void hd_build_extra(struct hd_builder *builder, uint32_t event, uint64_t value);
void hd_build_warn(struct hd_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* No events, as in the beginning; what is known of modules and of the run stays. */
void hd_build_empty(struct hd_builder *builder);
/* Gives back what the columns have too much and ties the loose ends. */
void hd_build_finish(struct hd_builder *builder);

/* The readers, each for a whole file in memory. */
bool hd_binary_read(const uint8_t *bytes, size_t length, const char *path,
                    const struct hd_trace_options *options, struct hd_builder *builder,
                    struct hd_error *error);
bool hd_text_read(const char *bytes, size_t length, const char *path,
                  const struct hd_trace_options *options, struct hd_builder *builder,
                  struct hd_error *error);
bool hd_rapidbin_read(const uint8_t *bytes, size_t length, const char *path,
                      const struct hd_trace_options *options, struct hd_builder *builder,
                      struct hd_error *error);
/* Does it look like a file of this format? */
bool hd_binary_recognise(const uint8_t *bytes, size_t length);
bool hd_rapidbin_recognise(const uint8_t *bytes, size_t length);

#endif
