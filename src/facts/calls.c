/* Calls that events happen in: see calls.h. */
#include "facts/calls.h"

bool hd_has_calls(const struct hd_model *model) {
    return model->trace->format == HD_FORMAT_BINARY && model->trace->stack_parent != NULL &&
           model->stack != NULL;
}

uint32_t hd_call_depth(const struct hd_trace *trace, uint32_t call) {
    uint32_t depth = 0;
    for (; call != 0; call = trace->stack_parent[call]) depth++;
    return depth;
}

uint32_t hd_call_outer(const struct hd_trace *trace, uint32_t call, uint32_t steps) {
    while (steps-- > 0) call = trace->stack_parent[call];
    return call;
}

uint32_t hd_common_call(const struct hd_model *model, uint32_t first, uint32_t second) {
    const struct hd_trace *trace = model->trace;
    uint32_t a = hd_model_stack(model, first), b = hd_model_stack(model, second);
    if (a == b) return a;
    uint32_t depth_a = hd_call_depth(trace, a), depth_b = hd_call_depth(trace, b);
    if (depth_a > depth_b) a = hd_call_outer(trace, a, depth_a - depth_b);
    if (depth_b > depth_a) b = hd_call_outer(trace, b, depth_b - depth_a);
    while (a != b) {
        a = trace->stack_parent[a];
        b = trace->stack_parent[b];
    }
    return a;
}

bool hd_is_in_call(const struct hd_model *model, uint32_t event, uint32_t call, uint32_t depth) {
    uint32_t node = hd_model_stack(model, event), own = hd_call_depth(model->trace, node);
    return own >= depth && hd_call_outer(model->trace, node, own - depth) == call;
}

/* Where an event is in a call of this depth: its own place, or that of the call it is below. */
static uint32_t site_in(const struct hd_model *model, uint32_t event, uint32_t depth) {
    uint32_t node = hd_model_stack(model, event), own = hd_call_depth(model->trace, node);
    if (own == depth) return model->site[event];
    return model->trace->stack_site[hd_call_outer(model->trace, node, own - depth - 1)];
}

bool hd_is_backward(const struct hd_model *model, uint32_t first, uint32_t second) {
    if (hd_model_stack(model, first) == hd_model_stack(model, second))
        return model->site[second] < model->site[first];
    uint32_t depth = hd_call_depth(model->trace, hd_common_call(model, first, second));
    return site_in(model, second, depth) < site_in(model, first, depth);
}
