/* Ignores every signal that can be ignored, and leaves a child that hangs. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int x;
static void *touch(void *p) {
    x++;
    return p;
}
int main(void) {
    for (int s = 1; s < 32; s++) signal(s, SIG_IGN);
    if (fork() == 0)
        for (;;) pause();
    pthread_t a, b;
    pthread_create(&a, NULL, touch, NULL);
    pthread_create(&b, NULL, touch, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (;;) pause();
}
