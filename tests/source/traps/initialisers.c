/* Initialisers write; designated ones are nameless expressions with a MemberRef. */
struct pair {
    int first, second;
    struct {
        int deep;
    } inner;
};
struct operations {
    int (*run)(int);
    void (*stop)(void);
};
int run_it(int n) { return n; }
static void stop_it(void) {}
/* Their addresses are taken here and nowhere else. */
static const struct operations table = {.run = run_it, .stop = stop_it};
extern int source(void);

struct pair initialise(struct pair *out, int n) {
    struct pair a = {.second = n, .inner = {.deep = source()}};
    struct pair b = {1, source()};
    int list[] = {n, source(), 3};
    *out = (struct pair){.first = list[1]};
    static int kept = 5;
    kept++;
    return n ? a : b;
}

int call(int n) { return table.run(n); }
