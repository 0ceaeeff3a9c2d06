/* Third pass: from cells to locations. A sweep over addresses finds the life of memory each cell
 * belongs to (the newest block over its bytes that had begun before it), cutting cells that lie
 * over several lives into pieces. Then, life by life, the ends of the pieces cut the bytes into
 * locations: the coarsest partition that the accesses do not tell apart. */
#include "base/alloc.h"
#include "base/search.h"
#include "model/build.h"
#include "model/sort.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST_LOCATION ((uint64_t)1 << 30)
/* Entries of the lists of accesses over several lives. */
#define SCATTERED_LIMIT ((size_t)1 << 28)
#define LOOK_AHEAD 16 /* cells in the order of addresses, whose own order is another one */

/* Bytes of one cell in one life; life is the block plus one, 0 for memory without a block. */
struct piece {
    uint64_t low, high;
    uint32_t cell : 31;
    uint32_t cut : 1; /* there are others of the cell */
    uint32_t life;
};

struct sweep {
    struct hd_build *build;
    struct hd_keyed *cell, *block_start, *block_end; /* by address */
    size_t cells, blocks, next_start, next_end;
    struct hd_ranked active;       /* blocks over the address the sweep has reached */
    HD_VECTOR(struct piece) piece; /* by address */
    HD_VECTOR(size_t) crossing;    /* pieces that go on over the next border */
    uint32_t *cell_life;           /* of the cells without bytes */
};

/* ---- lives --------------------------------------------------------------------------------- */

static uint32_t life_at(const struct sweep *sweep, const struct hd_cell *cell) {
    return hd_ranked_below(&sweep->active, cell->born) + 1;
}

static uint64_t next_border(const struct sweep *sweep) {
    uint64_t border = UINT64_MAX;
    if (sweep->next_start < sweep->blocks) border = sweep->block_start[sweep->next_start].key;
    if (sweep->next_end < sweep->blocks && sweep->block_end[sweep->next_end].key < border)
        border = sweep->block_end[sweep->next_end].key;
    return border;
}

/* Passes all borders at one address, and cuts the pieces that cross it where their life changes. */
static void pass_border(struct sweep *sweep, uint64_t border) {
    while (sweep->next_end < sweep->blocks && sweep->block_end[sweep->next_end].key == border)
        hd_ranked_remove(&sweep->active, sweep->block_end[sweep->next_end++].value);
    while (sweep->next_start < sweep->blocks && sweep->block_start[sweep->next_start].key == border)
        hd_ranked_add(&sweep->active, sweep->block_start[sweep->next_start++].value);
    uint64_t next = next_border(sweep);
    size_t kept = 0;
    for (size_t i = 0; i < sweep->crossing.size; i++) {
        size_t at = sweep->crossing.data[i];
        struct piece piece = sweep->piece.data[at];
        uint32_t life = life_at(sweep, &sweep->build->cell.data[piece.cell]);
        if (life != piece.life) {
            sweep->piece.data[at].high = piece.low = border;
            sweep->piece.data[at].cut = piece.cut = 1;
            piece.life = life;
            at = sweep->piece.size;
            hd_vector_push(&sweep->piece, piece);
        }
        if (piece.high > next) sweep->crossing.data[kept++] = at;
    }
    sweep->crossing.size = kept;
}

static void sweep_cells(struct sweep *sweep) {
    struct hd_build *build = sweep->build;
    uint64_t border = next_border(sweep);
    for (size_t i = 0; i < sweep->cells; i++) {
        uint32_t c = sweep->cell[i].value;
        if (i + LOOK_AHEAD < sweep->cells)
            __builtin_prefetch(&build->cell.data[sweep->cell[i + LOOK_AHEAD].value]);
        const struct hd_cell *cell = &build->cell.data[c];
        while (border <= cell->address) {
            pass_border(sweep, border);
            border = next_border(sweep);
        }
        uint32_t life = life_at(sweep, cell);
        if (cell->tag != HD_CELL_MEMORY) {
            sweep->cell_life[c] = life;
            continue;
        }
        struct piece piece = {
            .low = cell->address, .high = cell->address + cell->size, .cell = c, .life = life};
        if (piece.high > border) hd_vector_push(&sweep->crossing, sweep->piece.size);
        hd_vector_push(&sweep->piece, piece);
    }
    while (sweep->crossing.size > 0) {
        pass_border(sweep, border);
        border = next_border(sweep);
    }
}

static void sort_by_address(struct sweep *sweep) {
    struct hd_build *build = sweep->build;
    sweep->cells = build->cell.size;
    if (sweep->cells > INT32_MAX) hd_out_of_memory(); /* a piece has 31 bits for its cell */
    for (size_t i = 0; i < sweep->cells; i++)
        sweep->cell[i] = (struct hd_keyed){build->cell.data[i].address, (uint32_t)i};
    sweep->blocks = 0;
    for (size_t i = 0; i < build->block.size; i++) {
        const struct hd_block *block = &build->block.data[i];
        if (block->bytes == 0) continue;
        sweep->block_start[sweep->blocks] = (struct hd_keyed){block->address, (uint32_t)i};
        sweep->block_end[sweep->blocks++] =
            (struct hd_keyed){block->address + block->bytes, (uint32_t)i};
    }
    hd_sort_keyed(sweep->cell, sweep->cells);
    hd_sort_keyed(sweep->block_start, sweep->blocks);
    hd_sort_keyed(sweep->block_end, sweep->blocks);
}

static void find_lives(struct sweep *sweep) {
    struct hd_build *build = sweep->build;
    sweep->cell = hd_alloc(build->cell.size, sizeof *sweep->cell);
    sweep->block_start = hd_alloc(build->block.size, sizeof *sweep->block_start);
    sweep->block_end = hd_alloc(build->block.size, sizeof *sweep->block_end);
    sweep->cell_life = hd_alloc(build->cell.size, sizeof *sweep->cell_life);
    hd_ranked_init(&sweep->active, (uint32_t)build->block.size);
    sort_by_address(sweep);
    hd_vector_reserve(&sweep->piece, sweep->cells);
    sweep_cells(sweep);
    free(sweep->cell);
    free(sweep->block_start);
    free(sweep->block_end);
    hd_ranked_free(&sweep->active);
    hd_vector_free(&sweep->crossing);
}

/* ---- locations ------------------------------------------------------------------------------ */

/* Locations of a piece of a cell that has several. */
struct part {
    uint32_t cell, first, count;
};

struct partition {
    struct hd_build *build;
    HD_VECTOR(struct hd_location) location;
    HD_VECTOR(uint64_t) cut;
    HD_VECTOR(struct part) part;
};

static void add_location(struct partition *partition, uint64_t low, uint64_t high, uint32_t life) {
    struct hd_location location = {
        .address = low, .bytes = (uint32_t)(high - low) & 0x7fffffff, .block = life - 1};
    hd_vector_push(&partition->location, location);
}

static void place_piece(struct partition *partition, const struct piece *piece, uint32_t first,
                        uint32_t count) {
    if (piece->cut) {
        struct part part = {piece->cell, first, count};
        hd_vector_push(&partition->part, part);
    } else {
        partition->build->cell_place[piece->cell] = (struct hd_spot){first, count};
    }
}

/* Pieces that overlap (sorted by low, together without a gap): their ends cut them into locations.
 * False if there are too many. */
static bool cut_cluster(struct partition *partition, const struct piece *piece, size_t pieces) {
    uint64_t *cut;
    size_t cuts = 0, ends = pieces;
    uint64_t low = piece[0].low, high = low;
    for (size_t i = 0; i < pieces; i++)
        if (piece[i].high > high) high = piece[i].high;
    size_t forced = (size_t)((high - low) / LARGEST_LOCATION);
    partition->cut.size = 0;
    hd_vector_reserve(&partition->cut, 2 * pieces + forced);
    cut = partition->cut.data;
    for (size_t i = 0; i < pieces; i++) cut[i] = piece[i].high;
    for (size_t i = 1; i <= forced; i++)
        if (low + i * LARGEST_LOCATION < high) cut[ends++] = low + i * LARGEST_LOCATION;
    hd_sort_numbers(cut, ends);
    /* Merge the starts, which are sorted, from the back, then drop repetitions. */
    size_t total = ends + pieces;
    for (size_t at = total, start = pieces, end = ends; at > 0; at--)
        cut[at - 1] = start > 0 && (end == 0 || piece[start - 1].low > cut[end - 1])
                          ? piece[--start].low
                          : cut[--end];
    for (size_t i = 0; i < total; i++)
        if (cuts == 0 || cut[i] != cut[cuts - 1]) cut[cuts++] = cut[i];

    size_t first = partition->location.size;
    if (first + cuts >= HD_LOCATION_LIMIT) return false;
    hd_vector_reserve(&partition->location, cuts);
    for (size_t i = 0; i + 1 < cuts; i++)
        add_location(partition, cut[i], cut[i + 1], piece[0].life);
    size_t at = 0;
    for (size_t i = 0; i < pieces; i++) {
        while (cut[at] < piece[i].low) at++;
        size_t step = 1, below = at; /* cut[below] < high <= cut[below + something] */
        while (below + step < cuts && cut[below + step] < piece[i].high) {
            below += step;
            step *= 2;
        }
        size_t above = below + step < cuts ? below + step : cuts - 1;
        above = hd_first_not(c, below + 1, above, cut[c] < piece[i].high);
        place_piece(partition, &piece[i], (uint32_t)(first + at), (uint32_t)(above - at));
    }
    return true;
}

static bool cut_life(struct partition *partition, const struct piece *piece, size_t pieces) {
    const struct hd_spot *cell_place = partition->build->cell_place;
    for (size_t i = 0; i < pieces;) {
        uint64_t high = piece[i].high;
        if (i + LOOK_AHEAD < pieces) __builtin_prefetch(&cell_place[piece[i + LOOK_AHEAD].cell], 1);
        bool same = true;
        size_t end = i + 1;
        for (; end < pieces && piece[end].low < high; end++) {
            if (piece[end].low != piece[i].low || piece[end].high != high) same = false;
            if (piece[end].high > high) high = piece[end].high;
        }
        if (same && high - piece[i].low <= LARGEST_LOCATION) {
            uint32_t first = (uint32_t)partition->location.size;
            add_location(partition, piece[i].low, high, piece[i].life);
            for (; i < end; i++) place_piece(partition, &piece[i], first, 1);
        } else {
            if (!cut_cluster(partition, piece + i, end - i)) return false;
            i = end;
        }
        if (partition->location.size + 1 >= HD_LOCATION_LIMIT) return false;
    }
    return true;
}

/* Orders the pieces by life, keeping them by address within one; returns start[0 .. lives]. */
static size_t *group_by_life(struct sweep *sweep, size_t lives) {
    size_t *start = hd_zalloc(lives + 2, sizeof *start);
    size_t pieces = sweep->piece.size;
    for (size_t i = 0; i < pieces; i++) start[sweep->piece.data[i].life + 2]++;
    for (size_t l = 2; l < lives + 2; l++) start[l] += start[l - 1];
    if (lives == 1) {
        start[1] = pieces;
        return start;
    }
    struct piece *grouped = hd_alloc(pieces, sizeof *grouped);
    for (size_t i = 0; i < pieces; i++)
        grouped[start[sweep->piece.data[i].life + 1]++] = sweep->piece.data[i];
    free(sweep->piece.data);
    sweep->piece.data = grouped;
    return start;
}

static int compare_parts(const void *left, const void *right) {
    const struct part *a = left, *b = right;
    if (a->cell != b->cell) return a->cell < b->cell ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Lists of the cells over several lives. False if they are too long. */
static bool place_parts(struct partition *partition) {
    struct hd_build *build = partition->build;
    if (partition->part.size == 0) return true;
    qsort(partition->part.data, partition->part.size, sizeof *partition->part.data, compare_parts);
    for (size_t i = 0; i < partition->part.size; i++) {
        const struct part *part = &partition->part.data[i];
        if (i == 0 || part->cell != part[-1].cell) {
            build->cell_place[part->cell] =
                (struct hd_spot){(uint32_t)build->scattered.size, HD_SCATTERED};
            struct hd_list list = {part->cell, (uint32_t)build->scattered_location.size, 0};
            hd_vector_push(&build->scattered, list);
        }
        build->scattered.data[build->scattered.size - 1].count += part->count;
        if (build->scattered_location.size + part->count > SCATTERED_LIMIT) return false;
        for (uint32_t l = 0; l < part->count; l++)
            hd_vector_push(&build->scattered_location, part->first + l);
    }
    return true;
}

static bool cut_lives(struct sweep *sweep, struct partition *partition) {
    struct hd_build *build = sweep->build;
    size_t lives = build->block.size + 1, *start = group_by_life(sweep, lives);
    uint32_t *block_start = build->memory->block_start = hd_alloc(lives, sizeof *block_start);
    bool done = true;
    for (size_t life = 0; done && life < lives; life++) {
        if (life > 0) block_start[life - 1] = (uint32_t)partition->location.size;
        done = cut_life(partition, sweep->piece.data + start[life], start[life + 1] - start[life]);
    }
    free(start);
    if (done) block_start[lives - 1] = (uint32_t)partition->location.size;
    if (done && place_parts(partition)) return true;
    return hd_fail(build->error, HD_ERR_LIMIT,
                   "too many locations: more than %u, or accesses over several blocks that "
                   "have more than %zu in all",
                   HD_LOCATION_LIMIT - 1, SCATTERED_LIMIT);
}

static void take_over(struct hd_build *build, struct partition *partition) {
    struct hd_model_memory *memory = build->memory;
    memory->location =
        hd_realloc(partition->location.data, partition->location.size, sizeof *memory->location);
    build->model->location = memory->location;
    build->model->locations = (uint32_t)partition->location.size;
    build->model->block_start = memory->block_start;
    memory->block = hd_realloc(build->block.data, build->block.size, sizeof *memory->block);
    build->model->block = memory->block;
    build->model->blocks = (uint32_t)build->block.size;
    build->block.data = NULL;
}

bool hd_pass_locations(struct hd_build *build) {
    struct sweep sweep = {.build = build};
    struct partition partition = {.build = build};
    build->cell_place = hd_alloc(build->cell.size, sizeof *build->cell_place);
    find_lives(&sweep);
    bool done = cut_lives(&sweep, &partition);
    if (done) hd_pass_objects(build, sweep.cell_life);
    hd_vector_free(&sweep.piece);
    free(sweep.cell_life);
    hd_vector_free(&partition.cut);
    hd_vector_free(&partition.part);
    if (done)
        take_over(build, &partition);
    else
        hd_vector_free(&partition.location);
    return done;
}
