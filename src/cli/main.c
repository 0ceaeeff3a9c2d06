/* Entry: picks the command. `heddle-cc` and `heddle-c++` (links to heddle) are `heddle cc` and
 * `heddle c++` for build systems that want their compiler to be one path. */
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/options.h"
#include "cli/output.h"
#include "toolchain/compiler.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct hd_command commands[] = {
#define X(function, name, group, summary) {name, group, summary, hd_cmd_##function},
    HD_COMMANDS(X)
#undef X
};
#define COMMANDS (sizeof commands / sizeof *commands)

static const struct hd_command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static void print_overview(void) {
    printf("Usage: heddle COMMAND [OPTION]... [ARGUMENT]...\n"
           "\n"
           "Finds concurrency bugs in C and C++ programs: records a run, predicts what goes\n"
           "wrong in other interleavings of its threads, forces them on the program, and\n"
           "replays the failures.\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        bool new_group = i == 0 || strcmp(commands[i].group, commands[i - 1].group) != 0;
        if (new_group) printf("\n%s\n", commands[i].group);
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    printf("\n"
           "'heddle help COMMAND' or 'heddle COMMAND --help' says more, with an example;\n"
           "'heddle --version' prints the version.\n"
           "\n"
           "Example:\n"
           "  heddle cc -g -O2 -o app app.c -pthread\n"
           "  heddle hunt -- ./app\n"
           "  heddle replay app.heddle.json -- ./app\n");
}

/* A source or object file, or an option that compilers have. */
static bool is_for_compiler(const char *word) {
    if (word[0] == '-')
        return word[1] != '-' && word[1] != '\0' && strchr("cogOSEIDUWflmvx", word[1]);
    const char *dot = strrchr(word, '.');
    static const char *const ending[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".o", ".a", ".S", ".s"};
    for (size_t i = 0; dot != NULL && i < sizeof ending / sizeof *ending; i++)
        if (strcmp(dot, ending[i]) == 0) return true;
    return false;
}

static int complain_unknown_command(const char *name) {
    if (is_for_compiler(name))
        return hd_complain(NULL,
                           "unknown command '%s'; a build that calls heddle as its compiler needs "
                           "CC=heddle-cc (CXX=heddle-c++), which is one word",
                           name);
    if (name[0] == '-') return hd_complain(NULL, "unknown option %s; see 'heddle help'", name);
    const char *names[COMMANDS + 1];
    for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
    names[COMMANDS] = "help";
    const char *nearest = hd_nearest_word(name, names, COMMANDS + 1);
    if (nearest)
        return hd_complain(NULL, "unknown command '%s'; did you mean 'heddle %s'?", name, nearest);
    return hd_complain(NULL, "unknown command '%s'; 'heddle help' lists them", name);
}

static int help(int argc, char **argv) {
    if (argc < 2) {
        print_overview();
        return HD_EXIT_CLEAN;
    }
    const struct hd_command *command = find_command(argv[1]);
    if (!command) return complain_unknown_command(argv[1]);
    /* The compiler wrappers pass --help on to the compiler; `help` is how to ask for ours. */
    char option[] = "--help";
    char *arguments[] = {NULL, option, NULL};
    arguments[0] = argv[1];
    if (command->run == hd_cmd_cc || command->run == hd_cmd_cxx) return hd_cc_help(arguments[0]);
    return command->run(2, arguments);
}

int main(int argc, char **argv) {
    hd_prepare_for_out_of_memory();
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *self = slash ? slash + 1 : argc > 0 ? argv[0] : "heddle";
    if (strcmp(self, "as") == 0) {
        struct hd_error error;
        hd_run_assembler(argc, argv, &error);
        return hd_complain_error("cc", &error);
    }
    if (strcmp(self, "heddle-cc") == 0) return hd_cmd_cc(argc, argv);
    if (strcmp(self, "heddle-c++") == 0) return hd_cmd_cxx(argc, argv);
    if (argc < 2) {
        hd_complain(NULL, "no command given: heddle COMMAND ...; 'heddle help' lists the commands");
        return HD_EXIT_FAILED;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("heddle %s\n", HEDDLE_VERSION);
        return HD_EXIT_CLEAN;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc - 1, argv + 1);
    const struct hd_command *command = find_command(argv[1]);
    if (!command) return complain_unknown_command(argv[1]);
    return command->run(argc - 1, argv + 1);
}
