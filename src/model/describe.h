/* The programmer's words for what a model holds: variables, blocks, locks, threads, places in the
 * source, call stacks. For text traces these are the trace's own words. Strings and frames live as
 * long as the handle; answers are cached. */
#ifndef HEDDLE_MODEL_DESCRIBE_H
#define HEDDLE_MODEL_DESCRIBE_H

#include "model/model.h"
#include "trace/symbols.h"

struct hd_describe;

/* How much to say about memory without a name of its own:
 * short, for findings: "heap#3+8", "heap#3->count", "main::done"
 * apart, for lists of events: the same, but local variables of the same name in several threads are
 * told apart: "work::state of T2"
 * long, for sentences: "32-byte block allocated in f (file.c:12), offset 8", "field count of struct
 * queue, in 32-byte block ..." */
enum hd_detail { HD_SHORT, HD_APART, HD_LONG };

/* Opens the symbols of the model's modules when they are first needed. Never fails. */
struct hd_describe *hd_describe_open(const struct hd_model *model);
void hd_describe_close(struct hd_describe *describe);
/* Names for memory without a name of its own come from the file that `heddle names` wrote, if it is
 * beside the program; this gives another, for all that is described from now on. */
bool hd_describe_use_names(const char *path, struct hd_error *error);
/* What a reader should see once, after the questions were asked (modules without symbols). */
uint32_t hd_describe_warnings(const struct hd_describe *describe, const char *const **lines);

/* ---- things ------------------------------------------------------------------------------- */

const char *hd_describe_thread(struct hd_describe *describe, uint32_t thread);
const char *hd_describe_location(struct hd_describe *describe, uint32_t location,
                                 enum hd_detail detail);
const char *hd_describe_block(struct hd_describe *describe, uint32_t block, enum hd_detail detail);
const char *hd_describe_lock(struct hd_describe *describe, uint32_t lock, enum hd_detail detail);
/* A condition variable, barrier, semaphore or once control; the text of a note. */
const char *hd_describe_object(struct hd_describe *describe, uint32_t object,
                               enum hd_detail detail);

/* ---- events ------------------------------------------------------------------------------- */

/* What the event is about: the variable of an access, the lock of an acquire, the thread of a fork,
 * the block of an allocation, ...; "" if it is about nothing (begin, end, fence). */
const char *hd_describe_event(struct hd_describe *describe, uint32_t event, enum hd_detail detail);
/* The same in short without names from source code: what a fingerprint may rest on, whether or not
 * there is a file of names. */
const char *hd_describe_plain(struct hd_describe *describe, uint32_t event);
/* The variable that an access is to, whatever the object: `struct::field` or a global as names from
 * source code have it; else the variable as the program or a text trace calls it, without the index
 * of an array. NULL if it is not known. */
const char *hd_describe_variable(struct hd_describe *describe, uint32_t event);
/* The address that the event is about; false if it has none. Text traces have none. */
bool hd_describe_address(const struct hd_describe *describe, uint32_t event, uint64_t *address);

/* The frame that a programmer looks for: the innermost one in code that is not the system's. */
const struct hd_frame *hd_describe_frame(struct hd_describe *describe, uint32_t event);
/* "file.c:12"; "libfoo.so+0x1234" or "" if no more is known; a text trace's own word. */
const char *hd_describe_site(struct hd_describe *describe, uint32_t event);
uint64_t hd_describe_number(const struct hd_describe *describe,
                            uint32_t event); /* hd_trace_number */
/* "worker"; "" if unknown. */
const char *hd_describe_function(struct hd_describe *describe, uint32_t event);
/* All frames, innermost first, inlined calls included, without those of the C library and the
 * runtime below main or the thread's function. None for text traces. */
uint32_t hd_describe_stack(struct hd_describe *describe, uint32_t event,
                           const struct hd_frame **frames);

#endif
