/* Puts events that came as expected back into a stream: see expand.h. */
#include "trace/expand.h"

#include "base/alloc.h"
#include "base/vector.h"
#include "trace/build.h"

#include <stdlib.h>

struct hd_expand {
    HD_VECTOR(struct hd_expect *) thread; /* by number; NULL until it has an event */
};

struct hd_expand *hd_expand_new(void) {
    return hd_zalloc(1, sizeof(struct hd_expand));
}

void hd_expand_free(struct hd_expand *expand) {
    if (expand == NULL) return;
    for (size_t i = 0; i < expand->thread.size; i++) free(expand->thread.data[i]);
    hd_vector_free(&expand->thread);
    free(expand);
}

/* NULL if no trace can have a thread of this number. */
static struct hd_expect *expectations(struct hd_expand *expand, uint32_t thread) {
    if (thread >= HD_THREAD_LIMIT) return NULL;
    while (expand->thread.size <= thread) hd_vector_push(&expand->thread, NULL);
    struct hd_expect **e = &expand->thread.data[thread];
    if (*e == NULL) {
        *e = hd_zalloc(1, sizeof **e);
        hd_expect_nothing(*e);
    }
    return *e;
}

static size_t put_in(struct hd_expect *e, struct hd_wire_event *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct hd_expected *at = e->at;
        if (at->shape == 0) return i;
        out[i] = (struct hd_wire_event){at->head, at->tail};
        hd_expect_met(e);
    }
    return count;
}

/* How many events come before this stored one, and the event as it was. */
static uint64_t met_before(struct hd_wire_event *event) {
    if (hd_wire_kind(event->head) == HD_EV_EXPECTED) return hd_wire_operand(event->head);
    if (!(event->head & HD_WIRE_AFTER)) return 0;
    uint64_t met = hd_wire_calls(event->tail);
    event->head &= ~(uint64_t)HD_WIRE_AFTER;
    event->tail = hd_tail_with_calls(event->tail, 1);
    return met;
}

size_t hd_expand_events(struct hd_expand *expand, struct hd_expand_at *at,
                        const struct hd_wire_event *event, size_t count, size_t *taken,
                        struct hd_wire_event *out, size_t room, bool *good) {
    struct hd_expect *e = expectations(expand, at->thread);
    size_t i = 0, made = 0;
    *good = true;
    while (i < count && made < room) {
        struct hd_wire_event now = event[i];
        unsigned kind = hd_wire_kind(now.head);
        if (kind == HD_EV_STAMP) break;
        uint64_t met = met_before(&now);
        if (met != 0 && !at->counted) {
            at->met = met;
            at->counted = true;
        }
        if (at->met != 0) {
            size_t most = room - made < at->met ? room - made : (size_t)at->met;
            size_t put = e != NULL ? put_in(e, out + made, most) : 0;
            made += put;
            at->met -= put;
            if (put < most) {
                *good = false;
                break;
            }
            continue;
        }
        at->counted = false;
        i++;
        if (kind == HD_EV_EXPECTED) continue;
        out[made++] = now;
        if (kind == HD_EV_THREAD) {
            uint64_t number = hd_wire_operand(now.head);
            at->thread = number < HD_THREAD_LIMIT ? (uint32_t)number : HD_THREAD_LIMIT;
            e = expectations(expand, at->thread);
        } else if (e != NULL && hd_wire_kind(now.head) != HD_EV_NONE) {
            hd_expect_learn(e, now.head, now.tail, met);
        }
    }
    *taken = i;
    return made;
}
