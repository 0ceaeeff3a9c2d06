/* Blocks whose hooks are stores. The hooks of a block (events.h) follow each other whatever the
 * program does, so the last one can tell of all, if those before it leave their addresses: one
 * instruction in place of a call. The program's code is changed for that as it is loaded, in
 * recordings that let a thread go on to the end of a block (rt.stores): what an access is told
 * before, its memory, its order, is looked at a few instructions later then. Elsewhere, where each
 * access is a place for a switch, and where the system does not let code be changed, every hook is
 * a call, as compiled.
 *
 * A hook (trace/hook.h) becomes a store of %rdi, where the address is, to its place in the thread's
 * `address`; the last one of its block calls another thunk. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define STORE_CODE 9u /* and what is left does nothing */
#define MODULES 512u

struct stores {
    uintptr_t lo, hi; /* code */
    uintptr_t thunks;
    struct hd_hook *hook;
    uint32_t hooks;
    /* where each hook ends, from lo on; 0: it is not of a block that was changed */
    uint32_t *end;
    uint32_t *found; /* those that are, as they stand in the code */
    uint32_t count;
};
static struct stores module[MODULES];
static uint32_t modules;

#define WHOLE_BLOCKS 1000u /* hook calls of a slice; a block has HD_HOOK_BLOCK at most */

void rt_blocks_choose(void) {
    rt.whole_blocks = rt.mode == HD_SCHED_SERIAL && rt.options.policy == HD_POLICY_ROUND_ROBIN &&
                      rt.options.quantum >= WHOLE_BLOCKS;
    rt.stores = rt.records && !rt.startup && !rt.always_slow && !rt.forcing && !rt.noisy &&
                !rt.checking && (rt.whole_blocks || rt.mode == HD_SCHED_FREE);
}

/* ---- changing code -----------------------------------------------------------------------------
 */

struct code {
    uintptr_t address, lo, hi;
    int protection;
};

static int find_code(struct dl_phdr_info *info, size_t size, void *found) {
    struct code *code = found;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        uintptr_t lo = info->dlpi_addr + header->p_vaddr;
        if (code->address - lo >= header->p_filesz) continue;
        code->lo = lo;
        code->hi = lo + header->p_filesz;
        code->protection = PROT_EXEC | (header->p_flags & PF_R ? PROT_READ : 0) |
                           (header->p_flags & PF_W ? PROT_WRITE : 0);
        return 1;
    }
    return 0;
}

static int32_t displacement(const uint8_t *code) {
    int32_t value;
    memcpy(&value, code, sizeof value);
    return value;
}

static unsigned function_of(const struct hd_hook *hook) {
    return hd_hook_function(hook->shape, hook->index, hook->more, HD_EV_WRITE);
}

/* Finds the hooks of blocks: the instruction that loads a hook's place, and a call of the thunk
 * that such a hook calls. */
static void find_hooks(struct stores *m) {
    static const uint8_t load[] = {0x48, 0x8d, 0x35};
    const uint8_t *at = (const uint8_t *)m->lo, *end = (const uint8_t *)m->hi;
    for (; (at = memmem(at, (size_t)(end - at), load, sizeof load)) != NULL; at++) {
        if (end - at < HD_HOOK_CODE) return;
        if (at[7] != 0xe8) continue;
        uintptr_t place = (uintptr_t)at + 7 + (uintptr_t)displacement(at + 3);
        uintptr_t offset = place - (uintptr_t)m->hook;
        if (offset % sizeof *m->hook != 0 || offset / sizeof *m->hook >= m->hooks) continue;
        const struct hd_hook *hook = (const struct hd_hook *)place;
        uintptr_t target = (uintptr_t)at + HD_HOOK_CODE + (uintptr_t)displacement(at + 8);
        if (hook->index + hook->more == 0 || hook->shape >> 8 == 0 || hook->shape >> 8 > 8 ||
            target != m->thunks + function_of(hook) * HD_HOOK_THUNK)
            continue;
        uint32_t *known = &m->end[hook - m->hook];
        if (*known != 0) { /* no hook stands twice */
            *known = UINT32_MAX;
            continue;
        }
        *known = (uint32_t)((uintptr_t)at + HD_HOOK_CODE - m->lo);
        m->found[m->count++] = (uint32_t)(hook - m->hook);
    }
}

/* Were all hooks of the block found, one behind the other? */
static bool is_whole(const struct stores *m, uint32_t first) {
    uint32_t more = m->hook[first].more;
    if (more >= m->hooks - first || more >= HD_HOOK_BLOCK) return false;
    for (uint32_t i = 0; i <= more; i++) {
        const struct hd_hook *hook = &m->hook[first + i];
        uint32_t end = m->end[first + i];
        if (hook->index != i || hook->more != more - i || end == 0 || end == UINT32_MAX ||
            (i > 0 && end < m->end[first + i - 1] + HD_HOOK_CODE))
            return false;
    }
    return true;
}

static void put_store(uint8_t *code, const struct hd_hook *hook) {
    static const uint8_t store[STORE_CODE - 4] = {0x64, 0x48, 0x89, 0x3c, 0x25};
    static const uint8_t nothing[HD_HOOK_CODE - STORE_CODE] = {0x0f, 0x1f, 0x00};
    uintptr_t thread;
    __asm__("movq %%fs:0, %0" : "=r"(thread));
    int32_t offset = (int32_t)((uintptr_t)rt_stored(&rt_self, hook) - thread);
    memcpy(code, store, sizeof store);
    memcpy(code + sizeof store, &offset, sizeof offset);
    memcpy(code + STORE_CODE, nothing, sizeof nothing);
}

static void change_block(const struct stores *m, uint32_t first) {
    uint32_t more = m->hook[first].more;
    for (uint32_t i = 0; i < more; i++)
        put_store((uint8_t *)m->lo + m->end[first + i] - HD_HOOK_CODE, &m->hook[first + i]);
    uintptr_t end = m->lo + m->end[first + more];
    int32_t to = (int32_t)(m->thunks + hd_hook_stored(more + 1) * HD_HOOK_THUNK - end);
    memcpy((uint8_t *)end - sizeof to, &to, sizeof to);
}

/* Do the module's thunks look up all that is in the table? A version of before may have compiled
 * some of its code, with fewer. */
static bool has_all_thunks(const struct stores *m) {
    static const uint8_t load[] = {0x48, 0x8b, 0x05};
    const uint8_t *code = (const uint8_t *)m->thunks;
    if (m->hi - m->thunks < HD_HOOK_FUNCTIONS * HD_HOOK_THUNK) return false;
    for (uint32_t i = 0; i < HD_HOOK_FUNCTIONS; i++, code += HD_HOOK_THUNK) {
        /* jmp *offset(%rax): without one, with one byte, with four */
        const uint8_t *jump = code + 7;
        uint32_t offset = jump[1] == 0x20   ? 0
                          : jump[1] == 0x60 ? jump[2]
                          : jump[1] == 0xa0 ? (uint32_t)displacement(jump + 2)
                                            : UINT32_MAX;
        if (memcmp(code, load, sizeof load) != 0 || jump[0] != 0xff ||
            offset != i * sizeof __heddle_table[i])
            return false;
    }
    return true;
}

/* What a thunk looks up does not change any more. */
static void change_thunks(uint8_t *thunks) {
    for (unsigned i = 0; i < HD_HOOK_FUNCTIONS; i++, thunks += HD_HOOK_THUNK) {
        static const uint8_t load[] = {0x48, 0xb8}, jump[] = {0xff, 0xe0};
        memcpy(thunks, load, sizeof load);
        memcpy(thunks + sizeof load, &__heddle_table[i], sizeof __heddle_table[i]);
        memcpy(thunks + sizeof load + sizeof __heddle_table[i], jump, sizeof jump);
    }
}

static size_t table_bytes(const struct stores *m) {
    return m->hooks * (sizeof *m->end + sizeof *m->found);
}

static void change(struct stores *m, int protection) {
    uintptr_t from = m->lo & ~4095ul, bytes = ((m->hi + 4095) & ~4095ul) - from;
    if (!has_all_thunks(m)) return;
    m->end = rt_map(table_bytes(m));
    m->found = m->end + m->hooks;
    find_hooks(m);
    if (syscall(SYS_mprotect, from, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        rt_unmap(m->end, table_bytes(m));
        return;
    }
    for (uint32_t i = 0; i < m->hooks; i++) {
        bool whole = m->hook[i].index == 0 && m->hook[i].more != 0 && is_whole(m, i);
        uint32_t count = whole ? m->hook[i].more + 1u : 1;
        if (whole)
            change_block(m, i);
        else
            m->end[i] = 0;
        i += count - 1;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->end[m->found[i]] != 0) m->found[kept++] = m->found[i];
    m->count = kept;
    change_thunks((uint8_t *)m->thunks);
    syscall(SYS_mprotect, from, bytes, protection);
    __atomic_store_n(&modules, modules + 1, __ATOMIC_RELEASE);
}

/* The program, or a library, is about to run its first code: its hooks, and its thunks. */
RT_HOOK void __heddle_module(struct hd_hook *hook, struct hd_hook *end, void *thunks);
RT_HOOK void __heddle_module(struct hd_hook *hook, struct hd_hook *end, void *thunks) {
    struct rt_thread *t = &rt_self;
    if (!rt.stores || rt.mode == HD_SCHED_OFF || !t->expects || t->inside || modules == MODULES)
        return;
    /* While the program starts, threads of one library may be in the code of another. */
    if (rt.threads > 1 && !rt.in_main) return;
    t->busy++;
    t->inside++;
    int saved = errno;
    struct code code = {.address = (uintptr_t)thunks};
    if (dl_iterate_phdr(find_code, &code) != 0) {
        struct stores *m = &module[modules];
        *m = (struct stores){.lo = code.lo,
                             .hi = code.hi,
                             .thunks = code.address,
                             .hook = hook,
                             .hooks = (uint32_t)(end - hook)};
        change(m, code.protection);
    }
    errno = saved;
    rt_leave(t);
}

void rt_blocks_closed(void) {
    for (uint32_t i = 0; i < modules; i++)
        if (!rt_is_hooked(module[i].lo)) module[i].hooks = module[i].count = 0;
}

/* ---- where hooks are ---------------------------------------------------------------------------
 */

uintptr_t rt_hook_end(const struct hd_hook *hook) {
    for (uint32_t i = 0; i < __atomic_load_n(&modules, __ATOMIC_ACQUIRE); i++) {
        const struct stores *m = &module[i];
        uintptr_t offset = (uintptr_t)hook - (uintptr_t)m->hook;
        if (offset / sizeof *hook >= m->hooks) continue;
        uint32_t end = m->end[offset / sizeof *hook];
        return end != 0 ? m->lo + end : 0;
    }
    return 0;
}

/* The hook that was passed last before `pc`, if others of its block come after it. */
static const struct hd_hook *passed_before(const struct stores *m, uintptr_t pc) {
    uint32_t limit = (uint32_t)(pc - m->lo) + (HD_HOOK_CODE - STORE_CODE), low = 0, high = m->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->end[m->found[middle]] <= limit)
            low = middle + 1;
        else
            high = middle;
    }
    const struct hd_hook *latest = low > 0 ? &m->hook[m->found[low - 1]] : NULL;
    return latest != NULL && latest->more != 0 ? latest : NULL;
}

const struct hd_hook *rt_hook_passed(const void *context) {
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    for (uint32_t i = 0; i < __atomic_load_n(&modules, __ATOMIC_ACQUIRE); i++) {
        const struct stores *m = &module[i];
        if (m->hooks == 0 || pc < m->lo || pc >= m->hi) continue;
        if (pc - m->thunks <
            HD_HOOK_FUNCTIONS * HD_HOOK_THUNK) /* on the way to the runtime, from here: */
            pc = *(const uintptr_t *)registers[REG_RSP] - HD_HOOK_CODE;
        return pc >= m->lo && pc < m->hi ? passed_before(m, pc) : NULL;
    }
    return NULL;
}
