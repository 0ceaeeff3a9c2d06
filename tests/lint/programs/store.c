/* A shop with clients, workers and suppliers (the MoTH paper's own program): a worker asks in one
 * critical section whether there are orders and takes one in another; a supplier adds to the stock
 * in one and says that the product is no longer sold out in another. A worker gets no order, and
 * whoever looks at the product sees a stock that is sold out. Repaired by one section each. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PRODUCTS = 2, ORDERS = 2, WORKERS = 2 };

struct product {
    int price, units;
    int sold_out; /* units == 0 */
};

struct order {
    int product, units;
    struct order *next;
};

static struct {
    pthread_mutex_t lock;
    struct product product[PRODUCTS];
    struct order *first;
    int income;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .product = {{.price = 5, .units = 3}, {.price = 8, .sold_out = 1}}};
static int inconsistent;

static void add_order(struct order *order) {
    pthread_mutex_lock(&store.lock);
    order->next = store.first;
    store.first = order;
    pthread_mutex_unlock(&store.lock);
}

static int is_consistent(int number) {
    pthread_mutex_lock(&store.lock);
    int empty = store.product[number].units == 0;
    int consistent = store.product[number].sold_out == empty;
    pthread_mutex_unlock(&store.lock);
    return consistent;
}

/* The lock is held. */
static void sell(const struct order *order) {
    struct product *product = &store.product[order->product];
    if (product->units < order->units) return;
    product->units -= order->units;
    product->sold_out = product->units == 0;
    store.income += product->price * order->units;
}

#ifdef FIXED
static void treat_order_if_any(void) {
    pthread_mutex_lock(&store.lock);
    struct order *order = store.first;
    if (order != NULL) {
        store.first = order->next;
        sell(order);
    }
    pthread_mutex_unlock(&store.lock);
}

static void supply(int number, int units) {
    pthread_mutex_lock(&store.lock);
    store.product[number].units += units;
    store.product[number].sold_out = 0;
    pthread_mutex_unlock(&store.lock);
}
#else
static int has_orders(void) {
    pthread_mutex_lock(&store.lock);
    int any = store.first != NULL;
    pthread_mutex_unlock(&store.lock);
    return any;
}

static void treat_order(void) {
    pthread_mutex_lock(&store.lock);
    struct order *order = store.first;
    store.first = order->next;
    sell(order);
    pthread_mutex_unlock(&store.lock);
}

static void add_units(int number, int units) {
    pthread_mutex_lock(&store.lock);
    store.product[number].units += units;
    pthread_mutex_unlock(&store.lock);
}

static void set_sold_out(int number, int sold_out) {
    pthread_mutex_lock(&store.lock);
    store.product[number].sold_out = sold_out;
    pthread_mutex_unlock(&store.lock);
}

static void treat_order_if_any(void) {
    if (has_orders()) treat_order(); /* violation: stale-value has_orders treat_order */
}

static void supply(int number, int units) {
    add_units(number, units);
    set_sold_out(number, 0); /* violation: view add_units set_sold_out */
}
#endif

static void *buy(void *argument) {
    struct order *orders = argument;
    for (int i = 0; i < ORDERS; i++) add_order(&orders[i]);
    return NULL;
}

static void *work(void *argument) {
    const int *number = argument;
    usleep((useconds_t)*number * 3000);
    for (int i = 0; i < ORDERS; i++) {
        treat_order_if_any();
        usleep(5000);
    }
    return NULL;
}

static void *bring(void *unused) {
    (void)unused;
    supply(1, 4);
    return NULL;
}

static void *inspect(void *unused) {
    (void)unused;
    for (int i = 0; i < PRODUCTS; i++)
        if (!is_consistent(i)) inconsistent = 1;
    return NULL;
}

int main(void) {
    static struct order orders[ORDERS] = {{.product = 0, .units = 1}, {.product = 1, .units = 2}};
    static int numbers[WORKERS] = {1, 2};
    pthread_t client, workers[WORKERS], supplier, inspector;
    pthread_create(&client, NULL, buy, orders);
    for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, work, &numbers[i]);
    pthread_create(&supplier, NULL, bring, NULL);
    pthread_create(&inspector, NULL, inspect, NULL);
    pthread_join(client, NULL);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    pthread_join(supplier, NULL);
    pthread_join(inspector, NULL);
    printf("store %s\n", inconsistent ? "inconsistent" : "consistent");
    return inconsistent;
}
