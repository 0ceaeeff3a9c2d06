/* The Remote Agent's database (Artho, Havelund and Biere 2003): a task stores the value that it
 * locks a property to, achieves it, and sets the flag that says so, in two critical sections. The
 * daemon, which reads both at once, sees the value without the flag. Repaired by one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PROPERTIES = 4, NO_VALUE = 0 };

struct entry {
    int value;
    int achieved;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry table[PROPERTIES];
static int warnings;

#ifdef FIXED
static void set_achieved_value(int property, int value) {
    pthread_mutex_lock(&lock);
    table[property].value = value;
    table[property].achieved = 1;
    pthread_mutex_unlock(&lock);
}
#else
static void set_value(int property, int value) {
    pthread_mutex_lock(&lock);
    table[property].value = value;
    pthread_mutex_unlock(&lock);
}

static void set_achieved(int property) {
    pthread_mutex_lock(&lock);
    table[property].achieved = 1;
    pthread_mutex_unlock(&lock);
}
#endif

static int is_inconsistent(int property) {
    pthread_mutex_lock(&lock);
    int bad = table[property].value != NO_VALUE && !table[property].achieved;
    pthread_mutex_unlock(&lock);
    return bad;
}

static void *run_task(void *unused) {
    (void)unused;
#ifdef FIXED
    set_achieved_value(2, 42);
#else
    set_value(2, 42);
    set_achieved(2); /* violation: view set_value set_achieved */
#endif
    return NULL;
}

static void *run_daemon(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        if (is_inconsistent(2)) warnings++;
        usleep(5000);
    }
    return NULL;
}

int main(void) {
    pthread_t task, daemon;
    pthread_create(&task, NULL, run_task, NULL);
    pthread_create(&daemon, NULL, run_daemon, NULL);
    pthread_join(task, NULL);
    pthread_join(daemon, NULL);
    printf("%d warnings\n", warnings);
    return warnings == 0 ? 0 : 1;
}
