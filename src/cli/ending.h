/* What must be tidied up when memory is out: temporary files, running programs. */
#ifndef HEDDLE_CLI_ENDING_H
#define HEDDLE_CLI_ENDING_H

/* To be called once, at the start of the process. */
void hd_prepare_for_out_of_memory(void);

#endif
