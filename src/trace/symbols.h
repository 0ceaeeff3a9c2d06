/* From code and data addresses to what a programmer wrote, by libdw: sites to function, file, line,
 * column and inlined frames; addresses of globals and statics to variable expressions. Opened for
 * the modules of one trace; answers are cached, strings live as long as the handle. */
#ifndef HEDDLE_TRACE_SYMBOLS_H
#define HEDDLE_TRACE_SYMBOLS_H

#include "base/status.h"
#include "trace/trace.h"

struct hd_symbols;

struct hd_frame {
    const char *function;  /* never NULL: "??" if unknown, demangled for C++ */
    const char *file;      /* NULL if unknown; as DWARF says, made relative to the current directory
                              when it lies below it */
    uint32_t line, column; /* 0 if unknown */
    uint32_t function_line;   /* where the function begins; 0 if unknown */
    uint32_t function_offset; /* without debug information: of the address in the function */
    const char *module;       /* file name of the module without directory */
    bool inlined;             /* into the next frame */
};

/* Whether a frame is in the C or C++ library, their headers or the runtime: not what a programmer
 * looks for. Frames without a file count as such. */
bool hd_frame_is_system(const struct hd_frame *frame);

/* Never fails: a module that can't be read, or whose build id differs from the recorded one, gives
 * "module+0xoffset" names and one line in hd_symbols_warning. */
struct hd_symbols *hd_symbols_open(const struct hd_trace *trace);
void hd_symbols_close(struct hd_symbols *symbols);
uint32_t hd_symbols_warnings(const struct hd_symbols *symbols, const char *const **lines);

/* Frames at a site, innermost first, inlined ones expanded; at least one. A site is a return
 * address: the call before it is looked up. Returns the number of frames. */
uint32_t hd_symbols_site(struct hd_symbols *symbols, uint32_t site, const struct hd_frame **frames);

/* The name of a static-storage object at an address, with the access size to choose the member:
 * "g.buf[3]", "stats.rx_bytes", "counter", "worker::calls" (a function's static: function::name).
 * NULL if no module's data covers it. If base is not NULL, *base is the symbol alone and *offset
 * the distance from its start. */
const char *hd_symbols_variable(struct hd_symbols *symbols, uint64_t address, uint64_t size,
                                const char **base, uint64_t *offset);

/* What is in the frame of the function that a site is in, `offset` bytes from where the frame
 * begins (below zero: the frame grows down): "main::done", "serve::request.len". If no variable is
 * known there: NULL, or "a local of serve" if `inside` says that it is known to be in the frame. */
const char *hd_symbols_local(struct hd_symbols *symbols, uint32_t site, int64_t offset,
                             uint64_t size, bool inside);

/* The structure that a heap block is, if that is certain: the program keeps what the allocating
 * call returned in a pointer to it, and it has as many bytes. NULL if not; then *returned says
 * whether the function returns the block, so that its caller's site is the one to ask about next.
 */
struct hd_pointee;
const struct hd_pointee *hd_symbols_allocated(struct hd_symbols *symbols, uint32_t site,
                                              uint64_t bytes, bool *returned);
/* The structure that an access of the program is to a part of, by the pointer that it goes through,
 * with the offset in it; NULL if that is not certain. */
const struct hd_pointee *hd_symbols_accessed(struct hd_symbols *symbols, uint32_t site,
                                             uint64_t size, bool write, uint64_t *offset);
/* "struct queue"; and the part of it, ".count", ".item[3].size", "" for all of it. */
const char *hd_pointee_name(const struct hd_pointee *pointee);
const char *hd_pointee_part(const struct hd_pointee *pointee, uint64_t offset, uint64_t size);

/* Functions of this name in a file, as symbols or in source; *address is where the last begins. */
uint32_t hd_symbols_function(const char *path, const char *name, uint64_t *address);

/* The NUL-terminated text that a module's file holds at an address (an annotation's), or NULL. */
const char *hd_symbols_text(struct hd_symbols *symbols, uint64_t address);

#endif
