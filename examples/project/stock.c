#include "stock.h"

#include <pthread.h>
#include <stdlib.h>

struct stock {
    pthread_mutex_t lock;
    int items;
};

struct stock *stock_new(int items) {
    struct stock *stock = malloc(sizeof *stock);
    if (stock == NULL) abort();
    pthread_mutex_init(&stock->lock, NULL);
    stock->items = items;
    return stock;
}

int stock_left(struct stock *stock) {
    pthread_mutex_lock(&stock->lock);
    int left = stock->items;
    pthread_mutex_unlock(&stock->lock);
    return left;
}

#ifdef REPAIRED
int stock_take(struct stock *stock) {
    pthread_mutex_lock(&stock->lock);
    int there = stock->items > 0;
    if (there) stock->items--;
    pthread_mutex_unlock(&stock->lock);
    return there;
}
#else
/* Every access holds the lock. But another thread may take the last item between the two sections. */
int stock_take(struct stock *stock) {
    if (stock_left(stock) == 0) return 0;
    pthread_mutex_lock(&stock->lock);
    stock->items--;
    pthread_mutex_unlock(&stock->lock);
    return 1;
}
#endif

void stock_free(struct stock *stock) {
    pthread_mutex_destroy(&stock->lock);
    free(stock);
}
