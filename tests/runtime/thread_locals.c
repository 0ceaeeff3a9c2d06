/* KB kilobytes of thread-local data: the runtime's own threads need as much room as others. */
#include <pthread.h>
#include <stdio.h>

static __thread char large[KB * 1024];

static void *thread(void *argument) {
    for (unsigned long i = 0; i < sizeof large; i += 512) large[i] = (char)i;
    large[sizeof large - 1] = 1;
    return argument;
}

int main(void) {
    pthread_t made;
    pthread_create(&made, NULL, thread, NULL);
    pthread_join(made, NULL);
    puts(large[0] == 0 && large[sizeof large - 1] == 0 ? "right" : "wrong");
    return 0;
}
