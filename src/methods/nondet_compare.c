/* Both models on the same reads. */
#include "methods/nondet_compare.h"

#include "methods/nondet_paper.h"

static bool is_loose(const struct hd_nondet *nondet, uint32_t read, size_t at) {
    while (at > 0 && nondet->found.data[at - 1].read == read) at--;
    for (; at < nondet->found.size && nondet->found.data[at].read <= read; at++)
        if (nondet->found.data[at].read == read && nondet->found.data[at].verdict == HD_FEASIBLE)
            return true;
    return false;
}

static void add_difference(struct hd_nondet_comparison *comparison, struct hd_triplet triplet,
                           uint8_t paper, uint8_t sound, size_t at_paper, size_t at_sound) {
    struct hd_nondet_difference difference = {.triplet = triplet, .sound = sound};
    difference.triplet.verdict = paper;
    difference.same_read = is_loose(&comparison->paper, triplet.read, at_paper) ==
                           is_loose(&comparison->sound, triplet.read, at_sound);
    hd_vector_push(&comparison->list, difference);
}

bool hd_nondet_compare(struct hd_predict *predict, struct hd_nondet_comparison *comparison,
                       struct hd_error *error) {
    *comparison = (struct hd_nondet_comparison){0};
    predict->options.instances = true; /* every triplet is decided */
    if (!hd_nondet_decide(predict, NULL, &comparison->sound, error)) return false;
    if (!hd_nondet_decide(predict, &hd_nondet_paper, &comparison->paper, error)) {
        hd_nondet_free(&comparison->sound);
        return false;
    }
    const struct hd_nondet *paper = &comparison->paper, *sound = &comparison->sound;
    for (size_t i = 0, k = 0; i < paper->found.size || k < sound->found.size;) {
        const struct hd_triplet *left = paper->found.data + i, *right = sound->found.data + k;
        int order = i == paper->found.size   ? 1
                    : k == sound->found.size ? -1
                                             : hd_triplet_compare(left, right);
        if (order < 0)
            add_difference(comparison, *left, left->verdict, HD_INFEASIBLE, i, k);
        else if (order > 0)
            add_difference(comparison, *right, HD_INFEASIBLE, right->verdict, i, k);
        else if (left->verdict != right->verdict)
            add_difference(comparison, *left, left->verdict, right->verdict, i, k);
        i += order <= 0;
        k += order >= 0;
    }
    return true;
}

void hd_nondet_comparison_free(struct hd_nondet_comparison *comparison) {
    hd_nondet_free(&comparison->sound);
    hd_nondet_free(&comparison->paper);
    hd_vector_free(&comparison->list);
}
