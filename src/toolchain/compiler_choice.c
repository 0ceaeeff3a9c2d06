/* Finds the user's compiler, tells gcc from clang, and finds heddle's own runtime. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "toolchain/compiler.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

/* ---- the compiler -----------------------------------------------------------------------------
 */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool split_choice(const char *choice, struct hd_argv *command, struct hd_error *error) {
    if (strchr(choice, '/') && access(choice, X_OK) == 0) {
        hd_argv_add(command, choice);
        return true;
    }
    wordexp_t words;
    if (wordexp(choice, &words, WRDE_NOCMD | WRDE_UNDEF) != 0)
        return hd_fail(error, HD_ERR_USAGE,
                       "cannot make sense of the compiler '%s': give a command, "
                       "with its arguments if it needs any",
                       choice);
    for (size_t i = 0; i < words.we_wordc; i++) hd_argv_add(command, words.we_wordv[i]);
    wordfree(&words);
    if (command->count == 0) return hd_fail(error, HD_ERR_USAGE, "the compiler's name is empty");
    return true;
}

static bool is_program(const char *path) {
    struct stat status;
    return access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* As execvp looks for it. */
bool hd_compiler_is_there(const char *name) {
    if (strchr(name, '/')) return is_program(name);
    const char *path = getenv("PATH");
    char *list = hd_strdup(path ? path : "/usr/local/bin:/usr/bin:/bin"), *rest = list, *entry;
    bool found = false;
    while (!found && (entry = strsep(&rest, ":"))) {
        char *file = hd_format("%s/%s", *entry ? entry : ".", name);
        found = is_program(file);
        free(file);
    }
    free(list);
    return found;
}

/* "clang", "clang++-14", "x86_64-linux-gnu-gcc-12"; false if the name does not say. */
static bool family_by_name(const char *name, enum hd_compiler_family *family) {
    if (strstr(name, "clang"))
        *family = HD_COMPILER_CLANG;
    else if (strstr(name, "gcc") || strstr(name, "g++"))
        *family = HD_COMPILER_GCC;
    else
        return false;
    return true;
}

/* Looks for __clang__ among the compiler's own macros. */
static bool family_by_asking(const struct hd_argv *command, enum hd_compiler_family *family,
                             struct hd_error *error) {
    int pipe_end[2];
    if (pipe(pipe_end) < 0) return hd_fail(error, HD_ERR_IO, "no pipe: %s", strerror(errno));
    struct hd_argv probe = {0};
    for (size_t i = 0; i < command->count; i++) hd_argv_add(&probe, command->word[i]);
    static const char *const arguments[] = {"-dM", "-E", "-x", "c", "/dev/null"};
    for (size_t i = 0; i < 5; i++) hd_argv_add(&probe, arguments[i]);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_end[1], STDOUT_FILENO);
        close(pipe_end[0]);
        close(pipe_end[1]);
        execvp(probe.word[0], probe.word);
        _exit(127);
    }
    close(pipe_end[1]);
    FILE *macros = fdopen(pipe_end[0], "r");
    char *line = NULL;
    size_t capacity = 0;
    *family = HD_COMPILER_GCC;
    while (macros && getline(&line, &capacity, macros) > 0)
        if (strncmp(line, "#define __clang__ ", 18) == 0) *family = HD_COMPILER_CLANG;
    free(line);
    if (macros)
        fclose(macros);
    else
        close(pipe_end[0]);
    int status = -1;
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    bool good = status == 0;
    if (!good)
        hd_fail(error, HD_ERR_IO, "'%s' did not answer like gcc or clang do", command->word[0]);
    hd_argv_free(&probe);
    return good;
}

bool hd_compiler_choose(const char *choice, struct hd_argv *command,
                        enum hd_compiler_family *family, struct hd_error *error) {
    if (!split_choice(choice, command, error)) return false;
    for (size_t i = 0; i < command->count; i++) {
        const char *name = base_name(command->word[i]);
        if (strcmp(name, "heddle") == 0 || strcmp(name, "heddle-cc") == 0 ||
            strcmp(name, "heddle-c++") == 0)
            return hd_fail(error, HD_ERR_USAGE,
                           "the compiler to wrap is heddle itself ('%s'): name the real one",
                           choice);
        if (strstr(name, "musl"))
            return hd_fail(error, HD_ERR_UNSUPPORTED,
                           "'%s' builds for musl: heddle's runtime takes the place of functions of "
                           "the GNU C library, and records programs that use it only; build with "
                           "gcc or clang for glibc",
                           choice);
        if (command->word[i][0] != '-' && family_by_name(name, family)) return true;
    }
    return family_by_asking(command, family, error);
}

/* ---- the runtime ------------------------------------------------------------------------------
 */

static bool holds_runtime(const char *directory) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/" HD_RUNTIME_LIBRARY, directory);
    return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

char *hd_runtime_directory(struct hd_error *error) {
    const char *given = getenv("HEDDLE_RUNTIME_DIR");
    if (given && *given) {
        char *full = realpath(given, NULL);
        if (full && holds_runtime(full)) return full;
        free(full);
        hd_fail(error, HD_ERR_IO, "no " HD_RUNTIME_LIBRARY " in HEDDLE_RUNTIME_DIR=%s", given);
        return NULL;
    }
    char *self = realpath("/proc/self/exe", NULL);
    if (!self) {
        hd_fail(error, HD_ERR_IO,
                "cannot tell where heddle is installed (/proc/self/exe: %s); set "
                "HEDDLE_RUNTIME_DIR to the directory of " HD_RUNTIME_LIBRARY,
                strerror(errno));
        return NULL;
    }
    *strrchr(self, '/') = 0;
    static const char *const places[] = {"", "/../lib/heddle"};
    char *found = NULL;
    for (size_t i = 0; !found && i < 2; i++) {
        char *path = hd_format("%s%s", self, places[i]);
        char *full = realpath(path, NULL);
        if (full && holds_runtime(full))
            found = full;
        else
            free(full);
        free(path);
    }
    if (!found)
        hd_fail(error, HD_ERR_IO,
                "cannot find " HD_RUNTIME_LIBRARY " beside heddle (%s) or in ../lib/heddle; set "
                "HEDDLE_RUNTIME_DIR to its directory",
                self);
    free(self);
    return found;
}
