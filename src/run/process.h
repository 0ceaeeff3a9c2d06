/* Processes of this process: all that its runs started are ended, so that nothing outlives a run.
 * Only children of this process are ever touched, and none that were there before its first run. */
#ifndef HEDDLE_RUN_PROCESS_H
#define HEDDLE_RUN_PROCESS_H

#include "trace/wire.h"

#include <stdbool.h>
#include <sys/types.h>

/* A run that goes on, in the list of them. The list is process-wide, since parenthood is. */
struct hd_registered {
    struct hd_registered *next;
    pid_t pid;                     /* of the program; 0: not started yet */
    char channel[HD_CHANNEL_PATH]; /* the value of HD_CHANNEL_ENV that its processes have; "": none
                                    */
    bool adopts;                   /* a descendant whose parent ends becomes a child of ours */
    bool ends;                     /* and is ended with the run */
};

void hd_register_run(struct hd_registered *run);
/* Ends what the run left behind. `forked`: there is reason to think that there is something. While
 * other runs go on, orphans of a run that had a channel are recognised by that; all others are
 * ended with the last run. */
void hd_unregister_run(struct hd_registered *run, bool forked);
/* Does a process carry this run's channel in its environment? */
bool hd_has_channel(pid_t pid, const char *channel);
/* Collects an orphan that has ended; false if it has not, or is no child of ours. */
bool hd_reap(pid_t pid, int *wait_status);
/* Do children of ours go on, other than the programs of runs and those that were there before?
 * Collects those that have ended. */
bool hd_has_orphans(void);

/* A descriptor that becomes readable when the process ends; -1 where the system has none. */
int hd_pidfd(pid_t pid);
/* Waits for that, at most so long. -1: sleeps for a millisecond. */
void hd_pidfd_wait(int pidfd, int milliseconds);

/* Does the program get privileges as it starts? Then the loader drops the runtime's environment. */
bool hd_is_privileged(const char *path);

/* A nameless temporary file: gone when its descriptor is closed, however that happens. On disk in
 * $TMPDIR (or /tmp) where the system can do that, in memory otherwise; -1 and errno on failure. */
int hd_temporary_file(void);

#endif
