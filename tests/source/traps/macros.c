/* What macros expand to is accessed where they are used. */
#define SET(object, field, value) ((object)->field = (value))
#define LOCK(object) pthread_mutex_lock(&(object)->lock)
#define BOTH(a, b) ((a) && (b))
#define likely(x) __builtin_expect(!!(x), 1)
#define INCREMENT(counter) \
    do {                   \
        (counter)++;       \
    } while (0)
typedef struct {
    int held;
} pthread_mutex_t;
int pthread_mutex_lock(pthread_mutex_t *mutex);
struct state {
    pthread_mutex_t lock;
    int length, used;
};

int use(struct state *s, int n) {
    LOCK(s);
    SET(s, length, s->used);
    if (BOTH(s->length, n)) INCREMENT(s->used);
    if (likely(s->used && n)) return s->used;
    return 0;
}
