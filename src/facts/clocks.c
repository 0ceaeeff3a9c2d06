/* Clocks of several orders: those of a model that has other edges. See clocks.h. */
#include "facts/clocks.h"

#include "base/alloc.h"
#include "facts/sane.h"

/* The model with other edges, which the clocks need while they are built. */
struct ordered {
    struct hd_model model;
    HD_VECTOR(struct hd_edge) edge;
    struct hd_clocks *clocks;
};

static void *make_clocks(struct ordered *ordered) {
    ordered->model.edge = ordered->edge.data;
    ordered->model.edges = (uint32_t)ordered->edge.size;
    ordered->clocks = hd_clocks_build(&ordered->model);
#ifdef HEDDLE_DEBUG
    hd_check_clocks(&ordered->model, ordered->clocks);
#endif
    hd_vector_free(&ordered->edge);
    return ordered;
}

static void free_clocks(void *fact) {
    struct ordered *ordered = fact;
    hd_clocks_free(ordered->clocks);
    free(ordered);
}

static struct ordered *new_order(const struct hd_model *model) {
    struct ordered *ordered = hd_zalloc(1, sizeof *ordered);
    ordered->model = *model;
    hd_vector_reserve(&ordered->edge, model->edges + (size_t)1);
    return ordered;
}

static void *build_forks(struct hd_analysis *analysis, unsigned variant) {
    (void)variant;
    const struct hd_model *model = analysis->model;
    struct ordered *ordered = new_order(model);
    for (uint32_t i = 0; i < model->edges; i++)
        if (model->edge[i].type == HD_EDGE_FORK || model->edge[i].type == HD_EDGE_JOIN)
            hd_vector_push(&ordered->edge, model->edge[i]);
    return make_clocks(ordered);
}

static void *build_must(struct hd_analysis *analysis, unsigned variant) {
    (void)variant;
    struct hd_clocks *clocks = hd_clocks_build(analysis->model);
#ifdef HEDDLE_DEBUG
    hd_check_clocks(analysis->model, clocks);
#endif
    return clocks;
}

static void free_must(void *clocks) { hd_clocks_free(clocks); }

/* Edges are in order of the event they lead to. */
static void *build_kept(struct hd_analysis *analysis, unsigned reading) {
    const struct hd_model *model = analysis->model;
    struct ordered *ordered = new_order(model);
    uint32_t next = 0;
    (void)reading; /* CDSR and UA bind reads alike */
    for (uint32_t e = 0; e < model->events; e++) {
        while (next < model->edges && model->edge[next].to == e)
            hd_vector_push(&ordered->edge, model->edge[next++]);
        if (!hd_model_is_read(model, e)) continue;
        const uint32_t *write;
        uint32_t writes = hd_model_reads_from(model, e, &write);
        for (uint32_t i = 0; i < writes; i++)
            if (write[i] != HD_NONE && model->thread[write[i]] != model->thread[e])
                hd_vector_push(&ordered->edge, ((struct hd_edge){write[i], e, HD_EDGE_ATOMIC}));
    }
    return make_clocks(ordered);
}

static const struct hd_fact_kind forks = {build_forks, free_clocks, false};
static const struct hd_fact_kind must = {build_must, free_must, false};
static const struct hd_fact_kind kept = {build_kept, free_clocks, false};

const struct hd_clocks *hd_fork_clocks(struct hd_analysis *analysis) {
    return ((struct ordered *)hd_analysis_fact(analysis, &forks, 0))->clocks;
}

const struct hd_clocks *hd_must_clocks(struct hd_analysis *analysis) {
    return hd_analysis_fact(analysis, &must, 0);
}

const struct hd_clocks *hd_kept_clocks(struct hd_analysis *analysis, enum hd_reading reading) {
    if (reading == HD_CSR) return hd_must_clocks(analysis);
    return ((struct ordered *)hd_analysis_fact(analysis, &kept, 0))->clocks;
}
