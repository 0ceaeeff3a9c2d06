/* The over- and the under-approximate method for triples of accesses (ALGORITHMS section 2). */
#include "methods/methods.h"
#include "predict/atomicity_decide.h"

/* OA: every candidate is possible. */
static bool keep_all(const struct hd_triple_task *task, struct hd_error *error) {
    (void)error;
    for (uint32_t n = 0; n < task->decisions; n++)
        if (!task->decision[n].observed) task->decision[n].verdict = HD_POSSIBLE;
    return true;
}

/* UA: every read of the whole trace keeps its write. */
static bool ask_ua(const struct hd_triple_task *task, struct hd_error *error) {
    return hd_triples_ask(task, HD_UA, error);
}

static const struct hd_atomicity_method oa = {.decide = keep_all};
static const struct hd_atomicity_method ua = {.decide = ask_ua, .needs_engine = true};
const struct hd_method hd_method_oa = {.name = "oa", .atomicity = &oa};
const struct hd_method hd_method_ua = {.name = "ua", .atomicity = &ua};
