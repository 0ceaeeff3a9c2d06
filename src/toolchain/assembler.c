/* The assembler under gcc and clang. They can count branches only by calling a hook at every one of
 * them; what the hook does is two instructions, and a call clobbers what they clobber. So put them
 * there instead. And inline assembly is told to the runtime here (inline_assembly.c). */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/whole_file.h"
#include "toolchain/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOOK "__sanitizer_cov_trace_pc"
static const char count_branch[] = "\tmovq\t__heddle_branches@gottpoff(%rip), %rax\n"
                                   "\tincq\t%fs:(%rax)\n";

/* Takes `word` off the line, if it is next there. */
static bool next_is(const char **line, const char *end, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(end - *line) < length || memcmp(*line, word, length) != 0) return false;
    *line += length;
    return true;
}

/* Behind the line, if all it does is to call `name`, in one of the ways in which gcc and clang
 * write that; otherwise NULL. */
static const char *behind_call(const char *line, const char *end, const char *name) {
    if (!next_is(&line, end, "\tcallq\t") && !next_is(&line, end, "\tcall\t")) return NULL;
    bool by_address = next_is(&line, end, "*");
    if (!next_is(&line, end, name)) return NULL;
    bool suffix = next_is(&line, end, by_address ? "@GOTPCREL(%rip)" : "@PLT");
    if (by_address && !suffix) return NULL;
    return next_is(&line, end, "\n") ? line : NULL;
}

char *hd_inline_branch_hooks(const char *text, size_t bytes, size_t *new_bytes) {
    const char *end = text + bytes, *from = text;
    size_t found = 0;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), HOOK, strlen(HOOK))); at++)
        found++;
    if (found == 0) return NULL;
    char *result = hd_alloc(bytes + found * sizeof count_branch, 1), *to = result;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), HOOK, strlen(HOOK)));) {
        const char *line = memrchr(text, '\n', (size_t)(at - text));
        line = line != NULL ? line + 1 : text;
        at += strlen(HOOK);
        const char *behind = behind_call(line, end, HOOK);
        if (behind == NULL) continue;
        to = mempcpy(to, from, (size_t)(line - from));
        to = mempcpy(to, count_branch, sizeof count_branch - 1);
        from = at = behind;
    }
    to = mempcpy(to, from, (size_t)(end - from));
    *new_bytes = (size_t)(to - result);
    return result;
}

/* ---- in the assembler's place -------------------------------------------------------------------
 */

/* Index of the one input file among the arguments; 0 if there is none, -1 if there are several. */
static int find_input(int argc, char **argv) {
    int input = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "--help") == 0) return -1;
        if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "-I") == 0 ||
            strcmp(argv[i], "--defsym") == 0) {
            i++;
        } else if (argv[i][0] != '-' || argv[i][1] == '\0') {
            if (input != 0 || argv[i][0] == '@') return -1;
            input = i;
        }
    }
    return input;
}

static char *read_all(int fd, size_t *bytes) {
    char *text = NULL;
    size_t room = 0;
    *bytes = 0;
    for (;;) {
        if (*bytes == room) {
            room = room ? 2 * room : 1 << 20;
            text = hd_realloc(text, room, 1);
        }
        ssize_t got = read(fd, text + *bytes, room - *bytes);
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        *bytes += (size_t)got;
    }
    free(text);
    return NULL;
}

/* A descriptor, kept over exec, from which the text can be read. */
static int as_file(const char *text, size_t bytes) {
    int fd = memfd_create("heddle-as", 0);
    if (fd < 0) return -1;
    if (!hd_write_all(fd, text, bytes)) {
        close(fd);
        return -1;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* The next `as` on the path that is not this program. */
static void exec_real(char **argv) {
    struct stat self, other;
    if (stat("/proc/self/exe", &self) != 0) memset(&self, 0, sizeof self);
    const char *path = getenv("PATH");
    char *list = hd_strdup(path != NULL ? path : "/usr/local/bin:/usr/bin:/bin"), *rest = list;
    for (const char *entry; (entry = strsep(&rest, ":")) != NULL;) {
        char file[PATH_MAX];
        int length = snprintf(file, sizeof file, "%s/as", *entry ? entry : ".");
        if (length < 0 || (size_t)length >= sizeof file || stat(file, &other) != 0) continue;
        if (other.st_dev == self.st_dev && other.st_ino == self.st_ino) continue;
        execv(file, argv);
    }
    free(list);
}

/* Only what is instrumented: a file of the user's own calls no hook. */
static char *changed_text(const char *text, size_t bytes, size_t *new_bytes) {
    char *branches = hd_inline_branch_hooks(text, bytes, new_bytes);
    const char *now = branches != NULL ? branches : text;
    size_t now_bytes = branches != NULL ? *new_bytes : bytes;
    if (memmem(now, now_bytes, "__tsan_init", 11) == NULL) return branches;
    char *noted = hd_note_inline_assembly(now, now_bytes, new_bytes);
    if (noted == NULL) {
        *new_bytes = now_bytes;
        return branches;
    }
    free(branches);
    return noted;
}

void hd_run_assembler(int argc, char **argv, struct hd_error *error) {
    int input = find_input(argc, argv);
    bool standard = input == 0 || (input > 0 && strcmp(argv[input], "-") == 0);
    int fd = standard ? STDIN_FILENO : input > 0 ? open(argv[input], O_RDONLY | O_CLOEXEC) : -1;
    size_t bytes = 0, new_bytes;
    char *text = fd >= 0 ? read_all(fd, &bytes) : NULL, name[64];
    if (text != NULL) {
        char *changed = changed_text(text, bytes, &new_bytes);
        int file = -1;
        if (changed != NULL)
            file = as_file(changed, new_bytes);
        else if (standard)
            file = as_file(text, bytes);
        if (file >= 0 && standard) {
            dup2(file, STDIN_FILENO);
            close(file);
        } else if (file >= 0) {
            snprintf(name, sizeof name, "/proc/self/fd/%d", file);
            argv[input] = name;
        }
        free(changed);
    }
    free(text);
    exec_real(argv);
    hd_fail(error, HD_ERR_IO, "cannot run the assembler: %s", strerror(errno));
}
