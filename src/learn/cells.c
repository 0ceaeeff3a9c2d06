/* Cells of memory: see cells.h. */
#include "learn/cells.h"

static unsigned shift_of(enum hd_granularity granularity) {
    return granularity == HD_GRANULARITY_LINE ? 6 : 3;
}

static void add_location(struct hd_cells *cells, uint32_t location) {
    const struct hd_location *at = &cells->model->location[location];
    unsigned shift = shift_of(cells->granularity);
    uint64_t last = (at->address + (at->bytes > 0 ? at->bytes - 1 : 0)) >> shift;
    for (uint64_t granule = at->address >> shift; granule <= last; granule++) {
        uint32_t cell = *hd_map_slot(&cells->number, granule, cells->count);
        if (cell == cells->count) cells->count++;
        if (cells->list.size == 0 || cells->list.data[cells->list.size - 1] != cell)
            hd_vector_push(&cells->list, cell);
    }
}

static uint32_t of_locations(struct hd_cells *cells, const uint32_t *location, uint32_t locations,
                             const uint32_t **list) {
    if (cells->granularity == HD_GRANULARITY_BYTE) {
        cells->count = cells->model->locations;
        *list = location;
        return locations;
    }
    cells->list.size = 0;
    for (uint32_t i = 0; i < locations; i++) add_location(cells, location[i]);
    *list = cells->list.data;
    return (uint32_t)cells->list.size;
}

uint32_t hd_cells_of(struct hd_cells *cells, uint32_t event, const uint32_t **list) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(cells->model, event, &location);
    return of_locations(cells, location, count, list);
}

/* Does a coarse cell belong to memory from `low` to `high`? A word that begins there does; a cache
 * line only as a whole, since its other bytes live on. */
static bool is_inside(const struct hd_cells *cells, uint64_t granule, uint64_t low, uint64_t high) {
    uint64_t begin = granule << shift_of(cells->granularity);
    if (cells->granularity == HD_GRANULARITY_WORD) return begin >= low && begin < high;
    return begin >= low && begin + 64 <= ((high + 7) & ~(uint64_t)7);
}

static void add_inside(struct hd_cells *cells, uint32_t location, uint64_t low, uint64_t high) {
    const struct hd_location *at = &cells->model->location[location];
    unsigned shift = shift_of(cells->granularity);
    uint64_t last = (at->address + (at->bytes > 0 ? at->bytes - 1 : 0)) >> shift;
    for (uint64_t granule = at->address >> shift; granule <= last; granule++) {
        uint32_t cell = hd_map_get(&cells->number, granule, HD_NONE);
        if (cell != HD_NONE && is_inside(cells, granule, low, high))
            hd_vector_push(&cells->list, cell);
    }
}

uint32_t hd_cells_reborn(struct hd_cells *cells, uint32_t event, const uint32_t **list) {
    const struct hd_model *model = cells->model;
    bool frees = model->kind[event] == HD_EV_FREE;
    *list = NULL;
    if (!frees && model->kind[event] != HD_EV_ALLOC) return 0;
    if (cells->granularity == HD_GRANULARITY_BYTE)
        return frees ? hd_cells_of(cells, event, list)
                     : 0; /* new memory has locations of its own */
    cells->list.size = 0;
    uint32_t block = model->object[event];
    if (!frees && model->block[block].alloc != event) return 0; /* it stays, and gets nothing */
    if (block != HD_NONE) {
        const struct hd_block *memory = &model->block[block];
        for (uint32_t l = model->block_start[block]; l < model->block_start[block + 1]; l++)
            add_inside(cells, l, memory->address, memory->address + memory->bytes);
    } else { /* it was allocated before anything was seen */
        const uint32_t *location;
        uint32_t count = hd_model_locations(model, event, &location);
        for (uint32_t i = 0; i < count; i++) {
            const struct hd_location *at = &model->location[location[i]];
            add_inside(cells, location[i], at->address, at->address + at->bytes);
        }
    }
    *list = cells->list.data;
    return (uint32_t)cells->list.size;
}

void hd_cells_free(struct hd_cells *cells) {
    hd_map_free(&cells->number);
    hd_vector_free(&cells->list);
}
