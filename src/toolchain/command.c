/* The command line that runs the user's compiler: instrumentation where it compiles, our runtime
 * where it links, and nothing else changed.
 *
 * The compiler proper is told to instrument, but its driver is not, or it would link libtsan: clang
 * by -Xclang, gcc by a specs file that adds to the options of cc1 (and of lto1, since gcc
 * instruments after link-time optimisation). */
#include "base/alloc.h"
#include "toolchain/compiler.h"

#include <stdlib.h>
#include <string.h>

static bool branches_wanted(void) {
    const char *setting = getenv("HEDDLE_BRANCHES");
    return !setting || strcmp(setting, "0") != 0;
}

/* ---- what is added ----------------------------------------------------------------------------
 */

static void add_all(struct hd_argv *line, const char *const *word, size_t count) {
    for (size_t i = 0; i < count; i++) hd_argv_add(line, word[i]);
}
#define ADD(line, ...)                                \
    add_all(line, (const char *const[]){__VA_ARGS__}, \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void add_path(struct hd_argv *line, const char *option, const char *directory,
                     const char *name) {
    char *word = hd_format("%s%s/%s", option, directory, name);
    hd_argv_add(line, word);
    free(word);
}

/* The first that can tell volatile accesses from others is gcc 11. */
static bool tells_volatile(const struct hd_argv *line) {
    for (size_t i = 0; i < line->count; i++) {
        const char *dash = strrchr(line->word[i], '-');
        if (dash != NULL && dash[1] >= '0' && dash[1] <= '9' && atoi(dash + 1) < 11) return false;
    }
    return true;
}

static void add_gcc_specs(struct hd_argv *line, const char *directory) {
    if (tells_volatile(line)) ADD(line, "--param=tsan-distinguish-volatile=1");
    add_path(line, "-specs=", directory, HD_GCC_SPECS);
    /* gcc finds our assembler there, which sees inline assembly and makes counting a branch cheap.
     */
    add_path(line, "-B", directory, HD_TOOLS "/");
    if (branches_wanted()) ADD(line, "-fsanitize-coverage=trace-pc");
}

static void add_clang_instrumentation(struct hd_argv *line) {
    /* Without the second, clang drops the read of a read-modify-write; the third names volatile
     * accesses, which may belong to synchronisation in assembly. */
    ADD(line, "-Xclang", "-fsanitize=thread", "-mllvm", "-tsan-instrument-read-before-write=1",
        "-mllvm", "-tsan-distinguish-volatile=1");
    /* What -fsanitize-coverage=trace-pc means to the compiler proper; the driver would also link
     * the UBSan runtime for it. Type 3 is "edges". */
    if (branches_wanted())
        ADD(line, "-Xclang", "-fsanitize-coverage-type=3", "-Xclang",
            "-fsanitize-coverage-trace-pc");
}

/* clang assembles by itself, where nothing can stand in between, unless told otherwise. Where there
 * is no other assembler it is left to: its hooks are called then, and inline assembly is not seen.
 * The choice of compiler may have options too, which are in the line already. */
static void add_clang_assembler(struct hd_argv *line, const struct hd_compiler_job *job) {
    struct hd_error ignored;
    struct hd_compiler_job chosen;
    bool wanted = !job->own_assembler &&
                  hd_compiler_classify((int)line->count, line->word, &chosen, &ignored) &&
                  !chosen.own_assembler;
    char *directory = wanted ? hd_runtime_directory(&ignored) : NULL;
    char *stage = directory != NULL ? hd_format("%s/" HD_TOOLS "/as", directory) : NULL;
    if (stage != NULL && hd_compiler_is_there(stage) && hd_compiler_is_there("as")) {
        ADD(line, "-fno-integrated-as");
        add_path(line, "-B", directory, HD_TOOLS "/");
    }
    free(stage);
    free(directory);
}

/* The runtime is the first library of the link, and kept even where --as-needed is the default and
 * nothing needs it yet, so that its pthread functions are found before those of any other. */
static void add_runtime(struct hd_argv *line, const char *directory) {
    hd_argv_add(line, "-Wl,--push-state,--no-as-needed");
    add_path(line, "", directory, HD_RUNTIME_LIBRARY);
    ADD(line, "-Wl,--pop-state", "-Xlinker", "-rpath", "-Xlinker", directory);
}

/* heddle/annotate.h, for whatever reads sources, also if it only preprocesses them. Without a
 * runtime there is none; whoever needs it is told by the compiler. */
static void add_header(struct hd_argv *line, const struct hd_compiler_job *job) {
    struct hd_error ignored;
    char *directory = job->sources ? hd_runtime_directory(&ignored) : NULL;
    if (directory != NULL) {
        hd_argv_add(line, "-idirafter");
        add_path(line, "", directory, "include");
    }
    free(directory);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static bool check_job(const struct hd_compiler_job *job, struct hd_error *error) {
    if (!job->compiles && !job->links) return true;
    bool instruments = (job->compiles && !job->spares_thread) || job->links;
    if (*job->conflict && instruments)
        return hd_fail(error, HD_ERR_USAGE,
                       "-fsanitize=%s cannot be combined with heddle: both instrument every memory "
                       "access and take the place of the same library functions; leave it out of "
                       "this build and make another one for it",
                       job->conflict);
    if (job->links && job->makes_static)
        return hd_fail(error, HD_ERR_USAGE,
                       "a static executable cannot be recorded: link without -static "
                       "(-static-libgcc and -static-libstdc++ are fine)");
    if (job->links && job->other_width)
        return hd_fail(error, HD_ERR_USAGE,
                       "heddle's runtime is for 64-bit programs: link without -m32 and -mx32");
    return true;
}

/* ---- allocators -------------------------------------------------------------------------------
 */

/* "-ljemalloc", "/usr/lib/libtcmalloc_minimal.so.4". */
static bool is_allocator(const char *word) {
    static const char *const names[] = {"jemalloc", "tcmalloc",  "mimalloc",
                                        "snmalloc", "tbbmalloc", "hoard"};
    const char *slash = strrchr(word, '/');
    const char *name = slash != NULL ? slash + 1 : word;
    if (strncmp(name, slash != NULL ? "lib" : "-l", slash != NULL ? 3 : 2) != 0) return false;
    name += slash != NULL ? 3 : 2;
    if (slash != NULL && strstr(name, ".so") == NULL) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* A library that takes malloc's place is needed although the runtime stands in front of it; where
 * --as-needed is the default, the linker would leave it out. */
static void add_word(struct hd_argv *line, const struct hd_compiler_job *job, const char *word) {
    bool keep = job->links && is_allocator(word);
    if (keep) hd_argv_add(line, "-Wl,--push-state,--no-as-needed");
    hd_argv_add(line, word);
    if (keep) hd_argv_add(line, "-Wl,--pop-state");
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool build_line(int argc, char **argv, const struct hd_compiler_job *job,
                       enum hd_compiler_family family, struct hd_argv *line,
                       struct hd_error *error) {
    bool instruments = job->compiles && !job->spares_thread;
    /* At a link, too: gcc instruments objects of link-time optimisation there. */
    bool needs_specs =
        family == HD_COMPILER_GCC && !job->spares_thread && (job->compiles || job->links);
    char *directory = NULL;
    if ((job->links || needs_specs) && !(directory = hd_runtime_directory(error))) return false;
    if (needs_specs) {
        add_gcc_specs(line, directory);
    } else if (instruments) {
        add_clang_instrumentation(line);
        add_clang_assembler(line, job);
    }
    if (job->links) add_runtime(line, directory);
    add_header(line, job);
    for (size_t i = 1; i < job->end; i++) add_word(line, job, argv[i]);
    /* The driver must not see thread sanitizing as on, or it links libtsan. */
    if (job->asks_thread && (job->compiles || job->links))
        hd_argv_add(line, "-fno-sanitize=thread");
    for (size_t i = job->end; i < (size_t)argc; i++) hd_argv_add(line, argv[i]);
    free(directory);
    return true;
}

const struct hd_compiler_tool hd_c_compiler = {"cc", "HEDDLE_CC", "gcc"};
const struct hd_compiler_tool hd_cxx_compiler = {"c++", "HEDDLE_CXX", "g++"};

static bool choose(const struct hd_compiler_tool *tool, struct hd_argv *line,
                   enum hd_compiler_family *family, struct hd_error *error) {
    const char *choice = getenv(tool->variable);
    bool given = choice && *choice;
    if (!given) choice = tool->standard;
    struct hd_error wrong = {0};
    bool good = hd_compiler_choose(choice, line, family, &wrong);
    /* one that is not there does not answer either */
    if ((good || wrong.code == HD_ERR_IO) && !hd_compiler_is_there(line->word[0]))
        return hd_fail(error, HD_ERR_USAGE,
                       given ? "there is no compiler '%s': %s names the one to run (gcc, clang, "
                               "'ccache gcc')"
                             : "there is no compiler '%s': install it, or name another one in %s",
                       line->word[0], tool->variable);
    if (!good) *error = wrong;
    return good;
}

bool hd_compiler_command(const struct hd_compiler_tool *tool, int argc, char **argv,
                         struct hd_argv *line, struct hd_error *error) {
    struct hd_compiler_job job;
    enum hd_compiler_family family;
    return hd_compiler_classify(argc, argv, &job, error) && check_job(&job, error) &&
           choose(tool, line, &family, error) && build_line(argc, argv, &job, family, line, error);
}
