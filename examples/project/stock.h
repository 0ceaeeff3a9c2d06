/* Items on a shelf, for any number of threads. */
#ifndef STOCK_H
#define STOCK_H

struct stock;

struct stock *stock_new(int items);
/* Takes an item if there is one; returns whether there was. */
int stock_take(struct stock *stock);
int stock_left(struct stock *stock);
void stock_free(struct stock *stock);

#endif
