/* Check, then act, without a lock (MySQL's proc_info): the status thread tests a pointer and then
 * uses it, while the worker that ends sets it to null. Crashes when the null comes in between.
 * Repaired by one critical section around test and use. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *proc_info;
static pthread_mutex_t proc_lock = PTHREAD_MUTEX_INITIALIZER;
static char status_line[64];
static int query = 4;

static void *show_status(void *unused) {
    (void)unused;
#ifdef FIXED
    pthread_mutex_lock(&proc_lock);
#endif
    if (proc_info != NULL) {
        snprintf(status_line, sizeof status_line, "query %d: ", query);
        strcat(status_line, proc_info);
    }
#ifdef FIXED
    pthread_mutex_unlock(&proc_lock);
#endif
    return NULL;
}

static void *end_query(void *unused) {
    (void)unused;
    usleep(5000);
#ifdef FIXED
    pthread_mutex_lock(&proc_lock);
#endif
    proc_info = NULL;
#ifdef FIXED
    pthread_mutex_unlock(&proc_lock);
#endif
    return NULL;
}

int main(void) {
    pthread_t shower, ender;
    proc_info = "sorting";
    pthread_create(&shower, NULL, show_status, NULL);
    pthread_create(&ender, NULL, end_query, NULL);
    pthread_join(shower, NULL);
    pthread_join(ender, NULL);
    (void)proc_lock;
    int right = status_line[0] == '\0' || strcmp(status_line, "query 4: sorting") == 0;
    printf("status %s\n", right ? "consistent" : "garbled");
    return right ? 0 : 1;
}
