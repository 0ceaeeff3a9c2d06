/* Signals that ask heddle to stop. See stop.h. */
#include "cli/stop.h"

#include <stddef.h>

static struct hd_interrupt asked;
static enum hd_stop_way how;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    bool idle = __atomic_load_n(&asked.runs, __ATOMIC_SEQ_CST) == 0;
    if (idle && (how != HD_STOP_ALL || asked.times > 0)) {
        hd_end_by_signal(number, 0);
        return;
    }
    if (how == HD_STOP_SHARED && info->si_code > 0) return; /* from the terminal */
    asked.signal = number;
    asked.times++;
}

struct hd_interrupt *hd_stop_on_signals(enum hd_stop_way way) {
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, now;
    how = way;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        if (sigaction(caught[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    /* Whoever ignored it before us did not mean our children, which we wait for. */
    signal(SIGCHLD, SIG_DFL);
    return &asked;
}

int hd_end_by_signal(int number, int status) {
    if (number == 0) return status;
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}
