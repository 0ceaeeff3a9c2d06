/* Reference count decremented and tested in two steps (Apache bug 21287, mod_mem_cache): both steps
 * are atomic, the pair is not. When both threads decrement before either tests, both free.
 * Repaired by testing what the decrement returned. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct object {
    atomic_int references;
    int payload;
};

static struct object *object;
static atomic_int frees;

static void *release(void *argument) {
    if (*(int *)argument != 0) usleep(5000);
#ifdef FIXED
    if (atomic_fetch_sub(&object->references, 1) != 1) return NULL;
#else
    atomic_fetch_sub(&object->references, 1);
    if (atomic_load(&object->references) != 0) return NULL;
#endif
    atomic_fetch_add(&frees, 1);
    free(object);
    return NULL;
}

int main(void) {
    static int later[2] = {0, 1};
    pthread_t threads[2];
    object = malloc(sizeof *object);
    atomic_init(&object->references, 2);
    object->payload = 7;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, release, &later[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("freed %d time\n", atomic_load(&frees));
    return atomic_load(&frees) == 1 ? 0 : 1;
}
