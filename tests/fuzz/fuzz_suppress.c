/* Any bytes as a file of suppressions: refused with a line that names the place, or read as entries
 * that are tried on a finding. */
#include "finding/suppress.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_suppressions read = {0};
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_suppressions_parse(&read, "input", (const char *)data, size, &error)) {
        if (strncmp(error.message, "input", 5) != 0) abort();
        hd_suppressions_free(&read);
        return 0;
    }
    struct hd_frame frame[] = {
        {.function = "worker", .file = "src/a.c", .line = 3, .module = "app"},
        {.function = "main", .file = "src/b.c", .line = 9, .module = "app"}};
    struct hd_finding_event event = {.op = "w",
                                     .verb = "writes",
                                     .variable = "x",
                                     .site = "a.c:3",
                                     .file = "src/a.c",
                                     .function = "worker",
                                     .frame = frame,
                                     .frames = 2};
    struct hd_findings findings = {0};
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        struct hd_finding draft = {.kind = kind, .event = &event, .events = 1};
        hd_finding_add(&findings, &draft);
    }
    hd_findings_fingerprint(&findings);
    hd_suppressions_mark(&read, &findings);
    hd_findings_free(&findings);
    hd_suppressions_free(&read);
    return 0;
}
