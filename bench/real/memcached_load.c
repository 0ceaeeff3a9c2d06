/* A short, bounded load for memcached on loopback: several connections take turns, so that more
 * than one worker thread is busy; every get must return what was last set. memcached_load
 * --free-port           prints a TCP port that nobody listens on memcached_load PORT OPERATIONS
 * waits for the server, loads it, then asks it to shut down */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 4, KEYS = 64, START_SECONDS = 60, ANSWER_SECONDS = 60 };

static FILE *connections[CONNECTIONS];
static unsigned versions[KEYS]; /* of the value last set, 0 before the first */

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "memcached_load: %s: %s\n", what, errno != 0 ? strerror(errno) : "no more");
    exit(1);
}

static struct sockaddr_in loopback(unsigned port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static unsigned free_port(void) {
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        give_up("no free port");
    close(listener);
    return ntohs(address.sin_port);
}

static FILE *connect_to(unsigned port) {
    struct sockaddr_in address = loopback(port);
    struct timeval patience = {ANSWER_SECONDS, 0};
    int one = 1;
    time_t until = time(NULL) + START_SECONDS;
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0) give_up("socket");
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            return fdopen(fd, "r+");
        }
        close(fd);
        if (time(NULL) >= until) give_up("the server does not start");
        nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
    }
}

/* Values differ in content and in length. */
static void make_value(char value[256], unsigned key, unsigned version) {
    int length = snprintf(value, 64, "value %u of key %u ", version, key);
    unsigned filling = (key * 37 + version * 11) % 150;
    memset(value + length, 'a' + (int)(version % 26), filling);
    value[(unsigned)length + filling] = '\0';
}

static void ask(FILE *connection, const char *text) {
    fseek(connection, 0, SEEK_CUR); /* between reading and writing */
    fputs(text, connection);
    if (fflush(connection) != 0) give_up("send");
    fseek(connection, 0, SEEK_CUR);
}

static void expect(FILE *connection, const char *wanted) {
    char line[512];
    errno = 0;
    if (fgets(line, sizeof line, connection) == NULL) give_up("no answer");
    line[strcspn(line, "\r\n")] = '\0';
    if (strcmp(line, wanted) != 0) {
        fprintf(stderr, "memcached_load: got '%s' instead of '%s'\n", line, wanted);
        exit(1);
    }
}

static void send_set(FILE *connection, unsigned key) {
    char value[256], request[512];
    make_value(value, key, ++versions[key]);
    snprintf(request, sizeof request, "set key%u 0 0 %zu\r\n%s\r\n", key, strlen(value), value);
    ask(connection, request);
}

static void send_get(FILE *connection, unsigned key) {
    char request[64];
    snprintf(request, sizeof request, "get key%u\r\n", key);
    ask(connection, request);
}

static void expect_value(FILE *connection, unsigned key) {
    char value[256], header[128];
    if (versions[key] > 0) {
        make_value(value, key, versions[key]);
        snprintf(header, sizeof header, "VALUE key%u 0 %zu", key, strlen(value));
        expect(connection, header);
        expect(connection, value);
    }
    expect(connection, "END");
}

/* All connections ask before any answer is read: first sets of keys of their own, then gets of what
 * another connection has set. */
static void one_round(unsigned round) {
    for (unsigned c = 0; c < CONNECTIONS; c++)
        send_set(connections[c], (round * CONNECTIONS + c) % KEYS);
    for (unsigned c = 0; c < CONNECTIONS; c++) expect(connections[c], "STORED");
    for (unsigned c = 0; c < CONNECTIONS; c++)
        send_get(connections[c], (round * CONNECTIONS * 7 + c + 1) % KEYS);
    for (unsigned c = 0; c < CONNECTIONS; c++)
        expect_value(connections[c], (round * CONNECTIONS * 7 + c + 1) % KEYS);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--free-port") == 0) {
        printf("%u\n", free_port());
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: memcached_load --free-port | PORT OPERATIONS\n");
        return 2;
    }
    unsigned port = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned rounds = (unsigned)strtoul(argv[2], NULL, 10) / (2 * CONNECTIONS);
    for (unsigned c = 0; c < CONNECTIONS; c++) {
        connections[c] = connect_to(port);
        if (connections[c] == NULL) give_up("fdopen");
    }
    for (unsigned round = 0; round < rounds; round++) one_round(round);
    ask(connections[0], "shutdown\r\n");
    printf("%u operations, every get returned what was set\n", rounds * 2 * CONNECTIONS);
    return 0;
}
