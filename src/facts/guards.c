/* See guards.h. */
#include "facts/guards.h"

/* Keeps those of the locks that a set has too, for writing if that is asked for. */
static uint32_t keep_held(uint32_t *lock, uint32_t locks, const uint32_t *held, uint32_t count,
                          bool writing) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < locks; i++)
        for (uint32_t k = 0; k < count; k++)
            if (held[k] / 2 == lock[i] && (!writing || held[k] % 2 == 0)) {
                lock[kept++] = lock[i];
                break;
            }
    return kept;
}

uint32_t hd_find_guards(const struct hd_model *model, const struct hd_segments *segments,
                        const uint32_t *event, uint32_t count, uint32_t guard[HD_MOST_GUARDS]) {
    const struct hd_locksets *sets = &segments->locksets;
    uint32_t guards = 0, previous = HD_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t set = hd_lockset_at(segments, event[i]);
        bool write = hd_model_is_write(model, event[i]);
        if (i > 0 && set * 2 + write == previous) continue;
        previous = set * 2 + write;
        const struct hd_lockset *held = &sets->set.data[set];
        const uint32_t *lock = sets->held.data + held->start;
        for (uint32_t k = 0; i == 0 && k < held->count && guards < HD_MOST_GUARDS; k++)
            if (guards == 0 || guard[guards - 1] != lock[k] / 2) guard[guards++] = lock[k] / 2;
        guards = keep_held(guard, guards, lock, held->count, write);
        if (guards == 0) return 0;
    }
    return guards;
}

uint32_t hd_common_locks(const struct hd_model *model, struct hd_segments *segments, uint32_t first,
                         uint32_t second, struct hd_lock_room *room) {
    uint32_t set = hd_lockset_at(segments, first);
    if (set == 0 || segments->of[first] == segments->of[second]) return set;
    if (hd_lockset_at(segments, second) == 0) return 0;
    uint32_t most = (uint32_t)room->section.capacity;
    uint32_t count = hd_model_held(model, first, room->section.data, most);
    if (count > most) {
        hd_vector_reserve(&room->section, count);
        hd_model_held(model, first, room->section.data, count);
    }
    room->held.size = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_section *section = &model->section[room->section.data[i]];
        /* a release is inside its section; in a repaired trace it may be an access */
        if (section->release == HD_NONE || section->release >= second)
            hd_vector_push(&room->held, section->lock * 2 + section->read_mode);
    }
    return hd_locksets_number(&segments->locksets, room->held.data, (uint32_t)room->held.size);
}

void hd_lock_room_free(struct hd_lock_room *room) {
    hd_vector_free(&room->held);
    hd_vector_free(&room->section);
}
