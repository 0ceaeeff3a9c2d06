/* A trace in memory to a file of any format. What the target format cannot say is left out as told
 * below; everything else comes back the same when the file is read. */
#ifndef HEDDLE_TRACE_CONVERT_H
#define HEDDLE_TRACE_CONVERT_H

#include "trace/trace.h"

/* Names for the text form of a binary trace. Any of the functions may be NULL or return NULL for
 * the default; a string need only live until the next call. */
struct hd_text_names {
    void *context;
    /* The thing at an address that `event` touches, and how far from its start the address is. */
    const char *(*variable)(void *context, uint32_t event, uint64_t address, uint64_t *offset);
    const char *(*site)(void *context, uint32_t site);
    const char *(*thread)(void *context, uint32_t thread);
};

struct hd_text_options {
    struct hd_text_names names;
    bool no_branches; /* leave out the branch lines before events of a binary trace */
    struct hd_progress *progress;
};

/* Writes the text form to a descriptor; `path` is for messages. Kinds without a text operation have
 * no line. A binary trace's operand that is larger than a text variable may be (16 MB) becomes
 * several lines. Names are made unique and free of what the format uses itself. */
bool hd_text_write(const struct hd_trace *trace, int fd, const char *path,
                   const struct hd_text_options *options, struct hd_error *error);

/* Writes a binary trace (.hdt), names included. */
bool hd_trace_save(const struct hd_trace *trace, const char *path, struct hd_error *error);

/* Writes RapidBin to a descriptor. It knows plain reads and writes, locks, fork, join, begin, end
 * and branch: other events are left out, and *left_out counts them. Bytes that overlapping accesses
 * touch become one variable. */
bool hd_rapidbin_write(const struct hd_trace *trace, int fd, const char *path, uint64_t *left_out,
                       struct hd_error *error);

#endif
