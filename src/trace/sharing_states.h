/* What is known of the accesses of a word while a trace is looked at for sharing (sharing.h): the
 * latest write, and the reads after it that another access may still be unordered with. Equal
 * states have one number, and what an access does to a state is worked out once, as long as the
 * order of threads stays as it is. */
#ifndef HEDDLE_TRACE_SHARING_STATES_H
#define HEDDLE_TRACE_SHARING_STATES_H

#include "trace/order_clocks.h"

/* Numbers of states: no access; all accesses are before everything to come, but for threads from
 * elsewhere; two are unordered, and one of them writes. */
enum { HD_WORD_NEW = 0, HD_WORD_PAST = 1, HD_WORD_CONCURRENT = 2, HD_WORD_FIRST = 3 };
#define HD_WORD_STATES 65536u /* at most */

struct hd_word_epoch {
    uint32_t thread, epoch;
};

struct hd_word_state {
    struct hd_word_epoch writer; /* epoch 0: none */
    uint32_t reader, readers;    /* in `reader` of struct hd_word_states, by thread */
    bool many;                   /* reads of threads that are not known */
    bool past;                   /* and accesses like those of HD_WORD_PAST */
};

#define HD_WORD_STEPS 1024u
struct hd_word_states {
    struct hd_order_clocks order;
    uint32_t room;                         /* for so many */
    uint32_t renew_at;                     /* so many are many */
    HD_VECTOR(struct hd_word_state) state; /* by number */
    HD_VECTOR(struct hd_word_epoch) reader;
    uint32_t *slot; /* hash table of numbers, room * 2; 0: empty */
    struct hd_word_step {
        uint64_t key;
        uint32_t next;
    } step[HD_WORD_STEPS];
};

/* With room for so many states, HD_WORD_STATES at most. */
void hd_word_states_init(struct hd_word_states *states, uint32_t room);
void hd_word_states_free(struct hd_word_states *states);

/* The state after an access by a thread that was seen (hd_order_see). */
uint32_t hd_word_step_slow(struct hd_word_states *states, uint64_t key);
static inline uint32_t hd_word_step(struct hd_word_states *states, uint32_t state, uint32_t thread,
                                    bool write) {
    uint64_t key = (uint64_t)states->order.changes << 33 | (uint64_t)write << 32 |
                   (uint64_t)(thread & 0xffff) << 16 | state;
    const struct hd_word_step *step = &states->step[(state * 2 + write) % HD_WORD_STEPS];
    return step->key == key ? step->next : hd_word_step_slow(states, key);
}

/* Are there so many that it is time to give up those of the past? */
static inline bool hd_word_states_many(const struct hd_word_states *states) {
    return states->state.size >= states->renew_at;
}
/* Numbers anew. Returns what each number is now, to be freed; those that `used` (a bit for each)
 * does not have are gone. */
uint32_t *hd_word_states_renew(struct hd_word_states *states, const uint64_t *used);

#endif
