/* What every command prints the same way: error lines, colour on terminals, the progress bar. */
#ifndef HEDDLE_CLI_OUTPUT_H
#define HEDDLE_CLI_OUTPUT_H

#include "base/progress.h"
#include "base/status.h"
#include "model/describe.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* "heddle: record: message" on stderr, one line. command NULL leaves its part out. Returns 2, the
 * status of a command that could not do its job, so that `return hd_complain(...)` reads well. */
int hd_complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What was complained of last, for those who want it as JSON; "" */
const char *hd_last_complaint(void);
/* The same for an error value. */
int hd_complain_error(const char *command, const struct hd_error *error);
/* "heddle: record: warning: message". */
/* Says that heddle's own runtime crashed, if there are words for it, and what to send; the status
 * to end with. */
int hd_complain_runtime(const char *command, const char *fault, int status);
void hd_warn(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a reader should know about a trace: its warnings, whether it is whole and exact, and which
 * modules have no symbols (to be called after the symbols were asked for). */
void hd_warn_about(const char *command, const struct hd_model *model,
                   const struct hd_describe *describe);
void hd_warn_about_model(const char *command, const struct hd_model *model); /* warnings only */
void hd_warn_about_symbols(const char *command, const struct hd_describe *describe);

#define HD_CHILD_THREADS_WARNING                                                               \
    "a child process of the program makes threads, and was not looked at: --follow-fork does " \
    "that"
/* What a recorded run that deadlocked says about itself. */
void hd_print_deadlock(FILE *out, const char *trace_path);

/* Flushes stdout; false (after a message) if anything written to it was lost. A closed pipe, as in
 * `heddle dump | head`, is no error worth a message. */
bool hd_finish_output(const char *command);

enum hd_style {
    HD_STYLE_NONE,
    HD_STYLE_BOLD,
    HD_STYLE_DIM,
    HD_STYLE_RED,
    HD_STYLE_GREEN,
    HD_STYLE_YELLOW,
    HD_STYLE_CYAN
};

/* --color: by itself colour goes to terminals only, and not even there if NO_COLOR is set or TERM
 * is dumb. */
enum hd_color_mode { HD_COLOR_AUTO, HD_COLOR_ALWAYS, HD_COLOR_NEVER };
void hd_color_choose(enum hd_color_mode mode);
bool hd_color(FILE *stream);
/* Escape sequence that switches a style on, or "" if the stream takes no colour. */
const char *hd_style_on(FILE *stream, enum hd_style style);
const char *hd_style_off(FILE *stream);

/* One line on stderr that says what is going on, if that is a terminal; short work shows nothing.
 *     struct hd_status_line line; hd_status_line_begin(&line);
 *     if (hd_status_line_due(&line, what)) hd_status_line_draw(&line, text);
 *     hd_status_line_wipe(&line);       before anything else is printed, and at the end
 */
struct hd_status_line {
    uint64_t start_ns, next_ns;
    bool terminal, drawn;
    char what[32];
};
void hd_status_line_begin(struct hd_status_line *line);
/* Ten times a second, and when it is something else that is going on. */
bool hd_status_line_due(struct hd_status_line *line, const char *what);
/* Cut where the terminal ends. */
void hd_status_line_draw(struct hd_status_line *line, const char *text);
void hd_status_line_wipe(struct hd_status_line *line);

/* Draws what a worker reports as such a line: struct hd_progress_bar bar;
 * hd_progress_bar_begin(&bar);
 *     ... give &bar.progress to the worker ...
 *     hd_progress_bar_end(&bar);
 */
struct hd_progress_bar {
    struct hd_progress progress;
    struct hd_status_line line;
};
void hd_progress_bar_begin(struct hd_progress_bar *bar);
void hd_progress_bar_end(struct hd_progress_bar *bar); /* wipes it */

#endif
