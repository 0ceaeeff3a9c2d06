/* What the campaign driver and the strategies share. A strategy is one struct hd_strategy_ops: how
 * it prepares, what it does in the next run, what it learns from it. */
#ifndef HEDDLE_EXPLORE_STRATEGY_H
#define HEDDLE_EXPLORE_STRATEGY_H

#include "explore/campaign.h"

struct hd_campaign;

/* What came of a run, for whoever asked for it. */
enum hd_step {
    HD_STEP_PASSED,
    HD_STEP_FAILED, /* the campaign has its failure */
    HD_STEP_OVER    /* time or runs are over, a signal came, or it could not be run */
};

struct hd_strategy_ops {
    /* Before the first run of its own. May be NULL. */
    enum hd_step (*prepare)(struct hd_campaign *campaign);
    /* Fills in how to steer the next run; false: there is nothing more to try. */
    bool (*next)(struct hd_campaign *campaign, struct hd_steering *steering);
    /* After it. May be NULL. */
    void (*learn)(struct hd_campaign *campaign, const struct hd_steering *steering,
                  const struct hd_result *run);
};
extern const struct hd_strategy_ops hd_strategy_ops[HD_STRATEGY_COUNT];

struct hd_campaign {
    const struct hd_campaign_options *options;
    struct hd_campaign_result *result;
    struct hd_error *error;
    bool broken; /* *error says why the program can't be run */
    struct hd_program program;
    double start;
    uint64_t longest_plain_ms;  /* of plain runs */
    struct hd_result reference; /* same_output: the first plain run */
    bool has_reference;
    struct hd_campaign_status status;
    char best[200];
    /* the failure */
    bool failed;
    struct hd_steering steering;
    uint64_t answer[HD_ANSWER_WORDS];
    struct hd_outcome scheduled; /* under result->schedule */
    struct hd_steering serial;   /* the one that gave the schedule, if it was looked for */
    /* strategies' own */
    struct hd_profile profile;
    uint32_t *order; /* ctrigger: ranked; race: 0, 1, ... */
    uint32_t count, at, pass;
    HD_VECTOR(uint32_t) chosen; /* candidates of the present run, in the order of its targets */
    uint64_t number;            /* of the strategy's runs, from 0 */
};

/* strategy_ctrigger.c, strategy_race.c */
enum hd_step hd_ctrigger_prepare(struct hd_campaign *campaign);
bool hd_ctrigger_next(struct hd_campaign *campaign, struct hd_steering *steering);
enum hd_step hd_race_prepare(struct hd_campaign *campaign);
bool hd_race_next(struct hd_campaign *campaign, struct hd_steering *steering);
/* Remembers which targets of a run came about. */
void hd_force_learn(struct hd_campaign *campaign, const struct hd_steering *steering,
                    const struct hd_result *run);

/* One run. `look` (may be NULL) is given the run while its trace can be read. */
enum hd_step hd_campaign_step(struct hd_campaign *campaign, const struct hd_steering *steering,
                              bool traced,
                              bool (*look)(struct hd_campaign *, const struct hd_result *),
                              void (*learn)(struct hd_campaign *, const struct hd_steering *,
                                            const struct hd_result *));

/* Runs the program under a steering; false: it could not be, or a signal asks to stop. */
bool hd_campaign_steer(struct hd_campaign *campaign, const struct hd_steering *steering,
                       bool traced, struct hd_result *run);
/* How long such a run may take before it is a hang; and one that is known to hang. */
uint64_t hd_campaign_limit(const struct hd_campaign *campaign, const struct hd_steering *steering);
uint64_t hd_campaign_hangs_again_ms(const struct hd_campaign *campaign,
                                    const struct hd_steering *steering);
/* For hd_campaign_step: profile.calls becomes the number of hook calls of the longest run. */
bool hd_campaign_look_length(struct hd_campaign *campaign, const struct hd_result *run);
/* Tells the user what it is at. */
void hd_campaign_tell(struct hd_campaign *campaign, const char *doing);
/* campaign_schedule.c: the failure as a schedule, in result->schedule if there is one. */
void hd_campaign_schedule(struct hd_campaign *campaign);

/* Passing runs under serial, with one seed after the other, until they bring nothing new. */
enum hd_step hd_campaign_profile(struct hd_campaign *campaign,
                                 bool (*look)(struct hd_campaign *, const struct hd_result *));
/* For look: adds potential interleavings to the profile. */
bool hd_campaign_add_profile(struct hd_campaign *campaign, const struct hd_result *run);

/* "log.c:57 (append)" */
void hd_place_words(const struct hd_places *places, uint32_t number, char *text, size_t room);
/* What an interleaving is, in one line: "buf->len: log.c:50, then log.c:90 by another thread, ..."
 */
void hd_interleaving_words(const struct hd_places *places, const struct hd_interleaving *it,
                           char *text, size_t room);
struct hd_force_target hd_interleaving_target(const struct hd_interleaving *it,
                                              enum hd_context context);

#endif
