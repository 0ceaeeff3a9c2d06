/* Plans, each a list of stages: a source and its share of the time that is left then.
 *
 * hunt begins with what is proved from a trace: it fails most often, after one or two runs. The
 * later a stage, the less certain what it tries, so its runs are more per failure; but what needs
 * no prediction finds bugs that no trace shows, and must never be left without time. So no stage
 * may take everything: exact predictions get 60 % (they are most of the work on programs with many
 * candidates), what follows about a third each of what is left then, and the last ones share the
 * rest evenly. A stage that has nothing left to try ends early, and leaves its time to the others.
 *
 * expose measures one strategy, alone. What an analysis of the source suspects is forced alone too:
 * whoever gives a list wants to know what becomes of each. */
#include "explore/explorer.h"

static const struct stage hunt[] = {
    {.source = &explore_predict_exact, .share = 0.6, .despite_failure = true},
    {.source = &explore_predict_roles, .share = 0.2},
    {.source = &explore_predict_relaxed, .share = 0.3},
    {.source = &explore_predict_free, .share = 0.3},
    /* A small test is closed here, in less time than the next stages take. With nothing left to run
     * they are needless, but for the one whose threads really run in parallel. Where it can be
     * foreseen that the time is not enough it gives up early. After a failure it is what follows:
     * what else is there? */
    {.source = &explore_close_small, .share = 0.3, .despite_failure = true},
    {.source = &explore_switches, .share = 0.4},
    /* The strategies that expose most where nothing was predicted, cheapest first; CTrigger's runs
     * have several targets at first, and it needs more of them. */
    {.source = &explore_pos, .share = 1.0 / 3, .runs = 1, .strategy = HD_STRATEGY_POS},
    {.source = &explore_pct, .share = 1.0 / 2, .runs = 1, .strategy = HD_STRATEGY_PCT},
    {.source = &explore_ctrigger,
     .share = 1,
     .runs = 2,
     .in_parallel = true,
     .strategy = HD_STRATEGY_CTRIGGER},
    /* What the first stages had no time for. */
    {.source = &explore_rest, .share = 1},
    /* All others have nothing left to try: what is known to be wanted is, until the time is up. */
    {.source = &explore_close, .share = 1}};

static const struct stage expose[HD_STRATEGY_COUNT] = {
    [HD_STRATEGY_CTRIGGER] = {.source = &explore_ctrigger, .share = 1},
    [HD_STRATEGY_STRESS] = {.source = &explore_stress, .share = 1},
    [HD_STRATEGY_SYNC] = {.source = &explore_sync, .share = 1},
    [HD_STRATEGY_RACE] = {.source = &explore_race, .share = 1},
    [HD_STRATEGY_PCT] = {.source = &explore_pct, .share = 1},
    [HD_STRATEGY_POS] = {.source = &explore_pos, .share = 1}};

/* Nothing but closing: it goes on until nothing is left, failures or not. */
static const struct stage complete = {
    .source = &explore_close, .share = 1, .despite_failure = true};

static const struct stage suspected = {
    .source = &explore_from, .share = 1, .despite_failure = true};

const struct stage *explore_plan(const struct hd_explore_options *options, uint32_t *stages) {
    if (options->suspicions != NULL) {
        *stages = 1;
        return &suspected;
    }
    if (options->complete) {
        *stages = 1;
        return &complete;
    }
    bool hunts = options->plan == HD_PLAN_HUNT;
    *stages = hunts ? sizeof hunt / sizeof *hunt : 1;
    return hunts ? hunt : &expose[options->strategy];
}
