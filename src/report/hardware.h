/* What the model of AVIO's hardware found, as a table. */
#ifndef HEDDLE_REPORT_HARDWARE_H
#define HEDDLE_REPORT_HARDWARE_H

#include "learn/hardware.h"
#include "report/report.h"

void hd_report_hardware(FILE *out, const struct hd_hardware *hardware,
                        const struct hd_hardware_result *result);
/* The same as numbers with names, for JSON; returns how many. */
#define HD_HARDWARE_NUMBERS 16u
uint32_t hd_report_hardware_numbers(const struct hd_hardware_result *result,
                                    struct hd_report_number number[HD_HARDWARE_NUMBERS]);

#endif
