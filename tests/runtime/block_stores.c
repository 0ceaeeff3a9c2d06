/* Which code do the hooks of a block have? Prints that of its own function: stores or calls. With
 * an argument, two threads change a counter without a lock, and the sum says whether one of them
 * came between the other's read and write. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct {
    long first, second, third;
} triple = {1, 2, 3};

__attribute__((noinline)) long sum_of_triple(void) {
    return triple.first + triple.second * triple.third;
}

static __attribute__((noinline)) int has_store(const unsigned char *code, size_t bytes) {
    static const unsigned char store[] = {0x64, 0x48, 0x89, 0x3c, 0x25};
    for (size_t i = 0; i + sizeof store < bytes; i++) {
        size_t k = 0;
        while (k < sizeof store && code[i + k] == store[k]) k++;
        if (k == sizeof store) return 1;
    }
    return 0;
}

long plain;
static __attribute__((noinline)) void increment(void) { plain++; }
static void *count(void *unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) increment();
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    long sum = sum_of_triple();
    printf("%s %ld\n", has_store((const unsigned char *)sum_of_triple, 80) ? "stores" : "calls",
           sum);
    if (argc > 1) {
        pthread_t a, b;
        pthread_create(&a, NULL, count, NULL);
        pthread_create(&b, NULL, count, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
        printf("%s\n", plain < 200 ? "lost" : "whole");
    }
    return 0;
}
