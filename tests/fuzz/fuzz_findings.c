/* Any bytes as a list of findings: refused with one line that names the file, or read as findings
 * that every report can write, and that are read again as the same. */
#include "base/alloc.h"
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

/* The page has two scripts, its own and its data; the data is JSON, and nothing begins a comment.
 */
static void check_page(const struct hd_findings *findings) {
    static const char begin[] = "<script type=\"application/json\" id=\"data\">",
                      end[] = "</script>";
    /* a copy: gcc takes the pointer for one to the local variable that the stream filled */
    char *made = written(hd_report_html, findings), *page = hd_strdup(made);
    free(made);
    char *from = strstr(page, begin);
    if (from == NULL || strstr(page, "<!--") != NULL) abort();
    from += strlen(begin);
    char *to = strstr(from, end);
    if (to == NULL) abort();
    json_t *data = json_loadb(from, (size_t)(to - from), 0, NULL);
    if (data == NULL || json_array_size(json_object_get(data, "findings")) != findings->list.size)
        abort();
    json_decref(data);
    /* then comes the script, and the end */
    if (strncmp(to, "</script>\n<script>", 18) != 0) abort();
    char *last = strstr(to + strlen(end), end);
    if (last == NULL || strcmp(last, "</script>\n</body>\n</html>\n") != 0) abort();
    /* and before it no element but those of the head and the text */
    unsigned brackets = 0;
    for (const char *at = strstr(page, "<noscript>"); at < from; at++) brackets += *at == '<';
    if (brackets != 9) abort();
    free(page);
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
    check_page(&file.findings);
    free(written(text, &file.findings));
    free(first);
    free(second);
    free(sarif);
    hd_findings_file_free(&file);
    hd_findings_file_free(&again);
    return 0;
}
