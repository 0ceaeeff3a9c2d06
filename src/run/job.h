/* Jobs and results as text (JSON), so that a run can be asked for in one process or on one machine
 * and done in another. What is written reads back without loss; reading is strict, since the text
 * may come from anywhere.
 *
 *     char *text = hd_job_write(&job);                           here
 *     hd_job_read(text, bytes, "job", &job, &error)              there
 *     hd_run(&job, &host, &result, &error); text = hd_result_write(&result);
 *     hd_result_read(text, bytes, "result", &result, &error)     here
 *
 * Paths in a job (input, reference output) mean files where it is run; good_output is a reference
 * that needs no file. A result that was read has no open files: whoever needs the trace or
 * the output sends them as files, and may write a trace's name into trace_path. */
#ifndef HEDDLE_RUN_JOB_H
#define HEDDLE_RUN_JOB_H

#include "run/run.h"

/* malloc'ed, one line. */
char *hd_job_write(const struct hd_job *job);
/* `name` is what errors call the text. The job's memory is its own: hd_job_free. */
bool hd_job_read(const char *text, size_t bytes, const char *name, struct hd_job *job,
                 struct hd_error *error);
/* Of a job that was read. */
void hd_job_free(struct hd_job *job);

char *hd_result_write(const struct hd_result *result);
bool hd_result_read(const char *text, size_t bytes, const char *name, struct hd_result *result,
                    struct hd_error *error);

#endif
