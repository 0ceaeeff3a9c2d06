/* Two variables that belong together, accessed by two threads (the dissertation, Fig. 5.4). Thread
 * 1 accesses x and then y: A1(x), A2(y). Thread 2 accesses both, in either order: A3(x), A4(y). Is
 * the interleaving the same as one thread after the other? */
#ifndef HEDDLE_FACTS_TWO_VARIABLES_H
#define HEDDLE_FACTS_TWO_VARIABLES_H

#include <stdint.h>

/* The cases of the figure. All other orders are serializable, or a case with the threads
 * exchanged: ask for both. */
enum hd_two_case {
    HD_TWO_SERIALIZABLE = 0,
    HD_TWO_CASE_1, /* A1(x) A3(x) A4(y) A2(y) */
    HD_TWO_CASE_2, /* A1(x) A4(y) A3(x) A2(y) */
    HD_TWO_CASE_3  /* A4(y) A1(x) A3(x) A2(y) */
};

struct hd_two_accesses {
    unsigned does[4]; /* A1 to A4: HD_DOES_ bits (facts/patterns.h) */
    uint64_t at[4];   /* when each of them happens: numbers that grow with time */
};

/* Serializable too if x is only read, or y is. */
enum hd_two_case hd_two_variable_case(const struct hd_two_accesses *accesses);

#endif
