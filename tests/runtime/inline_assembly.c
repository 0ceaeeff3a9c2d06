/* Order that inline assembly makes: locks, a message, a fence between volatile flags. With
 * -DWRONG one access is not ordered by it. What the registers hold must not change. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int exchanged, compared, bits, counted, ticket, serving;
#ifdef WRONG
static long plain; /* shares its 8 bytes with no word of the assembly's */
#endif
static int a, b, c, d, e, f, message;
static volatile int ready, want[2], turn;

static void pause_here(void) { __asm__ volatile("pause"); }

/* an exchange, and an exchange to give back */
static int exchange(int *at, int value) {
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*at)::"memory");
    return value;
}
static void by_exchange(void) {
    while (exchange(&exchanged, 1)) pause_here();
    a++;
    exchange(&exchanged, 0);
}

/* a comparison in a loop of the assembly's own, and a move to give back */
static void by_comparison(void) {
    int one = 1;
    __asm__ volatile("1: xorl %%eax, %%eax\n\t"
                     "lock; cmpxchgl %1, %0\n\t"
                     "jz 2f; pause; jmp 1b\n"
                     "2:"
                     : "+m"(compared)
                     : "r"(one)
                     : "memory", "cc", "eax");
    b++;
    __asm__ volatile("movl $0, %0" : "=m"(compared)::"memory");
}

/* a bit, and a plain store behind a barrier for the compiler */
static void by_bit(void) {
    unsigned char taken;
    do __asm__ volatile("lock btsl $3, %0\n\tsetc %1" : "+m"(bits), "=q"(taken)::"memory", "cc");
    while (taken);
    c++;
    __asm__ volatile("" ::: "memory");
    bits = 0;
}

/* tickets */
static void by_ticket(void) {
    int mine = 1, now;
    __asm__ volatile("lock xaddl %0, %1" : "+r"(mine), "+m"(ticket)::"memory", "cc");
    do __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(serving) : "memory");
    while (now != mine);
    d++;
    __asm__ volatile("lock; incl %0" : "+m"(serving)::"memory", "cc");
}

/* Peterson's lock: volatile words and a fence */
static void by_fence(int me) {
    want[me] = 1;
    turn = !me;
    __asm__ volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc");
    while (want[!me] && turn == !me) pause_here();
    e++;
    __asm__ volatile("mfence" ::: "memory");
    want[me] = 0;
}

static void *work(void *argument) {
    int me = argument != NULL;
#ifdef WRONG
    plain++;
#endif
    for (int i = 0; i < 5; i++) {
        by_exchange();
        by_comparison();
        by_bit();
        by_ticket();
        by_fence(me);
        __asm__ volatile("lock; addl $1, %0" : "+m"(counted)::"memory", "cc");
    }
    if (me) {
        message = 17;
        __asm__ volatile("sfence" ::: "memory");
        ready = 1;
    } else {
        while (!ready) pause_here();
        f = message;
    }
    return NULL;
}

/* All registers, flags and a word in the red zone are what they were. */
static int kept(void) {
    static int word;
    unsigned long sum = 0, flags = 0;
    double x = 1.5;
    __asm__ volatile(
        "movl $1, %%eax; movl $2, %%ecx; movl $3, %%edx; movl $4, %%esi; movl $5, %%edi\n\t"
        "movl $6, %%r8d; movl $7, %%r9d; movl $8, %%r10d; movl $9, %%r11d\n\t"
        "movq $99, -64(%%rsp)\n\t"
        "stc\n\t"
        "lock orl $0, %2\n\t"
        "movl $10, %%ebx\n\t"
        "mfence\n\t"
        "addq %%rax, %0; addq %%rcx, %0; addq %%rdx, %0; addq %%rsi, %0; addq %%rdi, %0\n\t"
        "addq %%r8, %0; addq %%r9, %0; addq %%r10, %0; addq %%r11, %0; addq %%rbx, %0\n\t"
        "addq -64(%%rsp), %0\n\t"
        "stc; mfence; sbbq %1, %1"
        : "+r"(sum), "+r"(flags), "+m"(word), "+x"(x)
        :
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "memory", "cc");
    return sum == 55 + 99 && flags == ~0ul && x == 1.5;
}

int main(void) {
    pthread_t other;
    if (!kept()) return 3;
    pthread_create(&other, NULL, work, &other);
    work(NULL);
    pthread_join(other, NULL);
    printf("%d %d %d %d %d %d %d\n", a, b, c, d, e, f, counted);
    return a == 10 && b == 10 && c == 10 && d == 10 && e == 10 && f == 17 && counted == 10 ? 0 : 1;
}
