/* The part of `heddle check` that works on recorded runs: --trace, and the model of the hardware.
 * cmd_check.c has the command and its options; these are the rows and the work. */
#ifndef HEDDLE_CLI_CHECK_TRACE_H
#define HEDDLE_CLI_CHECK_TRACE_H

#include "cli/findings_output.h"
#include "cli/full_option.h"
#include "trace/wire.h"

struct hd_check_trace {
    const char *trace; /* NULL: no trace was given */
    const char *correlations;
    bool hardware, full;
    uint64_t cores, line, l1, l1_ways, l2, l2_ways, l1_cycles, l2_cycles, memory_cycles;
    /* filled in by the command */
    const char *invariants; /* file; NULL */
    enum hd_granularity granularity;
    bool all; /* also what breaks no invariant */
};

/* Table 4.2 of the dissertation. */
#define HD_CHECK_TRACE_DEFAULTS                                                                   \
    {                                                                                             \
        .cores = 4, .line = 64, .l1 = 32, .l1_ways = 4, .l2 = 1024, .l2_ways = 8, .l1_cycles = 2, \
        .l2_cycles = 10, .memory_cycles = 200                                                     \
    }

#define HD_CHECK_TRACE_OPTIONS(o)                                                                 \
    HD_TEXT("trace", 0, "FILE", &(o)->trace, "check a recorded run instead of a program"),        \
        HD_TEXT("correlations", 0, "FILE", &(o)->correlations,                                    \
                "with --trace: pairs of variables that belong together, from heddle mine"),       \
        HD_FULL_OPTION(&(o)->full),                                                               \
        HD_FLAG("hardware", 0, &(o)->hardware,                                                    \
                "with --trace: what a cache with AVIO's extensions would report (AVIO-H)"),       \
        HD_NUMBER("cores", 0, "N", &(o)->cores, 1, 1024, "hardware: cores (default 4)"),          \
        HD_NUMBER("line", 0, "BYTES", &(o)->line, 8, 4096, "hardware: cache line (default 64)"),  \
        HD_NUMBER("l1", 0, "KB", &(o)->l1, 1, 1 << 20, "hardware: each L1 (default 32)"),         \
        HD_NUMBER("l1-ways", 0, "N", &(o)->l1_ways, 1, 64, "hardware: ways of L1 (default 4)"),   \
        HD_NUMBER("l2", 0, "KB", &(o)->l2, 1, 1 << 20, "hardware: the shared L2 (default 1024)"), \
        HD_NUMBER("l2-ways", 0, "N", &(o)->l2_ways, 1, 64, "hardware: ways of L2 (default 8)"),   \
        HD_NUMBER("l1-cycles", 0, "N", &(o)->l1_cycles, 1, 10000,                                 \
                  "hardware: latency of L1 (default 2)"),                                         \
        HD_NUMBER("l2-cycles", 0, "N", &(o)->l2_cycles, 1, 10000,                                 \
                  "hardware: latency of L2 (default 10)"),                                        \
        HD_NUMBER("memory-cycles", 0, "N", &(o)->memory_cycles, 1, 100000,                        \
                  "hardware: latency of memory (default 200)")

/* Was one of these options given that has no default? */
bool hd_check_trace_wanted(const struct hd_check_trace *wanted);
/* Does the whole job for a trace; returns the exit status. Complains about options that do not fit
 * together. */
int hd_check_trace(const struct hd_check_trace *wanted, struct hd_findings_options *output);

#endif
