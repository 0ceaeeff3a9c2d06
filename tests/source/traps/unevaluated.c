/* What is not evaluated is not accessed: sizeof, typeof, offsetof, other arms of _Generic. */
#include <stddef.h>
struct item {
    int key, value;
    struct item *next;
};
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct item *sizes(struct item *i, int *v) {
    size_t a = sizeof(i->key) + sizeof *v + _Alignof(int);
    __typeof__(i->value) b = _Generic(i->key, int : i->value, default : i->next->key);
    struct item *c = container_of(v, struct item, value);
    c->key = (int)a + b;
    return c;
}
