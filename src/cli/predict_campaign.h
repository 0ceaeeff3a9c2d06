/* heddle predict --campaign: the questions of one prediction, decided by many (campaign/share.h).
 */
#ifndef HEDDLE_CLI_PREDICT_CAMPAIGN_H
#define HEDDLE_CLI_PREDICT_CAMPAIGN_H

#include "cli/campaign_option.h"
#include "cli/predict_request.h"

/* Does a prediction as the request has it; the exit status. */
typedef int hd_predict_function(struct hd_predict_request *request);

/* In rank 0, or the only process: has it done with the campaign's help. Operands were understood.
 */
int hd_predict_with_campaign(struct hd_predict_request *request,
                             const struct hd_campaign_option *option, hd_predict_function *predict);
/* In every other rank: all that it does. Operands were not looked at, since rank 0 sends them. */
int hd_predict_help_campaign(struct hd_predict_request *request,
                             const struct hd_campaign_option *option, hd_predict_function *predict);

#endif
