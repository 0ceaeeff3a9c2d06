/* A program that was executed once and waits before its main: the runs that follow are forked from
 * it, which saves them exec and dynamic linking. A run can't tell: it is a child of this process,
 * with the addresses, descriptors, environment and constructors that a plain start gives it.
 *
 *     host.server = hd_server_new(NULL);
 *     hd_run(&job, &host, ...);                        executes the program
 *     hd_server_prepare(host.server, &job, &host, ...);
 *     hd_run(&job, &host, ...);                        forks it
 *     hd_server_free(host.server);
 *
 * It may wait where a function of the program begins instead, so that runs are spared all that
 * comes before: runtime/startup.h says how runs stay what they are. There is one that waits for
 * each way to record. Runs whose threads really run in parallel, and schedules with a turn that is
 * over before, are executed.
 *
 * Which programs can wait is seen in a run that was recorded: the process is the file that was to
 * be executed, not one that a script or another program has executed. A program that has threads
 * before its main does not wait. In all these cases, and if the one that waits is gone, runs are
 * started as if there were no server. Runs without a channel, and of other programs, always are. */
#ifndef HEDDLE_RUN_SERVER_H
#define HEDDLE_RUN_SERVER_H

#include "run/run.h"

/* Nothing is started yet. It is to wait at this function; NULL: before main. */
struct hd_server *hd_server_new(const char *function);
/* Starts the program that waits, if that is possible and there is none for such a job: before it is
 * run, in a thread that lives as long as the server, while no run goes on. False: runs can't begin
 * at the function, and *error says why. */
bool hd_server_prepare(struct hd_server *server, const struct hd_job *job,
                       const struct hd_host *host, struct hd_error *error);
/* Runs that were forked so far. */
uint64_t hd_server_runs(const struct hd_server *server);
/* Ends the program that waits; NULL: nothing. */
void hd_server_free(struct hd_server *server);

/* Would the program be executed from this file? */
bool hd_is_executed_file(const struct hd_program *program, const char *path);

#endif
