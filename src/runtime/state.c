/* Does a loop that only reads wait for another thread, or does it count? Before a read at a place
 * where the thread read shortly before, a note tells what the thread has of its own there: the
 * registers that survive a call, and its stack as far as functions of the program use it. What else
 * it may have, memory, it can't have changed if it only read, or wrote to that part of its stack.
 * Two reads at one place with equal states and nothing but that in between: the round did nothing,
 * and the thread would do after it what it would have done before it.
 *
 * A thread that begins to wait is noted too: if the process dies meanwhile, no event tells it.
 *
 * The unwinder of libgcc_s knows the registers; it is loaded when it is first needed. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <dlfcn.h>
#include <errno.h>

#define MOST_STACK (64u * 1024u)
#define MOST_FRAMES 256u

/* As in unwind.h, which belongs to a compiler. */
struct context;
typedef int (*visitor)(struct context *context, void *argument);
static int (*backtrace)(visitor visit, void *argument);
static uintptr_t (*get_ip)(struct context *context);
static uintptr_t (*get_cfa)(struct context *context);
static uintptr_t (*get_register)(struct context *context, int number);
static bool looked_for;
enum { GO_ON = 0, ENOUGH = 4 };

static bool load(void) {
    if (!looked_for) {
        looked_for = true;
        void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) {
            *(void **)&get_ip = dlsym(library, "_Unwind_GetIP");
            *(void **)&get_cfa = dlsym(library, "_Unwind_GetCFA");
            *(void **)&get_register = dlsym(library, "_Unwind_GetGR");
            *(void **)&backtrace = dlsym(library, "_Unwind_Backtrace");
        }
    }
    return get_ip != NULL && get_cfa != NULL && get_register != NULL && backtrace != NULL;
}

struct walk {
    uintptr_t low, high; /* the stack of the program's functions; 0: not known */
    uint64_t hash;
    unsigned frames;
};

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0xd6e8feb86659fd93ull;
    return hash ^ hash >> 32;
}

static int visit(struct context *context, void *argument) {
    /* x86-64: those that a function leaves as they are; rbx, rbp, r12 to r15 */
    static const int kept[] = {3, 6, 12, 13, 14, 15};
    struct walk *w = argument;
    uintptr_t ip = get_ip(context);
    if (++w->frames > MOST_FRAMES) return ENOUGH;
    bool own = rt_is_runtime_code(ip);
    if (w->low == 0) {
        if (own) return GO_ON;
        w->low = get_cfa(context);
        w->hash = mix(w->hash, ip);
        for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
            w->hash = mix(w->hash, get_register(context, kept[i]));
        return GO_ON;
    }
    if (!own && !rt_is_c_library(ip)) return GO_ON;
    w->high = get_cfa(context);
    return ENOUGH;
}

/* The thread's state if it read here shortly before. */
RT_NOINLINE void rt_state_take(struct rt_thread *t, uintptr_t pc) {
    bool again = false;
    for (unsigned i = 0; i < RT_READ_PLACES; i++) again |= t->read_pc[i] == pc;
    t->own_state = 0;
    if (!again) {
        t->read_pc[t->reads++ % RT_READ_PLACES] = pc;
        return;
    }
    int saved = errno;
    t->busy++;
    t->inside++;
    struct walk w = {.hash = 1};
    if (load()) backtrace(visit, &w);
    if (w.low != 0 && w.high > w.low && w.high - w.low <= MOST_STACK && w.low % 8 == 0) {
        for (uintptr_t at = w.low; at + 8 <= w.high; at += 8)
            w.hash = mix(w.hash, *(const uint64_t *)at);
        t->own_state = w.hash << 16 >> 16;
        t->own_high = w.high;
    }
    t->inside--;
    t->busy--;
    errno = saved;
}

void rt_state_note(struct rt_thread *t, uintptr_t pc) {
    if (t->own_state == 0 || rt.mode != HD_SCHED_SERIAL) return;
    uint32_t site = rt_site(t, pc);
    t->busy++;
    if (t->frame != t->frame_emitted || t->frame_low != t->frame_emitted) rt_emit_stack(t);
    rt_emit_extra(t, t->own_high, site);
    rt_store(t, hd_wire_head(HD_EV_NOTE, HD_NOTE_STATE, t->own_state), site);
    t->busy--;
}

void rt_state_blocked(struct rt_thread *t, unsigned wait_type, uintptr_t object, bool timed,
                      uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    if (t->frame != t->frame_emitted || t->frame_low != t->frame_emitted) rt_emit_stack(t);
    if (wait_type & RT_WAIT_UNUSED) wait_type = 0; /* no signal ends it */
    unsigned flags = (t->wait_reads ? HD_WIRE_WAIT_READS : 0) | (timed ? HD_WIRE_WAIT_TIMED : 0);
    rt_emit_extra(t, hd_wire_wait(wait_type, flags, rt_calls(t) - rt_calls_emitted(t)), site);
    rt_store(t, hd_wire_head(HD_EV_NOTE, HD_NOTE_BLOCKED, object), site);
}
