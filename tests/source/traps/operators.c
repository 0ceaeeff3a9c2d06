/* Reads, writes and addresses, told apart without knowing the operator. */
struct point {
    int x, y;
    int *next;
    int row[4];
};
struct point here, there;
static int total;

int plain(struct point *p, int n) {
    p->x = n;                     /* write */
    p->x += p->y;                 /* read and write */
    p->row[n]++;                  /* an array in the struct: the field is changed */
    p->next[n] = 3;               /* through a pointer: the field is read */
    *p->next = total;             /* the same */
    int *address = &p->y;         /* neither read nor written */
    int *decayed = p->row;        /* the same for an array */
    (*p).y = -(here.x) + ~p->y;   /* written, read, read */
    there = *p;                   /* all of it */
    return *address + decayed[1]; /* reads */
}

/* !p and *p have the same type when p is an int *. */
int not_a_dereference(int *p, int **pp) {
    int a = !p || !*pp;
    int b = *p;
    return a + b + !**pp;
}

int nested(int *a, int i, int j) {
    int last = a[i] = a[j] = total;
    return last = (i, j);
}

int both(int a, int b, struct point *p) {
    int first = a && p->x;
    int second = a || (b && p->y);
    return a ? p->x : b ? first : second;
}

const volatile int *qualified(const struct point *p, volatile int *v) {
    *v = p->x;
    return &p->y;
}

/* A parameter that is written as an array is a pointer. */
int parameters(const char *names[], int row[4], struct point *p) {
    while (*names) names++;
    row[1] = *row + p[2].x;
    return row[0];
}

/* A member of a value is read, and nothing is assigned. */
struct point make(void);
#define SWAP(type, a, b) \
    {                    \
        type t = a;      \
        a = b;           \
        b = t;           \
    }
int values(int a, int b) {
    SWAP(int, a, b)
    return make().x == a;
}
