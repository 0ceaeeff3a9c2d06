/* heddle doctor: does everything work here, and what to do about what does not. A small program is
 * compiled, recorded and replayed by this same executable, as a user would. */
#define _GNU_SOURCE /* pipe2, nftw, environ */
#include "base/alloc.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "toolchain/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "doctor"

static const char program_text[] = "#include <pthread.h>\n"
                                   "static int shared_word;\n"
                                   "static void *add(void *p) {\n"
                                   "    shared_word++;\n"
                                   "    return p;\n"
                                   "}\n"
                                   "int main(void) {\n"
                                   "    pthread_t thread;\n"
                                   "    pthread_create(&thread, 0, add, 0);\n"
                                   "    shared_word++;\n"
                                   "    return pthread_join(thread, 0);\n"
                                   "}\n";

struct visit {
    char directory[PATH_MAX], self[PATH_MAX];
    char output[4096]; /* of the last command */
    bool ill;          /* something that is needed does not work */
};

enum health { WELL, NOT_NEEDED, ILL };

__attribute__((format(printf, 4, 5))) static void say(struct visit *v, enum health health,
                                                      const char *what, const char *format, ...) {
    va_list arguments;
    printf("%-4s %-10s ", health == WELL ? "ok" : health == ILL ? "BAD" : "-", what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    v->ill |= health == ILL;
}

/* ---- running commands -------------------------------------------------------------------------
 */

/* In the directory; what it prints goes to v->output. Its exit status, -1 if it can't be run. */
static int run(struct visit *v, const char *const *argv) {
    int pair[2], status = -1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    v->output[0] = '\0';
    if (pipe2(pair, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDERR_FILENO);
    int problem = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    size_t used = 0;
    char spare[4096];
    while (problem == 0) {
        bool room = used + 1 < sizeof v->output;
        ssize_t got = read(pair[0], room ? v->output + used : spare,
                           room ? sizeof v->output - 1 - used : sizeof spare);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (room) used += (size_t)got;
    }
    v->output[used] = '\0';
    close(pair[0]);
    if (problem != 0) return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
#define RUN(v, ...) run(v, (const char *const[]){__VA_ARGS__, NULL})

/* The line of the output that says most: the first with "error", or else the first. */
static const char *first_line(struct visit *v) {
    char *error = strstr(v->output, "error:"), *line = error != NULL ? error : v->output;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* ---- what is looked at ------------------------------------------------------------------------
 */

static void look_at_compiler(struct visit *v, const struct hd_compiler_tool *tool, bool needed) {
    const char *choice = getenv(tool->variable);
    if (choice == NULL || *choice == '\0') choice = tool->standard;
    struct hd_argv command = {0};
    enum hd_compiler_family family;
    struct hd_error error = {0};
    if (!hd_compiler_choose(choice, &command, &family, &error) ||
        !hd_compiler_is_there(command.word[0]))
        say(v, needed ? ILL : NOT_NEEDED, tool->command,
            "there is no compiler '%s'; install it, or name another with %s", choice,
            tool->variable);
    else if (RUN(v, command.word[0], "--version") != 0)
        say(v, needed ? ILL : NOT_NEEDED, tool->command, "'%s --version' fails: %s", choice,
            first_line(v));
    else
        say(v, WELL, tool->command, "%s", first_line(v));
    hd_argv_free(&command);
}

static void look_at_runtime(struct visit *v) {
    struct hd_error error = {0};
    char *directory = hd_runtime_directory(&error);
    if (directory == NULL)
        say(v, ILL, "runtime", "%s", error.message);
    else
        say(v, WELL, "runtime", "%s/%s", directory, HD_RUNTIME_LIBRARY);
    free(directory);
}

/* A program from its source to a replay. Each step needs the one before. */
static void look_at_a_program(struct visit *v) {
    char *source = hd_format("%s/p.c", v->directory), *program = hd_format("%s/p", v->directory);
    char *trace = hd_format("%s/p.hdt", v->directory);
    FILE *file = fopen(source, "we");
    bool written = file != NULL && fputs(program_text, file) >= 0;
    if (file != NULL && fclose(file) != 0) written = false;
    if (!written)
        say(v, ILL, "compiling", "cannot write to %s: %s", v->directory, strerror(errno));
    else if (RUN(v, v->self, "cc", "-g", "-O1", "-o", program, source, "-pthread") != 0)
        say(v, ILL, "compiling", "a small program does not compile: %s", first_line(v));
    else {
        say(v, WELL, "compiling", "a small program was compiled and linked");
        if (RUN(v, v->self, "record", "-q", "-o", trace, "--", program) != 0)
            say(v, ILL, "recording", "it can't be recorded: %s", first_line(v));
        else {
            say(v, WELL, "recording", "it was run and traced");
            if (RUN(v, v->self, "predict", "race", trace) != 1)
                say(v, ILL, "predicting", "its race was not found: %s", first_line(v));
            else {
                say(v, WELL, "predicting", "its race was found");
                if (strstr(v->output, "p.c:4") != NULL)
                    say(v, WELL, "symbols", "places have file and line");
                else
                    say(v, ILL, "symbols", "places have no file and line, although -g was given");
            }
            if (RUN(v, v->self, "replay", "-q", trace, "--", program) == 0)
                say(v, WELL, "replaying", "it took the same schedule again");
            else
                say(v, ILL, "replaying", "it did not take the same schedule again: %s",
                    first_line(v));
        }
    }
    free(source);
    free(program);
    free(trace);
}

static void look_at_addresses(struct visit *v) {
    int old = personality(0xffffffff);
    if (old != -1 && personality((unsigned long)old | ADDR_NO_RANDOMIZE) != -1) {
        personality((unsigned long)old);
        say(v, WELL, "addresses", "runs have the same addresses each time");
    } else
        say(v, NOT_NEEDED, "addresses",
            "address space randomisation can't be turned off here (a container's seccomp profile, "
            "mostly); runs that depend on addresses may differ");
}

static void look_at_sources(struct visit *v) {
    char *source = hd_format("%s/p.c", v->directory);
    if (RUN(v, v->self, "mine", "--no-cache", source, "--", "-pthread") <= 1)
        say(v, WELL, "sources", "mine, lint and names can read them");
    else
        say(v, NOT_NEEDED, "sources", "mine, lint and names do not work: %s", first_line(v));
    free(source);
}

static void look_at_gdb(struct visit *v) {
    if (RUN(v, "gdb", "--version") == 0)
        say(v, WELL, "gdb", "%s", first_line(v));
    else
        say(v, NOT_NEEDED, "gdb", "there is none; install it to use replay --gdb");
}

static void look_at_memory(struct visit *v) {
    /* this command's own limit, too */
    double free_bytes = (double)hd_memory_free();
    double gigabyte = (double)(1ul << 30);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        say(v, NOT_NEEDED, "memory",
            "ulimit -v allows %.1f GB of addresses; recorded programs reserve more than they use",
            (double)limit.rlim_cur / gigabyte);
    else
        say(v, free_bytes > gigabyte / 4 ? WELL : ILL, "memory",
            "a command takes at most %.1f GB, half of what is free (--memory)",
            free_bytes / gigabyte);
}

static void look_at_disk(struct visit *v, const char *directory) {
    struct statvfs disk;
    if (statvfs(directory, &disk) != 0) {
        say(v, ILL, "disk", "%s: %s", directory, strerror(errno));
        return;
    }
    double bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    say(v, bytes > 100e6 ? WELL : ILL, "disk", "%.1f GB are free in %s", bytes / 1e9, directory);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *walk) {
    (void)about, (void)kind, (void)walk;
    return remove(path);
}

static void examine(struct visit *v) {
    look_at_compiler(v, &hd_c_compiler, true);
    look_at_compiler(v, &hd_cxx_compiler, false);
    look_at_runtime(v);
    look_at_a_program(v);
    look_at_addresses(v);
    look_at_sources(v);
    look_at_gdb(v);
    look_at_memory(v);
    look_at_disk(v, v->directory);
    look_at_disk(v, ".");
}

int hd_cmd_doctor(int argc, char **argv) {
    struct hd_option options[] = {HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "",
        .about = "Tries on this machine all that heddle needs: the compilers, the runtime, and a\n"
                 "small program that is compiled, recorded, predicted from and replayed. Prints a\n"
                 "line each: ok, BAD with what to do, or - for what works in part or is not\n"
                 "needed by all. Exit status 0: all that is needed works, 1: something does not.\n",
        .example = "  heddle doctor\n",
        .options = options,
        .least = 0,
        .most = 0};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    static struct visit v;
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL || *temporary == '\0') temporary = "/tmp";
    snprintf(v.directory, sizeof v.directory, "%s/heddle-doctor-XXXXXX", temporary);
    ssize_t length = readlink("/proc/self/exe", v.self, sizeof v.self - 1);
    if (length <= 0) return hd_complain(COMMAND, "cannot read /proc/self/exe: is /proc mounted?");
    if (mkdtemp(v.directory) == NULL)
        return hd_complain(COMMAND, "cannot make a directory in %s: %s", temporary,
                           strerror(errno));
    examine(&v);
    nftw(v.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (!hd_finish_output(COMMAND)) return HD_EXIT_FAILED;
    return v.ill ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
}
