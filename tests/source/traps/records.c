/* Anonymous members belong to the struct around them; typedefs name anonymous structs; a
 * declaration that is visited twice is there once. */
typedef struct {
    int left, right;
} span_t;
struct outer {
    int kind;
    union {
        int number;
        struct {
            int low, high;
        };
    };
    struct middle {
        int value;
    } inner;
    struct {
        int hidden;
    } named;
    span_t span;
} * current;

int touch(struct outer *o) {
    o->number = o->low;
    o->high = o->kind;
    o->inner.value = current->span.left;
    o->named.hidden++;
    struct middle *m = &o->inner;
    m->value = o->span.right;
    return m->value;
}
