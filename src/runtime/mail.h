/* Order from those who may have sent something to those who got something, where nobody counts what
 * was sent: who gets something comes after all that was sent so far. Senders are not ordered among
 * each other, but for those who share a slot. */
#ifndef HEDDLE_RUNTIME_MAIL_H
#define HEDDLE_RUNTIME_MAIL_H

#include "runtime/rt.h"

#define RT_MAIL_SLOTS 16u

/* Each slot is an initialiser (ONCE) in the trace, by its address; all zero: nothing was sent. */
struct rt_mail {
    uint16_t sender[RT_MAIL_SLOTS]; /* thread number plus one, made small: who used it last */
};

/* Inside the runtime. */
RT_INLINE void rt_mail_send(struct rt_thread *t, struct rt_mail *mail, uintptr_t pc) {
    uint16_t me = (uint16_t)(t->number % UINT16_MAX + 1);
    uint16_t *slot = &mail->sender[t->number % RT_MAIL_SLOTS];
    if (*slot != 0 && *slot != me) rt_emit_sync(t, HD_EV_ONCE_PASS, 0, (uintptr_t)slot, pc);
    *slot = me;
    rt_emit_sync(t, HD_EV_ONCE_DONE, 0, (uintptr_t)slot, pc);
}

/* What the thread itself sent comes before anyway. */
RT_INLINE void rt_mail_get(struct rt_thread *t, struct rt_mail *mail, uintptr_t pc) {
    for (unsigned i = 0; i < RT_MAIL_SLOTS; i++) {
        uint16_t sender = mail->sender[i];
        if (sender != 0 && sender != (uint16_t)(t->number % UINT16_MAX + 1))
            rt_emit_sync(t, HD_EV_ONCE_PASS, 0, (uintptr_t)&mail->sender[i], pc);
    }
}

#endif
