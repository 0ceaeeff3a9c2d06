/* Counting branches by thread. */
#include "facts/branches.h"

#include "base/alloc.h"

static void *build(struct hd_analysis *analysis, unsigned source) {
    const struct hd_model *model = analysis->model;
    struct hd_branches *branches = hd_alloc(1, sizeof *branches);
    bool recorded = source == HD_BRANCHES_RECORDED && model->trace->has_branches;
    branches->known = recorded || source == HD_BRANCHES_NONE;
    branches->before = hd_alloc(model->events, sizeof *branches->before);
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
    return branches;
}

static void free_branches(void *fact) {
    struct hd_branches *branches = fact;
    free(branches->before);
    free(branches);
}

static const struct hd_fact_kind kind = {build, free_branches, false};

const struct hd_branches *hd_branches(struct hd_analysis *analysis, enum hd_branch_source source) {
    return hd_analysis_fact(analysis, &kind, source);
}
