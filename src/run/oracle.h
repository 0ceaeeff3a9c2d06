/* Asks the user's own command whether a run was good (run.h says how it is called). */
#ifndef HEDDLE_RUN_ORACLE_H
#define HEDDLE_RUN_ORACLE_H

#include "run/run.h"

/* Fills in the oracle's exit status; false if it could not judge. Who asks for the end of the run
 * ends the oracle too, which is left in run->interrupted. */
bool hd_oracle_ask(const struct hd_program *program, const struct hd_host *host,
                   struct hd_result *run, int *status, struct hd_error *error);

#endif
