/* Any bytes as a list of findings: refused with one line that names the file, or read as findings
 * that every report can write, and that are read again as the same. */
#include "finding/read.h"
#include "support/written.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool text(FILE *out, const struct hd_findings *findings, const struct hd_report_input *input,
                 const struct hd_report_size *size, const char *version) {
    (void)input, (void)version;
    hd_report_text(out, findings, size->most, &(struct hd_report_style){.color = true});
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_findings_file file, again;
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_findings_parse("input", (const char *)data, size, &file, &error)) {
        if (strncmp(error.message, "input", 5) != 0 || strchr(error.message, '\n') != NULL) abort();
        return 0;
    }
    char *first = written(hd_report_json, &file.findings);
    if (!hd_findings_parse("written", first, strlen(first), &again, &error)) abort();
    char *second = written(hd_report_json, &again.findings);
    if (strcmp(first, second) != 0) abort();
    char *sarif = written(hd_report_sarif, &file.findings);
    json_t *log = json_loads(sarif, 0, NULL);
    if (log == NULL) abort();
    json_decref(log);
    free(written(hd_report_junit, &file.findings));
    free(written(text, &file.findings));
    free(first);
    free(second);
    free(sarif);
    hd_findings_file_free(&file);
    hd_findings_file_free(&again);
    return 0;
}
