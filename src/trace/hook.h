/* What `heddle cc` puts into a program for the hooks of accesses, and the runtime finds there. Like
 * wire.h it depends on the C library alone.
 *
 * A hook is `leaq place(%rip), %rsi; call thunk`, with the address in %rdi. Its place is a struct
 * hd_hook in the section heddle_hooks; a thunk of the module's own leads to a function of the
 * runtime's table. Hooks between which the code has no branch, no label and no call are a
 * *block*. */
#ifndef HEDDLE_TRACE_HOOK_H
#define HEDDLE_TRACE_HOOK_H

#include <stdint.h>

struct hd_hook {
    uint32_t link;  /* of its events, in every thread's table; 0: none yet */
    uint16_t shape; /* kind, and size << 8 */
    uint8_t index;  /* among the hooks of a block (HD_HOOK_BLOCK), */
    uint8_t more;   /* and how many of them come after it */
};
_Static_assert(sizeof(struct hd_hook) == 8, "two words of four bytes in assembly");

#define HD_HOOK_CODE 12u  /* bytes of its instructions */
#define HD_HOOK_BLOCK 64u /* hooks of a block at the most */

/* The table: by a hook's role in its block, then by kind and size (reads of 1, 2, 4, 8 bytes;
 * writes). */
enum hd_hook_role { HD_HOOK_ALONE, HD_HOOK_FIRST, HD_HOOK_NEXT, HD_HOOK_LAST };
#define HD_HOOK_SHAPES 8u
#define HD_HOOK_WIDE (4u * HD_HOOK_SHAPES) /* of more bytes, or not aligned */
/* The last of a block whose other hooks are stores: of any number of hooks, or of 2, 3 and so on.
 */
#define HD_HOOK_STORED (HD_HOOK_WIDE + 1)
#define HD_HOOK_STORED_SIZES 8u
#define HD_HOOK_FUNCTIONS (HD_HOOK_STORED + HD_HOOK_STORED_SIZES)
#define HD_HOOK_THUNK 16u /* bytes of a thunk; they stand in the order of the table */

static inline unsigned hd_hook_function(unsigned shape, unsigned index, unsigned more,
                                        unsigned write) {
    enum hd_hook_role role = index == 0 ? (more == 0 ? HD_HOOK_ALONE : HD_HOOK_FIRST)
                                        : (more == 0 ? HD_HOOK_LAST : HD_HOOK_NEXT);
    unsigned size = (unsigned)__builtin_ctz(shape >> 8);
    return role * HD_HOOK_SHAPES + size + ((shape & 0xff) == write ? HD_HOOK_SHAPES / 2 : 0);
}

/* The same of a block with so many hooks that are stores but for the last. */
static inline unsigned hd_hook_stored(unsigned hooks) {
    return HD_HOOK_STORED + (hooks <= HD_HOOK_STORED_SIZES ? hooks - 1 : 0);
}

#endif
