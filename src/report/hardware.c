/* The table of AVIO-H: see hardware.h. */
#include "report/hardware.h"

static unsigned long long number(uint64_t value) { return value; }

void hd_report_hardware(FILE *out, const struct hd_hardware *hardware,
                        const struct hd_hardware_result *result) {
    const struct hd_hardware_count *executions = &result->executions, *code = &result->code;
    fprintf(
        out,
        "AVIO-H: %u core%s, L1 of %llu KB (%u-way), L2 of %llu KB (%u-way), lines of %u bytes\n"
        "  %llu accesses to lines: %llu hits, %llu upgrades, %llu misses (%llu of L2 too)\n"
        "  checks of accesses with an invariant: %llu; lines displaced: %llu; context switches: "
        "%llu\n\n",
        hardware->cores, hardware->cores == 1 ? "" : "s", number(hardware->l1_bytes >> 10),
        hardware->l1_ways, number(hardware->l2_bytes >> 10), hardware->l2_ways, hardware->line,
        number(result->accesses), number(result->hits), number(result->upgrades),
        number(result->misses), number(result->l2_misses), number(result->checks),
        number(result->displaced), number(result->switches));
    fprintf(out, "  beside AVIO-S                executions   places in the code\n");
    fprintf(out, "  caught by both             %12llu %20llu\n", number(executions->caught),
            number(code->caught));
    fprintf(out, "  missed by the hardware     %12llu %20llu\n", number(executions->missed),
            number(code->missed));
    fprintf(out, "  falsely raised by it       %12llu %20llu\n", number(executions->raised),
            number(code->raised));
    if (executions->missed > 0)
        fprintf(out,
                "  of the missed executions, %llu had lost their history to a context switch, %llu "
                "to another line\n",
                number(result->missed_switched), number(result->missed_displaced));
    fprintf(out, "\n  modelled overhead: %.2f %% of %llu cycles\n", result->overhead * 100,
            number(result->cycles));
}

uint32_t hd_report_hardware_numbers(const struct hd_hardware_result *result,
                                    struct hd_report_number to[HD_HARDWARE_NUMBERS]) {
    const struct hd_report_number all[] = {
        {"hardware_accesses", result->accesses},
        {"hardware_hits", result->hits},
        {"hardware_upgrades", result->upgrades},
        {"hardware_misses", result->misses},
        {"hardware_checks", result->checks},
        {"hardware_displaced", result->displaced},
        {"hardware_switches", result->switches},
        {"hardware_caught", result->executions.caught},
        {"hardware_missed", result->executions.missed},
        {"hardware_raised", result->executions.raised},
        {"hardware_places_caught", result->code.caught},
        {"hardware_places_missed", result->code.missed},
        {"hardware_places_raised", result->code.raised},
        {"hardware_cycles", result->cycles},
        {"hardware_overhead_ppm", (uint64_t)(result->overhead * 1e6 + 0.5)}};
    uint32_t count = sizeof all / sizeof *all;
    for (uint32_t i = 0; i < count; i++) to[i] = all[i];
    return count;
}
