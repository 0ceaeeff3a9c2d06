/* What all commands that read sources take: a compilation database or files with the compiler's
 * flags behind --, directories to read or to leave out, processes, the cache. And what they all say
 * at the end: which files had errors, and how much was read. */
#ifndef HEDDLE_CLI_SOURCE_INPUT_H
#define HEDDLE_CLI_SOURCE_INPUT_H

#include "cli/options.h"
#include "source/source.h"

struct hd_source_input {
    const char *database;
    struct hd_option_list include, exclude;
    uint64_t jobs;
    const char *cache;
    bool no_cache;
    char **flag; /* the compiler's, behind --; NULL: no -- */
    unsigned flags;
};

/* Takes -- and what follows it off the command line, before the options are parsed: to getopt,
 * files before it and flags behind it would look the same. Returns the argc that is left. */
int hd_source_input_flags(struct hd_source_input *input, int argc, char **argv);

/* Rows for a command's table of options. */
#define HD_SOURCE_OPTIONS(input)                                                                   \
    HD_TEXT("database", 'p', "FILE", &(input)->database,                                           \
            "compile_commands.json, or the directory it is in"),                                   \
        HD_LIST("include", 0, "DIR", &(input)->include, "only files below DIR (may be repeated)"), \
        HD_LIST("exclude", 0, "DIR", &(input)->exclude, "no files below DIR (may be repeated)"),   \
        HD_NUMBER("jobs", 'j', "N", &(input)->jobs, 1, 1024,                                       \
                  "processes that read sources (default: the cores)"),                             \
        HD_TEXT("cache", 0, "DIR", &(input)->cache,                                                \
                "where read files are kept (default ~/.cache/heddle/source)"),                     \
        HD_FLAG("no-cache", 0, &(input)->no_cache, "read everything anew, keep nothing")

/* Operands are argv[first..argc-1]: files. With a progress bar. Complains and
 * returns false if nothing can be read; *status is for the command to return. */
bool hd_source_input_load(struct hd_source_input *input, const char *command, int argc, char **argv,
                          int first, struct hd_source *source, int *status);
/* Was every file read without errors? */
bool hd_source_input_whole(const struct hd_source *source);
/* A warning for each file with errors (at most a few; the rest are counted). */
void hd_source_input_warn(const char *command, const struct hd_source *source);

#endif
