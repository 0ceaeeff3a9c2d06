/* The accesses of a location, and the test behind LR-Inv: are two consecutive ones unserializably
 * interleaved? */
#include "base/alloc.h"
#include "cover/cover.h"
#include "facts/patterns.h"

const uint32_t *hd_cover_accesses(const struct hd_model *model, uint32_t location, uint32_t **room,
                                  uint32_t *count) {
    const uint32_t *list = model->location_event + model->location_start[location];
    uint32_t all = model->location_start[location + 1] - model->location_start[location];
    uint32_t frees = 0;
    for (uint32_t i = 0; i < all; i++) frees += hd_access_does(model, list[i]) == 0;
    *count = all - frees;
    if (frees == 0) return list;
    *room = hd_realloc(*room, *count, sizeof **room);
    for (uint32_t i = 0, kept = 0; i < all; i++)
        if (hd_access_does(model, list[i]) != 0) (*room)[kept++] = list[i];
    return *room;
}

void hd_cover_note_write(struct hd_cover_writes *writes, unsigned does, uint32_t position) {
    if ((does & HD_DOES_WRITE) == 0) return;
    writes->last = position;
    if (does == HD_DOES_WRITE) writes->last_plain = position;
}

/* Everything between the two is of other threads. r..r, w..r and r..w are broken by any write.
 * w..w is broken if somebody sees the first value: the first access between them, if that reads (a
 * read after another write sees that one, and the whole is serializable). Between two atomic
 * updates further updates do not count: each is whole in itself. */
bool hd_cover_interleaved(const struct hd_model *model, const uint32_t *list, uint32_t first,
                          uint32_t second, struct hd_cover_writes writes) {
    unsigned before = hd_access_does(model, list[first]);
    unsigned after = hd_access_does(model, list[second]);
    bool updates = before == HD_DOES_UPDATE && after == HD_DOES_UPDATE;
    uint32_t write = updates ? writes.last_plain : writes.last, next = first + 1;
    while (updates && next < second && hd_access_does(model, list[next]) == HD_DOES_UPDATE) next++;
    if (next == second) return false;
    if (write != HD_NONE && write > first &&
        hd_pattern_of(before, HD_DOES_WRITE, after, false) != HD_PATTERN_NONE)
        return true;
    return hd_pattern_of(before, hd_access_does(model, list[next]), after, false) !=
           HD_PATTERN_NONE;
}
