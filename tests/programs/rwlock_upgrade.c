/* A read lock "upgraded" by releasing it and taking the write lock: what was tested under the first
 * may be gone under the second. Crashes when the entry is removed in between. Repaired by taking
 * the write lock from the start. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct entry {
    int hits;
};

static struct entry only_entry;
static struct entry *slot;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static void *look_up(void *unused) {
    (void)unused;
#ifdef FIXED
    pthread_rwlock_wrlock(&table_lock);
    if (slot != NULL) slot->hits++;
    pthread_rwlock_unlock(&table_lock);
#else
    pthread_rwlock_rdlock(&table_lock);
    int found = slot != NULL;
    pthread_rwlock_unlock(&table_lock);
    if (found) {
        pthread_rwlock_wrlock(&table_lock);
        slot->hits++;
        pthread_rwlock_unlock(&table_lock);
    }
#endif
    return NULL;
}

static void *remove_entry(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_rwlock_wrlock(&table_lock);
    slot = NULL;
    pthread_rwlock_unlock(&table_lock);
    return NULL;
}

int main(void) {
    pthread_t finder, remover;
    slot = &only_entry;
    pthread_create(&finder, NULL, look_up, NULL);
    pthread_create(&remover, NULL, remove_entry, NULL);
    pthread_join(finder, NULL);
    pthread_join(remover, NULL);
    printf("slot %s\n", slot == NULL ? "empty" : "taken");
    return slot == NULL ? 0 : 1;
}
