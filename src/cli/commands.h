/* The table of commands. A new command is one line here, `int hd_cmd_<name>(int argc, char **argv)`
 * in src/cli/cmd_<name>.c (`cc` and `c++` share cmd_cc.c), docs/<name>.md (its man page), a line in
 * docs/heddle.md, and tests in tests/cli/. Shell completion reads `heddle help`. */
#ifndef HEDDLE_CLI_COMMANDS_H
#define HEDDLE_CLI_COMMANDS_H

/* function suffix, name the user types, group, one-line summary. Groups are listed by `heddle help`
 * in the order in which they first appear. */
#define HD_COMMANDS(X)                                                                           \
    X(cc, "cc", "Build", "compile and link C for heddle; stands in for CC")                      \
    X(cxx, "c++", "Build", "compile and link C++ for heddle; stands in for CXX")                 \
    X(record, "record", "Run", "run a program and write down what its threads do")               \
    X(expose, "expose", "Run", "force rare interleavings until the program fails")               \
    X(replay, "replay", "Run", "make a program take a given schedule")                           \
    X(hunt, "hunt", "Find", "find, force, reproduce and explain failures of a program")          \
    X(predict, "predict", "Find",                                                                \
      "find races, deadlocks and more in other interleavings of a run")                          \
    X(learn, "learn", "Find", "learn from passing runs which accesses are meant to be atomic")   \
    X(check, "check", "Find", "report accesses that break what was learned to be atomic")        \
    X(mine, "mine", "Find", "variables that belong together; updates that forget one")           \
    X(lint, "lint", "Find", "critical sections that should be one, from the source")             \
    X(report, "report", "Look", "a page to read in a browser, and other formats, from findings") \
    X(names, "names", "Look", "what the sources call the memory that a program accesses")        \
    X(cover, "cover", "Look", "interleaving coverage of recorded runs under seven criteria")     \
    X(stats, "stats", "Look", "threads, events, shared locations, locks and sites of a trace")   \
    X(dump, "dump", "Look", "print a trace, one line an event")                                  \
    X(convert, "convert", "Look", "turn a trace into another format")                            \
    X(campaign, "campaign", "Look", "where a campaign stands; merge two; keep one going")        \
    X(doctor, "doctor", "Look", "what works on this machine, and what to do about the rest")

/* Each gets its own name as argv[0] and returns the exit status. */
#define X(function, name, group, summary) int hd_cmd_##function(int argc, char **argv);
HD_COMMANDS(X)
#undef X

/* `heddle help cc`: the wrappers themselves pass --help to the compiler. */
int hd_cc_help(const char *command);

struct hd_command {
    const char *name;
    const char *group;
    const char *summary;
    int (*run)(int argc, char **argv);
};

/* What a command's exit status means (record and replay pass the program's own on instead). */
enum hd_exit {
    HD_EXIT_CLEAN = 0,    /* did the job, found nothing */
    HD_EXIT_FINDINGS = 1, /* did the job, found something */
    HD_EXIT_FAILED = 2    /* could not do the job */
};

#endif
