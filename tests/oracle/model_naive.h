/* The model by definition: byte by byte, event by event, by search backwards. Slow and plain, for
 * small traces; shares nothing with src/model/. */
#ifndef HEDDLE_TESTS_ORACLE_MODEL_NAIVE_H
#define HEDDLE_TESTS_ORACLE_MODEL_NAIVE_H

#include "oracle/model_random.h"

#include "model/model.h"

/* Bytes are those of the random traces' space and a margin for accesses that run over its end. */
#define NAIVE_BYTES (RANDOM_SPACE + 256u)
#define NAIVE_EVENTS 1024

struct naive {
    const struct hd_trace *trace;
    uint32_t events;
    /* life[e][b]: the ALLOC whose block byte b belongs to when e runs, HD_NONE */
    uint32_t (*life)[NAIVE_BYTES];
    /* low, high: bytes the event touches; for a FREE of a known block only those of `block` count
     */
    int64_t *low, *high;
    uint32_t *block; /* ALLOC that a FREE ends, HD_NONE */
    bool (*edge)[NAIVE_EVENTS];
    bool (*before)[NAIVE_EVENTS];
};

static inline bool naive_is_access(uint8_t kind) {
    return kind == HD_EV_READ || kind == HD_EV_WRITE || kind == HD_EV_ATOMIC_READ ||
           kind == HD_EV_ATOMIC_WRITE || kind == HD_EV_ATOMIC_UPDATE || kind == HD_EV_FREE;
}
static inline bool naive_reads(uint8_t kind) {
    return kind == HD_EV_READ || kind == HD_EV_ATOMIC_READ || kind == HD_EV_ATOMIC_UPDATE;
}
static inline bool naive_writes(uint8_t kind) {
    return naive_is_access(kind) && kind != HD_EV_READ && kind != HD_EV_ATOMIC_READ;
}

static inline void naive_memory(struct naive *n) {
    const struct hd_trace *t = n->trace;
    for (uint32_t e = 0; e < n->events; e++) {
        /* As before, unless the event before began a block over it. */
        for (uint32_t b = 0; b < NAIVE_BYTES; b++) {
            n->life[e][b] = e > 0 ? n->life[e - 1][b] : HD_NONE;
            if (e > 0 && t->kind[e - 1] == HD_EV_ALLOC && t->operand[e - 1] <= RANDOM_BASE + b &&
                RANDOM_BASE + b < t->operand[e - 1] + extra_of(t, e - 1))
                n->life[e][b] = e - 1;
        }
        n->low[e] = n->high[e] = 0;
        n->block[e] = HD_NONE;
        if (!naive_is_access(t->kind[e])) continue;
        uint64_t size = t->flags[e], extra = extra_of(t, e);
        if (t->kind[e] >= HD_EV_ATOMIC_READ) size = 1u << (t->flags[e] & 15);
        if (size == 0 || t->kind[e] == HD_EV_FREE) size = extra == NO_EXTRA ? 0 : extra;
        n->low[e] = (int64_t)t->operand[e] - RANDOM_BASE;
        if (t->kind[e] == HD_EV_FREE)
            for (uint32_t a = 0; a < e; a++)
                if (t->kind[a] == HD_EV_ALLOC && t->operand[a] == t->operand[e]) n->block[e] = a;
        if (n->block[e] != HD_NONE) {
            uint64_t bytes = extra_of(t, n->block[e]);
            if (t->flags[n->block[e]] == HD_BLOCK_HEAP || size == 0 || size == bytes)
                size = bytes;
            else
                n->block[e] = HD_NONE;
        }
        n->high[e] = n->low[e] + (int64_t)size;
    }
}

/* Does event e touch byte b in this life of it? */
static inline bool naive_touches(const struct naive *n, uint32_t e, uint32_t b, uint32_t life) {
    if (b < n->low[e] || b >= n->high[e]) return false;
    return n->block[e] != HD_NONE ? n->block[e] == life : n->life[e][b] == life;
}

/* Is it touched by something that is not the end of its whole block? */
static inline bool naive_observed(const struct naive *n, uint32_t b, uint32_t life) {
    for (uint32_t e = 0; e < n->events; e++)
        if (n->block[e] == HD_NONE && naive_touches(n, e, b, life)) return true;
    return false;
}

/* No access tells these two bytes of one life apart. */
static inline bool naive_same(const struct naive *n, uint32_t b, uint32_t c, uint32_t life) {
    for (uint32_t e = 0; e < n->events; e++)
        if (naive_touches(n, e, b, life) != naive_touches(n, e, c, life)) return false;
    return true;
}

/* The last write of a byte before e, HD_NONE. */
static inline uint32_t naive_last_write(const struct naive *n, uint32_t e, uint32_t b,
                                        uint32_t life) {
    for (uint32_t w = e; w-- > 0;)
        if (naive_writes(n->trace->kind[w]) && naive_touches(n, w, b, life)) return w;
    return HD_NONE;
}

/* Objects are the same if their addresses and the lives of these are. */
static inline bool naive_same_object(const struct naive *n, uint32_t a, uint32_t b) {
    const struct hd_trace *t = n->trace;
    if (t->operand[a] != t->operand[b]) return false;
    if (t->operand[a] >= RANDOM_BASE + NAIVE_BYTES) return true;
    uint32_t byte = (uint32_t)(t->operand[a] - RANDOM_BASE);
    return n->life[a][byte] == n->life[b][byte];
}

static inline void naive_add_edge(struct naive *n, uint32_t from, uint32_t to) {
    if (n->trace->thread[from] != n->trace->thread[to]) n->edge[from][to] = true;
}

static inline uint32_t naive_thread_last(const struct naive *n, uint32_t thread, uint32_t before) {
    for (uint32_t e = before; e-- > 0;)
        if (n->trace->thread[e] == thread) return e;
    return HD_NONE;
}

/* The POST whose token a SEM_WAIT takes: tokens are handed out in order since the last SEM_INIT. */
static inline uint32_t naive_post(const struct naive *n, uint32_t wait) {
    const struct hd_trace *t = n->trace;
    uint32_t queue[NAIVE_EVENTS], head = 0, tail = 0;
    uint64_t initial = 0;
    for (uint32_t e = 0; e <= wait; e++) {
        if ((t->kind[e] != HD_EV_SEM_INIT && t->kind[e] != HD_EV_POST &&
             t->kind[e] != HD_EV_SEM_WAIT) ||
            !naive_same_object(n, e, wait))
            continue;
        if (t->kind[e] == HD_EV_SEM_INIT) {
            initial = extra_of(t, e);
            head = tail = 0;
        } else if (t->kind[e] == HD_EV_POST)
            queue[tail++] = e;
        else {
            uint32_t from = HD_NONE;
            if (initial > 0)
                initial--;
            else if (head < tail)
                from = queue[head++];
            if (e == wait) return from;
        }
    }
    return HD_NONE;
}

static inline void naive_edges_into(struct naive *n, uint32_t e) {
    const struct hd_trace *t = n->trace;
    if (naive_thread_last(n, t->thread[e], e) == HD_NONE)
        for (uint32_t f = 0; f < e; f++)
            if (t->kind[f] == HD_EV_FORK && t->operand[f] == t->thread[e]) naive_add_edge(n, f, e);
    switch (t->kind[e]) {
    case HD_EV_JOIN: {
        uint32_t last = naive_thread_last(n, (uint32_t)t->operand[e], e);
        for (uint32_t f = 0; last == HD_NONE && f < e; f++)
            if (t->kind[f] == HD_EV_FORK && t->operand[f] == t->operand[e]) naive_add_edge(n, f, e);
        if (last != HD_NONE) naive_add_edge(n, last, e);
        break;
    }
    case HD_EV_WAIT:
        for (uint32_t f = 0; f < e; f++)
            if ((t->kind[f] == HD_EV_SIGNAL || t->kind[f] == HD_EV_BROADCAST) &&
                extra_of(t, f) == extra_of(t, e))
                naive_add_edge(n, f, e);
        break;
    case HD_EV_BARRIER_LEAVE:
        for (uint32_t f = 0; f < n->events; f++)
            if (t->kind[f] == HD_EV_BARRIER_ARRIVE && extra_of(t, f) == extra_of(t, e))
                naive_add_edge(n, f, e);
        break;
    case HD_EV_SEM_WAIT: {
        uint32_t from = naive_post(n, e);
        if (from != HD_NONE) naive_add_edge(n, from, e);
        break;
    }
    case HD_EV_ONCE_PASS:
        for (uint32_t f = e; f-- > 0;)
            if (t->kind[f] == HD_EV_ONCE_DONE && naive_same_object(n, e, f)) {
                naive_add_edge(n, f, e);
                break;
            }
        break;
    case HD_EV_ATOMIC_READ:
    case HD_EV_ATOMIC_UPDATE:
        for (uint32_t b = 0; b < NAIVE_BYTES; b++) {
            if (b < n->low[e] || b >= n->high[e]) continue;
            uint32_t from = naive_last_write(n, e, b, n->life[e][b]);
            if (from != HD_NONE &&
                (t->kind[from] == HD_EV_ATOMIC_WRITE || t->kind[from] == HD_EV_ATOMIC_UPDATE))
                naive_add_edge(n, from, e);
        }
        break;
    default:
        break;
    }
}

static inline void naive_order(struct naive *n) {
    for (uint32_t e = 0; e < n->events; e++) naive_edges_into(n, e);
    for (uint32_t a = 0; a < n->events; a++)
        for (uint32_t b = a + 1; b < n->events; b++)
            n->before[a][b] = n->edge[a][b] || n->trace->thread[a] == n->trace->thread[b];
    for (uint32_t k = 0; k < n->events; k++)
        for (uint32_t a = 0; a < k; a++)
            for (uint32_t b = k + 1; n->before[a][k] && b < n->events; b++)
                if (n->before[k][b]) n->before[a][b] = true;
}

static inline struct naive naive_build(const struct hd_trace *trace) {
    struct naive n = {.trace = trace, .events = trace->events};
    if (n.events > NAIVE_EVENTS) abort();
    n.life = calloc(n.events + 1, sizeof *n.life);
    n.low = calloc(n.events + 1, sizeof *n.low);
    n.high = calloc(n.events + 1, sizeof *n.high);
    n.block = calloc(n.events + 1, sizeof *n.block);
    n.edge = calloc(n.events + 1, sizeof *n.edge);
    n.before = calloc(n.events + 1, sizeof *n.before);
    naive_memory(&n);
    naive_order(&n);
    return n;
}

static inline void naive_free(struct naive *n) {
    free(n->life);
    free(n->low);
    free(n->high);
    free(n->block);
    free(n->edge);
    free(n->before);
}

/* The acquire of the section that a lock event e of its thread opens, deepens or undoes, and the
 * sections open at e: by replaying the thread's own lock events. open[] gets the acquires, in their
 * order; an acquire or release is inside its own section. Returns how many. */
static inline uint32_t naive_open_sections(const struct naive *n, uint32_t event, uint32_t *open) {
    const struct hd_trace *t = n->trace;
    uint32_t acquire[NAIVE_EVENTS], depth[NAIVE_EVENTS], count = 0;
    bool read_mode[NAIVE_EVENTS];
    for (uint32_t e = 0; e <= event; e++) {
        uint8_t kind = t->kind[e];
        if (t->thread[e] != t->thread[event]) continue;
        if (kind == HD_EV_ACQUIRE || kind == HD_EV_READ_ACQUIRE) {
            bool reads = kind == HD_EV_READ_ACQUIRE, found = false;
            for (uint32_t i = 0; i < count && !found; i++)
                if (depth[i] > 0 && read_mode[i] == reads && naive_same_object(n, acquire[i], e)) {
                    depth[i]++;
                    found = true;
                }
            if (found) continue;
            acquire[count] = e;
            read_mode[count] = reads;
            depth[count++] = 1;
        } else if ((kind == HD_EV_RELEASE || kind == HD_EV_READ_RELEASE) && e < event) {
            uint32_t best = HD_NONE;
            for (uint32_t i = 0; i < count; i++)
                if (depth[i] > 0 && naive_same_object(n, acquire[i], e) &&
                    (best == HD_NONE || read_mode[i] == (kind == HD_EV_READ_RELEASE)))
                    best = i;
            if (best != HD_NONE) depth[best]--;
        }
    }
    uint32_t result = 0;
    for (uint32_t i = 0; i < count; i++)
        if (depth[i] > 0) open[result++] = acquire[i];
    return result;
}

#endif
