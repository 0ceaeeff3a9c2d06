/* What a checked run has found, from its session's shared memory: copied as it comes, and whole
 * when the run is over. The program may have overwritten that memory: everything is checked. */
#define _GNU_SOURCE
#include "run/observer.h"

#include "base/alloc.h"
#include "run/live.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void hd_observed_free(struct hd_observed *observed) {
    for (uint32_t i = 0; i < observed->modules.modules; i++) free(observed->modules.module[i].path);
    free(observed->modules.module);
    hd_vector_free(&observed->executed);
    hd_vector_free(&observed->violation);
    hd_vector_free(&observed->frame);
    memset(observed, 0, sizeof *observed);
}

/* Symbols may be open for those that are there already: they do not move. */
static void take_modules(struct hd_observed *observed, const struct hd_session *s) {
    struct hd_trace *trace = &observed->modules;
    if (trace->module == NULL) trace->module = hd_alloc(HD_MAX_MODULES, sizeof *trace->module);
    uint32_t count = hd_session_module_count(s);
    while (trace->modules < count) {
        char path[HD_MODULE_PATH];
        struct hd_trace_module module = hd_session_module(s, trace->modules, path);
        module.path = hd_strdup(path);
        trace->module[trace->modules++] = module;
    }
}

static bool is_access(const struct hd_wire_check_access *access) {
    return access->does != 0 && (access->does & ~(unsigned)HD_DOES_UPDATE) == 0 &&
           access->site < HD_SITE_LIMIT;
}

static struct hd_observed_access take_access(const struct hd_wire_check_access *from) {
    return (struct hd_observed_access){from->thread, from->site, from->does};
}

static bool take_violation(struct hd_observed *observed, const struct hd_wire_check *check,
                           uint32_t number) {
    struct hd_wire_violation from = check->violation[number];
    struct hd_observed_violation violation = {.first = take_access(&from.access[0]),
                                              .remote = take_access(&from.access[1]),
                                              .second = take_access(&from.access[2]),
                                              .address = from.address,
                                              .size = from.size,
                                              .instances = from.instances,
                                              .number = number,
                                              .frame = (uint32_t)observed->frame.size};
    for (unsigned i = 0; i < 3; i++)
        if (!is_access(&from.access[i])) return false;
    violation.pattern =
        hd_pattern_of(from.access[0].does, from.access[1].does, from.access[2].does, false);
    if (violation.pattern == HD_PATTERN_NONE) return false;
    violation.frames = from.frames < HD_CHECK_FRAMES ? from.frames : HD_CHECK_FRAMES;
    for (uint32_t i = 0; i < violation.frames; i++) hd_vector_push(&observed->frame, from.frame[i]);
    hd_vector_push(&observed->violation, violation);
    return true;
}

static void answer(struct hd_wire_violation *shared) {
    __atomic_store_n(&shared->answered, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &shared->answered, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static struct hd_wire_check *area(const struct hd_session *s) {
    bool there = s->bytes >= hd_wire_session_bytes(s->chunk_count) + sizeof(struct hd_wire_check);
    return there ? hd_wire_check(s->memory, s->chunk_count) : NULL;
}

bool hd_session_observe(struct hd_live *live, struct hd_session *s) {
    struct hd_observer *observer = live->options->observer;
    struct hd_wire_check *check = observer != NULL ? area(s) : NULL;
    if (check == NULL) return true;
    uint32_t count = __atomic_load_n(&check->violations, __ATOMIC_ACQUIRE);
    if (count > HD_CHECK_VIOLATIONS) count = HD_CHECK_VIOLATIONS;
    for (; s->violations_seen < count && !observer->stopped; s->violations_seen++) {
        struct hd_wire_violation *shared = &check->violation[s->violations_seen];
        if (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE)) break;
        take_modules(observer->observed, s);
        const struct hd_checking *checking = observer->checking;
        if (take_violation(observer->observed, check, s->violations_seen) &&
            checking->violated != NULL)
            observer->stopped = !checking->violated(checking->context, observer->observed);
        if (!observer->stopped) answer(shared);
    }
    return !observer->stopped;
}

/* The executed accesses, and counts as they are at the end. */
void hd_session_observe_end(struct hd_live *live, struct hd_session *s) {
    struct hd_observer *observer = live->options->observer;
    struct hd_wire_check *check = observer != NULL ? area(s) : NULL;
    if (check == NULL) return;
    hd_session_observe(live, s);
    struct hd_observed *observed = observer->observed;
    take_modules(observed, s);
    uint32_t sites = check->sites;
    observed->truncated = sites > HD_CHECK_SITES || check->violations > HD_CHECK_VIOLATIONS;
    for (uint32_t i = 0; i < sites && i < HD_CHECK_SITES; i++) {
        struct hd_wire_check_site from = check->site[i];
        if (from.site >= HD_SITE_LIMIT || from.does == 0 || from.does > HD_DOES_UPDATE) continue;
        struct hd_observed_site site = {from.site, from.does, from.violations};
        hd_vector_push(&observed->executed, site);
    }
    for (size_t i = 0; i < observed->violation.size; i++) {
        struct hd_observed_violation *violation = &observed->violation.data[i];
        violation->instances = check->violation[violation->number].instances;
    }
}
