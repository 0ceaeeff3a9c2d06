/* See explored.h. */
#include "cli/explored.h"

#include "base/alloc.h"

#include <string.h>

static struct hd_interrupt stop;

static void on_signal(int number) { stop.signal = number; }

struct hd_interrupt *hd_stop_on_signals(void) {
    static const int number[] = {SIGINT, SIGTERM, SIGHUP};
    for (unsigned i = 0; i < sizeof number / sizeof *number; i++) {
        struct sigaction action = {.sa_flags = SA_RESETHAND | SA_RESTART}, old;
        action.sa_handler = on_signal;
        sigemptyset(&action.sa_mask);
        /* nohup and background jobs of a shell ignore some of them */
        if (sigaction(number[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(number[i], &action, NULL);
    }
    return &stop;
}

int hd_end_by_signal(int number, int status) {
    if (number == 0) return status;
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}

char *hd_explored_path(const char *program, const char *kind) {
    const char *name = strrchr(program, '/');
    return hd_format("%s.%s.json", name != NULL ? name + 1 : program, kind);
}
