/* The assembler under gcc and clang: hooks become cheaper (hooks.c), and inline assembly is told to
 * the runtime (inline_assembly.c). */
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
    char *branches = hd_inline_hooks(text, bytes, new_bytes);
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
