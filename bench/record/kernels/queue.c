/* A bounded queue with two condition variables: half of the threads fill
 * messages and put them, the other half take and digest them. */
#include "harness.h"

enum { CAPACITY = 64, WORDS = 64 };

struct message {
    unsigned long number;
    uint64_t words[WORDS];
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    struct message slots[CAPACITY];
    unsigned first, used;
    unsigned producers; /* still at work */
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER};

/* One cache line and more apart; summed after the join. */
static struct {
    _Alignas(128) uint64_t sum;
    unsigned long taken;
} digests[256];

static const char *queue_setup(struct team *team) {
    if (team->threads < 2) return "needs at least two threads";
    queue.producers = team->threads / 2;
    return 0;
}

static void put(const struct message *message) {
    pthread_mutex_lock(&queue.mutex);
    while (queue.used == CAPACITY) pthread_cond_wait(&queue.not_full, &queue.mutex);
    queue.slots[(queue.first + queue.used) % CAPACITY] = *message;
    queue.used++;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.mutex);
}

static bool take(struct message *message) {
    pthread_mutex_lock(&queue.mutex);
    while (queue.used == 0 && queue.producers > 0)
        pthread_cond_wait(&queue.not_empty, &queue.mutex);
    bool any = queue.used > 0;
    if (any) {
        *message = queue.slots[queue.first];
        queue.first = (queue.first + 1) % CAPACITY;
        queue.used--;
        pthread_cond_signal(&queue.not_full);
    }
    pthread_mutex_unlock(&queue.mutex);
    return any;
}

static void fill(struct message *message) {
    uint64_t state = bench_mix(message->number);
    for (int i = 0; i < WORDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        message->words[i] = state;
    }
}

static uint64_t digest(const struct message *message) {
    uint64_t hash = message->number;
    for (int i = 0; i < WORDS; i++) hash = (hash ^ message->words[i]) * 0x100000001b3u;
    return hash;
}

static void produce(struct team *team, unsigned self) {
    unsigned producers = team->threads / 2;
    struct message message;
    for (unsigned long i = self; i < team->size; i += producers) {
        message.number = i;
        fill(&message);
        put(&message);
    }
    pthread_mutex_lock(&queue.mutex);
    queue.producers--;
    pthread_cond_broadcast(&queue.not_empty);
    pthread_mutex_unlock(&queue.mutex);
}

static void queue_work(struct team *team, unsigned self) {
    struct message message;
    if (self < team->threads / 2) {
        produce(team, self);
        return;
    }
    while (take(&message)) {
        digests[self].sum += digest(&message);
        digests[self].taken++;
    }
}

static bool queue_check(struct team *team, uint64_t *checksum) {
    unsigned long taken = 0;
    for (unsigned t = 0; t < team->threads; t++) {
        *checksum += digests[t].sum;
        taken += digests[t].taken;
    }
    return taken == team->size && queue.used == 0;
}

const struct kernel kernel = {"queue", "messages", queue_setup, queue_work, queue_check};
