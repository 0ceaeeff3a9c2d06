/* A small cache server, about to be given new settings. Its bug is behind three changes of order,
 * each of which makes the next possible:
 *   1. the worker sees the new settings, and asks for a flush, which it does not do otherwise;
 *   2. the manager, which looks for such a wish after it has published them, sees it and starts
 * one;
 *   3. the worker sees the flush before it is over, and drops the buffer;
 *   4. the reporter, long started, finds no buffer.
 * Every access is under a lock: there is no race, and a run with any one of the changes alone
 * passes. FIXED: the reporter looks whether the buffer is there. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct settings {
    int version;
    int limit;
};

struct cache {
    pthread_mutex_t lock;
    char storage[64];
    char *buffer;
    int used;
};

static pthread_mutex_t settings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings settings = {1, 32};

static pthread_mutex_t wish_lock = PTHREAD_MUTEX_INITIALIZER;
static bool flush_wanted;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static enum { SERVING, FLUSHING } state;

static struct cache cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct settings settings_now(void) {
    pthread_mutex_lock(&settings_lock);
    struct settings now = settings;
    pthread_mutex_unlock(&settings_lock);
    return now;
}

static void want_flush(void) {
    pthread_mutex_lock(&wish_lock);
    flush_wanted = true;
    pthread_mutex_unlock(&wish_lock);
}

static bool take_wish(void) {
    pthread_mutex_lock(&wish_lock);
    bool wanted = flush_wanted;
    flush_wanted = false;
    pthread_mutex_unlock(&wish_lock);
    return wanted;
}

static bool is_flushing(void) {
    pthread_mutex_lock(&state_lock);
    bool flushing = state == FLUSHING;
    pthread_mutex_unlock(&state_lock);
    return flushing;
}

static void cache_add(const char *text) {
    pthread_mutex_lock(&cache.lock);
    if (cache.buffer != NULL) {
        cache.used = (int)strlen(text);
        memcpy(cache.buffer, text, (size_t)cache.used);
    }
    pthread_mutex_unlock(&cache.lock);
}

static void cache_drop(void) {
    pthread_mutex_lock(&cache.lock);
    cache.buffer = NULL;
    cache.used = 0;
    pthread_mutex_unlock(&cache.lock);
}

/* Serves one request under the settings of the moment. */
static void *worker(void *unused) {
    struct settings mine = settings_now();
    cache_add("request");
    if (mine.version > 1) want_flush();
    if (is_flushing()) cache_drop();
    return unused;
}

/* Publishes new settings, and flushes what was cached under the old ones if somebody asks. */
static void *manager(void *unused) {
    pthread_mutex_lock(&settings_lock);
    settings.version = 2;
    settings.limit = 16;
    pthread_mutex_unlock(&settings_lock);
    if (take_wish()) {
        pthread_mutex_lock(&state_lock);
        state = FLUSHING;
        pthread_mutex_unlock(&state_lock);
    }
    return unused;
}

/* Says how much of the cache is in use. */
static void *reporter(void *unused) {
    pthread_mutex_lock(&cache.lock);
    const char *buffer = cache.buffer;
#ifdef FIXED
    if (buffer != NULL)
#endif
        assert(buffer != NULL && (cache.used == 0 || buffer[0] == 'r'));
    pthread_mutex_unlock(&cache.lock);
    return unused;
}

int main(void) {
    void *(*body[])(void *) = {reporter, worker, manager};
    pthread_t thread[3];
    cache.buffer = cache.storage;
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, body[i], NULL);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    return 0;
}
