/* Loads libraries one after the other, the next where the last one was if the loader does so, and
 * calls the same function of each; beside one that is linked. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

void linked_run(void);

static void *previous;
static int reused;

static void *use(void *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*run)(void);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return path;
    }
    *(void **)&run = dlsym(library, "plugin_run");
    run();
    if (*(void **)&run == previous) reused++;
    previous = *(void **)&run;
    dlclose(library);
    return NULL;
}

int main(int argc, char **argv) {
    linked_run();
    for (int i = 1; i < argc; i++) {
        pthread_t thread;
        void *failed = NULL;
        if (strncmp(argv[i], "@", 1) == 0) { /* in another thread */
            pthread_create(&thread, NULL, use, argv[i] + 1);
            pthread_join(thread, &failed);
        } else {
            failed = use(argv[i]);
        }
        if (failed != NULL) return 1;
    }
    linked_run();
    printf("%d\n", reused);
    return 0;
}
