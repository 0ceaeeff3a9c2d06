#include "config.h"
#include "counter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if !defined HAVE_PTHREAD_H || !defined HAVE_PTHREAD_BARRIER_WAIT || SIZEOF_LONG != 8
#error "configure found the wrong things"
#endif
#ifdef HAVE_NO_SUCH_FUNCTION_ANYWHERE
#error "configure found what is not there"
#endif

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) counter_add(1);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread[64];
    for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    char buffer[32];
    puts(counter_text(buffer, sizeof buffer, counter_value()));
    return counter_value() == threads * 100 ? 0 : 1;
}
