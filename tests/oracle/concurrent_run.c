/* concurrent_run TEXT: runs a program of concurrent.h on real threads, C11 atomics and the pthread
 * library, and appends what it saw as one line to the file that $CONCURRENT_LOG names. An assertion
 * that fails is appended and aborts.
 *
 * Only what the program says is an instrumented access to memory that threads share: the text and
 * what was seen are in the hands of functions that are not instrumented. Unless LOOP is defined,
 * each place in a thread's text has machine code of its own, as in a program that a person wrote;
 * with it, one loop executes all. */
#define _GNU_SOURCE
#include "concurrent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int32_t plain[CONCURRENT_OBJECTS];
static _Atomic int32_t atomic[CONCURRENT_OBJECTS];
static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t conditions[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

static sem_t semaphores[2];
static pthread_rwlock_t rwlocks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
static pthread_once_t onces[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};

static struct concurrent program;
static struct {
    int32_t reg[CONCURRENT_REGISTERS];
    int32_t seen[CONCURRENT_SEEN];
    bool awaited[CONCURRENT_SEEN]; /* it is a read of an await */
    unsigned count;
} own[CONCURRENT_THREADS];

QUIET struct concurrent_step fetch(unsigned self, unsigned at) { return program.step[self][at]; }
QUIET unsigned steps_of(unsigned self) { return program.steps[self]; }
QUIET unsigned threads_of(void) { return program.threads; }
QUIET int32_t reg_of(unsigned self, unsigned reg) { return own[self].reg[reg]; }
QUIET void note_seen(unsigned self, int32_t value, bool awaited) {
    if (own[self].count == CONCURRENT_SEEN) _exit(3);
    own[self].awaited[own[self].count] = awaited;
    own[self].seen[own[self].count++] = value;
}
QUIET void note(unsigned self, unsigned reg, int32_t value) {
    own[self].reg[reg] = value;
    note_seen(self, value, false);
}

/* What the initialiser of a once does in this thread. */
static __thread struct concurrent_step initial;
QUIET void set_initial(struct concurrent_step step) { initial = step; }
QUIET struct concurrent_step get_initial(void) {
    initial.reg = 1; /* it has come first */
    return initial;
}
QUIET int32_t came_first(void) { return initial.reg; }
static void initialise(void) {
    const struct concurrent_step step = get_initial();
    plain[step.mutex] = step.value;
}

QUIET unsigned put_number(char *text, unsigned at, int32_t number) {
    char digits[12];
    unsigned count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count != 0) text[at++] = digits[--count];
    return at;
}

QUIET void append(const char *text, unsigned length) {
    const char *name = getenv("CONCURRENT_LOG");
    if (name == NULL) return;
    int file = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || write(file, text, length) != (ssize_t)length) _exit(3);
    close(file);
}

/* "class T1 0 3 T2 3w T0 3": what each thread has seen, in its order; w: by an await. */
QUIET void append_class(void) {
    static char text[CONCURRENT_THREADS * (CONCURRENT_SEEN + 1) * 12];
    unsigned at = 0;
    for (const char *word = "class"; *word != '\0'; word++) text[at++] = *word;
    for (unsigned i = 1; i <= program.threads; i++) {
        unsigned t = i % program.threads;
        text[at++] = ' ';
        text[at++] = 'T';
        text[at++] = (char)('0' + t);
        for (unsigned s = 0; s < own[t].count; s++) {
            text[at++] = ' ';
            at = put_number(text, at, own[t].seen[s]);
            if (own[t].awaited[s]) text[at++] = 'w';
        }
    }
    text[at++] = '\n';
    append(text, at);
}

QUIET void append_failure(unsigned line) {
    char text[32] = "assert ";
    unsigned at = put_number(text, 7, (int32_t)line);
    text[at++] = '\n';
    append(text, at);
}

/* Executes one instruction; returns the place of the next. */
static inline __attribute__((always_inline)) unsigned execute(unsigned self, unsigned at) {
    const struct concurrent_step step = fetch(self, at);
    switch ((enum concurrent_op)step.op) {
    case OP_READ:
        note(self, step.reg, plain[step.object]);
        break;
    case OP_WRITE:
        plain[step.object] = step.value;
        break;
    case OP_LOAD:
        note(self, step.reg, atomic_load(&atomic[step.object]));
        break;
    case OP_STORE:
        atomic_store(&atomic[step.object], step.value);
        break;
    case OP_ADD:
        note(self, step.reg, atomic_fetch_add(&atomic[step.object], step.value));
        break;
    case OP_CAS: {
        int32_t expected = step.value;
        if (atomic_compare_exchange_strong(&atomic[step.object], &expected, step.next))
            note(self, step.reg, step.value);
        else
            note(self, step.reg, expected);
        break;
    }
    case OP_SPIN: {
        int32_t value;
        if (step.differs)
            while ((value = atomic_load(&atomic[step.object])) == step.value) continue;
        else
            while ((value = atomic_load(&atomic[step.object])) != step.value) continue;
        note_seen(self, value, false);
        break;
    }
    case OP_LOCK:
        pthread_mutex_lock(&mutexes[step.object]);
        break;
    case OP_UNLOCK:
        pthread_mutex_unlock(&mutexes[step.object]);
        break;
    case OP_TRY:
        if (pthread_mutex_trylock(&mutexes[step.object]) == 0)
            note(self, step.reg, 1);
        else
            note(self, step.reg, 0);
        break;
    case OP_AWAIT:
        for (;;) {
            int32_t value = plain[step.object];
            note_seen(self, value, true);
            if ((value == step.value) != (step.differs != 0)) break;
            pthread_cond_wait(&conditions[step.reg], &mutexes[step.mutex]);
        }
        break;
    case OP_SIGNAL:
        pthread_cond_signal(&conditions[step.object]);
        break;
    case OP_BROADCAST:
        pthread_cond_broadcast(&conditions[step.object]);
        break;
    case OP_UNTIL: {
        static const struct timespec past = {1, 0}; /* no time is asked for: either may come */
        if (pthread_cond_timedwait(&conditions[step.object], &mutexes[step.mutex], &past) == 0)
            note(self, step.reg, 1);
        else
            note(self, step.reg, 0);
        break;
    }
    case OP_POST:
        sem_post(&semaphores[step.object]);
        break;
    case OP_DOWN:
        sem_wait(&semaphores[step.object]);
        break;
    case OP_TAKE:
        if (sem_trywait(&semaphores[step.object]) == 0)
            note(self, step.reg, 1);
        else
            note(self, step.reg, 0);
        break;
    case OP_RDLOCK:
        pthread_rwlock_rdlock(&rwlocks[step.object]);
        break;
    case OP_WRLOCK:
        pthread_rwlock_wrlock(&rwlocks[step.object]);
        break;
    case OP_LEAVE:
        pthread_rwlock_unlock(&rwlocks[step.object]);
        break;
    case OP_TRYREAD:
        if (pthread_rwlock_tryrdlock(&rwlocks[step.object]) == 0)
            note(self, step.reg, 1);
        else
            note(self, step.reg, 0);
        break;
    case OP_TRYWRITE:
        if (pthread_rwlock_trywrlock(&rwlocks[step.object]) == 0)
            note(self, step.reg, 1);
        else
            note(self, step.reg, 0);
        break;
    case OP_ONCE:
        set_initial(step);
        pthread_once(&onces[step.object], initialise);
        note_seen(self, came_first(), false);
        break;
    case OP_IF:
        if ((reg_of(self, step.reg) == step.value) == (step.differs != 0)) return step.jump;
        break;
    case OP_ELSE:
        return step.jump;
    case OP_ASSERT:
        if ((reg_of(self, step.reg) == step.value) == (step.differs != 0)) {
            append_failure(step.line);
            abort();
        }
        break;
    }
    return at + 1;
}

static void run(unsigned self) {
    unsigned at = 0, count = steps_of(self);
#ifdef LOOP
    while (at < count) at = execute(self, at);
#else
#define AT(place) \
    if (at == (place) && at < count) at = execute(self, at);
    AT(0)
    AT(1)
    AT(2)
    AT(3)
    AT(4)
    AT(5)
    AT(6)
    AT(7)
    AT(8)
    AT(9)
    AT(10)
    AT(11)
    AT(12)
    AT(13)
    AT(14)
    AT(15)
    AT(16)
    AT(17)
    AT(18)
    AT(19)
    AT(20)
    AT(21)
    AT(22)
    AT(23)
#endif
}

static void *thread(void *self) {
    run((unsigned)(uintptr_t)self);
    return NULL;
}

int main(int count, char **argument) {
    unsigned wrong = count == 2 ? concurrent_parse(argument[1], &program) : 0;
    if (count != 2 || wrong != 0) {
        fprintf(stderr, count == 2 ? "concurrent_run: line %u is wrong\n" : "concurrent_run TEXT\n",
                wrong);
        return 2;
    }
    pthread_t threads[CONCURRENT_THREADS];
    for (unsigned t = 1; t < threads_of(); t++)
        pthread_create(&threads[t], NULL, thread, (void *)(uintptr_t)t);
    for (unsigned t = 1; t < threads_of(); t++) pthread_join(threads[t], NULL);
    run(0);
    append_class();
    return 0;
}
