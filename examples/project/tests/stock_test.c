/* stock_test N: N customers, one item less. */
#include "stock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *customer(void *stock) {
    stock_take(stock);
    return NULL;
}

int main(int argc, char **argv) {
    int customers = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t *thread = calloc((size_t)customers, sizeof *thread);
    struct stock *stock = stock_new(customers - 1);
    for (int i = 0; i < customers; i++) pthread_create(&thread[i], NULL, customer, stock);
    for (int i = 0; i < customers; i++) pthread_join(thread[i], NULL);
    int left = stock_left(stock);
    stock_free(stock);
    free(thread);
    if (left == 0) return 0;
    printf("%d items left\n", left);
    return 1;
}
