/* Nondeterminism exactly as the paper has it (Sinha, Malik, Gupta): witness order graphs, cycles,
 * choice graphs. It orders the other read couples but does not forbid a third write between them,
 * so it may say feasible where no correct reordering is. */
#ifndef HEDDLE_METHODS_NONDET_PAPER_H
#define HEDDLE_METHODS_NONDET_PAPER_H

#include "predict/nondet.h"

extern const struct hd_nondet_model hd_nondet_paper;

#endif
