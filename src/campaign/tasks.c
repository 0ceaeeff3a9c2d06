/* See tasks.h. */
#include "campaign/tasks.h"

#include <string.h>

void campaign_tasks_add(struct campaign_tasks *tasks, const struct campaign_task *task) {
    hd_vector_push(&tasks->list, *task);
}

void campaign_tasks_put(struct campaign_tasks *tasks, const struct campaign_task *task,
                        size_t before) {
    if (tasks->first > 0) {
        struct campaign_task *list = tasks->list.data + --tasks->first;
        memmove(list, list + 1, before * sizeof *list);
        list[before] = *task;
    } else {
        hd_vector_push(&tasks->list, *task);
        struct campaign_task *list = tasks->list.data + before;
        memmove(list + 1, list, (tasks->list.size - before - 1) * sizeof *list);
        *list = *task;
    }
}

struct campaign_task campaign_tasks_take(struct campaign_tasks *tasks) {
    struct campaign_task task = tasks->list.data[tasks->first++];
    if (tasks->first == tasks->list.size) tasks->first = tasks->list.size = 0;
    return task;
}

bool campaign_tasks_cancel(struct campaign_tasks *tasks, uint32_t number, size_t *was) {
    struct campaign_task *list = tasks->list.data;
    size_t i = tasks->first;
    while (i < tasks->list.size && list[i].number != number) i++;
    if (i == tasks->list.size) return false;
    *was = i - tasks->first;
    free(list[i].text);
    tasks->list.size--;
    memmove(list + i, list + i + 1, (tasks->list.size - i) * sizeof *list);
    return true;
}

void campaign_tasks_free(struct campaign_tasks *tasks) {
    for (size_t i = tasks->first; i < tasks->list.size; i++) free(tasks->list.data[i].text);
    hd_vector_free(&tasks->list);
    tasks->first = 0;
}
