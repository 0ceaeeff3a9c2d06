/* Seen by two units: what is defined here is there once. */
struct everywhere {
    int seen;
};
static inline int shared_twice(int n) { return 2 * n; }
