/* AVIO in hardware (Lu's dissertation, 4.4.1, "AVIO-H"), as a model that a trace drives: private L1
 * caches, a shared L2, an invalidation protocol (MESI), and AVIO's bits in each line of an L1:
 *   PI   the last local access was a read (set by a local read, unset by a local write)
 *   DG   another core asked for the line to read it since then (set by a downgrade, unset by every
 *        local access)
 *   INV  another core wrote to the line since then: the line is invalid, but its tag and bits stay
 *        until another line takes its place
 * An access that is an I-instruction is checked only if its L1 can't satisfy it alone: on a miss,
 * and on a write to a line that is shared. What the bits can't know is missed or falsely raised:
 * displaced lines and context switches lose history, and a line holds more than one variable.
 *
 * A thread runs on the core with its number modulo the number of cores. Compared with AVIO-S
 * (detect.h, byte-exact) on the same trace. */
#ifndef HEDDLE_LEARN_HARDWARE_H
#define HEDDLE_LEARN_HARDWARE_H

#include "learn/invariants.h"

/* Table 4.2, and the penalties of section 4.5. */
struct hd_hardware {
    uint32_t cores;
    uint32_t line; /* bytes, a power of two */
    uint64_t l1_bytes, l2_bytes;
    uint32_t l1_ways, l2_ways;
    uint32_t l1_cycles, l2_cycles, memory_cycles;
    uint32_t report_cycles; /* of the core that reports */
    double slower_clock;    /* part of the frequency that the larger L1 costs */
};
struct hd_hardware hd_hardware_usual(void);
/* Are there as many sets as a cache needs? The error says which cache is too small. */
bool hd_hardware_fits(const struct hd_hardware *hardware, struct hd_error *error);

struct hd_hardware_count {
    uint64_t caught, missed, raised; /* by both; by AVIO-S only; by the hardware only */
};

struct hd_hardware_result {
    uint64_t accesses; /* to lines */
    uint64_t hits, upgrades, misses, l2_misses;
    uint64_t checks; /* of I-instructions, on a miss or an upgrade */
    uint64_t displaced, switches;
    struct hd_hardware_count executions, code;  /* of I-instructions; and by places in the code */
    uint64_t missed_displaced, missed_switched; /* executions: the history was gone */
    uint64_t cycles;                            /* of the core that works longest */
    double overhead;                            /* of the checks, as a part of that time */
};

/* `invariants` NULL: every access is an I-instruction. */
void hd_hardware_run(const struct hd_hardware *hardware, const struct hd_model *model,
                     struct hd_describe *describe, const struct hd_invariants *invariants,
                     struct hd_hardware_result *result);

/* ---- one access at a time, for tests ---- */

struct hd_caches;
struct hd_caches *hd_caches_make(const struct hd_hardware *hardware);
void hd_caches_free(struct hd_caches *caches);

/* What an access to one line did. */
struct hd_cache_access {
    bool hit, upgrade;
    bool violated; /* by the bits, if it is an I-instruction */
    bool known;    /* the line's history was there */
    bool switched; /* it is gone because of a context switch */
    uint32_t cycles;
};
/* `line` is an address divided by the length of a line. */
struct hd_cache_access hd_caches_access(struct hd_caches *caches, uint32_t core, uint64_t line,
                                        unsigned does);
/* Lines that another one took the place of, in all L1. */
uint64_t hd_caches_displaced(const struct hd_caches *caches);
/* Another thread runs on the core from now on. */
void hd_caches_switch(struct hd_caches *caches, uint32_t core);
/* The bits of a line in a core's L1: false if the line is not there. */
struct hd_cache_bits {
    bool pi, dg, inv;
};
bool hd_caches_bits(const struct hd_caches *caches, uint32_t core, uint64_t line,
                    struct hd_cache_bits *bits);

#endif
