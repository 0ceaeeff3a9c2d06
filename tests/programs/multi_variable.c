/* Two correlated variables under two locks (Mozilla's script cache, MUVI's pattern): `text` and
 * `length` each have their lock, so a reader can see the old length with the new text. No race and
 * no unserializable triple on one variable. Repaired by one lock for both. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char text[32] = "old";
static int length = 3;
static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t length_lock = PTHREAD_MUTEX_INITIALIZER;
static int consistent;

static void *read_both(void *unused) {
    (void)unused;
    char copy[32];
#ifdef FIXED
    pthread_mutex_lock(&text_lock);
    int copied = length;
    strcpy(copy, text);
    pthread_mutex_unlock(&text_lock);
#else
    pthread_mutex_lock(&length_lock);
    int copied = length;
    pthread_mutex_unlock(&length_lock);
    pthread_mutex_lock(&text_lock);
    strcpy(copy, text);
    pthread_mutex_unlock(&text_lock);
#endif
    consistent = (int)strlen(copy) == copied;
    return NULL;
}

static void *write_both(void *unused) {
    (void)unused;
    usleep(5000);
#ifdef FIXED
    pthread_mutex_lock(&text_lock);
    strcpy(text, "brand new");
    length = 9;
    pthread_mutex_unlock(&text_lock);
#else
    pthread_mutex_lock(&text_lock);
    strcpy(text, "brand new");
    pthread_mutex_unlock(&text_lock);
    pthread_mutex_lock(&length_lock);
    length = 9;
    pthread_mutex_unlock(&length_lock);
#endif
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    pthread_create(&reader, NULL, read_both, NULL);
    pthread_create(&writer, NULL, write_both, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    (void)length_lock;
    printf("%s\n", consistent ? "consistent" : "inconsistent");
    return consistent ? 0 : 1;
}
