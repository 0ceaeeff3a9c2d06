/* heddle cc, heddle c++: the compiler takes this process's place, so exit status, signals and
 * temporary files are its own business. */
#include "cli/commands.h"
#include "cli/output.h"
#include "toolchain/compiler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int hd_cc_help(const char *command) {
    bool cxx = strcmp(command, "c++") == 0;
    printf("Usage: heddle %s COMPILER-ARGUMENT...\n"
           "\n"
           "Runs %s, or what %s names, with every argument passed on. Sources are compiled\n"
           "with instrumentation, and programs and shared libraries linked with heddle's\n"
           "runtime. Give -g, or findings have no file and line. Build systems that want one\n"
           "path for a compiler take %s.\n"
           "\n"
           "Environment:\n"
           "  %-20s compiler to run, with arguments if need be: clang, 'ccache gcc'\n"
           "  HEDDLE_BRANCHES=0    do not count branches (smaller, faster code)\n"
           "  HEDDLE_RUNTIME_DIR   where libheddle_rt.so is, if not where heddle expects it\n"
           "\n"
           "Example:\n"
           "  heddle %s -g -O2 -o app app.%s -pthread\n"
           "  %s='heddle %s' ./configure && make\n"
           "  cmake -DCMAKE_%s_COMPILER=%s -B build\n",
           command, cxx ? "g++" : "gcc", cxx ? "HEDDLE_CXX" : "HEDDLE_CC",
           cxx ? "heddle-c++" : "heddle-cc", cxx ? "HEDDLE_CXX" : "HEDDLE_CC", command,
           cxx ? "cpp" : "c", cxx ? "CXX" : "CC", command, cxx ? "CXX" : "C",
           cxx ? "heddle-c++" : "heddle-cc");
    return HD_EXIT_CLEAN;
}

static int run(const struct hd_compiler_tool *tool, int argc, char **argv) {
    struct hd_error error = {0};
    struct hd_argv line = {0};
    int status = HD_EXIT_FAILED;
    if (hd_compiler_command(tool, argc, argv, &line, &error)) {
        execvp(line.word[0], line.word);
        status = hd_complain(tool->command, "cannot run the compiler '%s': %s; %s names another",
                             line.word[0], strerror(errno), tool->variable);
    } else {
        hd_complain_error(tool->command, &error);
    }
    hd_argv_free(&line);
    return status;
}

static int run_or_help(const struct hd_compiler_tool *tool, int argc, char **argv) {
    /* Typed by a person; as heddle-cc, or with anything beside it, --help is the compiler's. */
    if (argc == 2 && strcmp(argv[0], tool->command) == 0 && strcmp(argv[1], "--help") == 0)
        return hd_cc_help(tool->command);
    return run(tool, argc, argv);
}

int hd_cmd_cc(int argc, char **argv) { return run_or_help(&hd_c_compiler, argc, argv); }
int hd_cmd_cxx(int argc, char **argv) { return run_or_help(&hd_cxx_compiler, argc, argv); }
