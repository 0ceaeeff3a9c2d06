/* The resource store manager of the Jigsaw web server (von Praun and Gross 2003): whether the
 * manager is closed is asked in one critical section, the entry is looked up, and made if it is
 * missing, in another. After a shutdown in between, a closed manager has entries. Repaired by one
 * section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ENTRIES = 4 };

struct entry {
    int key; /* 0: free */
    int uses;
};

struct manager {
    pthread_mutex_t lock;
    int closed;
    struct entry entry[ENTRIES];
    int entries;
};

static struct manager manager = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct entry *find_or_add(struct manager *m, int key) {
    int i = 0;
    while (i < m->entries && m->entry[i].key != key) i++;
    if (i == m->entries) {
        m->entry[i].key = key;
        m->entries++;
    }
    m->entry[i].uses++;
    return &m->entry[i];
}

#ifdef FIXED
static struct entry *load_store(struct manager *m, int key) {
    struct entry *entry = NULL;
    pthread_mutex_lock(&m->lock);
    if (!m->closed) entry = find_or_add(m, key);
    pthread_mutex_unlock(&m->lock);
    return entry;
}
#else
static int is_closed(struct manager *m) {
    pthread_mutex_lock(&m->lock);
    int closed = m->closed;
    pthread_mutex_unlock(&m->lock);
    return closed;
}

static struct entry *lookup_entry(struct manager *m, int key) {
    pthread_mutex_lock(&m->lock);
    struct entry *entry = find_or_add(m, key);
    pthread_mutex_unlock(&m->lock);
    return entry;
}

static struct entry *load_store(struct manager *m, int key) {
    if (is_closed(m)) return NULL;
    return lookup_entry(m, key); /* violation: stale-value,view is_closed lookup_entry */
}
#endif

static void shut_down(struct manager *m) {
    pthread_mutex_lock(&m->lock);
    m->entries = 0;
    m->closed = 1;
    pthread_mutex_unlock(&m->lock);
}

static void *serve(void *unused) {
    (void)unused;
    load_store(&manager, 7);
    load_store(&manager, 9);
    return NULL;
}

static void *stop(void *unused) {
    (void)unused;
    usleep(5000);
    shut_down(&manager);
    return NULL;
}

int main(void) {
    pthread_t server, stopper;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&stopper, NULL, stop, NULL);
    pthread_join(server, NULL);
    pthread_join(stopper, NULL);
    printf("closed with %d entries\n", manager.entries);
    return manager.entries == 0 ? 0 : 1;
}
