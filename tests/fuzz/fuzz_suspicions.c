/* Any bytes as a report of lint that is to be forced: refused with one line, or read as findings
 * that have what forcing needs. */
#include "explore/suspicions.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hd_finding *finding) {
    if (!hd_is_suspicion(finding) || finding->fingerprint[0] == '\0') abort();
    for (unsigned role = HD_FINDING_ROLE_FIRST; role < HD_FINDING_ROLE_COUNT; role++) {
        char where[64];
        hd_suspicion_where(finding, role, where, sizeof where);
        if (where[0] == '?' && where[1] == '\0') abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_findings_file file;
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_suspicions_parse("input", (const char *)data, size, &file, &error)) {
        if (error.message[0] == '\0' || strchr(error.message, '\n') != NULL) abort();
        return 0;
    }
    for (size_t i = 0; i < file.findings.list.size; i++) check(&file.findings.list.data[i]);
    hd_findings_file_free(&file);
    return 0;
}
