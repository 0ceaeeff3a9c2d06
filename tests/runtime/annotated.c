/* The example of heddle/annotate.h: a lock and a hand-over in assembly, a counter that may be
 * wrong, a note. With -DBARE the annotations are left out. */
#ifdef BARE
#define HEDDLE_LOCKED(lock)
#define HEDDLE_UNLOCKING(lock)
#define HEDDLE_READ_LOCKED(lock)
#define HEDDLE_READ_UNLOCKING(lock)
#define HEDDLE_TRY_FAILED(lock)
#define HEDDLE_LOCK_CREATE(lock)
#define HEDDLE_LOCK_DESTROY(lock)
#define HEDDLE_HAPPENS_BEFORE(object)
#define HEDDLE_HAPPENS_AFTER(object)
#define HEDDLE_IGNORE_BEGIN()
#define HEDDLE_IGNORE_END()
#define HEDDLE_NOTE(text)
#define HEDDLE_ATOMIC
#else
#include <heddle/annotate.h>
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

struct lock {
    int word;
};

/* heddle cc does not look into assembly that has directives. */
static int exchange(int *at, int value) {
    __asm__ volatile(".skip 0\n\txchgl %0, %1" : "+r"(value), "+m"(*at)::"memory");
    return value;
}

static void take(struct lock *lock) {
    while (exchange(&lock->word, 1)) {
        HEDDLE_TRY_FAILED(lock);
        sched_yield();
    }
    HEDDLE_LOCKED(lock);
}
static void give_back(struct lock *lock) {
    HEDDLE_UNLOCKING(lock);
    exchange(&lock->word, 0);
}

static struct lock lock, readers;
static int balance, message, flag, seen, guess, table = 3, looked_up;

HEDDLE_ATOMIC static void deposit(int amount) {
    take(&lock);
    balance += amount;
    give_back(&lock);
    HEDDLE_IGNORE_BEGIN();
    guess++; /* statistics: may lose a count */
    HEDDLE_IGNORE_END();
}

static int read_table(void) {
    take(&readers); /* readers share it, as far as heddle is told */
    HEDDLE_UNLOCKING(&readers);
    HEDDLE_READ_LOCKED(&readers);
    int value = table;
    HEDDLE_READ_UNLOCKING(&readers);
    exchange(&readers.word, 0);
    return value;
}

static void *sender(void *argument) {
    deposit(10);
    message = 42;
    HEDDLE_HAPPENS_BEFORE(&flag);
    exchange(&flag, 1);
    HEDDLE_NOTE("the message is there");
    take(&readers);
    table = 4;
    give_back(&readers);
    return argument;
}

static void *receiver(void *argument) {
    deposit(20);
    while (exchange(&flag, 0) == 0) sched_yield();
    HEDDLE_HAPPENS_AFTER(&flag);
    seen = message;
    looked_up = read_table();
    return argument;
}

int main(void) {
    pthread_t a, b;
    HEDDLE_LOCK_CREATE(&lock);
    pthread_create(&a, NULL, sender, NULL);
    pthread_create(&b, NULL, receiver, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    HEDDLE_LOCK_DESTROY(&lock);
    printf("%d %d %d\n", balance, seen, looked_up >= 3);
    return 0;
}
