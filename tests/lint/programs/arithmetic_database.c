/* Two tables, of expressions and of their results (Teixeira et al. 2010): a client looks for the
 * result, takes the next free key if it is not there, inserts the result, and inserts the
 * expression with the key, in four critical sections. Results and keys come twice. Repaired by one
 * section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROWS = 16, STACK = 8, NO_KEY = -1 };

struct result_row {
    int key, value;
};

struct expression_row {
    const char *text;
    int result; /* key of a result */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct result_row row[ROWS];
    int rows;
} results;
static struct {
    struct expression_row row[ROWS];
    int rows;
} expressions;

/* Digits and + - * in reverse Polish notation. */
static int evaluate(const char *text) {
    int stack[STACK], top = 0;
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9') {
            stack[top++] = *text - '0';
            continue;
        }
        int right = stack[--top], left = stack[--top];
        stack[top++] = *text == '+' ? left + right : *text == '-' ? left - right : left * right;
    }
    return stack[0];
}

#ifdef FIXED
static void insert_new_expression(const char *text) {
    int value = evaluate(text), key = NO_KEY, most = NO_KEY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < results.rows; i++) {
        if (results.row[i].value == value) key = results.row[i].key;
        if (results.row[i].key > most) most = results.row[i].key;
    }
    if (key == NO_KEY) {
        key = most + 1;
        results.row[results.rows].key = key;
        results.row[results.rows].value = value;
        results.rows++;
    }
    expressions.row[expressions.rows].text = text;
    expressions.row[expressions.rows].result = key;
    expressions.rows++;
    pthread_mutex_unlock(&lock);
}
#else
static int key_by_result(int value) {
    int key = NO_KEY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < results.rows; i++)
        if (results.row[i].value == value) key = results.row[i].key;
    pthread_mutex_unlock(&lock);
    return key;
}

static int max_key(void) {
    int most = NO_KEY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < results.rows; i++)
        if (results.row[i].key > most) most = results.row[i].key;
    pthread_mutex_unlock(&lock);
    return most;
}

static void insert_result(int key, int value) {
    pthread_mutex_lock(&lock);
    results.row[results.rows].key = key;
    results.row[results.rows].value = value;
    results.rows++;
    pthread_mutex_unlock(&lock);
}

static void insert_expression(const char *text, int key) {
    pthread_mutex_lock(&lock);
    expressions.row[expressions.rows].text = text;
    expressions.row[expressions.rows].result = key;
    expressions.rows++;
    pthread_mutex_unlock(&lock);
}

/* A key that key_by_result found stays right, since nobody deletes: that it goes into the
 * expression is no violation. A key that max_key gave may be taken by then. */
static void insert_new_expression(const char *text) {
    int value = evaluate(text);
    int key = key_by_result(value);
    if (key == NO_KEY) {
        key = max_key() + 1;
        /* violation: stale-value key_by_result insert_result
         * violation: stale-value max_key insert_result */
        insert_result(key, value);
    }
    insert_expression(text, key); /* violation: stale-value max_key insert_expression */
}
#endif

static void *insert_some(void *argument) {
    static const char *const texts[2][2] = {{"12+", "34*"}, {"93-4+", "47+8-"}};
    const int *number = argument;
    usleep((useconds_t)*number * 5000);
    for (int i = 0; i < 2; i++) insert_new_expression(texts[*number][i]);
    return NULL;
}

int main(void) {
    static int numbers[2] = {0, 1};
    pthread_t threads[2];
    int twice = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, insert_some, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < results.rows; i++)
        for (int k = 0; k < i; k++)
            twice |= results.row[i].key == results.row[k].key ||
                     results.row[i].value == results.row[k].value;
    printf("%d expressions, %s\n", expressions.rows, twice ? "results twice" : "results once");
    return twice;
}
