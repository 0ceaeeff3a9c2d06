/* Walks over the triples of a group without listing them: see triples.h. */
#include "facts/triples.h"

struct hd_bundle_lists hd_bundle_lists(const struct hd_triples *triples, uint32_t bundle) {
    const struct hd_triple_bundle *each = &triples->bundle.data[bundle];
    const struct hd_pair_list *pairs = &triples->lists.pairs.data[each->pairs];
    const struct hd_remote_list *remotes = &triples->lists.remotes.data[each->remotes];
    return (struct hd_bundle_lists){.pair = triples->lists.pair.data + pairs->start,
                                    .remote = triples->lists.remote.data + remotes->start,
                                    .pairs = pairs->count,
                                    .remotes = remotes->count,
                                    .location = pairs->location,
                                    .pair_list = pairs,
                                    .remote_list = remotes};
}

static bool must_before(const void *context, uint32_t earlier, uint32_t later) {
    const struct hd_triples *triples = context;
    return hd_clocks_before(triples->clocks, earlier, later);
}

struct hd_triple_limits hd_must_limits(const struct hd_triples *triples) {
    return (struct hd_triple_limits){must_before, must_before, triples};
}

void hd_triple_window(const struct hd_triple_limits *limits, const struct hd_bundle_lists *lists,
                      uint32_t pair, uint32_t *from, uint32_t *to) {
    const struct hd_local_pair *at = &lists->pair[pair];
    while (*from < lists->remotes &&
           limits->before_first(limits->context, lists->remote[*from], at->first))
        (*from)++;
    if (*to < *from) *to = *from;
    while (*to < lists->remotes &&
           !limits->before_remote(limits->context, at->second, lists->remote[*to]))
        (*to)++;
}

uint64_t hd_triples_instances(const struct hd_triples *triples, uint32_t group) {
    const struct hd_triple_group *each = &triples->group.data[group];
    struct hd_triple_limits limits = hd_must_limits(triples);
    uint64_t count = 0;
    for (uint32_t b = each->start; b < each->start + each->count; b++) {
        struct hd_bundle_lists lists = hd_bundle_lists(triples, b);
        for (uint32_t n = 0, from = 0, to = 0; n < lists.pairs && from < lists.remotes; n++) {
            hd_triple_window(&limits, &lists, n, &from, &to);
            count += to - from;
        }
    }
    return count;
}

bool hd_triples_observed(const struct hd_triples *triples, uint32_t group,
                         struct hd_triple *triple) {
    const struct hd_triple_group *each = &triples->group.data[group];
    bool found = false;
    for (uint32_t b = each->start; b < each->start + each->count; b++) {
        struct hd_bundle_lists lists = hd_bundle_lists(triples, b);
        uint32_t after = 0; /* the first remote access after i */
        for (uint32_t n = 0; n < lists.pairs; n++) {
            const struct hd_local_pair *pair = &lists.pair[n];
            if (found && pair->second >= triple->second) break;
            while (after < lists.remotes && lists.remote[after] < pair->first) after++;
            if (after == lists.remotes) break;
            if (lists.remote[after] > pair->second) continue;
            *triple =
                (struct hd_triple){pair->first, lists.remote[after], pair->second, lists.location};
            found = true;
            break;
        }
    }
    return found;
}
