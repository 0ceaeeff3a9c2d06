/* Options of a command as a table, over getopt_long: parsing, range checks, error lines and --help
 * all come from the same rows. See cmd_*.c for use:
 *
 *     struct hd_option options[] = {
 *         HD_TEXT("output", 'o', "FILE", &path, "write the trace to FILE (default app.hdt)"),
 *         HD_NUMBER("seed", 's', "N", &seed, 0, UINT64_MAX, "seed of the random policy"),
 *         HD_CHOICE("sched", 0, "S", &scheduler, "serial|free", "how threads are run"),
 *         HD_FLAG("full", 0, &full, "record every access"),
 *         HD_OPTIONS_END};
 *     struct hd_usage usage = {.command = "record", .operands = "-- CMD [ARG]...", ...};
 *     int first, status;
 *     if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
 *     ... argv[first..argc-1] are the operands ...
 */
#ifndef HEDDLE_CLI_OPTIONS_H
#define HEDDLE_CLI_OPTIONS_H

#include "base/nearest_word.h"

#include <stdbool.h>
#include <stdint.h>

enum hd_option_type {
    HD_OPTION_FLAG,   /* bool: becomes true */
    HD_OPTION_TEXT,   /* const char *: the argument itself */
    HD_OPTION_NUMBER, /* uint64_t: decimal or 0x..., low <= n <= high */
    HD_OPTION_CHOICE, /* unsigned: index of the word among `choices` */
    HD_OPTION_LIST    /* struct hd_option_list: may be given many times */
};

/* Arguments of a repeatable option, in order; the strings are argv's. */
struct hd_option_list {
    const char **item;
    unsigned count;
};

struct hd_option {
    const char *name;     /* long name without dashes */
    char letter;          /* short name, 0 if none */
    const char *argument; /* name of the argument in --help, NULL for flags */
    const char *help;     /* one line */
    enum hd_option_type type;
    void *target;
    uint64_t low, high;
    const char *choices; /* "serial|free" */
};

/* The unused branch of each conditional makes the compiler check the target's type. */
#define HD_TARGET(type, pointer) (1 ? (void *)(pointer) : (void *)(1 ? (pointer) : (type *)0))

#define HD_FLAG(name, letter, pointer, help) \
    { name, letter, 0, help, HD_OPTION_FLAG, HD_TARGET(bool, pointer), 0, 0, 0 }
#define HD_TEXT(name, letter, argument, pointer, help) \
    { name, letter, argument, help, HD_OPTION_TEXT, HD_TARGET(const char *, pointer), 0, 0, 0 }
#define HD_NUMBER(name, letter, argument, pointer, low, high, help) \
    { name, letter, argument, help, HD_OPTION_NUMBER, HD_TARGET(uint64_t, pointer), low, high, 0 }
#define HD_CHOICE(name, letter, argument, pointer, choices, help) \
    { name, letter, argument, help, HD_OPTION_CHOICE, HD_TARGET(unsigned, pointer), 0, 0, choices }
#define HD_LIST(name, letter, argument, pointer, help)                                           \
    {                                                                                            \
        name, letter, argument, help, HD_OPTION_LIST, HD_TARGET(struct hd_option_list, pointer), \
            0, 0, 0                                                                              \
    }
#define HD_OPTIONS_END \
    { 0, 0, 0, 0, HD_OPTION_FLAG, 0, 0, 0, 0 }

struct hd_usage {
    const char *command;  /* "record"; NULL for heddle itself */
    const char *operands; /* what follows the options in the usage line: "-- CMD [ARG]..." */
    const char *about;    /* a few sentences, each line at most 80 columns */
    const char *example;  /* real command lines, each ending in a newline */
    const struct hd_option *options;
    int least, most;    /* how many operands; most < 0 means any number */
    bool operands_last; /* options end at the first operand (commands that take another command) */
};

/* Parses argv[1..]. True: go on, operands are argv[*first..argc-1]. False: return *status, because
 * --help was printed (0) or the command line is wrong and one line on stderr says how (2). */
bool hd_options_parse(const struct hd_usage *usage, int argc, char **argv, int *first, int *status);

/* Parses option words out of an environment variable, split at blanks; `source` names it in error
 * lines. No operands are allowed. The targets may point into *storage, which the caller frees. */
bool hd_options_parse_text(const struct hd_usage *usage, const char *source, const char *text,
                           char **storage, int *status);

/* The options that the last command line gave, by their long names and in the order of these, but
 * for those in `without` (ends with NULL): "--all --model=csr". malloc'ed. */
char *hd_options_given(const char *const *without);
/* Its operands, quoted for a shell; malloc'ed. */
char *hd_options_operands(void);

void hd_options_help(const struct hd_usage *usage);

#endif
