/* The fewest moves of a knight to every square (Teixeira et al. 2010): threads search in parallel;
 * the best known number of moves is read in one critical section and the own one written in
 * another, so a worse solution may overwrite a better one. Repaired by a table for each thread,
 * merged in one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 4, MOVES = 8, DEPTH = 4, UNKNOWN = 99 };

static const int step_x[MOVES] = {1, 2, 2, 1, -1, -2, -2, -1};
static const int step_y[MOVES] = {2, 1, -1, -2, -2, -1, 1, 2};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int solution[WIDTH][WIDTH];

static int is_on_board(int x, int y) { return x >= 0 && y >= 0 && x < WIDTH && y < WIDTH; }

/* The same by one thread, in a table of its own. */
static void search_alone(int table[WIDTH][WIDTH], int x, int y, int moves) {
    if (moves > DEPTH || table[x][y] <= moves) return;
    table[x][y] = moves;
    for (int i = 0; i < MOVES; i++)
        if (is_on_board(x + step_x[i], y + step_y[i]))
            search_alone(table, x + step_x[i], y + step_y[i], moves + 1);
}

static void clear(int table[WIDTH][WIDTH]) {
    for (int x = 0; x < WIDTH; x++)
        for (int y = 0; y < WIDTH; y++) table[x][y] = UNKNOWN;
}

#ifdef FIXED
static void merge(int table[WIDTH][WIDTH]) {
    pthread_mutex_lock(&lock);
    for (int x = 0; x < WIDTH; x++)
        for (int y = 0; y < WIDTH; y++)
            if (table[x][y] < solution[x][y]) solution[x][y] = table[x][y];
    pthread_mutex_unlock(&lock);
}

static void search(int x, int y, int moves) {
    int table[WIDTH][WIDTH];
    clear(table);
    search_alone(table, x, y, moves);
    merge(table);
}
#else
static int get_solution(int x, int y) {
    pthread_mutex_lock(&lock);
    int moves = solution[x][y];
    pthread_mutex_unlock(&lock);
    return moves;
}

static void set_solution(int x, int y, int moves) {
    pthread_mutex_lock(&lock);
    solution[x][y] = moves;
    pthread_mutex_unlock(&lock);
}

static void search(int x, int y, int moves) {
    if (moves > DEPTH) return;
    if (get_solution(x, y) <= moves) return;
    set_solution(x, y, moves); /* violation: stale-value get_solution set_solution */
    for (int i = 0; i < MOVES; i++)
        if (is_on_board(x + step_x[i], y + step_y[i]))
            search(x + step_x[i], y + step_y[i], moves + 1);
}
#endif

static void *solve(void *argument) {
    const int *first = argument; /* its first move */
    if (*first > 0) usleep(5000);
    search(step_x[*first], step_y[*first], 1);
    return NULL;
}

int main(void) {
    static int first[2] = {0, 1}; /* the two moves that the corner has */
    static int expected[WIDTH][WIDTH];
    pthread_t threads[2];
    int wrong = 0;
    clear(expected);
    search_alone(expected, 0, 0, 0);
    clear(solution);
    solution[0][0] = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, solve, &first[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int x = 0; x < WIDTH; x++)
        for (int y = 0; y < WIDTH; y++) wrong |= solution[x][y] != expected[x][y];
    printf("solution %s\n", wrong ? "wrong" : "right");
    return wrong;
}
