/* Mozilla's script handler: load_script() stores the script in one critical section and its
 * callback on_load_complete() takes it up again in another. Every access is locked, so there is no
 * race, but leave_page() may set the handler to null in between, and the callback crashes.
 * leave_page() reads nothing: whatever the order of a run, the other one follows from it. Repaired
 * by keeping the lock until the callback is through. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct script {
    int lines;
};

static struct script *current_script;
static int lines_compiled;
static pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;

static void load_script(struct script *script) {
    pthread_mutex_lock(&script_lock);
    current_script = script;
#ifndef FIXED
    pthread_mutex_unlock(&script_lock);
#endif
}

static void on_load_complete(void) {
#ifndef FIXED
    pthread_mutex_lock(&script_lock);
#endif
    lines_compiled = current_script->lines;
    pthread_mutex_unlock(&script_lock);
}

static void *show_page(void *script) {
    load_script(script);
    on_load_complete();
    return NULL;
}

static void *leave_page(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&script_lock);
    current_script = NULL;
    pthread_mutex_unlock(&script_lock);
    return NULL;
}

int main(void) {
    struct script page_script = {12};
    pthread_t shower, leaver;
    pthread_create(&shower, NULL, show_page, &page_script);
    pthread_create(&leaver, NULL, leave_page, NULL);
    pthread_join(shower, NULL);
    pthread_join(leaver, NULL);
    printf("compiled %d lines\n", lines_compiled);
    return lines_compiled == 12 ? 0 : 1;
}
