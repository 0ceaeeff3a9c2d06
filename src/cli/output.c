/* Error lines, colour and the progress bar. */
#include "cli/output.h"

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

int hd_complain(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(command, "", format, arguments);
    va_end(arguments);
    return 2;
}

int hd_complain_error(const char *command, const struct hd_error *error) {
    return hd_complain(command, "%s", error->message);
}

void hd_warn(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(command, "warning: ", format, arguments);
    va_end(arguments);
}

bool hd_finish_output(const char *command) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    if (errno != EPIPE)
        hd_complain(command, "could not write standard output: %s",
                    errno ? strerror(errno) : "an earlier write failed");
    return false;
}

bool hd_color(FILE *stream) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && *no_color) return false;
    if (!term || strcmp(term, "dumb") == 0) return false;
    return isatty(fileno(stream));
}

const char *hd_style_on(FILE *stream, enum hd_style style) {
    static const char *const sequence[] = {"",         "\033[1m",  "\033[2m", "\033[31m",
                                           "\033[32m", "\033[33m", "\033[36m"};
    return hd_color(stream) ? sequence[style] : "";
}

const char *hd_style_off(FILE *stream) { return hd_color(stream) ? "\033[0m" : ""; }

#define DRAW_INTERVAL_NS 100000000u

static void draw(struct hd_progress *progress) {
    struct hd_progress_bar *bar = progress->context;
    uint64_t now = hd_now_ns();
    if (now < bar->next_draw_ns) return;
    bar->next_draw_ns = now + DRAW_INTERVAL_NS;
    bar->drawn = true;
    const char *what = progress->what ? progress->what : "working";
    if (progress->total == 0) {
        fprintf(stderr, "\r\033[K%s %" PRIu64, what, progress->done);
        return;
    }
    struct winsize window = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col;
    size_t columns = known ? window.ws_col : 80, used = strlen(what) + sizeof " [] 100%";
    size_t width = columns > used + 10 ? columns - used : 10;
    if (width > 40) width = 40;
    double part = (double)progress->done / (double)progress->total;
    if (part > 1) part = 1;
    size_t filled = (size_t)(part * (double)width);
    fprintf(stderr, "\r\033[K%s [", what);
    for (size_t i = 0; i < width; i++) fputc(i < filled ? '=' : ' ', stderr);
    fprintf(stderr, "] %3u%%", (unsigned)(part * 100));
}

void hd_progress_bar_begin(struct hd_progress_bar *bar) {
    *bar = (struct hd_progress_bar){.terminal = isatty(STDERR_FILENO)};
    if (!bar->terminal) return;
    bar->progress.report = draw;
    bar->progress.context = bar;
    bar->next_draw_ns = hd_now_ns() + DRAW_INTERVAL_NS; /* short work shows nothing */
}

void hd_progress_bar_end(struct hd_progress_bar *bar) {
    if (bar->drawn) fputs("\r\033[K", stderr);
    bar->drawn = false;
}
