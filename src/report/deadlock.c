/* See deadlock.h: from the BLOCKED events at the end of a trace. */
#include "report/deadlock.h"

static void print_place(FILE *out, struct hd_describe *describe, uint32_t event) {
    const char *site = hd_describe_site(describe, event);
    const char *function = hd_describe_function(describe, event);
    if (site[0] != '\0') fprintf(out, " at %s", site);
    if (function[0] != '\0') fprintf(out, " in %s", function);
}

/* Sections of the lock that were open then, or are still open (HD_NONE). */
static void print_holders(FILE *out, const struct hd_model *model, struct hd_describe *describe,
                          uint32_t event, uint32_t then) {
    uint32_t lock = model->object[event];
    if (lock == HD_NONE) return;
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        bool open = then == HD_NONE ? section->release == HD_NONE
                                    : section->acquire < then && section->release > then;
        if (!open) continue;
        bool own = then == HD_NONE && section->thread == model->thread[event];
        fprintf(out, "\n      held by %s%s", own ? "itself" : "thread ",
                own ? "" : hd_describe_thread(describe, section->thread));
        fprintf(out, " since the acquire");
        print_place(out, describe, section->acquire);
    }
}

static void print_thread(FILE *out, const struct hd_model *model, struct hd_describe *describe,
                         uint32_t event) {
    static const char *const what[] = {[HD_WAIT_LOCK] = "waits for the lock",
                                       [HD_WAIT_COND] = "waits for a signal on",
                                       [HD_WAIT_JOIN] = "waits for the end of thread",
                                       [HD_WAIT_BARRIER] = "waits at the barrier",
                                       [HD_WAIT_SEM] = "waits for the semaphore",
                                       [HD_WAIT_ONCE] = "waits for the initialiser of"};
    unsigned type = model->flags[event];
    const char *words = type < sizeof what / sizeof *what && what[type] ? what[type] : "waits for";
    fprintf(out, "  thread %s %s %s", hd_describe_thread(describe, model->thread[event]), words,
            hd_describe_event(describe, event, HD_LONG));
    print_place(out, describe, event);
    if (type == HD_WAIT_LOCK) print_holders(out, model, describe, event, HD_NONE);
    fputc('\n', out);
}

/* A child process, and what was so when it was made. */
static void print_child(FILE *out, const struct hd_model *model, struct hd_describe *describe,
                        uint32_t event) {
    uint64_t number = hd_trace_extra(model->trace, event, 0);
    fprintf(out, "  a child process waits for the lock %s",
            hd_describe_event(describe, event, HD_LONG));
    print_place(out, describe, event);
    for (uint32_t e = 0; e < event; e++) {
        bool forks =
            model->kind[e] == HD_EV_NOTE && (model->flags[e] & HD_NOTE_TYPE_MASK) == HD_NOTE_FORK;
        if (!forks || hd_trace_extra(model->trace, e, 0) != number) continue;
        fprintf(out, "\n      made by thread %s, which forked",
                hd_describe_thread(describe, model->thread[e]));
        print_place(out, describe, e);
        print_holders(out, model, describe, event, e);
    }
    fputc('\n', out);
}

void hd_report_blocked(FILE *out, const struct hd_model *model, struct hd_describe *describe) {
    for (uint32_t event = 0; event < model->events; event++) {
        if (model->kind[event] == HD_EV_BLOCKED) print_thread(out, model, describe, event);
        if (model->kind[event] == HD_EV_NOTE &&
            (model->flags[event] & HD_NOTE_TYPE_MASK) == HD_NOTE_CHILD_WAITS)
            print_child(out, model, describe, event);
    }
}
