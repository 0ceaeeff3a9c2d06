/* Tasks that wait for somebody to do them, in order. */
#ifndef HEDDLE_CAMPAIGN_TASKS_H
#define HEDDLE_CAMPAIGN_TASKS_H

#include "campaign/pool.h"

/* Zeroed: none. */
struct campaign_tasks {
    HD_VECTOR(struct campaign_task) list;
    size_t first; /* those before it were taken */
};
static inline size_t campaign_tasks_count(const struct campaign_tasks *tasks) {
    return tasks->list.size - tasks->first;
}
/* Puts it before the one with this number, which is small, or behind all. Takes its text. */
void campaign_tasks_put(struct campaign_tasks *tasks, const struct campaign_task *task,
                        size_t before);
void campaign_tasks_add(struct campaign_tasks *tasks, const struct campaign_task *task);
/* The first; its text is the caller's. */
struct campaign_task campaign_tasks_take(struct campaign_tasks *tasks);
/* Forgets one; *was is the number that it had. False: it is not there. */
bool campaign_tasks_cancel(struct campaign_tasks *tasks, uint32_t number, size_t *was);
void campaign_tasks_free(struct campaign_tasks *tasks);

#endif
