/* Hooks in the compilers' assembly become what is cheaper: counting a branch is two instructions in
 * place of a call, and the hook of an access gets a few words of data, by which the runtime knows
 * the place in the program (trace/hook.h). A call clobbers whatever these clobber. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/vector.h"
#include "toolchain/compiler.h"
#include "trace/hook.h"
#include "trace/wire.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRANCH "__sanitizer_cov_trace_pc"
static const char count_branch[] = "\tmovq\t__heddle_branched@gottpoff(%rip), %rax\n"
                                   "\tincq\t%fs:(%rax)\n";

/* ---- lines -------------------------------------------------------------------------------------
 */

/* Takes `word` off the line, if it is next there. */
static bool next_is(const char **line, const char *end, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(end - *line) < length || memcmp(*line, word, length) != 0) return false;
    *line += length;
    return true;
}

/* The name of the function that the line calls, in one of the ways in which gcc and clang write
 * that; NULL if it does anything else. `end` is behind the line. */
static const char *called(const char *line, const char *end, size_t *length) {
    if (!next_is(&line, end, "\tcallq\t") && !next_is(&line, end, "\tcall\t")) return NULL;
    bool by_address = next_is(&line, end, "*");
    const char *name = line;
    while (line < end && (isalnum((unsigned char)*line) || *line == '_')) line++;
    *length = (size_t)(line - name);
    bool suffix = next_is(&line, end, by_address ? "@GOTPCREL(%rip)" : "@PLT");
    if (by_address && !suffix) return NULL;
    return next_is(&line, end, "\n") && line == end ? name : NULL;
}

/* Labels that only say where something is, for debuggers and unwinding: nothing jumps there. */
static bool is_for_debuggers(const char *label, const char *end) {
    static const char *const prefix[] = {".LVL", ".LBE",  ".LBI",  ".LFB",
                                         ".LFE", ".LEHB", ".LEHE", ".Ltmp"};
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
        const char *at = label;
        if (next_is(&at, end, prefix[i])) return true;
    }
    /* .LBB7: is gcc's and says where a scope begins, .LBB7_2: is clang's, and code. */
    if (!next_is(&label, end, ".LBB")) return false;
    while (label < end && isdigit((unsigned char)*label)) label++;
    return label < end && *label == ':';
}

/* May control come to the next line from elsewhere, or go elsewhere from this one? */
static bool ends_block(const char *line, const char *end) {
    static const char *const others[] = {"call",         "ret",         "loop",      "rep ret",
                                         "syscall",      "int",         "ud2",       "sysenter",
                                         "hlt",          "xbegin",      ".section",  ".text",
                                         ".pushsection", ".popsection", ".previous", "#APP"};
    const char *at = line;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (at == end || *at == '\n') return false;
    if (at == line && *at != '#' && memchr(at, ':', (size_t)(end - at)) != NULL)
        return !is_for_debuggers(at, end);
    if (*at == 'j') return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *word = at;
        if (next_is(&word, end, others[i])) return true;
    }
    return false;
}

/* ---- hooks -------------------------------------------------------------------------------------
 */

struct hook {
    const char *line, *next; /* the line of its call, and the one after that */
    unsigned shape;          /* as struct hd_hook has it; 0: it counts a branch */
    unsigned index, more;    /* in its block */
    bool wide;               /* of more than 8 bytes, or not aligned; always alone */
};
typedef HD_VECTOR(struct hook) hook_list;

/* A hook that is left as it is has shape 0. */
static void read_access(const char *name, size_t length, struct hook *hook) {
    const char *end = name + length;
    unsigned size = 0;
    if (!next_is(&name, end, "__tsan_")) return;
    hook->wide = next_is(&name, end, "unaligned_");
    unsigned kind = next_is(&name, end, "read")    ? HD_EV_READ
                    : next_is(&name, end, "write") ? HD_EV_WRITE
                                                   : HD_EV_NONE;
    for (; name < end && isdigit((unsigned char)*name) && size < 100; name++)
        size = 10 * size + (unsigned)(*name - '0');
    if (kind == HD_EV_NONE || name != end || size == 0 || size > 16 || (size & (size - 1)) != 0)
        return;
    hook->wide = hook->wide || size > 8;
    hook->shape = kind | size << 8;
}

/* The hooks from `first` on are a block. */
static void make_block(hook_list *hooks, size_t first) {
    size_t count = hooks->size - first;
    for (size_t i = first; i < hooks->size; i++) {
        hooks->data[i].index = (unsigned)(i - first);
        hooks->data[i].more = (unsigned)(count - 1 - (i - first));
    }
}

static void find_hooks(const char *text, const char *end, hook_list *hooks) {
    size_t first = 0; /* of the present block */
    for (const char *line = text, *next; line < end; line = next) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next + 1 : end;
        size_t length;
        const char *name = called(line, next, &length);
        struct hook hook = {.line = line, .next = next};
        if (name != NULL) read_access(name, length, &hook);
        bool branch = name != NULL && length == strlen(BRANCH) && memcmp(name, BRANCH, length) == 0;
        bool member = hook.shape != 0 && !hook.wide && hooks->size - first < HD_HOOK_BLOCK;
        if (!member && (hook.shape != 0 || ends_block(line, next))) {
            make_block(hooks, first);
            first = hooks->size;
        }
        if (hook.shape == 0 && !branch) continue;
        hd_vector_push(hooks, hook);
        if (!branch && !hook.wide) continue;
        make_block(hooks, first);
        first = hooks->size;
    }
    make_block(hooks, first);
}

/* ---- the new text ------------------------------------------------------------------------------
 */

/* Twelve bytes, which the runtime may put a store in place of (src/runtime/blocks.c). */
static const char tell_access[] = "\tleaq\t.Lheddle_hook%zu(%%rip), %%rsi\n"
                                  "\tcall\t__heddle_thunks+%u\n";
static const char hooks_begin[] = "\t.section\theddle_hooks,\"aw\",@progbits\n\t.p2align\t3\n";
static const char hook_data[] = ".Lheddle_hook%zu:\n\t.long\t0, %u\n";
enum { HOOK_BYTES = sizeof tell_access + sizeof hook_data + 100 };

/* Once for each program or library, however many units have it: the way into the runtime's table,
 * 16 bytes for each function; and before anything else of it runs, the runtime is told of its
 * hooks. */
#define THUNKS "__heddle_thunks"
#define IN_GROUP(section, flags, type) \
    "\t.section\t" section ",\"" flags "G\",@" type "," THUNKS ",comdat\n"
#define HIDDEN(symbol) "\t.weak\t" symbol "\n\t.hidden\t" symbol "\n"
static const char thunks_begin[] = IN_GROUP(".text." THUNKS, "ax", "progbits")
    HIDDEN(THUNKS) "\t.p2align\t4\n"
                   "\t.type\t" THUNKS ", @function\n" THUNKS ":\n\t.cfi_startproc\n";
static const char thunk[] = "\tmovq\t__heddle_table@GOTPCREL(%%rip), %%rax\n"
                            "\tjmp\t*%u(%%rax)\n"
                            "\t.p2align\t4\n";
static const char thunks_end[] =
    "\t.cfi_endproc\n\t.size\t" THUNKS ", .-" THUNKS "\n"
    "\t.hidden\t__start_heddle_hooks\n\t.hidden\t__stop_heddle_hooks\n" HIDDEN(
        "__heddle_begin") "\t.type\t__heddle_begin, @function\n"
                          "__heddle_begin:\n\t.cfi_startproc\n"
                          "\tleaq\t__start_heddle_hooks(%rip), %rdi\n"
                          "\tleaq\t__stop_heddle_hooks(%rip), %rsi\n"
                          "\tleaq\t" THUNKS "(%rip), %rdx\n"
                          "\tjmp\t*__heddle_module@GOTPCREL(%rip)\n"
                          "\t.cfi_endproc\n\t.size\t__heddle_begin, .-__heddle_begin\n" IN_GROUP(
                              ".init_array.00098", "aw",
                              "init_array") "\t.p2align\t3\n\t.quad\t__heddle_begin\n";
enum {
    THUNKS_BYTES = sizeof thunks_begin + HD_HOOK_FUNCTIONS * (sizeof thunk + 10) + sizeof thunks_end
};

static char *put_thunks(char *to) {
    to = mempcpy(to, thunks_begin, sizeof thunks_begin - 1);
    for (unsigned i = 0; i < HD_HOOK_FUNCTIONS; i++)
        to += sprintf(to, thunk, i * (unsigned)sizeof(void *));
    return mempcpy(to, thunks_end, sizeof thunks_end - 1);
}

static unsigned thunk_of(const struct hook *hook) {
    unsigned function = hook->wide
                            ? HD_HOOK_WIDE
                            : hd_hook_function(hook->shape, hook->index, hook->more, HD_EV_WRITE);
    return function * HD_HOOK_THUNK;
}

char *hd_inline_hooks(const char *text, size_t bytes, size_t *new_bytes) {
    const char *end = text + bytes, *from = text;
    hook_list hooks = {0};
    find_hooks(text, end, &hooks);
    if (hooks.size == 0) {
        hd_vector_free(&hooks);
        return NULL;
    }
    char *result =
        hd_alloc(bytes + hooks.size * HOOK_BYTES + sizeof hooks_begin + THUNKS_BYTES + 2, 1);
    char *to = result;
    for (size_t i = 0; i < hooks.size; i++) {
        const struct hook *hook = &hooks.data[i];
        to = mempcpy(to, from, (size_t)(hook->line - from));
        from = hook->next;
        if (hook->shape == 0)
            to = mempcpy(to, count_branch, sizeof count_branch - 1);
        else
            to += sprintf(to, tell_access, i, thunk_of(hook));
    }
    to = mempcpy(to, from, (size_t)(end - from));
    if (to[-1] != '\n') *to++ = '\n';
    to = mempcpy(to, hooks_begin, sizeof hooks_begin - 1);
    bool any = false;
    for (size_t i = 0; i < hooks.size; i++) {
        const struct hook *hook = &hooks.data[i];
        any = any || hook->shape != 0;
        if (hook->shape != 0)
            to += sprintf(to, hook_data, i, hook->shape | hook->index << 16 | hook->more << 24);
    }
    if (any) to = put_thunks(to);
    *new_bytes = (size_t)(to - result);
    hd_vector_free(&hooks);
    return result;
}
