/* Locks and other synchronisation objects: one per address and life of memory, numbered in the
 * order of their first event. */
#include "model/build.h"

#include "base/alloc.h"

#include <stdlib.h>

struct named {
    uint64_t address;
    uint32_t tag, life, cell;
};

static int compare_named(const void *left, const void *right) {
    const struct named *a = left, *b = right;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    if (a->tag != b->tag) return a->tag < b->tag ? -1 : 1;
    if (a->life != b->life) return a->life < b->life ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static struct named *collect(struct hd_build *build, const uint32_t *cell_life, size_t *count) {
    HD_VECTOR(struct named) named = {0};
    for (size_t c = 0; c < build->cell.size; c++) {
        const struct hd_cell *cell = &build->cell.data[c];
        if (cell->tag == HD_CELL_MEMORY) continue;
        struct named entry = {cell->address, cell->tag, cell_life[c], (uint32_t)c};
        hd_vector_push(&named, entry);
    }
    if (named.size > 0) qsort(named.data, named.size, sizeof *named.data, compare_named);
    *count = named.size;
    return named.data;
}

void hd_pass_objects(struct hd_build *build, const uint32_t *cell_life) {
    struct hd_model_memory *memory = build->memory;
    size_t count;
    struct named *named = collect(build, cell_life, &count);
    /* Cells of one object lead to its first one, whose number follows below. */
    uint32_t locks = 0, objects = 0;
    for (size_t i = 0, first = 0; i < count; i++) {
        if (named[i].address != named[first].address || named[i].tag != named[first].tag ||
            named[i].life != named[first].life)
            first = i;
        build->cell_place[named[i].cell].first = named[first].cell;
        if (i == first) *(named[i].tag == HD_CELL_LOCK ? &locks : &objects) += 1;
    }
    free(named);
    memory->lock = hd_alloc(locks, sizeof *memory->lock);
    memory->sync_object = hd_alloc(objects, sizeof *memory->sync_object);
    bool text = build->trace->format != HD_FORMAT_BINARY;
    locks = objects = 0;
    for (uint32_t c = 0; c < build->cell.size; c++) {
        const struct hd_cell *cell = &build->cell.data[c];
        if (cell->tag == HD_CELL_MEMORY) continue;
        uint32_t first = build->cell_place[c].first;
        if (first != c) { /* numbered already: the first cell is the one with the least number */
            build->cell_place[c] = build->cell_place[first];
            continue;
        }
        uint64_t operand = text ? (cell->address & (((uint64_t)1 << 60) - 1)) / 8 : cell->address;
        uint32_t block = cell_life[c] - 1;
        if (cell->tag == HD_CELL_LOCK) {
            memory->lock[locks] = (struct hd_lock){.operand = operand, .block = block};
            build->cell_place[c].first = locks++;
        } else {
            memory->sync_object[objects] = (struct hd_object){
                .operand = operand, .type = (uint8_t)(cell->tag - HD_CELL_OBJECT), .block = block};
            build->cell_place[c].first = objects++;
        }
    }
    build->model->lock = memory->lock;
    build->model->locks = locks;
    build->model->sync_object = memory->sync_object;
    build->model->objects = objects;
}
