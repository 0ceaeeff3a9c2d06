/* Statics of two files with one name: d2/same.c has others. */
#include "../shared.h"
static int counter;
struct local {
    int value;
};
static int bump(struct local *l) { return counter += l->value + shared_twice(l->value); }
int first(struct local *l) { return bump(l); }
