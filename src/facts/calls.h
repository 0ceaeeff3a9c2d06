/* Calls that events happen in, by the call tree of a recorded run: which call two accesses have in
 * common, whether it returned between them, and which of them comes first in the code. */
#ifndef HEDDLE_FACTS_CALLS_H
#define HEDDLE_FACTS_CALLS_H

#include "model/model.h"

/* Does the run have call stacks at all? Text traces have none. */
bool hd_has_calls(const struct hd_model *model);
/* How deep a call is; the call that is `steps` further out. */
uint32_t hd_call_depth(const struct hd_trace *trace, uint32_t call);
uint32_t hd_call_outer(const struct hd_trace *trace, uint32_t call, uint32_t steps);
/* The innermost call that two events are in. */
uint32_t hd_common_call(const struct hd_model *model, uint32_t first, uint32_t second);
/* Is an event in a call of this depth, or below it? */
bool hd_is_in_call(const struct hd_model *model, uint32_t event, uint32_t call, uint32_t depth);
/* Does the second come earlier in the code of the function that both are in, or below? */
bool hd_is_backward(const struct hd_model *model, uint32_t first, uint32_t second);

#endif
