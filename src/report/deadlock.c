/* See deadlock.h: from the BLOCKED events at the end of a trace. */
#include "report/deadlock.h"

static void print_place(FILE *out, struct hd_describe *describe, uint32_t event) {
    const char *site = hd_describe_site(describe, event);
    const char *function = hd_describe_function(describe, event);
    if (site[0] != '\0') fprintf(out, " at %s", site);
    if (function[0] != '\0') fprintf(out, " in %s", function);
}

/* Sections of the lock that are still open, other threads' first to be named. */
static void print_holders(FILE *out, const struct hd_model *model, struct hd_describe *describe,
                          uint32_t event) {
    uint32_t lock = model->object[event];
    if (lock == HD_NONE) return;
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        if (section->release != HD_NONE) continue;
        bool own = section->thread == model->thread[event];
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
    if (type == HD_WAIT_LOCK) print_holders(out, model, describe, event);
    fputc('\n', out);
}

void hd_report_blocked(FILE *out, const struct hd_model *model, struct hd_describe *describe) {
    for (uint32_t event = 0; event < model->events; event++)
        if (model->kind[event] == HD_EV_BLOCKED) print_thread(out, model, describe, event);
}
