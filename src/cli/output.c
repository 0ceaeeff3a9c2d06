/* Error lines, colour and the progress bar. */
#include "cli/output.h"

#include "report/deadlock.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void message(const char *command, const char *severity, const char *format,
                    va_list arguments) {
    fflush(stdout);
    fprintf(stderr, "%sheddle: ", hd_style_on(stderr, HD_STYLE_BOLD));
    if (command) fprintf(stderr, "%s: ", command);
    fprintf(stderr, "%s%s", severity, hd_style_off(stderr));
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

static char last_complaint[1024];

const char *hd_last_complaint(void) { return last_complaint; }

int hd_complain(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_complaint, sizeof last_complaint, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    message(command, "", format, arguments);
    va_end(arguments);
    return 2;
}

int hd_complain_error(const char *command, const struct hd_error *error) {
    return hd_complain(command, "%s", error->message);
}

int hd_complain_runtime(const char *command, const char *fault, int status) {
    if (fault[0] == '\0') return status;
    hd_complain(command,
                "%s; this is a bug of heddle, not of the program. Please send this line, the "
                "output of heddle --version, and the program if you can",
                fault);
    return status == 1 ? 1 : 2; /* findings are still findings */
}

void hd_warn(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(command, "warning: ", format, arguments);
    va_end(arguments);
}

static void warn_about_trace(const char *command, const struct hd_trace *trace) {
    for (uint32_t i = 0; i < trace->warnings; i++) hd_warn(command, "%s", trace->warning[i]);
}

static void warn_about_model(const char *command, const struct hd_model *model) {
    for (uint32_t i = 0; i < model->warnings; i++) hd_warn(command, "%s", model->warning[i]);
}

void hd_warn_about_model(const char *command, const struct hd_model *model) {
    warn_about_trace(command, model->trace);
    warn_about_model(command, model);
}

void hd_warn_about_symbols(const char *command, const struct hd_describe *describe) {
    const char *const *line;
    uint32_t lines = hd_describe_warnings(describe, &line);
    for (uint32_t i = 0; i < lines; i++) hd_warn(command, "%s", line[i]);
}

void hd_warn_about(const char *command, const struct hd_model *model,
                   const struct hd_describe *describe) {
    const struct hd_trace *trace = model->trace;
    warn_about_trace(command, trace);
    if (!trace->end.whole && trace->end.missing[0] != '\0')
        hd_warn(command, "the trace is not whole: %s", trace->end.missing);
    warn_about_model(command, model);
    if (!trace->exact)
        hd_warn(command, "the order of this trace is approximate (recorded with --sched free)");
    hd_warn_about_symbols(command, describe);
}

void hd_print_deadlock(FILE *out, const char *trace_path) {
    struct hd_model model;
    struct hd_error error;
    struct hd_model_options options = {.lenient = true};
    if (!hd_model_load(trace_path, NULL, &options, &model, &error)) {
        fprintf(out, "heddle: the program deadlocked\n");
        hd_complain_error(NULL, &error);
        return;
    }
    struct hd_describe *describe = hd_describe_open(&model);
    fprintf(out, "heddle: the program deadlocked:\n");
    hd_report_blocked(out, &model, describe);
    hd_describe_close(describe);
    hd_model_free(&model);
}

bool hd_finish_output(const char *command) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    if (errno != EPIPE)
        hd_complain(command, "could not write standard output: %s",
                    errno ? strerror(errno) : "an earlier write failed");
    return false;
}

static enum hd_color_mode color_mode;

void hd_color_choose(enum hd_color_mode mode) { color_mode = mode; }

bool hd_color(FILE *stream) {
    if (color_mode != HD_COLOR_AUTO) return color_mode == HD_COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && *no_color) return false;
    if (!term || strcmp(term, "dumb") == 0) return false;
    /* mpirun gives its programs a terminal whatever its own output is. */
    return isatty(fileno(stream)) && getenv("OMPI_COMM_WORLD_SIZE") == NULL;
}

const char *hd_style_on(FILE *stream, enum hd_style style) {
    static const char *const sequence[] = {"",         "\033[1m",  "\033[2m", "\033[31m",
                                           "\033[32m", "\033[33m", "\033[36m"};
    return hd_color(stream) ? sequence[style] : "";
}

const char *hd_style_off(FILE *stream) { return hd_color(stream) ? "\033[0m" : ""; }

#define DRAW_INTERVAL_NS 100000000u

static size_t columns(void) {
    struct winsize window = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    return known ? window.ws_col : 80;
}

void hd_status_line_begin(struct hd_status_line *line) {
    *line = (struct hd_status_line){.start_ns = hd_now_ns(), .terminal = isatty(STDERR_FILENO)};
    line->next_ns = line->start_ns + DRAW_INTERVAL_NS;
}

bool hd_status_line_due(struct hd_status_line *line, const char *what) {
    if (!line->terminal) return false;
    uint64_t now = hd_now_ns();
    bool same = !line->drawn || strncmp(line->what, what, sizeof line->what - 1) == 0;
    if (same && now < line->next_ns) return false;
    snprintf(line->what, sizeof line->what, "%s", what);
    line->next_ns = now + DRAW_INTERVAL_NS;
    return true;
}

/* The last column stays empty; no character of several bytes is cut in two. */
void hd_status_line_draw(struct hd_status_line *line, const char *text) {
    size_t room = columns() - 1, bytes = 0;
    for (size_t used = 0; text[bytes] != '\0'; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && ++used > room) break;
    fprintf(stderr, "\r\033[K%.*s", (int)bytes, text);
    fflush(stderr);
    line->drawn = true;
}

void hd_status_line_wipe(struct hd_status_line *line) {
    if (line->drawn) fputs("\r\033[K", stderr);
    line->drawn = false;
}

static void draw(struct hd_progress *progress) {
    struct hd_progress_bar *bar = progress->context;
    const char *what = progress->what ? progress->what : "working";
    if (!hd_status_line_due(&bar->line, what)) return;
    char text[256], drawn[41];
    if (progress->total == 0) {
        snprintf(text, sizeof text, "%s %" PRIu64, what, progress->done);
        hd_status_line_draw(&bar->line, text);
        return;
    }
    size_t room = columns(), used = strlen(what) + sizeof " [] 100%";
    size_t width = room > used + 10 ? room - used : 10;
    if (width > sizeof drawn - 1) width = sizeof drawn - 1;
    double part = (double)progress->done / (double)progress->total;
    if (part > 1) part = 1;
    size_t filled = (size_t)(part * (double)width);
    memset(drawn, ' ', width);
    memset(drawn, '=', filled);
    snprintf(text, sizeof text, "%s [%.*s] %3u%%", what, (int)width, drawn, (unsigned)(part * 100));
    hd_status_line_draw(&bar->line, text);
}

void hd_progress_bar_begin(struct hd_progress_bar *bar) {
    *bar = (struct hd_progress_bar){.progress.context = bar};
    hd_status_line_begin(&bar->line);
    if (bar->line.terminal) bar->progress.report = draw;
}

void hd_progress_bar_end(struct hd_progress_bar *bar) { hd_status_line_wipe(&bar->line); }
