/* Calls: direct, through pointers by type, with results and out-parameters; library functions write
 * what their arguments point to. */
#include <pthread.h>
#include <string.h>
#define HEDDLE_ATOMIC __attribute__((annotate("heddle_atomic")))
struct queue {
    pthread_mutex_t lock;
    char name[16];
    char *text;
    int (*visit)(struct queue *, int);
};
static pthread_t thread;
static struct queue only;

static void fill(int *out, struct queue *q) { *out = q->visit(q, 1); }
static void *worker(void *argument) { return argument; }
static void queue_lock(struct queue *q) { pthread_mutex_lock(&q->lock); }
static void queue_unlock(struct queue *q) { pthread_mutex_unlock(&q->lock); }
HEDDLE_ATOMIC int length(struct queue *q) { return (int)strlen(q->text); }

int work(struct queue *q, int (*callback)(struct queue *, int)) {
    int n, result = callback(q, 3);
    fill(&n, q);
    queue_lock(q);
    memcpy(q->name, q->text, 16);
    strcpy(only.name, q->name);
    queue_unlock(q);
    q->visit = callback;
    pthread_create(&thread, NULL, worker, q);
    result = length(q) + (*callback)(&only, n);
    return result;
}
