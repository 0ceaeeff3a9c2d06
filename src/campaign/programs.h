/* What a job is a job of: the program and everything that is known to change what it does. A key
 * has in it heddle's version, the program's build (of the program and the libraries it loads, as
 * seen in a run), the content of every file that its command line names and of its input, and of
 * the output that its own is compared with. */
#ifndef HEDDLE_CAMPAIGN_PROGRAMS_H
#define HEDDLE_CAMPAIGN_PROGRAMS_H

#include "campaign/file.h"

/* A file that a run needs, by its content. */
struct campaign_needed {
    int word;   /* number of the argument; or: */
    char *path; /* where it is here */
    char hash[HD_KEY_TEXT];
};
#define CAMPAIGN_INPUT (-1)     /* word: standard input */
#define CAMPAIGN_REFERENCE (-2) /* word: hd_program.output_like */
#define CAMPAIGN_LEAST (-2)     /* of all words */

struct campaign_program {
    struct hd_program program;
    char key[HD_KEY_TEXT];
    HD_VECTOR(struct campaign_needed) needed;
};

/* `build` is the program's own, `kind` what its jobs are: "" for runs. */
void campaign_program_make(struct campaign_program *program, const struct hd_program *from,
                           const char *kind, const char *build);
void campaign_program_free(struct campaign_program *program);
/* The same strings, in the same places. */
bool campaign_program_is(const struct campaign_program *program, const struct hd_program *other);

/* As execvp looks for it; malloc'ed. */
char *campaign_find_program(const char *name);

/* The build of a program, from a run of it; "" if that shows none. */
bool campaign_build(const struct hd_program *program, const struct hd_host *host, char build[33],
                    struct hd_error *error);

/* A job as text, without what differs between machines and moments: limits, patience, the place of
 * the reference output. malloc'ed. */
char *campaign_job_text(const struct hd_job *job);
void campaign_job_key(const struct campaign_program *program, const char *text, size_t bytes,
                      char key[HD_KEY_TEXT]);

#endif
