/* A pool of two connections for three clients, who leave a setting on their connection, give it
 * back and borrow one again: nothing says that it is the same one, or that nobody else has changed
 * the setting meanwhile. No race, and no two clients ever have one connection at the same time; but
 * what they get depends on the schedule. Repaired by one connection a client. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { CLIENTS = 3, CONNECTIONS = 2 };

struct connection {
    int setting;
};

#ifdef FIXED
static struct connection connections[CLIENTS];

static struct connection *borrow(int client) { return &connections[client]; }

static void give_back(struct connection *connection) { (void)connection; }
#else
static struct connection connections[CONNECTIONS];
static struct connection *idle[CONNECTIONS] = {&connections[0], &connections[1]};
static int idle_count = CONNECTIONS;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;

static struct connection *borrow(int client) {
    (void)client;
    pthread_mutex_lock(&pool_lock);
    while (idle_count == 0) pthread_cond_wait(&given_back, &pool_lock);
    struct connection *connection = idle[--idle_count];
    pthread_mutex_unlock(&pool_lock);
    return connection;
}

static void give_back(struct connection *connection) {
    pthread_mutex_lock(&pool_lock);
    idle[idle_count++] = connection;
    pthread_cond_signal(&given_back);
    pthread_mutex_unlock(&pool_lock);
}
#endif

static int settings_found[CLIENTS];

static void *query_twice(void *argument) {
    int self = *(int *)argument;
    usleep((useconds_t)self * 4000); /* the client before is usually through */
    struct connection *connection = borrow(self);
    connection->setting = self + 1;
    give_back(connection);
    connection = borrow(self);
    settings_found[self] = connection->setting;
    give_back(connection);
    return NULL;
}

int main(void) {
    static int numbers[CLIENTS] = {0, 1, 2};
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) pthread_create(&threads[i], NULL, query_twice, &numbers[i]);
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    printf("settings %d %d %d\n", settings_found[0], settings_found[1], settings_found[2]);
    return settings_found[0] == 1 && settings_found[1] == 2 && settings_found[2] == 3 ? 0 : 1;
}
