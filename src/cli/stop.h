/* Ctrl-C and other requests to end, for commands that run programs. */
#ifndef HEDDLE_CLI_STOP_H
#define HEDDLE_CLI_STOP_H

#include "run/run.h"

enum hd_stop_way {
    HD_STOP_RUNS,   /* while no program runs, signals end this process as always */
    HD_STOP_ALL,    /* the command looks for the request between runs too; a second one ends it */
    HD_STOP_SHARED, /* as RUNS; the program shares our group: what the terminal sends it has too */
};

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT ask the runs that go on to stop (struct
 * hd_host). What was ignored, by nohup or for a background job, stays so. */
struct hd_interrupt *hd_stop_on_signals(enum hd_stop_way way);
/* Ends by the signal, so that whoever waits for this process sees that it was asked to stop; with
 * the number 0 returns the status. */
int hd_end_by_signal(int number, int status);

#endif
