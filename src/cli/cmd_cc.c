/* heddle cc, heddle c++: runs the user's compiler with instrumentation where it compiles and our
 * runtime where it links, and changes nothing else. The compiler takes this process's place, so
 * exit status, signals and temporary files are its own business.
 *
 * The compiler proper is told to instrument, but its driver is not, or it would link libtsan: clang
 * by -Xclang, gcc by a specs file that adds to the options of cc1 (and of lto1, since gcc
 * instruments after link-time optimisation). */
#define _GNU_SOURCE
#include "cli/commands.h"
#include "cli/output.h"
#include "toolchain/compiler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tool {
    const char *command;  /* "cc" */
    const char *variable; /* "HEDDLE_CC" */
    const char *standard; /* "gcc" */
};
static const struct tool c_tool = {"cc", "HEDDLE_CC", "gcc"};
static const struct tool cxx_tool = {"c++", "HEDDLE_CXX", "g++"};

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

static bool branches_wanted(void) {
    const char *setting = getenv("HEDDLE_BRANCHES");
    return !setting || strcmp(setting, "0") != 0;
}

/* ---- what is added ----------------------------------------------------------------------------
 */

static bool add_all(struct hd_words *line, const char *const *word, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!hd_words_add(line, word[i])) return false;
    return true;
}
#define ADD(line, ...)                                \
    add_all(line, (const char *const[]){__VA_ARGS__}, \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static bool add_path(struct hd_words *line, const char *option, const char *directory,
                     const char *name) {
    char *word = NULL;
    bool good =
        asprintf(&word, "%s%s/%s", option, directory, name) >= 0 && hd_words_add(line, word);
    free(word);
    return good;
}

static bool add_gcc_specs(struct hd_words *line, const char *directory) {
    if (!add_path(line, "-specs=", directory, HD_GCC_SPECS)) return false;
    if (!branches_wanted()) return true;
    /* gcc finds our assembler there, which makes counting a branch cheap. */
    return ADD(line, "-fsanitize-coverage=trace-pc") &&
           add_path(line, "-B", directory, HD_GCC_TOOLS "/");
}

static bool add_clang_instrumentation(struct hd_words *line) {
    /* Without the second, clang drops the read of a read-modify-write. */
    if (!ADD(line, "-Xclang", "-fsanitize=thread", "-mllvm",
             "-tsan-instrument-read-before-write=1"))
        return false;
    /* What -fsanitize-coverage=trace-pc-guard means to the compiler proper; the driver would also
     * link the UBSan runtime for it. Type 3 is "edges". */
    return !branches_wanted() || ADD(line, "-Xclang", "-fsanitize-coverage-type=3", "-Xclang",
                                     "-fsanitize-coverage-trace-pc-guard");
}

/* The runtime is the first library of the link, and kept even where --as-needed is the default and
 * nothing needs it yet, so that its pthread functions are found before those of any other. */
static bool add_runtime(struct hd_words *line, const char *directory) {
    char *library = malloc(strlen(directory) + sizeof "/" HD_RUNTIME_LIBRARY);
    if (!library) return false;
    sprintf(library, "%s/" HD_RUNTIME_LIBRARY, directory);
    bool good = ADD(line, "-Wl,--push-state,--no-as-needed", library, "-Wl,--pop-state", "-Xlinker",
                    "-rpath", "-Xlinker", directory);
    free(library);
    return good;
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static bool refuse(const struct hd_compiler_job *job, struct hd_error *error) {
    if (!job->compiles && !job->links) return false;
    bool instruments = (job->compiles && !job->spares_thread) || job->links;
    if (*job->conflict && instruments)
        return !hd_fail(error, HD_ERR_USAGE,
                        "-fsanitize=%s cannot be combined with heddle's instrumentation: "
                        "leave it out of this build",
                        job->conflict);
    if (job->links && job->makes_static)
        return !hd_fail(error, HD_ERR_USAGE,
                        "a static executable cannot be recorded: link without -static "
                        "(-static-libgcc and -static-libstdc++ are fine)");
    if (job->links && job->other_width)
        return !hd_fail(error, HD_ERR_USAGE,
                        "heddle's runtime is for 64-bit programs: link without -m32 and -mx32");
    return false;
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool build_line(int argc, char **argv, const struct hd_compiler_job *job,
                       enum hd_compiler_family family, struct hd_words *line,
                       struct hd_error *error) {
    bool instruments = job->compiles && !job->spares_thread;
    /* At a link, too: gcc instruments objects of link-time optimisation there. */
    bool needs_specs =
        family == HD_COMPILER_GCC && !job->spares_thread && (job->compiles || job->links);
    char *directory = NULL;
    bool good = true;
    if ((job->links || needs_specs) && !(directory = hd_runtime_directory(error))) return false;
    if (needs_specs)
        good = add_gcc_specs(line, directory);
    else if (instruments)
        good = add_clang_instrumentation(line);
    if (good && job->links) good = add_runtime(line, directory);
    for (size_t i = 1; good && i < job->end; i++) good = hd_words_add(line, argv[i]);
    /* The driver must not see thread sanitizing as on, or it links libtsan. */
    if (good && job->asks_thread && (job->compiles || job->links))
        good = hd_words_add(line, "-fno-sanitize=thread");
    for (size_t i = job->end; good && i < (size_t)argc; i++) good = hd_words_add(line, argv[i]);
    free(directory);
    return good || hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

static int run(const struct tool *tool, int argc, char **argv) {
    struct hd_error error = {0};
    const char *choice = getenv(tool->variable);
    if (!choice || !*choice) choice = tool->standard;
    struct hd_compiler_job job;
    enum hd_compiler_family family;
    struct hd_words line = {0};
    bool ready = hd_compiler_classify(argc, argv, &job, &error) && !refuse(&job, &error) &&
                 hd_compiler_choose(choice, &line, &family, &error) &&
                 build_line(argc, argv, &job, family, &line, &error);
    int status = HD_EXIT_FAILED;
    if (ready) {
        execvp(line.word[0], line.word);
        status = hd_complain(tool->command, "cannot run the compiler '%s': %s; %s names another",
                             line.word[0], strerror(errno), tool->variable);
    } else {
        hd_complain_error(tool->command, &error);
    }
    hd_words_free(&line);
    return status;
}

static int run_or_help(const struct tool *tool, int argc, char **argv) {
    /* Typed by a person; as heddle-cc, or with anything beside it, --help is the compiler's. */
    if (argc == 2 && strcmp(argv[0], tool->command) == 0 && strcmp(argv[1], "--help") == 0)
        return hd_cc_help(tool->command);
    return run(tool, argc, argv);
}

int hd_cmd_cc(int argc, char **argv) { return run_or_help(&c_tool, argc, argv); }
int hd_cmd_cxx(int argc, char **argv) { return run_or_help(&cxx_tool, argc, argv); }
