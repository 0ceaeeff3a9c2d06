/* Reads a gcc or clang command line far enough to know what the compiler is going to do with it:
 * which phases run, and which sanitizers are on. */
#include "base/alloc.h"
#include "toolchain/compiler.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- word lists -------------------------------------------------------------------------------
 */

void hd_argv_add(struct hd_argv *words, const char *word) {
    if (words->count + 2 > words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 32;
        words->word = hd_realloc(words->word, words->capacity, sizeof *words->word);
    }
    words->word[words->count++] = hd_strdup(word);
    words->word[words->count] = NULL;
}

void hd_argv_free(struct hd_argv *words) {
    for (size_t i = 0; i < words->count; i++) free(words->word[i]);
    free(words->word);
    *words = (struct hd_argv){0};
}

void hd_argv_split(struct hd_argv *words, const char *text) {
    char *word = hd_alloc(strlen(text) + 1, 1);
    for (;;) {
        while (isspace((unsigned char)*text)) text++;
        if (!*text) break;
        size_t length = 0;
        char quote = 0;
        for (; *text && (quote || !isspace((unsigned char)*text)); text++) {
            if (*text == '\\' && text[1])
                word[length++] = *++text;
            else if (quote ? *text == quote : *text == '\'' || *text == '"')
                quote = quote ? 0 : *text;
            else
                word[length++] = *text;
        }
        word[length] = 0;
        hd_argv_add(words, word);
    }
    free(word);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

/* Options whose argument is the next word; the forms that join it ("-Idir", "--param=x") need no
 * mention. Missing one here would make its argument look like an input file. */
static const char *const takes_next[] = {
    /* preprocessor and files */
    "-o", "-x", "-I", "-D", "-U", "-A", "-L", "-l", "-B", "-include", "-imacros", "-isystem",
    "-iquote", "-idirafter", "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-isysroot",
    "-imultilib", "-imultiarch", "-MF", "-MT", "-MQ", "-MJ", "-aux-info", "-dumpbase",
    "-dumpbase-ext", "-dumpdir", "-specs", "-wrapper", "-V", "-b", "-G",
    /* linker */
    "-T", "-u", "-z", "-e", "-h", "-R", "-Ttext", "-Tdata", "-Tbss", "-Xlinker", "-Xassembler",
    "-Xpreprocessor", "-rpath", "-soname", "-undefined", "-framework", "-dynamic-linker",
    /* GNU long forms */
    "--output", "--language", "--param", "--include", "--imacros", "--include-directory",
    "--include-directory-after", "--include-prefix", "--include-with-prefix",
    "--include-with-prefix-before", "--include-with-prefix-after", "--define-macro",
    "--undefine-macro", "--assert", "--library-directory", "--prefix", "--sysroot", "--dump",
    "--dumpbase", "--dumpbase-ext", "--dumpdir", "--entry", "--for-assembler", "--for-linker",
    "--force-link", "--print-file-name", "--print-prog-name", "--specs", "--config",
    "--serialize-diagnostics", "--rtlib", "--stdlib",
    /* clang */
    "-Xclang", "-Xanalyzer", "-Xarch_host", "-Xarch_device", "-Xopenmp-target", "-mllvm", "-target",
    "-gcc-toolchain", "-arch", "-F", "-iframework", "-ivfsoverlay", "-iwithsysroot", "-include-pch",
    "-resource-dir", "-working-directory", "-mthread-model", "-serialize-diagnostics",
    "-dependency-file", "-dependency-dot", "-module-dependency-dir", "-fmodules-cache-path",
    "-fmodules-user-build-path", "-fprofile-remapping-file", "-ccc-gcc-name", "-cxx-isystem",
    "-stdlib++-isystem", "-allowable_client", "-index-store-path", "-meabi", "-Xclangas"};

/* Options after which the compiler makes no object code, so that nothing is instrumented. */
static const char *const stops_before_code[] = {"-E",
                                                "-M",
                                                "-MM",
                                                "-fsyntax-only",
                                                "--preprocess",
                                                "--dependencies",
                                                "--user-dependencies",
                                                "--analyze",
                                                "-emit-ast",
                                                "--precompile",
                                                "-rewrite-objc",
                                                "-verify-pch",
                                                "-module-file-info"};

/* Options after which there is object code but no link. */
static const char *const stops_before_link[] = {"-c", "-S", "--compile", "--assemble"};

/* Options with which clang is to assemble, if at all, by itself: the user wants that, the assembler
 * of the system does not take what it writes, or a file beside the object would be left elsewhere.
 */
static const char *const keeps_assembly[] = {
    "-S",          "--assemble", "-fintegrated-as", "-integrated-as", "-emit-llvm",
    "-masm=intel", "-m32",       "-mx32",           "-faddrsig",      "-ftime-trace"};

enum input_kind { LINKER_INPUT, SOURCE, HEADER, ASSEMBLY };

static const struct {
    const char *suffixes; /* blank-separated, case matters */
    enum input_kind kind;
} suffix_kinds[] = {
    {" c i ii cc cp cxx cpp CPP c++ C m mi mm mii M cu cui cl ", SOURCE},
    {" f for ftn f90 f95 f03 f08 F FOR fpp FPP FTN F90 F95 F03 F08 d go adb ads ", SOURCE},
    {" ll bc cppm ccm cxxm c++m ixx pcm ast ", SOURCE},
    {" h hh H hp hxx hpp HPP h++ tcc ", HEADER},
    {" s S sx asm ", ASSEMBLY}};

static enum input_kind kind_by_name(const char *path) {
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (!dot || (slash && dot < slash) || !dot[1] || strlen(dot) > 8) return LINKER_INPUT;
    char suffix[16];
    snprintf(suffix, sizeof suffix, " %s ", dot + 1);
    for (size_t i = 0; i < COUNT(suffix_kinds); i++)
        if (strstr(suffix_kinds[i].suffixes, suffix)) return suffix_kinds[i].kind;
    return LINKER_INPUT;
}

static enum input_kind kind_by_language(const char *language) {
    size_t length = strlen(language);
    if (strncmp(language, "assembler", 9) == 0) return ASSEMBLY;
    if (length > 7 && strcmp(language + length - 7, "-header") == 0) return HEADER;
    return SOURCE;
}

static bool is_one_of(const char *word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

/* ---- sanitizers -------------------------------------------------------------------------------
 */

static const char *const conflicting[] = {
    "address",       "hwaddress", "kernel-address", "kernel-hwaddress",  "memory",
    "kernel-memory", "leak",      "dataflow",       "shadow-call-stack", "safe-stack"};

struct scan {
    struct hd_compiler_job *job;
    struct hd_error *error;
    unsigned conflicts;  /* bit i: conflicting[i] is on */
    const char *pending; /* an option that waits for its argument */
    bool language_given;
    enum input_kind language; /* of -x */
    bool no_code, no_link, after_dashes;
    unsigned inputs[ASSEMBLY + 1];
    unsigned depth; /* of response files */
};

static void apply_sanitizers(struct scan *scan, const char *names, bool on) {
    while (*names) {
        size_t length = strcspn(names, ",");
#define NAMED(text) (length == strlen(text) && memcmp(names, text, length) == 0)
        if (NAMED("thread") || (!on && NAMED("all"))) {
            scan->job->asks_thread = on;
            scan->job->spares_thread = !on;
        }
        for (unsigned i = 0; i < COUNT(conflicting); i++) {
            if (on && NAMED(conflicting[i])) scan->conflicts |= 1u << i;
            if (!on && (NAMED(conflicting[i]) || NAMED("all"))) scan->conflicts &= ~(1u << i);
        }
#undef NAMED
        names += length + (names[length] == ',');
    }
}

/* ---- the walk ---------------------------------------------------------------------------------
 */

static bool scan_word(struct scan *scan, const char *word);

/* True with *text NULL if there is no such file: then "@name" is an argument like any other. */
static bool read_response_file(const char *path, char **text, struct hd_error *error) {
    *text = NULL;
    struct stat status;
    if (stat(path, &status) < 0 || S_ISDIR(status.st_mode)) return true;
    FILE *file = fopen(path, "r");
    if (!file)
        return hd_fail(error, HD_ERR_IO, "cannot read response file %s: %s", path, strerror(errno));
    size_t length = 0, capacity = 4096;
    char *buffer = hd_alloc(capacity, 1);
    while ((length += fread(buffer + length, 1, capacity - length - 1, file)) == capacity - 1)
        buffer = hd_realloc(buffer, capacity *= 2, 1);
    fclose(file);
    buffer[length] = 0;
    *text = buffer;
    return true;
}

#define RESPONSE_DEPTH 64

static bool scan_response_file(struct scan *scan, const char *word) {
    char *text;
    if (scan->depth >= RESPONSE_DEPTH)
        return hd_fail(scan->error, HD_ERR_LIMIT,
                       "response files nest deeper than %u: %s includes itself?", RESPONSE_DEPTH,
                       word);
    if (!read_response_file(word + 1, &text, scan->error)) return false;
    if (!text) return true;
    struct hd_argv words = {0};
    bool good = true;
    hd_argv_split(&words, text);
    free(text);
    scan->depth++;
    /* A pending option's word lives in `words`; no option may take its argument from beyond the
     * file in a way that matters, since only "-x" is looked at again. */
    for (size_t i = 0; good && i < words.count; i++) good = scan_word(scan, words.word[i]);
    if (scan->pending) scan->pending = strcmp(scan->pending, "-x") == 0 ? "-x" : "";
    scan->depth--;
    hd_argv_free(&words);
    return good;
}

static void count_input(struct scan *scan, const char *path) {
    scan->inputs[scan->language_given ? scan->language : kind_by_name(path)]++;
}

static void set_language(struct scan *scan, const char *language) {
    scan->language_given = strcmp(language, "none") != 0;
    if (scan->language_given) scan->language = kind_by_language(language);
}

/* "x86_64-linux-gnu", "x86_64-pc-linux-gnu". */
static bool is_own_target(const char *triple) {
    return strncmp(triple, "x86_64-", 7) == 0 && strstr(triple, "linux-gnu") &&
           !strstr(triple, "gnux32");
}

static bool scan_word(struct scan *scan, const char *word) {
    struct hd_compiler_job *job = scan->job;
    if (scan->pending) {
        if (strcmp(scan->pending, "-x") == 0 || strcmp(scan->pending, "--language") == 0)
            set_language(scan, word);
        if (strcmp(scan->pending, "-Xlinker") == 0 &&
            (strcmp(word, "-r") == 0 || strcmp(word, "--relocatable") == 0))
            job->relocatable = true;
        if (strcmp(scan->pending, "-target") == 0 && !is_own_target(word))
            job->own_assembler = true;
        if (strcmp(scan->pending, "-o") == 0 && strcmp(word, "-") == 0) /* only clang can */
            job->own_assembler = true;
        scan->pending = NULL;
        return true;
    }
    if (word[0] == '@' && !scan->after_dashes) return scan_response_file(scan, word);
    if (word[0] != '-' || !word[1] || scan->after_dashes) {
        count_input(scan, word);
        return true;
    }
    if (strcmp(word, "--") == 0) {
        scan->after_dashes = true;
        return true;
    }
    if (is_one_of(word, takes_next, COUNT(takes_next))) {
        scan->pending = word;
        if (strcmp(word, "-l") == 0) scan->inputs[LINKER_INPUT]++;
        return true;
    }
    if (is_one_of(word, stops_before_code, COUNT(stops_before_code))) scan->no_code = true;
    if (is_one_of(word, stops_before_link, COUNT(stops_before_link))) scan->no_link = true;
    if (is_one_of(word, keeps_assembly, COUNT(keeps_assembly))) job->own_assembler = true;
    if (strncmp(word, "--target=", 9) == 0 && !is_own_target(word + 9)) job->own_assembler = true;
    if (strncmp(word, "-l", 2) == 0) scan->inputs[LINKER_INPUT]++;
    if (strncmp(word, "-x", 2) == 0) set_language(scan, word + 2);
    if (strncmp(word, "--language=", 11) == 0) set_language(scan, word + 11);
    if (strcmp(word, "-r") == 0 || strcmp(word, "-Wl,-r") == 0 ||
        strcmp(word, "-Wl,--relocatable") == 0)
        job->relocatable = true;
    if (strcmp(word, "-static") == 0 || strcmp(word, "--static") == 0 ||
        strcmp(word, "-static-pie") == 0)
        job->makes_static = true;
    if (strcmp(word, "-m32") == 0 || strcmp(word, "-mx32") == 0) job->other_width = true;
    if (strcmp(word, "-m64") == 0) job->other_width = false;
    if (strncmp(word, "-fsanitize=", 11) == 0) apply_sanitizers(scan, word + 11, true);
    if (strncmp(word, "-fno-sanitize=", 14) == 0) apply_sanitizers(scan, word + 14, false);
    return true;
}

bool hd_compiler_classify(int argc, char **argv, struct hd_compiler_job *job,
                          struct hd_error *error) {
    *job = (struct hd_compiler_job){.end = (size_t)argc};
    struct scan scan = {.job = job, .error = error};
    for (int i = 1; i < argc; i++) {
        bool dashes = scan.after_dashes;
        if (!scan_word(&scan, argv[i])) return false;
        if (!dashes && scan.after_dashes) job->end = (size_t)i;
    }
    bool any = scan.inputs[LINKER_INPUT] || scan.inputs[SOURCE] || scan.inputs[ASSEMBLY];
    job->sources = scan.inputs[SOURCE] || scan.inputs[HEADER];
    job->compiles = !scan.no_code && job->sources;
    job->links = any && !scan.no_code && !scan.no_link && !job->relocatable;
    for (unsigned i = 0; i < COUNT(conflicting) && !*job->conflict; i++)
        if (scan.conflicts >> i & 1)
            snprintf(job->conflict, sizeof job->conflict, "%s", conflicting[i]);
    return true;
}
