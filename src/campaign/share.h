/* The items of an analysis (base/workers.h) as jobs of a campaign: `heddle predict` over ranks.
 *
 * Every rank loads the same input and does the same analysis up to the point where many items are
 * to be decided. There rank 0 gives out the items, in jobs of a few; the others decide what they
 * get. When all items are decided, rank 0 tells everybody everything, and all go on to the next
 * such point, each as if it had decided all of them itself. So what is analysed is never sent but
 * for the files that it is read from, and no part of an analysis needs to know that its items were
 * decided elsewhere.
 *
 * A job is a number of the point, the number of items there, and a range of them: so it depends on
 * the input and the options alone, which are the campaign's subject, and a campaign that was ended
 * goes on with the answers that its file has. */
#ifndef HEDDLE_CAMPAIGN_SHARE_H
#define HEDDLE_CAMPAIGN_SHARE_H

#include "base/workers.h"
#include "campaign/campaign.h"

struct hd_share_options {
    uint64_t until_ns; /* by hd_now_ns: what is decided later is not kept; 0: no such time */
    /* In a worker: does the whole analysis, with the subject's files where this machine has them.
     * In a thread of its own. */
    void (*analyse)(void *context, const struct hd_program *subject);
    void *context;
};

struct hd_share;
struct hd_share *hd_share_new(const struct hd_share_options *options);
/* The campaign whose jobs its items are; in a worker there is none. */
void hd_share_use(struct hd_share *share, struct hd_campaign *campaign);
const struct hd_errand_kind *hd_share_kind(struct hd_share *share);
const struct hd_sharing *hd_share_sharing(struct hd_share *share);
void hd_share_free(struct hd_share *share);

#endif
