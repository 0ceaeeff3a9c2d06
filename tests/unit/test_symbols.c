/* Symbols of real programs: tests/unit/symbols holds sources that print what is true of them; this
 * compiles them in several ways, runs them, and compares their words with ours. */
#define _GNU_SOURCE /* nftw */
#include "trace/symbols.h"
#include "trace/symbols_demangle.h"
#include "trace/symbols_pool.h"
#include "trace/symbols_ranges.h"

#include <dirent.h>
#include <elf.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FIXTURES HEDDLE_SOURCE_DIR "/tests/unit/symbols"
#define MOST_MODULES 16

static char directory[] = "/tmp/heddle-symbols-XXXXXX";

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int make_directory(void **state) {
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
    (void)state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...) {
    char command[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    int status = system(command);
    if (status) fail_msg("status %d from: %s", status, command);
}

static bool have(const char *program) {
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* ---- what a fixture says of itself -------------------------------------------------------- */

struct facts {
    struct hd_trace trace;
    struct hd_trace_module module[MOST_MODULES];
    char *text;
};

static void read_modules(struct facts *facts) {
    facts->trace.module = facts->module;
    uint32_t next_site = 1;
    for (const char *line = facts->text; line; line = strchr(line, '\n')) {
        while (*line == '\n') line++;
        struct hd_trace_module *module = &facts->module[facts->trace.modules];
        char path[2048];
        unsigned long bias, text_lo, text_hi, image_lo, image_hi;
        if (sscanf(line, "module %2047s %lx %lx %lx %lx %lx", path, &bias, &text_lo, &text_hi,
                   &image_lo, &image_hi) != 6)
            continue;
        assert_true(facts->trace.modules < MOST_MODULES);
        *module = (struct hd_trace_module){.path = strdup(path),
                                           .bias = bias,
                                           .text_lo = text_lo,
                                           .text_hi = text_hi,
                                           .image_lo = image_lo,
                                           .image_hi = image_hi,
                                           .site_base = next_site};
        next_site += (uint32_t)(text_hi - text_lo);
        facts->trace.modules++;
    }
}

static void read_facts(struct facts *facts, const char *command) {
    memset(facts, 0, sizeof *facts);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = 0;
    facts->text = calloc(1, 1 << 18);
    size = fread(facts->text, 1, (1 << 18) - 1, pipe);
    assert_true(size > 0);
    assert_int_equal(pclose(pipe), 0);
    read_modules(facts);
    assert_true(facts->trace.modules > 0);
}

static void free_facts(struct facts *facts) {
    for (uint32_t i = 0; i < facts->trace.modules; i++) free(facts->module[i].path);
    free(facts->text);
}

static uint32_t site_of(const struct facts *facts, uint64_t pc) {
    for (uint32_t i = 0; i < facts->trace.modules; i++) {
        const struct hd_trace_module *module = &facts->module[i];
        if (pc > module->text_lo && pc <= module->text_hi)
            return module->site_base + (uint32_t)(pc - module->text_lo);
    }
    fail_msg("no module has %lx", (unsigned long)pc);
    return 0;
}

static const char *base_name(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void check_variable(struct hd_symbols *symbols, const char *line, const char *how) {
    unsigned long address, size;
    int used = 0;
    assert_int_equal(sscanf(line, "variable %lx %lu %n", &address, &size, &used), 2);
    const char *expected = line + used, *base;
    uint64_t offset;
    const char *got = hd_symbols_variable(symbols, address, size, &base, &offset);
    size_t length = strcspn(expected, "\n");
    if (!got || strlen(got) != length || memcmp(got, expected, length) != 0)
        fail_msg("%s: %.*s (%lu bytes) is called %s", how, (int)length, expected, size,
                 got ? got : "nothing");
    assert_non_null(base);
    assert_memory_equal(base, got, strlen(base));
    /* the second answer comes from the cache */
    assert_ptr_equal(hd_symbols_variable(symbols, address, size, NULL, NULL), got);
}

static void check_site(const struct facts *facts, struct hd_symbols *symbols, const char *line,
                       const char *how) {
    unsigned long pc;
    char function[256], file[64];
    unsigned expected_line;
    int used = 0;
    assert_int_equal(
        sscanf(line, "site %lx %255s %63s %u%n", &pc, function, file, &expected_line, &used), 4);
    const struct hd_frame *frame;
    uint32_t count = hd_symbols_site(symbols, site_of(facts, pc), &frame), at = 0;
    for (;;) {
        if (at == count) fail_msg("%s: frame %u missing of: %.80s", how, at, line);
        if (strcmp(frame[at].function, function) || strcmp(base_name(frame[at].file), file) ||
            frame[at].line != expected_line)
            fail_msg("%s: frame %u is %s %s:%u, not %s %s:%u", how, at, frame[at].function,
                     frame[at].file, frame[at].line, function, file, expected_line);
        assert_true(frame[at].column > 0);
        assert_non_null(frame[at].module);
        int more = 0;
        line += used;
        at++;
        if (*line == '\n' || sscanf(line, " %255s %u%n", function, &expected_line, &more) != 2)
            break;
        assert_true(frame[at - 1].inlined);
        used = more;
    }
    if (at != count) fail_msg("%s: %u frames too many at %s", how, count - at, function);
    assert_false(frame[at - 1].inlined);
}

static void check_facts(const struct facts *facts, const char *how) {
    struct hd_symbols *symbols = hd_symbols_open(&facts->trace);
    unsigned checked = 0;
    for (const char *line = facts->text; *line;) {
        if (!strncmp(line, "variable", 8)) checked++, check_variable(symbols, line, how);
        if (!strncmp(line, "site", 4)) checked++, check_site(facts, symbols, line, how);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    assert_true(checked > 2);
    const char *const *warning;
    assert_int_equal(hd_symbols_warnings(symbols, &warning), 0);
    hd_symbols_close(symbols);
}

/* ---- ways to compile ---------------------------------------------------------------------- */

static const char *const ways[] = {
    "gcc -g -gdwarf-5 -O0",
    "gcc -g -gdwarf-4 -O2",
    "gcc -g -O2 -no-pie -fno-pie",
    "gcc -g -O2 -flto",
    "gcc -g -gdwarf-3 -gstrict-dwarf -O1",
    "clang -g -gdwarf-5 -O0",
    "clang -g -gdwarf-4 -O2",
    "clang -g -O2 -no-pie -fno-pie",
    "gcc -g -O1 -gsplit-dwarf",
    "clang -g -O1 -gsplit-dwarf -gdwarf-5",
    "gcc -g -O1 -fdebug-types-section",
    "gcc -g -O1 -gz",
};
#define WAYS (sizeof ways / sizeof *ways)

static bool usable(const char *way) {
    char compiler[16];
    sscanf(way, "%15s", compiler);
    return have(compiler);
}

static void check_program(const char *source, const char *way, const char *arguments) {
    struct facts facts;
    char command[4096], compiler[16] = "";
    sscanf(way, "%15s", compiler);
    const char *suffix = strstr(source, ".cpp") ? "++" : "";
    const char *driver = *suffix && !strcmp(compiler, "gcc") ? "g++" : compiler;
    if (!strcmp(driver, "g++")) suffix = "";
    run("cd %s && %s%s %s -fno-optimize-sibling-calls -o program %s/%s -pthread -ldl 2>compile.log "
        "|| { cat compile.log >&2; false; }",
        directory, driver, suffix, way + strlen(compiler), FIXTURES, source);
    snprintf(command, sizeof command, "%s/program %s", directory, arguments);
    read_facts(&facts, command);
    check_facts(&facts, way);
    free_facts(&facts);
}

static void test_variables_have_the_names_in_the_source(void **state) {
    (void)state;
    for (size_t i = 0; i < WAYS; i++)
        if (usable(ways[i])) check_program("variables.c", ways[i], "");
}

static void test_sites_have_functions_lines_and_inlined_frames(void **state) {
    (void)state;
    for (size_t i = 0; i < WAYS; i++)
        if (usable(ways[i]) && !strstr(ways[i], "-gdwarf-3")) check_program("sites.c", ways[i], "");
}

static void test_loaded_libraries(void **state) {
    (void)state;
    for (size_t i = 0; i < WAYS; i++) {
        if (!usable(ways[i]) || strstr(ways[i], "no-pie") || strstr(ways[i], "-gdwarf-3")) continue;
        run("cd %s && %s -shared -fPIC -o library.so %s/library.c", directory, ways[i], FIXTURES);
        char argument[256];
        snprintf(argument, sizeof argument, "%s/library.so", directory);
        check_program("sites.c", ways[i], argument);
    }
}

static void test_cxx_names(void **state) {
    (void)state;
    for (size_t i = 0; i < WAYS; i++)
        if (usable(ways[i]) && !strstr(ways[i], "-gdwarf-3"))
            check_program("classes.cpp", ways[i], "");
}

/* ---- separate and missing debug information ----------------------------------------------- */

static void test_debug_file_beside_the_program(void **state) {
    (void)state;
    for (int with_id = 0; with_id < 2; with_id++) {
        struct facts facts;
        char command[512];
        run("cd %s && gcc -g -O1 -Wl,--build-id=%s -o program %s/sites.c -ldl && "
            "objcopy --only-keep-debug program program.debug && "
            "objcopy --strip-all --add-gnu-debuglink=program.debug program",
            directory, with_id ? "sha1" : "none", FIXTURES);
        snprintf(command, sizeof command, "%s/program", directory);
        read_facts(&facts, command);
        check_facts(&facts, "debug file");
        /* another program's debug file is not taken */
        run("cd %s && gcc -g -O0 -Wl,--build-id=%s -o other %s/library.c -shared -fPIC && "
            "objcopy --only-keep-debug other program.debug",
            directory, with_id ? "sha1" : "none", FIXTURES);
        struct hd_symbols *symbols = hd_symbols_open(&facts.trace);
        const char *line = strstr(facts.text, "site ");
        unsigned long pc;
        const struct hd_frame *frame;
        sscanf(line, "site %lx", &pc);
        assert_int_equal(hd_symbols_site(symbols, site_of(&facts, pc), &frame), 1);
        assert_null(frame->file);
        hd_symbols_close(symbols);
        free_facts(&facts);
        run("rm -f %s/program.debug", directory);
    }
}

static void test_symbol_table_without_dwarf(void **state) {
    (void)state;
    struct facts facts;
    char command[512];
    run("cd %s && gcc -O1 -o program %s/sites.c -ldl", directory, FIXTURES);
    snprintf(command, sizeof command, "%s/program", directory);
    read_facts(&facts, command);
    struct hd_symbols *symbols = hd_symbols_open(&facts.trace);
    unsigned long pc;
    const struct hd_frame *frame;
    sscanf(strstr(facts.text, "site "), "site %lx", &pc);
    assert_int_equal(hd_symbols_site(symbols, site_of(&facts, pc), &frame), 1);
    assert_string_equal(frame->function, "plain");
    assert_null(frame->file);
    assert_int_equal(frame->line, 0);
    hd_symbols_close(symbols);
    free_facts(&facts);
}

static void test_paths_are_simplified(void **state) {
    (void)state;
    static const struct {
        const char *given, *shown;
    } row[] = {
        {"/a/b/../c/./d/../../e.c", "/a/e.c"},
        {"/usr/bin/../lib/gcc/x/12/../../../../include/c++/12/tuple", "/usr/include/c++/12/tuple"},
        {"../x/../y.c", "../y.c"},
        {"../../y.c", "../../y.c"},
        {"/../y.c", "/../y.c"},
        {"a..b/.hidden/c.c", "a..b/.hidden/c.c"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct facts facts;
        char command[512], path[512], expected[512];
        snprintf(path, sizeof path, "%s/path.c", directory);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "#include \"%s/fixture.h\"\n"
                "__attribute__((noinline)) void here(void) {\n"
                "    printf(\"site %%p main x 7\\n\", __builtin_return_address(0));\n"
                "}\n"
                "int main(void) {\n"
                "    print_modules();\n"
                "#line 7 \"%s\"\n"
                "    here();\n"
                "    return 0;\n"
                "}\n",
                FIXTURES, row[i].given);
        fclose(file);
        run("cd %s && gcc -g -o program path.c", directory);
        snprintf(command, sizeof command, "%s/program", directory);
        read_facts(&facts, command);
        struct hd_symbols *symbols = hd_symbols_open(&facts.trace);
        unsigned long pc;
        const struct hd_frame *frame;
        sscanf(strstr(facts.text, "site "), "site %lx", &pc);
        hd_symbols_site(symbols, site_of(&facts, pc), &frame);
        /* a relative path comes with the directory of its compilation */
        if (row[i].given[0] == '/' || strncmp(frame->file, directory, strlen(directory)) != 0)
            assert_string_equal(frame->file, row[i].shown);
        snprintf(expected, sizeof expected, "%s", row[i].shown);
        assert_true(strstr(frame->file, base_name(expected)) != NULL);
        assert_int_equal(frame->line, 7);
        hd_symbols_close(symbols);
        free_facts(&facts);
    }
}

static void expect_addresses_only(struct facts *facts, const char *why) {
    struct hd_symbols *symbols = hd_symbols_open(&facts->trace);
    const struct hd_trace_module *module = &facts->module[0];
    const char *const *warning;
    const struct hd_frame *frame;
    char expected[64];
    snprintf(expected, sizeof expected, "%s+0x%lx", base_name(module->path),
             (unsigned long)(module->text_lo + 16 - module->bias));
    assert_int_equal(hd_symbols_site(symbols, module->site_base + 16, &frame), 1);
    assert_string_equal(frame->function, expected);
    assert_string_equal(hd_symbols_variable(symbols, module->text_lo + 16, 4, NULL, NULL),
                        expected);
    assert_int_equal(hd_symbols_warnings(symbols, &warning), 1);
    if (!strstr(warning[0], why)) fail_msg("'%s' does not say '%s'", warning[0], why);
    hd_symbols_close(symbols);
}

static void test_unusable_modules_give_addresses_and_one_warning(void **state) {
    (void)state;
    struct facts facts;
    char command[512];
    run("cd %s && gcc -g -O1 -o program %s/sites.c -ldl", directory, FIXTURES);
    snprintf(command, sizeof command, "%s/program", directory);
    read_facts(&facts, command);
    facts.module[0].build_id_length = 20; /* of another build */
    expect_addresses_only(&facts, "build id");
    facts.module[0].build_id_length = 0;
    run("cd %s && rm program && mkdir program", directory);
    expect_addresses_only(&facts, "not a regular file");
    run("cd %s && rmdir program && mkfifo program", directory);
    expect_addresses_only(&facts, "not a regular file");
    run("cd %s && rm program && echo hello > program", directory);
    expect_addresses_only(&facts, "not an ELF file");
    run("cd %s && rm program", directory);
    expect_addresses_only(&facts, "No such file");
    free_facts(&facts);
}

static void test_unknown_sites_and_addresses(void **state) {
    (void)state;
    struct hd_trace_module module = {.path = "", .site_base = 1, .text_lo = 4096, .text_hi = 8192};
    struct hd_trace trace = {.modules = 1, .module = &module};
    struct hd_symbols *symbols = hd_symbols_open(&trace);
    const struct hd_frame *frame;
    assert_int_equal(hd_symbols_site(symbols, 0, &frame), 1);
    assert_string_equal(frame->function, "??");
    assert_int_equal(hd_symbols_site(symbols, 1 << 28, &frame), 1);
    assert_string_equal(frame->function, "??");
    assert_null(hd_symbols_variable(symbols, 77, 4, NULL, NULL));
    hd_symbols_close(symbols);
    trace.modules = 0;
    symbols = hd_symbols_open(&trace);
    assert_int_equal(hd_symbols_site(symbols, 5, &frame), 1);
    assert_null(hd_symbols_variable(symbols, 77, 4, NULL, NULL));
    hd_symbols_close(symbols);
}

/* ---- parts -------------------------------------------------------------------------------- */

static void test_demangled_names_are_short(void **state) {
    (void)state;
    static const struct {
        const char *given, *expected;
    } row[] = {
        {"f()", "f"},
        {"f(int (*)(int), std::vector<int>)", "f"},
        {"void f<int>(int)", "f<int>"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)",
         "std::vector<int, std::allocator<int> >::push_back"},
        {"a::b::operator()(int) const", "a::b::operator()"},
        {"std::ostream& std::operator<< <char>(std::ostream&)", "std::operator<< <char>"},
        {"a::operator<(a const&)", "a::operator<"},
        {"a::operator->() const", "a::operator->"},
        {"a::operator bool() const", "a::operator bool"},
        {"operator new(unsigned long)", "operator new"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
        {"f(int)::{lambda()#1}::operator()() const", "f::{lambda()#1}::operator()"},
        {"(anonymous namespace)::f(int)", "f"},
        {"a::(anonymous namespace)::x", "a::x"},
        {"myoperator(int)", "myoperator"},
        {"f(int)::x", "f::x"},
        {"a<(b)1>::f(int)", "a<(b)1>::f"},
        {"x", "x"},
        {"", ""},
        {"operator", "operator"},
        {"((((", "(((("},
        {"operator<", "operator<"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s", row[i].given);
        hd_demangle_shorten(text);
        assert_string_equal(text, row[i].expected);
    }
}

static void test_ranges_nest(void **state) {
    (void)state;
    struct hd_ranges ranges = {0};
    assert_int_equal(hd_ranges_find(&ranges, 5), HD_NONE);
    hd_ranges_add(&ranges, 40, 50, 4);
    hd_ranges_add(&ranges, 10, 100, 0);
    hd_ranges_add(&ranges, 20, 30, 1);
    hd_ranges_add(&ranges, 20, 25, 2);
    hd_ranges_add(&ranges, 20, 25, 3);
    hd_ranges_add(&ranges, 7, 7, 9);
    hd_ranges_finish(&ranges);
    static const struct {
        uint64_t address;
        uint32_t value;
    } row[] = {{9, HD_NONE}, {10, 0}, {20, 3}, {24, 3}, {25, 1},        {29, 1},
               {30, 0},      {45, 4}, {50, 0}, {99, 0}, {100, HD_NONE}, {7, HD_NONE}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t at = hd_ranges_find(&ranges, row[i].address);
        assert_int_equal(at == HD_NONE ? HD_NONE : ranges.item[at].value, row[i].value);
    }
    hd_ranges_free(&ranges);
}

/* ---- files that are kept ------------------------------------------------------------------ */

static unsigned open_files(void) {
    unsigned count = 0;
    DIR *list = opendir("/proc/self/fd");
    assert_non_null(list);
    while (readdir(list) != NULL) count++;
    closedir(list);
    return count;
}

/* What the first site is called; the handle stays open if it is asked for. */
static const char *first_function(const struct facts *facts, struct hd_symbols **kept) {
    const struct hd_frame *frame;
    unsigned long pc;
    sscanf(strstr(facts->text, "site "), "site %lx", &pc);
    *kept = hd_symbols_open(&facts->trace);
    hd_symbols_site(*kept, site_of(facts, pc), &frame);
    return frame->function;
}

/* A file with a build id is opened once, by however many traces; another file at its place is not
 * taken for it. */
static void test_a_file_is_opened_once(void **state) {
    (void)state;
    struct facts facts;
    struct hd_symbols *symbols[3];
    char command[512];
    run("cd %s && gcc -g -O1 -Wl,--build-id=0x0102030405060708 -o program %s/sites.c -ldl",
        directory, FIXTURES);
    snprintf(command, sizeof command, "%s/program", directory);
    read_facts(&facts, command);
    facts.module[0].build_id_length = 8;
    for (uint8_t i = 0; i < 8; i++) facts.module[0].build_id[i] = i + 1;
    unsigned before = open_files();
    assert_string_equal(first_function(&facts, &symbols[0]), "plain");
    assert_string_equal(first_function(&facts, &symbols[1]), "plain");
    assert_int_equal(open_files(), before + 1);
    hd_symbols_close(symbols[0]);
    hd_symbols_close(symbols[1]);
    assert_string_equal(first_function(&facts, &symbols[2]), "plain");
    assert_int_equal(open_files(), before + 1);
    hd_symbols_close(symbols[2]);
    /* the same id, other code */
    run("cd %s && sed 's/plain/other/g' %s/sites.c >sites.c && rm program && "
        "gcc -g -O1 -Wl,--build-id=0x0102030405060708 -I%s -o program sites.c -ldl",
        directory, FIXTURES, FIXTURES);
    assert_string_equal(first_function(&facts, &symbols[0]), "other");
    hd_symbols_close(symbols[0]);
    free_facts(&facts);
}

/* ---- damaged files ------------------------------------------------------------------------ */

static void ask_everything(const struct hd_trace *trace) {
    struct hd_symbols *symbols = hd_symbols_open(trace);
    const struct hd_trace_module *module = &trace->module[0];
    const struct hd_frame *frame;
    const char *const *warning;
    for (uint64_t pc = module->text_lo; pc < module->text_hi; pc += 7) {
        uint32_t site = module->site_base + (uint32_t)(pc - module->text_lo);
        uint32_t count = hd_symbols_site(symbols, site, &frame);
        assert_true(count >= 1);
        for (uint32_t i = 0; i < count; i++) assert_non_null(frame[i].function);
    }
    for (uint64_t address = module->image_lo; address < module->image_hi; address += 5) {
        assert_non_null(hd_symbols_variable(symbols, address, address % 9, NULL, NULL));
        hd_symbols_text(symbols, address);
    }
    hd_symbols_warnings(symbols, &warning);
    hd_symbols_close(symbols);
}

static void write_file(const char *path, const unsigned char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Where the bytes of interest are: section headers and the sections that are parsed. */
static size_t interesting(const unsigned char *bytes, size_t size, size_t *lo, size_t *hi,
                          size_t most) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(bytes + header->e_shoff);
    const char *names = (const char *)bytes + section[header->e_shstrndx].sh_offset;
    size_t count = 0;
    lo[count] = header->e_shoff, hi[count++] = size;
    for (unsigned i = 0; i < header->e_shnum && count < most; i++) {
        const char *name = names + section[i].sh_name;
        if (strncmp(name, ".debug", 6) && strcmp(name, ".symtab")) continue;
        lo[count] = section[i].sh_offset, hi[count] = lo[count] + section[i].sh_size;
        count++;
    }
    return count;
}

static void test_damaged_files_are_survived(void **state) {
    (void)state;
    static const char *const how[] = {"gcc -g -O2", "gcc -g -gdwarf-4 -O2"};
    unsigned long seed = 20240613;
    for (size_t way = 0; way < 2; way++) {
        struct facts facts;
        char command[512], path[512];
        run("cd %s && %s -o program %s/variables.c -pthread", directory, how[way], FIXTURES);
        snprintf(command, sizeof command, "%s/program", directory);
        snprintf(path, sizeof path, "%s/program", directory);
        read_facts(&facts, command);
        uint32_t modules = facts.trace.modules;
        facts.trace.modules = 1;
        ask_everything(&facts.trace);
        static unsigned char bytes[1 << 18], damaged[1 << 18];
        FILE *file = fopen(path, "rb");
        size_t size = fread(bytes, 1, sizeof bytes, file), lo[32], hi[32];
        fclose(file);
        assert_true(size > 1000 && size < sizeof bytes);
        size_t places = interesting(bytes, size, lo, hi, 32);
        assert_true(places > 4);
        for (unsigned round = 0; round < 150; round++) {
            memcpy(damaged, bytes, size);
            size_t length = size;
            if (round % 8 == 7) {
                seed = seed * 6364136223846793005ul + 1442695040888963407ul;
                length = (seed >> 33) % size;
            } else {
                for (unsigned i = 0; i < 1 + round % 12; i++) {
                    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
                    size_t place = (seed >> 20) % places;
                    if (hi[place] == lo[place]) continue;
                    damaged[lo[place] + (seed >> 33) % (hi[place] - lo[place])] ^=
                        (unsigned char)(1 + (seed >> 12) % 255);
                }
            }
            write_file(path, damaged, length);
            ask_everything(&facts.trace);
        }
        facts.trace.modules = modules;
        free_facts(&facts);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_have_the_names_in_the_source),
        cmocka_unit_test(test_sites_have_functions_lines_and_inlined_frames),
        cmocka_unit_test(test_loaded_libraries),
        cmocka_unit_test(test_cxx_names),
        cmocka_unit_test(test_debug_file_beside_the_program),
        cmocka_unit_test(test_symbol_table_without_dwarf),
        cmocka_unit_test(test_paths_are_simplified),
        cmocka_unit_test(test_unusable_modules_give_addresses_and_one_warning),
        cmocka_unit_test(test_unknown_sites_and_addresses),
        cmocka_unit_test(test_demangled_names_are_short),
        cmocka_unit_test(test_ranges_nest),
        cmocka_unit_test(test_a_file_is_opened_once),
        cmocka_unit_test(test_damaged_files_are_survived),
    };
    return cmocka_run_group_tests_name("symbols", tests, make_directory, remove_directory);
}
