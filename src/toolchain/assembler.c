/* The assembler under gcc: hooks become what is cheaper than a call of the compiler's, and inline
 * assembly is told to the runtime (inline_assembly.c). */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/whole_file.h"
#include "toolchain/compiler.h"
#include "trace/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- hooks -------------------------------------------------------------------------------------
 */

/* gcc can count branches only by calling a hook at every one of them; what the hook does is two
 * instructions, and a call clobbers what they clobber. */
#define BRANCH "__sanitizer_cov_trace_pc"
static const char count_branch[] = "\tmovq\t__heddle_passed@gottpoff(%rip), %rax\n"
                                   "\taddq\t$65536, %fs:(%rax)\n";

/* The hook of an aligned access of up to 8 bytes gets a few words of data for this place in the
 * program, by which the runtime knows it (struct rt_hook). */
#define ACCESS "__tsan_"
static const char tell_access[] = "\tleaq\t.Lheddle_hook%zu(%%rip), %%rsi\n"
                                  "\tcall\t*__heddle_access@GOTPCREL(%%rip)\n";
static const char hooks_begin[] = "\t.section\theddle_hooks,\"aw\",@progbits\n\t.p2align\t3\n";
static const char hook_data[] = ".Lheddle_hook%zu:\n\t.long\t0, %u\n";
enum { TELL_BYTES = sizeof tell_access + 20, HOOK_BYTES = sizeof hook_data + 40 };

/* How the compilers write a call of a function: "\tcall\t" and one of these around its name. */
static const struct {
    const char *before, *after;
} call_forms[] = {{"*", "@GOTPCREL(%rip)\n"}, {"", "@PLT\n"}, {"", "\n"}};

/* The line at `at`, if it calls a function: its name, and where the next line begins; else NULL. */
static const char *called(const char *at, const char *end, size_t *length, const char **next) {
    static const char call[] = "\tcall\t";
    size_t most = (size_t)(end - at);
    if (most < sizeof call - 1 || memcmp(at, call, sizeof call - 1) != 0) return NULL;
    const char *name = at + sizeof call - 1, *line_end = memchr(name, '\n', (size_t)(end - name));
    if (line_end == NULL) return NULL;
    *next = line_end + 1;
    for (size_t i = 0; i < sizeof call_forms / sizeof *call_forms; i++) {
        size_t before = strlen(call_forms[i].before), after = strlen(call_forms[i].after);
        if ((size_t)(*next - name) <= before + after ||
            memcmp(name, call_forms[i].before, before) != 0 ||
            memcmp(*next - after, call_forms[i].after, after) != 0)
            continue;
        *length = (size_t)(*next - name) - before - after;
        return name + before;
    }
    return NULL;
}

static bool is(const char *name, size_t length, const char *word) {
    return length == strlen(word) && memcmp(name, word, length) == 0;
}

/* What struct rt_hook has for the hook of this name; 0: it is left as it is. */
static unsigned access_shape(const char *name, size_t length) {
    static const char *const size[] = {"1", "2", "4", "8"};
    char word[32];
    for (unsigned i = 0; i < 4; i++)
        for (unsigned kind = HD_EV_READ; kind <= HD_EV_WRITE; kind++) {
            snprintf(word, sizeof word, ACCESS "%s%s", kind == HD_EV_READ ? "read" : "write",
                     size[i]);
            if (is(name, length, word)) return kind | 1u << (8 + i);
        }
    return 0;
}

static size_t count_words(const char *text, const char *end, const char *word) {
    size_t found = 0;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, strlen(word))); at++)
        found++;
    return found;
}

char *hd_inline_hooks(const char *text, size_t bytes, size_t *new_bytes) {
    const char *end = text + bytes, *from = text;
    size_t branches = count_words(text, end, BRANCH), accesses = count_words(text, end, ACCESS);
    if (branches + accesses == 0) return NULL;
    char *result = hd_alloc(bytes + branches * sizeof count_branch +
                                accesses * (TELL_BYTES + HOOK_BYTES) + sizeof hooks_begin,
                            1);
    char *to = result;
    unsigned *shape = hd_alloc(accesses + 1, sizeof *shape);
    size_t hooks = 0, length;
    const char *next = end;
    for (const char *at = text; at != NULL && at < end; at = next) {
        const char *name = called(at, end, &length, &next);
        if (name == NULL) {
            next = memchr(at, '\n', (size_t)(end - at));
            if (next != NULL) next++;
            continue;
        }
        unsigned now = 0;
        bool branch = is(name, length, BRANCH);
        if (!branch && (now = access_shape(name, length)) == 0) continue;
        to = mempcpy(to, from, (size_t)(at - from));
        from = next;
        if (branch) {
            to = mempcpy(to, count_branch, sizeof count_branch - 1);
        } else {
            to += sprintf(to, tell_access, hooks);
            shape[hooks++] = now;
        }
    }
    to = mempcpy(to, from, (size_t)(end - from));
    if (hooks != 0) to = mempcpy(to, hooks_begin, sizeof hooks_begin - 1);
    for (size_t i = 0; i < hooks; i++) to += sprintf(to, hook_data, i, shape[i]);
    free(shape);
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
