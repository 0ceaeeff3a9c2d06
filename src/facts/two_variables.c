/* The test of Fig. 5.4: see two_variables.h. */
#include "facts/two_variables.h"

#include "facts/patterns.h"

enum hd_two_case hd_two_variable_case(const struct hd_two_accesses *accesses) {
    const uint64_t *at = accesses->at;
    const unsigned *does = accesses->does;
    bool x_written = (does[0] | does[2]) & HD_DOES_WRITE;
    bool y_written = (does[1] | does[3]) & HD_DOES_WRITE;
    if (!x_written || !y_written) return HD_TWO_SERIALIZABLE;
    /* thread 2 does x after thread 1, and y before it: no order of whole threads has both */
    if (!(at[0] < at[2] && at[2] < at[1] && at[3] < at[1])) return HD_TWO_SERIALIZABLE;
    if (at[3] < at[0]) return HD_TWO_CASE_3;
    return at[2] < at[3] ? HD_TWO_CASE_1 : HD_TWO_CASE_2;
}
