/* Apache's log buffer (bug 25520): threads copy a record to `log.text + log.used` and then advance
 * `log.used`, without a lock; two records land on each other or the length goes wrong. Repaired
 * with a mutex around copy and advance. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { RECORD = 6 };

static struct {
    unsigned used;
    char text[64];
} log_buffer;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void *write_record(void *argument) {
    const char *record = argument;
    size_t length = strlen(record);
#ifdef FIXED
    pthread_mutex_lock(&log_lock);
#endif
    memcpy(log_buffer.text + log_buffer.used, record, length);
    log_buffer.used += (unsigned)length;
#ifdef FIXED
    pthread_mutex_unlock(&log_lock);
#endif
    return NULL;
}

static int count_of(char wanted) {
    int count = 0;
    for (unsigned i = 0; i < log_buffer.used && i < sizeof log_buffer.text; i++)
        count += log_buffer.text[i] == wanted;
    return count;
}

int main(void) {
    static char records[3][RECORD + 1] = {"AAAAA;", "BBBBB;", "CCCCC;"};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, write_record, records[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    (void)log_lock;
    printf("log %u bytes, A %d B %d C %d\n", log_buffer.used, count_of('A'), count_of('B'),
           count_of('C'));
    return count_of('A') == 5 && count_of('B') == 5 && count_of('C') == 5 ? 0 : 1;
}
