/* Atomic operations have no name in libclang, and their operands come in another order. */
#include <stdatomic.h>
struct shared {
    _Atomic int state;
    int plain;
    atomic_flag flag;
};

int atomics(struct shared *s, int *p, int value) {
    atomic_store(&s->state, value);
    int a = atomic_load_explicit(&s->state, memory_order_acquire);
    int b = __atomic_load_n(&s->plain, __ATOMIC_ACQUIRE);
    __atomic_store_n(&s->plain, value, __ATOMIC_RELEASE);
    int c = __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
    int expected = 0;
    __atomic_compare_exchange_n(&s->plain, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    int d = __sync_fetch_and_add(&s->plain, 2);
    s->state = b;
    s->state++;
    return a + b + c + d + s->state;
}
