/* Sources that suspend threads, from the corpus.
 *
 * CTrigger (dissertation, chapter 7): profile, prune, rank, force. The ranked list is gone through
 * several times. First several targets a run, short suspensions: most interleavings that can happen
 * do then. What did not is tried alone, with more patience, and in the context it was profiled in.
 * At last everything again, at later opportunities of the run: an interleaving that did no harm at
 * its first may do so at another.
 *
 * Race (as RaceFuzzer does it): pairs of accesses that may race by their locksets; one thread is
 * suspended before its access until another comes to the other one, and then lets that go first.
 * Each pair is tried both ways. A pair is kept as an interleaving without a P. */
#include "explore/explorer.h"

#include "facts/conflicts.h"

#include <stdio.h>
#include <string.h>

/* ---- candidates ----------------------------------------------------------------------------- */

static void add_race(struct explorer *x, const struct recorded *run, uint32_t first,
                     uint32_t second, uint32_t location) {
    const struct hd_model *model = &run->model;
    struct hd_interleaving pair = {
        .c = hd_site_of_event(&x->profile.places, model, run->describe, first),
        .r = hd_site_of_event(&x->profile.places, model, run->describe, second)};
    if (pair.c == 0 || pair.r == 0) return;
    uint32_t *slot = hd_map_slot(&x->profile.number, (uint64_t)pair.c << 32 | pair.r, UINT32_MAX);
    if (*slot != UINT32_MAX) return;
    pair.c_stop = pair.c;
    pair.r_stop = pair.r;
    pair.c_thread = model->thread[first];
    pair.r_thread = model->thread[second];
    snprintf(pair.variable, sizeof pair.variable, "%s",
             hd_describe_location(run->describe, location, HD_SHORT));
    *slot = (uint32_t)x->profile.list.size;
    hd_vector_push(&x->profile.list, pair);
}

static uint32_t add_races(struct explorer *x, struct recorded *run) {
    const struct hd_conflicts *conflicts = hd_conflicts(&run->analysis, HD_CSR);
    size_t before = x->profile.list.size;
    for (size_t i = 0; i < conflicts->group.size; i++) {
        const struct hd_conflict_bundle *bundle = &conflicts->group.data[i].first;
        add_race(x, run, bundle->event[0], bundle->event[1], bundle->location);
        add_race(x, run, bundle->event[1], bundle->event[0], bundle->location);
    }
    return (uint32_t)(x->profile.list.size - before);
}

static uint32_t add_interleavings(struct explorer *x, struct recorded *run) {
    uint32_t added = hd_profile_add(&x->profile, &run->analysis, x->options->pruning);
    size_t before = x->profile.list.size;
    hd_profile_add_pairs(&x->profile, &run->analysis);
    return added + (uint32_t)(x->profile.list.size - before);
}

/* Collects candidates from all runs that are recorded, and records as far as that brings more. */
static void begin(struct explorer *x, uint32_t (*collect)(struct explorer *, struct recorded *)) {
    struct recorded *added;
    for (size_t i = 0; i < x->run.size && !explore_phase_is_over(x); i++)
        collect(x, x->run.data[i]);
    x->collect = collect;
    while (explore_record(x, &added)) {
        if (x->options->first && x->result->failures > 0) break;
    }
    x->collect = NULL;
    free(x->order);
    x->order = hd_profile_rank(&x->profile, &x->count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < x->count; i++)
        if (explore_is_target(x, &x->profile.list.data[x->order[i]]))
            x->order[kept++] = x->order[i];
    x->count = kept;
    x->all = x->count;
}
static void begin_ctrigger(struct explorer *x) { begin(x, add_interleavings); }
static void begin_race(struct explorer *x) { begin(x, add_races); }

/* ---- CTrigger ------------------------------------------------------------------------------- */

struct pass {
    uint32_t targets;  /* of a run; 0: as the user says */
    uint32_t patience; /* times the user's time-out */
    uint32_t timeouts, hits, skip;
    enum hd_force_strict strict;
    bool context;   /* in the profiled context at least */
    bool exercised; /* also those that came about before */
};
static const struct pass passes[] = {
    {.targets = 0, .patience = 1, .timeouts = 2, .hits = 4},
    {.targets = 1, .patience = 3, .timeouts = 3, .hits = 8},
    {.patience = 2,
     .timeouts = 3,
     .hits = 1,
     .strict = HD_FORCE_R_FIRST,
     .exercised = true,
     .targets = 1},
    {.patience = 2,
     .timeouts = 3,
     .hits = 1,
     .strict = HD_FORCE_C_FIRST,
     .exercised = true,
     .targets = 1},
    {.targets = 1, .patience = 6, .timeouts = 3, .hits = 8, .context = true},
    {.targets = 2, .patience = 2, .timeouts = 3, .hits = 8, .skip = 1, .exercised = true},
    {.targets = 1, .patience = 2, .timeouts = 3, .hits = 8, .skip = 3, .exercised = true},
    {.targets = 1, .patience = 6, .timeouts = 3, .hits = 8, .skip = 7, .exercised = true},
};
#define PASSES (sizeof passes / sizeof *passes)

static void add_target(struct explorer *x, struct wanted *wanted, uint32_t candidate,
                       enum hd_context context, uint32_t skip) {
    const struct hd_interleaving *it = &x->profile.list.data[candidate];
    struct hd_force_target target = {.p = it->p,
                                     .c = it->c,
                                     .r = it->r,
                                     .c_stop = it->c_stop,
                                     .r_stop = it->r_stop,
                                     .c_thread = HD_NONE,
                                     .r_thread = HD_NONE,
                                     .skip = skip};
    if (context != HD_CONTEXT_NONE) {
        target.c_caller = it->c_caller;
        target.r_caller = it->r_caller;
    }
    if (context == HD_CONTEXT_THREAD) {
        target.c_thread = it->c_thread;
        target.r_thread = it->r_thread;
    }
    hd_vector_push(&wanted->steering.target, target);
    hd_vector_push(&wanted->chosen, candidate);
}

static bool is_pair(const struct explorer *x, uint32_t candidate) {
    return x->profile.list.data[candidate].p == 0;
}

/* Candidates from x->at on that this pass may have in one run. */
static void choose(struct explorer *x, struct wanted *wanted, const struct pass *pass) {
    uint32_t most = pass->targets ? pass->targets : x->options->targets;
    if (most > HD_FORCE_MOST) most = HD_FORCE_MOST;
    enum hd_context context = x->options->context;
    if (pass->context && context == HD_CONTEXT_NONE) context = HD_CONTEXT_CALLER;
    for (; x->at < x->count && wanted->chosen.size < most; x->at++) {
        uint32_t candidate = x->order[x->at];
        bool exercised = x->profile.list.data[candidate].best == HD_FORCE_EXERCISED;
        if (exercised && !pass->exercised) continue;
        /* Pairs would suspend threads on their way to an interleaving. */
        if (wanted->chosen.size > 0 && is_pair(x, candidate) != is_pair(x, wanted->chosen.data[0]))
            break;
        add_target(x, wanted, candidate, context, pass->skip);
    }
}

static void steer(struct explorer *x, struct wanted *wanted, uint32_t patience) {
    wanted->steering.scheduler = HD_SCHED_FREE;
    wanted->steering.policy = HD_POLICY_FORCE;
    wanted->steering.timeout_us = x->options->timeout_ms * 1000 * patience;
    explore_interleaving_words(x, &x->profile.list.data[wanted->chosen.data[0]], x->best,
                               sizeof x->best);
}

static bool next_ctrigger(struct explorer *x, struct wanted *wanted) {
    for (; x->pass < PASSES; x->pass++, x->at = 0) {
        const struct pass *pass = &passes[x->pass];
        choose(x, wanted, pass);
        if (wanted->chosen.size == 0) continue;
        steer(x, wanted, pass->patience);
        wanted->steering.timeouts = pass->timeouts;
        wanted->steering.hits = pass->hits;
        wanted->steering.strict = pass->strict;
        return true;
    }
    return false;
}

/* ---- race ----------------------------------------------------------------------------------- */

#define ROUNDS 4

static bool next_race(struct explorer *x, struct wanted *wanted) {
    if (x->at == x->count) {
        x->at = 0;
        x->pass++;
    }
    if (x->count == 0 || x->pass == ROUNDS) return false;
    add_target(x, wanted, x->order[x->at++], x->options->context, x->pass);
    steer(x, wanted, x->pass + 1);
    wanted->steering.timeouts = 3;
    wanted->steering.hits = 8;
    return true;
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* Remembers which targets of a run came about. */
static void learn(struct explorer *x, const struct wanted *wanted, const struct hd_result *run) {
    struct hd_wire_force_answer answer;
    _Static_assert(sizeof answer <= sizeof run->answer, "fits");
    memcpy(&answer, run->answer, sizeof answer);
    for (size_t i = 0; i < wanted->chosen.size && i < HD_FORCE_MOST; i++) {
        struct hd_interleaving *it = &x->profile.list.data[wanted->chosen.data[i]];
        it->attempts++;
        uint8_t state = answer.state[i];
        if (state <= HD_FORCE_EXERCISED && state > it->best) it->best = state;
    }
}

const struct source explore_ctrigger = {
    .begin = begin_ctrigger, .next = next_ctrigger, .learn = learn};
const struct source explore_race = {.begin = begin_race, .next = next_race, .learn = learn};

/* ---- words and findings --------------------------------------------------------------------- */

/* "log.c:57 (append)" */
static void place_words(const struct explorer *x, uint32_t number, char *text, size_t room) {
    const struct hd_site *place = hd_site(&x->profile.places, number);
    const char *where = hd_finding_short_site(place->where);
    if (where[0] == '\0')
        snprintf(text, room, "%s+0x%llx", place->module, (unsigned long long)place->offset);
    else if (place->function[0] == '\0')
        snprintf(text, room, "%s", where);
    else
        snprintf(text, room, "%s (%s)", where, place->function);
}

static const char *pattern_verb(const struct hd_interleaving *it, unsigned which) {
    if (which == 1 && it->frees) return "freed";
    const char *letters = hd_pattern_name(it->pattern); /* "R-W-R" */
    return letters[2 * which] == 'R' ? "read" : "written";
}

void explore_interleaving_words(const struct explorer *x, const struct hd_interleaving *it,
                                char *text, size_t room) {
    char p[128], c[128], r[128];
    place_words(x, it->p, p, sizeof p);
    place_words(x, it->c, c, sizeof c);
    place_words(x, it->r, r, sizeof r);
    if (it->p == 0)
        snprintf(text, room, "%s: %s, right before it %s by another thread", it->variable, c, r);
    else
        snprintf(text, room, "%s: %s at %s, %s at %s; in between %s at %s by another thread",
                 it->variable, pattern_verb(it, 0), p, pattern_verb(it, 2), c, pattern_verb(it, 1),
                 r);
}

#define MOST_LOOKED_AT 2000u /* accesses of a location */

/* Events of a recorded run at the three places: P, R and C; without P for a pair. */
struct instance {
    struct explorer *x;
    struct recorded *run, *from; /* `from`: the run of the events */
    const struct hd_interleaving *it;
    struct hd_map place; /* by site */
    uint32_t event[3], events;
};

static bool is_at(struct instance *i, uint32_t event, uint32_t place) {
    const struct hd_model *model = &i->run->model;
    uint32_t *slot = hd_map_slot(&i->place, model->site[event], UINT32_MAX);
    if (*slot == UINT32_MAX)
        *slot = hd_site_of_event(&i->x->profile.places, model, i->run->describe, event);
    return *slot == place;
}

static void set_events(struct instance *i, uint32_t first, uint32_t second, uint32_t third) {
    i->event[0] = first;
    i->event[1] = second;
    i->event[2] = third;
    i->events = third != HD_NONE ? 3 : 2;
    i->from = i->run;
}

/* The access of `first`'s thread to the location after it. */
static uint32_t next_own(const struct hd_model *model, uint32_t from, uint32_t to, uint32_t first) {
    for (uint32_t k = from; k < to; k++)
        if (model->thread[model->location_event[k]] == model->thread[first])
            return model->location_event[k];
    return HD_NONE;
}

/* True if R is another thread's; if it never is, another thread that runs the same code will do. */
static bool find_triple(struct instance *i, uint32_t location) {
    const struct hd_model *model = &i->run->model;
    uint32_t from = model->location_start[location], to = model->location_start[location + 1];
    if (to - from > MOST_LOOKED_AT) to = from + MOST_LOOKED_AT;
    for (uint32_t k = from; k < to; k++) {
        uint32_t first = model->location_event[k];
        if (!is_at(i, first, i->it->p)) continue;
        uint32_t second = next_own(model, k + 1, to, first);
        if (second == HD_NONE || !is_at(i, second, i->it->c)) continue;
        for (uint32_t n = from; n < to; n++) {
            uint32_t remote = model->location_event[n];
            if (!is_at(i, remote, i->it->r)) continue;
            bool other = model->thread[remote] != model->thread[first];
            if (other || i->events == 0) set_events(i, first, remote, second);
            if (other) return true;
        }
    }
    return false;
}

static bool find_pair(struct instance *i) {
    const struct hd_model *model = &i->run->model;
    uint32_t first = HD_NONE, second = HD_NONE;
    for (uint32_t e = 0; e < model->events; e++) {
        if (second == HD_NONE && is_at(i, e, i->it->c) &&
            (i->it->c_thread == HD_NONE || model->thread[e] == i->it->c_thread))
            second = e;
        if (first == HD_NONE && is_at(i, e, i->it->r) &&
            (i->it->r_thread == HD_NONE || model->thread[e] == i->it->r_thread))
            first = e;
    }
    if (first == HD_NONE || second == HD_NONE) return false;
    set_events(i, first, second, HD_NONE);
    return true;
}

static bool find_instance(struct instance *i) {
    const struct hd_model *model = &i->run->model;
    if (i->it->p == 0) return find_pair(i);
    for (uint32_t l = 0; l < model->locations; l++)
        if (model->location[l].shared && find_triple(i, l)) return true;
    return false;
}

struct hd_finding *explore_suspended_finding(struct explorer *x, uint32_t candidate,
                                             struct recorded **from) {
    const struct hd_interleaving *it = &x->profile.list.data[candidate];
    struct instance found = {.x = x, .it = it};
    bool good = false;
    for (size_t k = 0; k < x->run.size && !good; k++) {
        found.run = x->run.data[k];
        found.place = (struct hd_map){0};
        good = find_instance(&found);
        hd_map_free(&found.place);
    }
    *from = found.from;
    if (found.events == 0) return NULL;
    struct hd_finding draft = {.kind = HD_FINDING_ORDER};
    if (it->p == 0 && x->options->strategy == HD_STRATEGY_RACE) draft.kind = HD_FINDING_RACE;
    if (it->p != 0) draft.kind = HD_FINDING_ATOMICITY;
    struct hd_finding *finding = hd_finding_keep(&x->own, &draft);
    hd_finding_set_events(&x->own, finding, found.from->describe, &found.from->model, found.event,
                          found.events);
    finding->variable = explore_text(x, it->variable);
    finding->pattern = it->p != 0 ? hd_pattern_name(it->pattern) : NULL;
    finding->threads_involved = 2;
    finding->variables_involved = 1;
    finding->accesses_involved = found.events;
    return finding;
}
