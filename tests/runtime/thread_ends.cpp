// What runs while a thread ends is the thread's own: thread-specific data and thread_local objects
// whose destructors touch shared memory, cleanup handlers of cancelled threads.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>

static pthread_key_t key, late_key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t nothing;
volatile int by_key, by_late_key, by_thread_local, by_pthread_exit, in_sleeper;
volatile int cleaned[7], under_disabled;

struct local {
    int value = 1;
    ~local() { by_thread_local = by_thread_local + value; }
};
static thread_local local mine;

// A destructor that sets another key's value is called again, round after round.
static void destroy_late(void *) { by_late_key = by_late_key + 1; }
static void destroy(void *value) {
    by_key = by_key + 1;
    if (value == &key)
        pthread_setspecific(key, &late_key);
    else
        pthread_setspecific(late_key, &key);
}

static void *with_data(void *leave) {
    mine.value++;
    pthread_setspecific(key, &key);
    if (leave != nullptr) {
        by_pthread_exit = 1;
        pthread_exit(leave);
    }
    return nullptr;
}

static void clean(void *index) { cleaned[reinterpret_cast<long>(index)] = 1; }
static void clean_locked(void *index) {
    clean(index);
    pthread_mutex_unlock(&lock);
}

static void *in_cond(void *) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean_locked, reinterpret_cast<void *>(0));
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
}
static void *in_timed_cond(void *) {
    timespec far = {time(nullptr) + 1000, 0};
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean_locked, reinterpret_cast<void *>(1));
    for (;;) pthread_cond_timedwait(&never, &lock, &far);
    pthread_cleanup_pop(0);
}
static void *in_join(void *other) {
    pthread_cleanup_push(clean, reinterpret_cast<void *>(2));
    pthread_join(*static_cast<pthread_t *>(other), nullptr);
    pthread_cleanup_pop(0);
    return nullptr;
}
static void *in_sem(void *) {
    pthread_cleanup_push(clean, reinterpret_cast<void *>(3));
    sem_wait(&nothing);
    pthread_cleanup_pop(0);
    return nullptr;
}
static void *in_sleep(void *) {
    pthread_cleanup_push(clean, reinterpret_cast<void *>(4));
    in_sleeper = 1;
    sleep(1000);
    pthread_cleanup_pop(0);
    return nullptr;
}
static void *at_test(void *) {
    pthread_cleanup_push(clean, reinterpret_cast<void *>(5));
    for (;;) pthread_testcancel();
    pthread_cleanup_pop(0);
}
// Cancelled while it may not be: waits on as if nothing had happened.
static void *disabled(void *) {
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    sem_post(&nothing);
    pthread_mutex_lock(&lock);
    while (!under_disabled) pthread_cond_wait(&never, &lock);
    under_disabled = 2;
    pthread_mutex_unlock(&lock);
    pthread_cleanup_push(clean, reinterpret_cast<void *>(6));
    pthread_setcancelstate(old, nullptr);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return nullptr;
}

static int failures;
static void check(bool good, const char *what) {
    if (!good) std::printf("wrong: %s\n", what), failures++;
}

static void cancel(void *(*function)(void *), void *argument, int index, const char *what) {
    pthread_t thread;
    void *result = nullptr;
    pthread_create(&thread, nullptr, function, argument);
    usleep(20000);
    check(pthread_cancel(thread) == 0, "pthread_cancel");
    pthread_join(thread, &result);
    check(result == PTHREAD_CANCELED, what);
    check(cleaned[index] == 1, what);
}

int main() {
    pthread_key_create(&key, destroy);
    pthread_key_create(&late_key, destroy_late);
    sem_init(&nothing, 0, 0);
    for (long leave = 0; leave < 2; leave++) {
        pthread_t thread;
        void *result = nullptr;
        pthread_create(&thread, nullptr, with_data, reinterpret_cast<void *>(leave));
        pthread_join(thread, &result);
        check(result == reinterpret_cast<void *>(leave), "result");
    }
    check(by_key == 4 && by_late_key == 2 && by_thread_local == 4, "destructors");
    std::thread([] { mine.value = 7; }).join();
    check(by_thread_local == 11, "destructor in std::thread");

    pthread_t sleeper;
    pthread_create(&sleeper, nullptr, in_sleep, nullptr);
    cancel(in_cond, nullptr, 0, "in pthread_cond_wait");
    cancel(in_timed_cond, nullptr, 1, "in pthread_cond_timedwait");
    cancel(in_join, &sleeper, 2, "in pthread_join");
    cancel(in_sem, nullptr, 3, "in sem_wait");
    cancel(at_test, nullptr, 5, "at pthread_testcancel");
    pthread_cancel(sleeper);
    pthread_join(sleeper, nullptr);
    check(cleaned[4] == 1, "in sleep");
    check(pthread_mutex_trylock(&lock) == 0, "the lock is free");
    pthread_mutex_unlock(&lock);

    pthread_t thread;
    void *result = nullptr;
    pthread_create(&thread, nullptr, disabled, nullptr);
    sem_wait(&nothing);
    pthread_cancel(thread);
    usleep(20000);
    pthread_mutex_lock(&lock);
    check(under_disabled == 0, "cancelled though disabled");
    under_disabled = 1;
    pthread_cond_signal(&never);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, &result);
    check(result == PTHREAD_CANCELED && under_disabled == 2 && cleaned[6] == 1, "cancelled later");
    if (failures == 0) std::puts("right");
    return failures;
}
