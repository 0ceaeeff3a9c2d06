/* The search for an order of pinned steps. A step may run when those that must come before it have,
 * when the last write of each cell that it reads is the one that it is to see, and when nobody else
 * has still to see the value that it overwrites. Running a step of which nothing but good can come
 * is no choice, so the search branches only where a write that others are to see competes with
 * other writes of the same cell. States that led nowhere are remembered. */
#include "explore/closing_order.h"

#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BRANCHES 20000u

struct undo {
    uint32_t cell, last;
};

struct search {
    const struct closing_question *q;
    const struct closing_view *view;
    uint32_t *at;          /* by thread: steps that have run */
    uint32_t *last;        /* by cell: use that wrote it last, HD_NONE */
    uint32_t *due;         /* by use: reads that have still to see it */
    uint32_t *due_initial; /* by cell */
    uint32_t reader_thread;
    uint32_t reader_position;
    uint32_t wanted, branches;
    struct hd_map dead; /* states that lead nowhere */
    closing_events *order;
    HD_VECTOR(struct undo) undo;
    HD_VECTOR(uint32_t) undo_mark; /* by step of the order: length of `undo` before it */
};

static bool is_in(const struct search *s, uint32_t event) {
    const struct closing_view *view = s->view;
    return event == s->q->reader || view->position[event] < s->q->steps[view->model.thread[event]];
}

static bool is_done(const struct search *s, uint32_t event) {
    return s->view->position[event] < s->at[s->view->model.thread[event]];
}

static unsigned does(const struct search *s, const struct closing_use *use) {
    if (use->event != s->q->reader) return use->does & (CLOSING_READS | CLOSING_WRITES);
    if (use->does & CLOSING_EXPIRES) return s->q->expires ? CLOSING_READS | CLOSING_WRITES : 0;
    if (!(use->does & CLOSING_READS)) return use->does;
    return s->q->writes ? CLOSING_READS | CLOSING_WRITES : CLOSING_READS;
}

static uint32_t *due_of(struct search *s, uint32_t cell, uint32_t source) {
    return source == HD_NONE ? &s->due_initial[cell] : &s->due[source];
}

/* The uses of a step that matter, with what each sees. */
#define FOR_USES(s, event, u, source)                                                         \
    for (uint32_t u = (s)->view->use_start[event], nth_ = 0, source = 0;                      \
         u < (s)->view->use_start[(event) + 1] && next_use(s, event, u, &nth_, &source); u++) \
        if ((s)->view->cell_shared[(s)->view->use[u].cell])

static bool next_use(const struct search *s, uint32_t event, uint32_t u, uint32_t *nth,
                     uint32_t *source) {
    const struct closing_use *use = &s->view->use[u];
    if (does(s, use) & CLOSING_READS)
        *source = event == s->q->reader ? s->q->from[(*nth)++] : use->from;
    return true;
}

/* ---- one step ------------------------------------------------------------------------------- */

static bool edges_done(const struct search *s, uint32_t event) {
    const struct hd_model *model = &s->view->model;
    const uint32_t *edge;
    uint32_t edges = hd_model_edges_into(model, event, &edge);
    for (uint32_t i = 0; i < edges; i++) {
        const struct hd_edge *it = &model->edge[edge[i]];
        /* The others are what steps see, and that may change. */
        bool holds = it->type == HD_EDGE_FORK || it->type == HD_EDGE_JOIN ||
                     it->type == HD_EDGE_SIGNAL || it->type == HD_EDGE_BARRIER;
        if (event == s->q->reader && s->q->expires && it->type == HD_EDGE_SIGNAL) continue;
        if (holds && !is_done(s, it->from)) return false;
    }
    return true;
}

static bool can_run(struct search *s, uint32_t event) {
    const struct closing_view *view = s->view;
    if (event == view->crash && event != s->q->reader && s->order->size + 1 < s->wanted)
        return false;
    if (!edges_done(s, event)) return false;
    FOR_USES(s, event, u, source) {
        const struct closing_use *use = &view->use[u];
        unsigned what = does(s, use);
        uint32_t last = s->last[use->cell];
        if ((what & CLOSING_READS) && last != source) return false;
        if ((what & CLOSING_WRITES) &&
            *due_of(s, use->cell, last) > ((what & CLOSING_READS) ? 1u : 0u))
            return false;
    }
    return true;
}

/* Must every other write of its cells that has not run come after it? */
static bool is_no_choice(struct search *s, uint32_t event) {
    const struct closing_view *view = s->view;
    uint32_t thread = view->model.thread[event];
    FOR_USES(s, event, u, source) {
        const struct closing_use *use = &view->use[u];
        unsigned what = does(s, use);
        if (!(what & CLOSING_WRITES) || (what & CLOSING_READS) || s->due[u] == 0) continue;
        for (uint32_t i = view->cell_start[use->cell]; i < view->cell_start[use->cell + 1]; i++) {
            uint32_t other = view->use[view->cell_use[i]].event;
            if (other == event || !is_in(s, other) || is_done(s, other)) continue;
            const uint32_t *past =
                other == s->q->reader ? s->q->reader_past : closing_past(view, other);
            if (past[thread] <= view->position[event]) return false;
        }
    }
    return true;
}

static void run(struct search *s, uint32_t event) {
    const struct closing_view *view = s->view;
    hd_vector_push(&s->undo_mark, (uint32_t)s->undo.size);
    FOR_USES(s, event, u, source) {
        const struct closing_use *use = &view->use[u];
        unsigned what = does(s, use);
        if (what & CLOSING_READS) --*due_of(s, use->cell, source);
        if (!(what & CLOSING_WRITES)) continue;
        hd_vector_push(&s->undo, ((struct undo){use->cell, s->last[use->cell]}));
        s->last[use->cell] = u;
    }
    s->at[view->model.thread[event]]++;
    hd_vector_push(s->order, event);
}

static void take_back(struct search *s, size_t to) {
    const struct closing_view *view = s->view;
    while (s->order->size > to) {
        uint32_t event = s->order->data[--s->order->size];
        uint32_t mark = s->undo_mark.data[--s->undo_mark.size];
        s->at[view->model.thread[event]]--;
        while (s->undo.size > mark) {
            struct undo it = s->undo.data[--s->undo.size];
            s->last[it.cell] = it.last;
        }
        FOR_USES(s, event, u, source)
        if (does(s, &view->use[u]) & CLOSING_READS) ++*due_of(s, view->use[u].cell, source);
    }
}

/* ---- the search ----------------------------------------------------------------------------- */

static uint32_t next_step(const struct search *s, uint32_t thread) {
    const struct closing_view *view = s->view;
    uint32_t k = s->at[thread];
    if (thread == s->reader_thread && k == s->reader_position) return s->q->reader;
    return k < s->q->steps[thread] && k < closing_steps(view, thread)
               ? closing_step(view, thread, k)
               : HD_NONE;
}

/* All steps that are no choice; the reader as late as can be. */
static void run_on(struct search *s) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 0; t < s->view->threads; t++) {
            uint32_t e;
            while ((e = next_step(s, t)) != HD_NONE && e != s->q->reader && can_run(s, e) &&
                   is_no_choice(s, e)) {
                run(s, e);
                more = true;
            }
        }
        uint32_t reader = s->q->reader;
        if (more || reader == HD_NONE || next_step(s, s->reader_thread) != reader) continue;
        if (s->view->position[reader] == HD_NONE && s->order->size + 1 < s->wanted) continue;
        if (!can_run(s, reader) || !is_no_choice(s, reader)) continue;
        run(s, reader);
        more = true;
    }
}

static uint64_t state_of(const struct search *s) {
    uint64_t hash = 7;
    for (uint32_t t = 0; t < s->view->threads; t++) hash = hd_mix64(hash * 31 + s->at[t]);
    for (uint32_t c = 0; c < s->view->cells; c++)
        if (s->view->cell_shared[c] && s->last[c] != HD_NONE)
            hash = hd_mix64(hash * 31 + ((uint64_t)c << 32 | s->last[c]));
    return hash;
}

/* The step that could run next and comes first in the run after `after`. */
static uint32_t next_choice(struct search *s, uint32_t after) {
    uint32_t best = HD_NONE;
    for (uint32_t t = 0; t < s->view->threads; t++) {
        uint32_t e = next_step(s, t);
        if (e == HD_NONE || (after != HD_NONE && e <= after) || e > best) continue;
        if (s->view->position[e] == HD_NONE && s->order->size + 1 < s->wanted) continue;
        if (can_run(s, e)) best = e;
    }
    return best;
}

static enum closing_verdict search(struct search *s) {
    HD_VECTOR(struct {
        size_t order;
        uint32_t tried;
    })
    level = {0};
    enum closing_verdict verdict = CLOSING_UNDECIDED;
    for (bool down = true; verdict == CLOSING_UNDECIDED;) {
        if (down) {
            run_on(s);
            if (s->order->size == s->wanted) {
                verdict = CLOSING_POSSIBLE;
                break;
            }
            uint64_t state = state_of(s);
            uint32_t *dead = hd_map_slot(&s->dead, state, 0);
            bool known = *dead != 0;
            *dead = 1;
            if (++s->branches > MOST_BRANCHES) break;
            hd_vector_reserve(&level, 1);
            level.data[level.size].order = s->order->size;
            level.data[level.size++].tried = known ? HD_NONE - 1 : HD_NONE;
        }
        size_t top = level.size - 1;
        take_back(s, level.data[top].order);
        uint32_t e = next_choice(s, level.data[top].tried);
        if (e != HD_NONE) {
            level.data[top].tried = e;
            run(s, e);
            down = true;
            continue;
        }
        level.size--;
        down = false;
        if (level.size == 0) verdict = CLOSING_IMPOSSIBLE;
    }
    hd_vector_free(&level);
    return verdict;
}

static void count_reads(struct search *s, uint32_t event) {
    FOR_USES(s, event, u, source)
    if (does(s, &s->view->use[u]) & CLOSING_READS) ++*due_of(s, s->view->use[u].cell, source);
}

enum closing_verdict closing_order(const struct closing_question *q, closing_events *order) {
    const struct closing_view *view = q->view;
    uint32_t uses = view->use_start[view->model.events];
    struct search s = {.q = q, .view = view, .order = order, .reader_thread = HD_NONE};
    s.at = hd_zalloc(view->threads, sizeof *s.at);
    s.last = hd_alloc(view->cells, sizeof *s.last);
    s.due = hd_zalloc(uses, sizeof *s.due);
    s.due_initial = hd_zalloc(view->cells, sizeof *s.due_initial);
    for (uint32_t c = 0; c < view->cells; c++) s.last[c] = HD_NONE;
    order->size = 0;
    for (uint32_t t = 0; t < view->threads; t++) {
        s.wanted += q->steps[t];
        for (uint32_t k = 0; k < q->steps[t]; k++) count_reads(&s, closing_step(view, t, k));
    }
    if (q->reader != HD_NONE) {
        s.reader_thread = view->model.thread[q->reader];
        s.reader_position = view->position[q->reader];
        if (s.reader_position == HD_NONE) { /* what it was blocked in comes after all its steps */
            s.reader_position = closing_steps(view, s.reader_thread);
            s.wanted++;
            count_reads(&s, q->reader);
        }
    }
    enum closing_verdict verdict = search(&s);
    free(s.at);
    free(s.last);
    free(s.due);
    free(s.due_initial);
    hd_map_free(&s.dead);
    hd_vector_free(&s.undo);
    hd_vector_free(&s.undo_mark);
    return verdict;
}
