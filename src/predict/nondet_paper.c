#include "predict/nondet.h"
bool hd_nondet_paper(struct hd_predict *predict, struct hd_nondet *nondet, struct hd_error *error) {
    (void)predict;
    (void)nondet;
    return hd_fail(error, HD_ERR_UNSUPPORTED, "not yet");
}
