/* See supervise.h. The campaign file says whether a command makes progress: its last start gives a
 * sign once a second, and every result is in it. */
#include "cli/supervise.h"

#include "base/clock.h"
#include "campaign/campaign.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/stop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "campaign"
#define LOOK_SECONDS 1.0
#define END_SECONDS 5.0 /* for a command that is asked to end */
#define PAUSE_US 500000 /* before the next start */

/* What the file says; zeros if it does not say anything yet. */
struct sign {
    uint64_t runs;
    uint32_t starts;
    int64_t beat;
    bool ended;
};

static struct sign look(const char *path) {
    struct hd_campaign_state state;
    struct hd_error ignored;
    struct sign sign = {.runs = 0};
    if (access(path, F_OK) != 0 || !hd_campaign_look(path, &state, &ignored)) return sign;
    sign = (struct sign){state.runs, state.starts, state.beat, state.ended};
    hd_campaign_state_free(&state);
    return sign;
}

/* A process group of its own: all of it can be ended. */
static pid_t start(char **command) {
    pid_t child = fork();
    if (child != 0) {
        if (child > 0) setpgid(child, child);
        return child;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(command[0], command);
    hd_complain(COMMAND, "cannot run %s: %s", command[0], strerror(errno));
    _exit(HD_EXIT_FAILED);
}

static bool ended(pid_t child, int *status) { return waitpid(child, status, WNOHANG) == child; }

static void end_by_force(pid_t child, int *status) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    while (waitpid(child, status, 0) < 0 && errno == EINTR) continue;
}

/* Waits for its end, or ends it: when it gives no sign, or somebody asks us to stop. */
static int wait_for(pid_t child, const char *path, unsigned silence,
                    const struct hd_interrupt *stop) {
    struct sign last = look(path);
    double now = hd_seconds_now(), heard = now, next = now + LOOK_SECONDS, until = 0;
    int status = 0;
    while (!ended(child, &status)) {
        usleep(20000);
        now = hd_seconds_now();
        if (stop->signal != 0 && until <= 0) {
            kill(-child, stop->signal);
            until = now + END_SECONDS;
        }
        if (until > 0 && now > until) {
            end_by_force(child, &status);
            return status;
        }
        if (now < next) continue;
        next = now + LOOK_SECONDS;
        struct sign sign = look(path);
        if (sign.beat != last.beat || sign.runs != last.runs || sign.starts != last.starts)
            heard = now;
        last = sign;
        if (now - heard <= silence) continue;
        hd_complain(COMMAND, "no sign for %u s: the job is ended by force", silence);
        end_by_force(child, &status);
        return status;
    }
    kill(-child, SIGKILL); /* what it left behind */
    return status;
}

/* Is there no point in another start? */
static bool is_done(int status, const struct sign *sign) {
    if (!WIFEXITED(status)) return false;
    int code = WEXITSTATUS(status);
    return ((code == HD_EXIT_CLEAN || code == HD_EXIT_FINDINGS) && sign->ended) ||
           code == HD_EXIT_FAILED;
}

static void say(unsigned number, int status, const struct sign *sign) {
    char how[64];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "killed by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    fprintf(stderr, "heddle: %s: start %u %s; %llu results are kept, starting again\n", COMMAND,
            number, how, (unsigned long long)sign->runs);
}

int hd_supervise(const char *path, char **command, unsigned silence, unsigned fruitless) {
    const struct hd_interrupt *stop = hd_stop_on_signals(HD_STOP_ALL);
    struct sign before = look(path);
    unsigned nothing = 0;
    for (unsigned number = 1;; number++) {
        pid_t child = start(command);
        if (child < 0) return hd_complain(COMMAND, "cannot start: %s", strerror(errno));
        int status = wait_for(child, path, silence, stop);
        if (stop->signal != 0) return hd_end_by_signal(stop->signal, HD_EXIT_FAILED);
        struct sign sign = look(path);
        if (is_done(status, &sign)) return WEXITSTATUS(status);
        nothing = sign.runs > before.runs ? 0 : nothing + 1;
        if (nothing >= fruitless)
            return hd_complain(COMMAND, "%u starts in a row brought no new result: given up",
                               nothing);
        before = sign;
        say(number, status, &sign);
        usleep(PAUSE_US);
    }
}
