/* What test_mine_access_sets.c reads in its text form, shapes.source (heddle names --text). */
#include <string.h>
#define BOTH(s) ((s)->left = (s)->right)
struct inner {
    int depth;
};
struct shape {
    int left, right;
    struct inner inner;
    char name[8];
};
int total;
const int limit = 3;

static void leaf(struct shape *s) { s->left = 1; }
static void middle(struct shape *s) {
    leaf(s);
    s->right++;
}
void top(struct shape *s) {
    total = limit;

    middle(s);
}
void macro(struct shape *s) { BOTH(s); }
int *address(struct shape *s) { return &s->right; }
void whole(struct shape *s, const struct shape *from) { *s = *from; }
void clear(struct shape *s) { memset(s, 0, sizeof *s); }
void name(struct shape *s) { strcpy(s->name, "x"); }
void deepen(struct shape *s) { s->inner.depth = 2; }
