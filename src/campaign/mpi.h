/* Open MPI, loaded when it is needed: heddle neither needs it to be built nor to run, and a package
 * of heddle does not depend on it. What is used of it is a dozen functions, whose binary interface
 * (libmpi.so.40) is the same in Open MPI 2 to 5.
 *
 * All calls but hd_mpi_is_there and hd_mpi_rank come from the thread that called hd_mpi_begin.
 * Nothing here waits: who has nothing to do sleeps a little and looks again, so that ranks leave
 * the cores to the programs that they run. */
#ifndef HEDDLE_CAMPAIGN_MPI_H
#define HEDDLE_CAMPAIGN_MPI_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Was this process started by mpirun (or srun) together with others, and as which of them? */
bool hd_mpi_is_there(void);
unsigned hd_mpi_rank(void);
/* Ranks on this machine, as far as is known: at least 1. */
unsigned hd_mpi_ranks_here(void);

bool hd_mpi_begin(unsigned *ranks, struct hd_error *error);
void hd_mpi_end(void); /* all ranks together */
/* Ends all ranks, this process too; by force if that takes long. Returns never. */
_Noreturn void hd_mpi_abort(void);

/* Takes the bytes, which are malloc'ed. */
void hd_mpi_send(unsigned to, void *bytes, size_t count);
/* A message that has come, malloc'ed; NULL: none. */
void *hd_mpi_receive(unsigned *from, size_t *count);
/* Goes on with what is being sent; how many messages that are. */
size_t hd_mpi_sending(void);

#endif
