/* Threads that read and write a few neighbouring variables from many places, in an order that a
 * small generator chooses, with a lock now and then: what the recorder's filter has to get right.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct mixed {
    char a, b;
    short c;
    int d;
    long e;
    char f[4];
    int g[3];
};
static struct mixed shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds = 400;

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void step(unsigned choice, struct mixed *s) {
    switch (choice % 22) {
    case 0:
        s->a = 1;
        break;
    case 1:
        s->b = s->a;
        break;
    case 2:
        s->c++;
        break;
    case 3:
        s->d += s->c;
        break;
    case 4:
        s->e = s->d;
        break;
    case 5:
        s->e++;
        break;
    case 6:
        s->f[0] = 2;
        break;
    case 7:
        s->f[1] = s->f[0];
        break;
    case 8:
        s->f[choice / 22 % 4]++;
        break;
    case 9:
        s->g[0] = 3;
        break;
    case 10:
        s->g[1] += s->g[0];
        break;
    case 11:
        s->g[2]--;
        break;
    case 12:
        for (int i = 0; i < 5; i++) s->d++;
        break;
    case 13:
        for (int i = 0; i < 5; i++) s->e += s->g[i % 3];
        break;
    case 14:
        s->a = s->b;
        break;
    case 15:
        for (int i = 0; i < 4; i++) s->f[i] = s->a;
        break;
    case 16:
        s->c = (short)s->d;
        break;
    case 17:
        for (int i = 0; i < 3; i++) s->g[i] = i;
        break;
    default:
        pthread_mutex_lock(&lock);
        s->d++;
        s->d++;
        s->e = s->d;
        pthread_mutex_unlock(&lock);
    }
}

static void *work(void *seed) {
    unsigned state = (unsigned)(size_t)seed;
    for (int i = 0; i < rounds; i++) {
        unsigned choice = next(&state);
        /* The same few places again and again, then others. */
        for (unsigned again = 0; again < choice / 512 % 6; again++) {
            step(choice, &shared);
            step(choice + 1 + again % 2, &shared);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread[3];
    if (argc > 1) rounds = atoi(argv[1]);
    for (size_t i = 0; i < 3; i++) pthread_create(&thread[i], NULL, work, (void *)(i * 77 + 5));
    for (size_t i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    puts("done");
    return 0;
}
