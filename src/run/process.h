/* Processes that a command of ours left behind: found and ended, so that nothing outlives it. Only
 * children of this process are ever touched, and none that were there before. */
#ifndef HEDDLE_RUN_PROCESS_H
#define HEDDLE_RUN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Children that this process has now. */
struct hd_children {
    pid_t *pid;
    unsigned count, room;
};

/* From here to hd_children_sweep, a descendant whose parent ends becomes a child of ours. */
void hd_children_adopt(struct hd_children *before);
/* Kills all children that were not there at hd_children_adopt, and theirs, until there are none. */
void hd_children_sweep(struct hd_children *before);

/* A nameless temporary file: gone when its descriptor is closed, however that happens. On disk in
 * $TMPDIR (or /tmp) where the system can do that, in memory otherwise; -1 and errno on failure. */
int hd_temporary_file(void);

#endif
