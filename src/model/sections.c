/* Fifth pass: critical sections. A re-acquire by the holder in the same mode deepens the open
 * section; the release that undoes the outermost acquire closes it. */
#include "model/build.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A section while it is open. */
struct open {
    uint32_t depth;       /* acquires not yet undone */
    uint32_t next_reader; /* another open read section of the lock */
};

struct lock_state {
    uint32_t writer;  /* open write section, HD_NONE */
    uint32_t readers; /* first open read section, HD_NONE */
};

struct thread_state {
    uint32_t innermost; /* open section acquired last, HD_NONE */
    uint32_t held;      /* open sections */
    uint32_t last;      /* latest event */
};

struct sections {
    struct hd_build *build;
    struct lock_state *lock;
    struct thread_state *thread;
    HD_VECTOR(struct hd_section) section;
    HD_VECTOR(struct open)
    open; /* one per section; its room is reused by nobody: sections are few */
};

static void unlink_reader(struct sections *sections, uint32_t lock, uint32_t section) {
    uint32_t *link = &sections->lock[lock].readers;
    while (*link != section) link = &sections->open.data[*link].next_reader;
    *link = sections->open.data[section].next_reader;
}

static void close_section(struct sections *sections, uint32_t number, uint32_t release) {
    struct hd_section *section = &sections->section.data[number];
    struct thread_state *thread = &sections->thread[section->thread];
    section->release = release;
    if (section->read_mode)
        unlink_reader(sections, section->lock, number);
    else
        sections->lock[section->lock].writer = HD_NONE;
    thread->held--;
    /* The next one out that is still open. Everything between was closed and stays so, which makes
     * this short in all: a section is skipped by one that closes after it. */
    if (thread->innermost == number) {
        uint32_t outer = section->outer;
        if (thread->held == 0) outer = HD_NONE;
        while (outer != HD_NONE && sections->section.data[outer].release != HD_NONE)
            outer = sections->section.data[outer].outer;
        thread->innermost = outer;
    }
}

static uint32_t reader_of(const struct sections *sections, uint32_t lock, uint16_t thread) {
    uint32_t reader = sections->lock[lock].readers;
    while (reader != HD_NONE && sections->section.data[reader].thread != thread)
        reader = sections->open.data[reader].next_reader;
    return reader;
}

/* Another thread's open section that an acquire in this mode may not meet. */
static uint32_t conflicting(const struct sections *sections, uint32_t lock, uint16_t thread,
                            bool read_mode) {
    uint32_t writer = sections->lock[lock].writer;
    if (writer != HD_NONE && sections->section.data[writer].thread != thread) return writer;
    if (read_mode) return HD_NONE;
    uint32_t reader = sections->lock[lock].readers;
    while (reader != HD_NONE && sections->section.data[reader].thread == thread)
        reader = sections->open.data[reader].next_reader;
    return reader;
}

static bool acquire(struct sections *sections, uint32_t event, bool read_mode) {
    struct hd_build *build = sections->build;
    uint16_t thread = build->trace->thread[event];
    uint32_t lock = build->memory->object[event], other;
    uint32_t mine = read_mode ? reader_of(sections, lock, thread) : sections->lock[lock].writer;
    if (mine != HD_NONE && sections->section.data[mine].thread == thread) {
        sections->open.data[mine].depth++;
        return true;
    }
    while ((other = conflicting(sections, lock, thread, read_mode)) != HD_NONE) {
        if (!hd_rule_broken(build, HD_RULE_TWO_HOLDERS, event)) return false;
        close_section(sections, other, sections->thread[sections->section.data[other].thread].last);
    }
    struct thread_state *state = &sections->thread[thread];
    uint32_t number = (uint32_t)sections->section.size;
    struct hd_section section = {.acquire = event,
                                 .release = HD_NONE,
                                 .lock = lock,
                                 .thread = thread,
                                 .read_mode = read_mode,
                                 .held = (uint8_t)(state->held < 255 ? state->held : 255),
                                 .outer = state->innermost};
    struct open open = {1, HD_NONE};
    if (read_mode) open.next_reader = sections->lock[lock].readers;
    hd_vector_push(&sections->section, section);
    hd_vector_push(&sections->open, open);
    if (read_mode)
        sections->lock[lock].readers = number;
    else
        sections->lock[lock].writer = number;
    state->innermost = number;
    state->held++;
    return true;
}

static bool release(struct sections *sections, uint32_t event, bool read_mode) {
    struct hd_build *build = sections->build;
    uint16_t thread = build->trace->thread[event];
    uint32_t lock = build->memory->object[event];
    uint32_t writer = sections->lock[lock].writer;
    if (writer != HD_NONE && sections->section.data[writer].thread != thread) writer = HD_NONE;
    uint32_t reader = reader_of(sections, lock, thread);
    /* A plain release undoes either mode: pthread_rwlock_unlock does not say which. */
    uint32_t mine = read_mode ? reader : writer;
    if (mine == HD_NONE) {
        mine = read_mode ? writer : reader;
        if (mine == HD_NONE) return hd_rule_broken(build, HD_RULE_RELEASE_WITHOUT_ACQUIRE, event);
        if (read_mode && !hd_rule_broken(build, HD_RULE_RELEASE_MODE, event)) return false;
    }
    if (--sections->open.data[mine].depth == 0) close_section(sections, mine, event);
    return true;
}

static bool follow_events(struct sections *sections) {
    struct hd_build *build = sections->build;
    const struct hd_trace *trace = build->trace;
    uint32_t *innermost = build->memory->event_section;
    for (uint32_t e = 0; e < trace->events; e++) {
        struct thread_state *thread = &sections->thread[trace->thread[e]];
        innermost[e] = thread->innermost;
        switch (trace->kind[e]) {
        case HD_EV_ACQUIRE:
        case HD_EV_READ_ACQUIRE:
            if (!acquire(sections, e, trace->kind[e] == HD_EV_READ_ACQUIRE)) return false;
            innermost[e] = thread->innermost;
            break;
        case HD_EV_RELEASE:
        case HD_EV_READ_RELEASE:
            if (!release(sections, e, trace->kind[e] == HD_EV_READ_RELEASE)) return false;
            break;
        default:
            break;
        }
        thread->last = e;
    }
    return true;
}

static void list_by_lock(struct sections *sections) {
    struct hd_build *build = sections->build;
    uint32_t locks = build->model->locks, count = (uint32_t)sections->section.size;
    uint32_t *start = build->memory->lock_start = hd_zalloc(locks + 2ul, sizeof *start);
    uint32_t *list = build->memory->lock_section = hd_alloc(count, sizeof *list);
    for (uint32_t s = 0; s < count; s++) start[sections->section.data[s].lock + 2]++;
    for (uint32_t l = 0; l < locks; l++) start[l + 2] += start[l + 1];
    for (uint32_t s = 0; s < count; s++) list[start[sections->section.data[s].lock + 1]++] = s;
    build->model->lock_start = start;
    build->model->lock_section = list;
}

bool hd_pass_sections(struct hd_build *build) {
    struct sections sections = {.build = build};
    uint32_t locks = build->model->locks, threads = build->trace->threads;
    sections.lock = hd_alloc(locks, sizeof *sections.lock);
    sections.thread = hd_zalloc(threads, sizeof *sections.thread);
    build->memory->event_section = hd_alloc(build->trace->events, sizeof(uint32_t));
    memset(sections.lock, 0xff, locks * sizeof *sections.lock);
    for (uint32_t t = 0; t < threads; t++) sections.thread[t].innermost = HD_NONE;
    bool done = follow_events(&sections);
    if (done) list_by_lock(&sections);
    free(sections.lock);
    free(sections.thread);
    hd_vector_free(&sections.open);
    build->memory->section = sections.section.data;
    build->model->section = sections.section.data;
    build->model->sections = (uint32_t)sections.section.size;
    build->model->event_section = build->memory->event_section;
    return done;
}
