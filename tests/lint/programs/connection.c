/* A network connection and its users (Beckman, Bierhoff and Aldrich 2008): whether it is open is
 * asked in one critical section and the message is sent in another; closing and resetting the
 * counter are two sections as well, so the counter of a connection that is open again may be
 * reset. Repaired by one section for each of the two. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct socket {
    int bytes;
};

struct connection {
    pthread_mutex_t lock;
    struct socket *socket; /* NULL: closed */
    int messages;          /* since it was opened */
    int sent;              /* the same, by the sender's own count */
};

static struct socket line;
static struct connection connection = {.lock = PTHREAD_MUTEX_INITIALIZER};

#ifdef FIXED
static int try_send(struct connection *c, int length) {
    pthread_mutex_lock(&c->lock);
    int open = c->socket != NULL;
    if (open) {
        c->socket->bytes += length;
        c->messages++;
        c->sent++;
    }
    pthread_mutex_unlock(&c->lock);
    return open;
}

static void disconnect(struct connection *c) {
    pthread_mutex_lock(&c->lock);
    c->socket = NULL;
    c->messages = 0;
    pthread_mutex_unlock(&c->lock);
}
#else
static int is_connected(struct connection *c) {
    pthread_mutex_lock(&c->lock);
    int open = c->socket != NULL;
    pthread_mutex_unlock(&c->lock);
    return open;
}

static void send_message(struct connection *c, int length) {
    pthread_mutex_lock(&c->lock);
    c->socket->bytes += length;
    c->messages++;
    c->sent++;
    pthread_mutex_unlock(&c->lock);
}

static void close_socket(struct connection *c) {
    pthread_mutex_lock(&c->lock);
    c->socket = NULL;
    pthread_mutex_unlock(&c->lock);
}

static void reset_counter(struct connection *c) {
    pthread_mutex_lock(&c->lock);
    c->messages = 0;
    pthread_mutex_unlock(&c->lock);
}

static int try_send(struct connection *c, int length) {
    if (!is_connected(c)) return 0;
    send_message(c, length); /* violation: stale-value is_connected send_message */
    return 1;
}

static void disconnect(struct connection *c) {
    close_socket(c);
    reset_counter(c); /* violation: view close_socket reset_counter */
}
#endif

static void open_again(struct connection *c) {
    pthread_mutex_lock(&c->lock);
    if (c->socket == NULL) {
        c->socket = &line;
        c->sent = 0;
        c->messages = 0;
    }
    pthread_mutex_unlock(&c->lock);
}

static void *use(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        try_send(&connection, 10);
        usleep(4000);
    }
    return NULL;
}

static void *administrate(void *unused) {
    (void)unused;
    usleep(2000);
    disconnect(&connection);
    return NULL;
}

static void *keep_open(void *unused) {
    (void)unused;
    usleep(6000);
    open_again(&connection);
    return NULL;
}

int main(void) {
    pthread_t user, administrator, keeper;
    connection.socket = &line;
    pthread_create(&user, NULL, use, NULL);
    pthread_create(&administrator, NULL, administrate, NULL);
    pthread_create(&keeper, NULL, keep_open, NULL);
    pthread_join(user, NULL);
    pthread_join(administrator, NULL);
    pthread_join(keeper, NULL);
    int wrong = connection.socket != NULL && connection.messages != connection.sent;
    printf("connection %s\n", wrong ? "miscounted" : "counted");
    return wrong;
}
