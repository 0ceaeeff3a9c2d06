/* The table of patterns, and the test. */
#include "facts/patterns.h"

static const char *const pattern_text[] = {"",
#define X(name, text, wrong) text,
                                           HD_PATTERNS(X)
#undef X
};
static const char *const pattern_wrong[] = {"",
#define X(name, text, wrong) wrong,
                                            HD_PATTERNS(X)
#undef X
};
const char *hd_pattern_name(enum hd_pattern pattern) { return pattern_text[pattern]; }
const char *hd_pattern_wrong(enum hd_pattern pattern) { return pattern_wrong[pattern]; }

unsigned hd_access_does(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_READ:
    case HD_EV_ATOMIC_READ:
        return HD_DOES_READ;
    case HD_EV_WRITE:
    case HD_EV_ATOMIC_WRITE:
        return HD_DOES_WRITE;
    case HD_EV_ATOMIC_UPDATE:
        return HD_DOES_UPDATE;
    default:
        return 0;
    }
}

unsigned hd_remote_does(const struct hd_model *model, uint32_t event) {
    return model->kind[event] == HD_EV_FREE ? HD_DOES_WRITE : hd_access_does(model, event);
}

enum hd_pattern hd_pattern_of(unsigned first, unsigned remote, unsigned second, bool all) {
    bool reads_first = first & HD_DOES_READ, writes_first = first & HD_DOES_WRITE;
    bool reads_second = second & HD_DOES_READ, writes_second = second & HD_DOES_WRITE;
    if (first == 0 || remote == 0 || second == 0) return HD_PATTERN_NONE;
    if (first == HD_DOES_UPDATE && remote == HD_DOES_UPDATE && second == HD_DOES_UPDATE)
        return HD_PATTERN_NONE;
    if (remote & HD_DOES_WRITE) {
        if (reads_first && writes_second) return HD_PATTERN_RWW;
        if (writes_first && reads_second) return HD_PATTERN_WWR;
        if (reads_first && reads_second) return HD_PATTERN_RWR;
    }
    if (remote & HD_DOES_READ && writes_first && writes_second) return HD_PATTERN_WRW;
    if (all && remote == HD_DOES_WRITE && writes_first && writes_second) return HD_PATTERN_WWW;
    return HD_PATTERN_NONE;
}

enum hd_pattern hd_pattern_of_events(const struct hd_model *model, uint32_t first, uint32_t remote,
                                     uint32_t second) {
    return hd_pattern_of(hd_access_does(model, first), hd_remote_does(model, remote),
                         hd_access_does(model, second), false);
}
