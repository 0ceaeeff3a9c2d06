/* Counting branches by thread. */
#include "facts/branches.h"

#include <stdlib.h>

bool hd_branches_build(const struct hd_model *model, enum hd_branch_source source,
                       struct hd_branches *branches, struct hd_error *error) {
    bool recorded = source == HD_BRANCHES_RECORDED && model->trace->has_branches;
    branches->known = recorded || source == HD_BRANCHES_NONE;
    branches->before = malloc((model->events + (size_t)1) * sizeof *branches->before);
    if (branches->before == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    for (uint32_t t = 0; t < model->threads; t++) {
        uint64_t taken = 1;
        for (uint32_t i = model->thread_start[t]; i < model->thread_start[t + 1]; i++) {
            uint32_t event = model->thread_event[i];
            if (recorded)
                taken += model->branches[event];
            else if (source == HD_BRANCHES_RECORDED)
                taken++;
            branches->before[event] = taken < UINT32_MAX ? (uint32_t)taken : UINT32_MAX;
        }
    }
    return true;
}

void hd_branches_free(struct hd_branches *branches) {
    free(branches->before);
    branches->before = NULL;
}
