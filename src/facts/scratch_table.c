/* See scratch_table.h. */
#include "facts/scratch_table.h"

#include "base/alloc.h"

void hd_scratch_clear(struct hd_scratch_table *table, uint64_t entries) {
    uint64_t size = table->slot != NULL ? table->mask + (uint64_t)1 : 0, wanted = 64;
    while (wanted < entries * 2) wanted *= 2;
    if (size < wanted || table->round == UINT32_MAX) {
        if (size > wanted) wanted = size;
        free(table->slot);
        table->slot = hd_zalloc(wanted, sizeof *table->slot);
        table->mask = (uint32_t)(wanted - 1);
        table->round = 0;
    }
    table->round++;
}
