/* Static storage of every shape, in C. */
#include "fixture.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

typedef const volatile int cv_int;
enum color { RED, GREEN };
struct pair {
    short first;
    long second;
};
typedef struct {
    char name[12];
    int empty;
    struct pair pair[2];
} slot_t;
union number {
    int whole;
    unsigned char byte[4];
    double real;
};
struct everything {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int buf[8];
    struct {
        int hidden;
        union {
            long as_long;
            char as_bytes[8];
        };
    };
    struct pair inner;
    union number number;
    int *pointer;
    void (*callback)(int);
    enum color color;
    _Atomic int counter;
    char tail[3];
};
struct bits {
    int before;
    unsigned low : 3;
    unsigned middle : 5;
    unsigned high : 20;
    int after;
};
struct flexible {
    int count;
    short item[];
};
struct wrapped {
    int value;
};
struct wrapped_array {
    int value[4];
};

int counter;
static long hidden = 3;
cv_int qualified = 4;
struct everything g;
slot_t table[5];
int matrix[3][4][2];
double *pointers[4];
union number number;
struct bits bits;
struct flexible flexible = {3, {1, 2, 3}};
struct wrapped wrapped;
struct wrapped_array wrapped_array;
int single[1];
char text[] = "hello";
_Atomic long total;
struct pair stats;
sem_t semaphore;
pthread_spinlock_t spin;
__attribute__((aligned(64))) _Thread_local int local_to_thread;
extern int in_assembly;
__asm__(".data\n.globl in_assembly\n.type in_assembly,@object\n.size in_assembly,16\n"
        "in_assembly: .zero 16\n.text");

__attribute__((noinline)) static void *calls_of(int n) {
    static int calls;
    calls += n;
    return &calls;
}
static inline void *inlined_calls_of(int n) {
    static int inlined_calls;
    inlined_calls += n;
    return &inlined_calls;
}

int main(int argc, char **argv) {
    (void)argv;
    print_modules();
    VARIABLE(counter);
    VARIABLE(hidden);
    VARIABLE(qualified);
    VARIABLE(g.buf[0]);
    VARIABLE(g.buf[7]);
    VARIABLE(g.buf);
    VARIABLE(g.lock);
    VARIABLE(g.changed);
    NAMED(&g.lock, 1, "g.lock");
    NAMED(&g.lock, 4, "g.lock");
    NAMED((char *)&g.lock + 8, 4, "g.lock");
    VARIABLE(g.hidden);
    VARIABLE(g.as_long);
    VARIABLE(g.as_bytes[3]);
    VARIABLE(g.inner.first);
    VARIABLE(g.inner.second);
    VARIABLE(g.inner);
    VARIABLE(g.number.whole);
    VARIABLE(g.number.real);
    VARIABLE(g.number.byte[2]);
    VARIABLE(g.pointer);
    VARIABLE(g.callback);
    VARIABLE(g.color);
    VARIABLE(g.counter);
    VARIABLE(g.tail[2]);
    VARIABLE(g);
    NAMED(&g.buf[2], 12, "g.buf[2..4]");
    NAMED((char *)&g.buf[2] + 2, 1, "g.buf[2]+2");
    NAMED((char *)&g.buf[2] + 2, 4, "g.buf[2..]");
    VARIABLE(table[3].empty);
    VARIABLE(table[3].name[11]);
    VARIABLE(table[0].pair[1].second);
    VARIABLE(table[4].pair[0]);
    VARIABLE(table[4].pair);
    VARIABLE(table[2]);
    VARIABLE(table);
    NAMED(&table[2].empty, sizeof(int) + sizeof(struct pair[2]), "table[2].{empty,pair}");
    VARIABLE(matrix[2][3][1]);
    VARIABLE(matrix[0][0][0]);
    VARIABLE(matrix[1][2]);
    VARIABLE(matrix[1]);
    VARIABLE(matrix);
    VARIABLE(pointers[2]);
    VARIABLE(number.whole);
    VARIABLE(number.real);
    VARIABLE(number.byte[1]);
    VARIABLE(bits.before);
    VARIABLE(bits.after);
    NAMED((char *)&bits + 4, 4, "bits.{low,middle,high}");
    NAMED((char *)&bits + 4, 1, "bits.{low,middle}");
    NAMED((char *)&bits + 6, 1, "bits.high");
    VARIABLE(bits);
    VARIABLE(flexible.count);
    VARIABLE(flexible.item[2]);
    VARIABLE(wrapped.value);
    VARIABLE(wrapped_array);
    VARIABLE(wrapped_array.value[3]);
    VARIABLE(single[0]);
    VARIABLE(text[4]);
    VARIABLE(text);
    VARIABLE(total);
    VARIABLE(stats.first);
    VARIABLE(stats);
    NAMED((char *)&stats + 4, 1, "stats+4");
    NAMED(&semaphore, 1, "semaphore");
    VARIABLE(spin);
    VARIABLE(in_assembly);
    NAMED((char *)&in_assembly + 8, 4, "in_assembly+8");
    NAMED(calls_of(argc), sizeof(int), "calls_of::calls");
    NAMED(inlined_calls_of(argc), sizeof(int), "inlined_calls_of::inlined_calls");
    return 0;
}
