/* Option tables over getopt_long. */
#include "cli/options.h"
#include "base/alloc.h"
#include "base/memory.h"
#include "base/vector.h"
#include "cli/output.h"
#include "run/run.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LONG_ONLY 256 /* getopt's value for row i is LONG_ONLY + i */
#define HELP (LONG_ONLY - 1)
#define MEMORY (LONG_ONLY - 2)

static unsigned row_count(const struct hd_option *option) {
    unsigned n = 0;
    while (option && option[n].name) n++;
    return n;
}

/* ---- help -------------------------------------------------------------------------------------
 */

#define HELP_COLUMN 30

static void help_row(char letter, const char *name, const char *argument, const char *help) {
    char left[128];
    int used = letter ? snprintf(left, sizeof left, "  -%c, --%s", letter, name)
                      : snprintf(left, sizeof left, "      --%s", name);
    if (argument) used += snprintf(left + used, sizeof left - (size_t)used, " %s", argument);
    printf("%-*s", HELP_COLUMN - 2, left);
    if (used > HELP_COLUMN - 2) printf("\n%*s", HELP_COLUMN - 2, "");
    /* Wrap the text to the right of the column. */
    unsigned column = HELP_COLUMN;
    printf("  ");
    while (*help) {
        size_t word = strcspn(help, " ");
        if (column > HELP_COLUMN && column + 1 + word > 79) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        if (column > HELP_COLUMN) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)word, help);
        column += (unsigned)word;
        help += word;
        while (*help == ' ') help++;
    }
    putchar('\n');
}

void hd_options_help(const struct hd_usage *usage) {
    printf("Usage: heddle%s%s [OPTION]...%s%s\n\n", usage->command ? " " : "",
           usage->command ? usage->command : "", *usage->operands ? " " : "", usage->operands);
    if (usage->about) printf("%s\n", usage->about);
    printf("Options:\n");
    for (const struct hd_option *option = usage->options; option && option->name; option++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s%s%s", option->help, option->choices ? " (" : "",
                 option->choices ? option->choices : "", option->choices ? ")" : "");
        help_row(option->letter, option->name, option->argument, text);
    }
    help_row(0, "memory", "SIZE",
             "memory that heddle itself may take: 500M, 4G, all (default: half of what is free)");
    help_row('h', "help", NULL, "show this text");
    if (usage->example) printf("\nExample:\n%s", usage->example);
}

/* ---- parsing ----------------------------------------------------------------------------------
 */

static bool store_number(const struct hd_usage *usage, const struct hd_option *option,
                         const char *text) {
    char *end;
    errno = 0;
    /* strtoull takes signs and leading blanks; a count has neither. */
    unsigned long long value = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end) {
        hd_complain(usage->command, "--%s needs a number, not '%s'", option->name, text);
        return false;
    }
    if (errno == ERANGE || value < option->low || value > option->high) {
        if (option->high == UINT64_MAX)
            hd_complain(usage->command, "--%s must be at least %" PRIu64 " (given: %s)",
                        option->name, option->low, text);
        else
            hd_complain(usage->command, "--%s must be from %" PRIu64 " to %" PRIu64 " (given: %s)",
                        option->name, option->low, option->high, text);
        return false;
    }
    *(uint64_t *)option->target = value;
    return true;
}

static bool store_choice(const struct hd_usage *usage, const struct hd_option *option,
                         const char *text) {
    size_t length = strlen(text);
    const char *word = option->choices;
    for (unsigned i = 0;; i++) {
        size_t n = strcspn(word, "|");
        if (n == length && memcmp(word, text, n) == 0) {
            *(unsigned *)option->target = i;
            return true;
        }
        if (!word[n]) break;
        word += n + 1;
    }
    hd_complain(usage->command, "--%s must be one of %s (given: '%s')", option->name,
                option->choices, text);
    return false;
}

static bool store(const struct hd_usage *usage, const struct hd_option *option, const char *text) {
    switch (option->type) {
    case HD_OPTION_FLAG:
        *(bool *)option->target = true;
        return true;
    case HD_OPTION_TEXT:
        *(const char **)option->target = text;
        return true;
    case HD_OPTION_NUMBER:
        return store_number(usage, option, text);
    case HD_OPTION_CHOICE:
        return store_choice(usage, option, text);
    case HD_OPTION_LIST: {
        struct hd_option_list *list = option->target;
        list->item = hd_realloc(list->item, list->count + 1, sizeof *list->item);
        list->item[list->count++] = text;
        return true;
    }
    }
    return false;
}

/* `word` is the whole argument as given ("--sheduler=x"); short options come as a letter. */
static void complain_unknown(const struct hd_usage *usage, const char *word, int letter) {
    char command[64], given[64];
    snprintf(command, sizeof command, "heddle %s%s", usage->command ? usage->command : "",
             usage->command ? " --help" : "help");
    if (letter) {
        hd_complain(usage->command, "unknown option -%c; see '%s'", letter, command);
        return;
    }
    const char *name[64] = {"help", "memory"};
    unsigned names = 2;
    for (const struct hd_option *o = usage->options; o && o->name && names < 64; o++)
        name[names++] = o->name;
    size_t length = strcspn(word + 2, "=");
    snprintf(given, sizeof given, "%.*s", (int)(length < 60 ? length : 60), word + 2);
    const char *nearest = hd_nearest_word(given, name, names);
    if (nearest)
        hd_complain(usage->command, "unknown option --%s; did you mean --%s? See '%s'", given,
                    nearest, command);
    else
        hd_complain(usage->command, "unknown option --%s; see '%s'", given, command);
}

/* ---- what was given ---------------------------------------------------------------------------
 */

struct given {
    const char *name, *value; /* NULL for a flag */
};
static struct {
    HD_VECTOR(struct given) option;
    char **operand; /* ends with NULL */
} given;

/* Sorted by name; repeated ones stay in their order. */
static void remember(const struct hd_option *option, const char *value) {
    struct given one = {option->name, option->type != HD_OPTION_FLAG ? value : NULL};
    hd_vector_push(&given.option, one);
    size_t at = given.option.size - 1;
    for (; at > 0 && strcmp(given.option.data[at - 1].name, one.name) > 0; at--)
        given.option.data[at] = given.option.data[at - 1];
    given.option.data[at] = one;
}

static bool is_among(const char *const *list, const char *word) {
    for (; *list != NULL; list++)
        if (strcmp(*list, word) == 0) return true;
    return false;
}

char *hd_options_given(const char *const *without) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) hd_out_of_memory();
    for (size_t i = 0; i < given.option.size; i++) {
        const struct given *one = &given.option.data[i];
        if (is_among(without, one->name)) continue;
        fprintf(out, "%s--%s%s%s", ftell(out) > 0 ? " " : "", one->name,
                one->value != NULL ? "=" : "", one->value != NULL ? one->value : "");
    }
    fclose(out);
    return text;
}

char *hd_options_operands(void) { return hd_quote_command(given.operand); }

enum outcome { PARSED, WRONG, HELPED };

/* The table in getopt's terms. */
struct getopt_tables {
    struct option *long_option;
    char *letters;
};

static void make_tables(const struct hd_usage *usage, unsigned rows, struct getopt_tables *tables) {
    tables->long_option = hd_zalloc(rows + 3, sizeof *tables->long_option);
    tables->letters = hd_alloc(2 * (size_t)rows + 5, 1);
    char *letter = tables->letters;
    if (usage->operands_last) *letter++ = '+';
    *letter++ = ':'; /* a missing argument is told apart from an unknown option */
    *letter++ = 'h';
    for (unsigned i = 0; i < rows; i++) {
        const struct hd_option *option = &usage->options[i];
        bool takes = option->type != HD_OPTION_FLAG;
        tables->long_option[i] = (struct option){
            option->name, takes ? required_argument : no_argument, NULL, LONG_ONLY + (int)i};
        if (option->letter) {
            *letter++ = option->letter;
            if (takes) *letter++ = ':';
        }
    }
    tables->long_option[rows] = (struct option){"help", no_argument, NULL, HELP};
    tables->long_option[rows + 1] = (struct option){"memory", required_argument, NULL, MEMORY};
    *letter = 0;
}

/* The row of a value that getopt_long returned or left in optopt, NULL if it is none's. */
static const struct hd_option *row_of(const struct hd_usage *usage, unsigned rows, int value) {
    if (value >= LONG_ONLY && value < LONG_ONLY + (int)rows)
        return &usage->options[value - LONG_ONLY];
    for (unsigned i = 0; i < rows; i++)
        if (value && usage->options[i].letter == value) return &usage->options[i];
    return NULL;
}

/* optopt holds the letter, or the value of the long option, or 0; word is the argument it was in.
 */
static void complain(const struct hd_usage *usage, unsigned rows, bool lacks_argument,
                     const char *word) {
    const struct hd_option *option = row_of(usage, rows, optopt);
    if (lacks_argument && option && optopt >= LONG_ONLY)
        hd_complain(usage->command, "option --%s needs an argument: %s", option->name,
                    option->argument);
    else if (lacks_argument)
        hd_complain(usage->command, "option -%c needs an argument", optopt);
    else if (optopt == HELP || (option && optopt >= LONG_ONLY))
        hd_complain(usage->command, "option --%s takes no argument",
                    option ? option->name : "help");
    else
        complain_unknown(usage, word, optopt);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static bool memory_was_set;

static bool set_memory(const struct hd_usage *usage, const char *text) {
    char *end;
    double amount = strtod(text, &end);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : *end == 'T' ? 40 : 0;
    memory_was_set = true;
    if (strcmp(text, "all") == 0) return true;
    if (end == text || end[shift > 0] != '\0' || !(amount >= 1) || amount > 1e12) {
        hd_complain(usage->command, "--memory: '%s' is no size such as 500M or 4G, nor 'all'",
                    text);
        return false;
    }
    if (!hd_memory_limit_to((uint64_t)(amount * (double)(1ull << shift))))
        hd_complain(usage->command, "warning: --memory: the system does not let us");
    return true;
}

/* Half of what is free, so that the machine stays usable, and a command that takes too much ends
 * with one line and not by the kernel. A limit that the user has set (ulimit) is left alone. The
 * shadow memory of sanitizers is larger than any machine. */
static void limit_memory(void) {
#ifndef __SANITIZE_ADDRESS__
    struct rlimit own;
    if (!memory_was_set && getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur == RLIM_INFINITY)
        hd_memory_limit_to(hd_memory_free() / 2);
#endif
}

static enum outcome parse(const struct hd_usage *usage, int argc, char **argv, int *first) {
    unsigned rows = row_count(usage->options);
    struct getopt_tables tables;
    enum outcome outcome = PARSED;
    make_tables(usage, rows, &tables);
    given.option.size = 0;
    optind = 0; /* 0, not 1: makes glibc forget what it knew of the last argv */
    opterr = 0;
    while (outcome == PARSED) {
        int next = optind ? optind : 1;
        int got = getopt_long(argc, argv, tables.letters, tables.long_option, NULL);
        if (got < 0) break;
        const struct hd_option *option = got == '?' || got == ':' ? NULL : row_of(usage, rows, got);
        if (option) {
            remember(option, optarg);
            if (!store(usage, option, optarg)) outcome = WRONG;
        } else if (got == MEMORY) {
            if (!set_memory(usage, optarg)) outcome = WRONG;
        } else if (got == 'h' || got == HELP) {
            hd_options_help(usage);
            outcome = HELPED;
        } else {
            complain(usage, rows, got == ':', argv[optind > next ? optind - 1 : next]);
            outcome = WRONG;
        }
    }
    *first = optind;
    given.operand = argv + optind;
    free(tables.long_option);
    free(tables.letters);
    return outcome;
}

bool hd_options_parse(const struct hd_usage *usage, int argc, char **argv, int *first,
                      int *status) {
    enum outcome outcome = parse(usage, argc, argv, first);
    *status = outcome == HELPED ? 0 : 2;
    if (outcome != PARSED) return false;
    limit_memory();
    int operands = argc - *first;
    if (operands < usage->least) {
        hd_complain(usage->command, "an argument is missing: heddle %s [OPTION]... %s",
                    usage->command ? usage->command : "", usage->operands);
        return false;
    }
    if (usage->most >= 0 && operands > usage->most) {
        hd_complain(usage->command, "'%s' is one argument too many: heddle %s [OPTION]... %s",
                    argv[*first + usage->most], usage->command ? usage->command : "",
                    usage->operands);
        return false;
    }
    return true;
}

bool hd_options_parse_text(const struct hd_usage *usage, const char *source, const char *text,
                           char **storage, int *status) {
    *status = 2;
    *storage = hd_strdup(text);
    size_t limit = strlen(text) / 2 + 3;
    char **word = hd_zalloc(limit, sizeof *word);
    int words = 0, first;
    char *rest = *storage;
    word[words++] = (char *)(uintptr_t)source;
    for (char *one; (one = strsep(&rest, " \t\n"));)
        if (*one) word[words++] = one;
    assert((size_t)words < limit);
    enum outcome outcome = parse(usage, words, word, &first);
    bool good = outcome == PARSED && first == words;
    if (outcome == HELPED) *status = 0;
    if (outcome == PARSED && !good)
        hd_complain(usage->command, "%s may hold options only, not '%s'", source, word[first]);
    if (outcome == WRONG) hd_complain(usage->command, "the option was given in %s", source);
    free(word);
    return good;
}
