/* Results with their files, as bytes. See file.h. */
#include "campaign/file.h"

#include "base/alloc.h"
#include "base/whole_file.h"
#include "run/job.h"
#include "run/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_ERROR (1u << 20) /* of standard error: the run is judged already */

/* NULL: there is no file, or it can't be read. */
static char *read_all(int fd, size_t most, size_t *bytes) {
    struct stat status;
    *bytes = 0;
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size < 0) return NULL;
    size_t all = (size_t)status.st_size < most ? (size_t)status.st_size : most, got = 0;
    char *text = hd_alloc(all + 1, 1);
    while (got < all) {
        ssize_t n = pread(fd, text + got, all - got, (off_t)got);
        if (n <= 0) break;
        got += (size_t)n;
    }
    text[got] = '\0';
    *bytes = got;
    return text;
}

void campaign_result_from(struct campaign_result *to, const struct hd_result *from,
                          uint64_t limit_ms) {
    *to = (struct campaign_result){.limit_ms = limit_ms};
    to->text = hd_result_write(from);
    to->text_bytes = strlen(to->text);
    to->trace = read_all(from->trace, SIZE_MAX, &to->trace_bytes);
    to->output = read_all(from->output, SIZE_MAX, &to->output_bytes);
    to->error = read_all(from->error, MOST_ERROR, &to->error_bytes);
    snprintf(to->outcome, sizeof to->outcome, "%s", hd_outcome_name(from->outcome.kind));
}

void campaign_result_of(struct campaign_result *to, struct hd_errand_done *from,
                        uint64_t limit_ms) {
    *to = (struct campaign_result){.limit_ms = limit_ms, .text = hd_strdup("")};
    to->output_bytes = from->result.bytes.size;
    hd_vector_push(&from->result.bytes, '\0');
    to->output = from->result.bytes.data;
    from->result = (struct hd_packed){.bytes = {0}};
    snprintf(to->outcome, sizeof to->outcome, "%s", from->outcome);
}

static bool to_file(int *fd, const char *text, size_t bytes, struct hd_error *error) {
    if (text == NULL) return true;
    *fd = hd_temporary_file();
    if (*fd < 0)
        return hd_fail(error, HD_ERR_IO, "cannot make a temporary file: %s", strerror(errno));
    return hd_write_all(*fd, text, bytes) ||
           hd_fail(error, HD_ERR_IO, "cannot write a temporary file: %s", strerror(errno));
}

bool campaign_result_to(const struct campaign_result *from, const char *name, struct hd_result *to,
                        struct hd_error *error) {
    if (!hd_result_read(from->text, from->text_bytes, name, to, error)) return false;
    to->trace_path[0] = '\0'; /* a file somewhere else, if it names one */
    bool good = to_file(&to->output, from->output, from->output_bytes, error) &&
                to_file(&to->error, from->error, from->error_bytes, error) &&
                to_file(&to->trace, from->trace, from->trace_bytes, error);
    if (to->trace >= 0)
        snprintf(to->trace_path, sizeof to->trace_path, "/proc/self/fd/%d", to->trace);
    if (!good) hd_result_free(to);
    return good;
}
