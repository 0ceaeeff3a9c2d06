/* Hooks in the compilers' assembly (toolchain/hooks.c): which become what, and which form a block.
 */
#include "base/alloc.h"
#include "toolchain/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The functions that are called, a word each, for a text of lines; "-" if nothing was changed. */
static char *functions(const char *text) {
    size_t bytes;
    char *changed = hd_inline_hooks(text, strlen(text), &bytes);
    char *words = hd_zalloc(1, 4096), *to = words;
    if (changed == NULL) return strcpy(words, "-");
    changed = hd_realloc(changed, bytes + 1, 1);
    changed[bytes] = '\0';
    for (char *line = strtok(changed, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, "__heddle_branched") != NULL) to += sprintf(to, "passed ");
        static const char *const role[] = {"access", "first", "next", "last", "wide"};
        unsigned offset;
        if (sscanf(line, "\tcall\t__heddle_thunks+%u", &offset) == 1)
            to += sprintf(to, "%s ", role[offset / 16 / 8]);
        else if (strstr(line, "call") != NULL)
            to += sprintf(to, "call ");
    }
    if (to > words) to[-1] = '\0';
    free(changed);
    return words;
}

static void expect(const char *text, const char *wanted) {
    char *words = functions(text);
    if (strcmp(words, wanted) != 0) fail_msg("'%s' gave '%s', not '%s'", text, words, wanted);
    free(words);
}

#define READ4 "\tcall\t__tsan_read4\n"
#define WRITE8 "\tcall\t*__tsan_write8@GOTPCREL(%rip)\n"
#define BRANCH "\tcall\t__sanitizer_cov_trace_pc\n"

static void calls_in_all_forms(void **unused) {
    (void)unused;
    expect("\tcall\t__tsan_read4\n", "access");
    expect("\tcall\t__tsan_read4@PLT\n", "access");
    expect("\tcallq\t__tsan_write1@PLT\n", "access");
    expect("\tcallq\t*__tsan_write2@GOTPCREL(%rip)\n", "access");
    expect(BRANCH, "passed");
    expect("\tcallq\t__sanitizer_cov_trace_pc@PLT\n", "passed");
    /* what has no place of its own stays as it is */
    expect("\tcall\t__tsan_read4_pc\n", "-");
    expect("\tcall\t__tsan_volatile_read4\n", "-");
    expect("\tcall\t__tsan_read_range\n", "-");
    expect("\tcall\t__tsan_func_entry\n", "-");
    expect("\tcall\t__tsan_read3\n", "-");
    expect("\tcall\t__tsan_read32\n", "-");
    expect("\tcall\t*__tsan_read4(%rip)\n", "-");
    expect("\tjmp\t__tsan_read4\n", "-");
    expect("# call __tsan_read4\n", "-");
    expect("", "-");
    expect("\tcall\t__tsan_read4", "-"); /* cut short */
}

static void straight_code_is_a_block(void **unused) {
    (void)unused;
    expect(READ4 WRITE8, "first last");
    expect(READ4 "\tmovl\t(%rbx), %eax\n" WRITE8 "\taddl\t$1, %eax\n" READ4, "first next last");
    expect(READ4 "\t.loc 1 2 3\n\t.cfi_offset 3, -24\n\n" WRITE8, "first last");
    /* labels for debuggers */
    expect(READ4 ".LVL12:\n" WRITE8, "first last");
    expect(READ4 ".LBB7:\n.LBE7:\n" WRITE8, "first last");
    expect(READ4 ".LBI9:\n.LBB9:\n" WRITE8, "first last");
    expect(READ4 ".LEHB3:\n" WRITE8, "first last");
    expect(READ4 ".Ltmp9:\n" WRITE8, "first last");
}

static void control_ends_a_block(void **unused) {
    (void)unused;
    static const char *const line[] = {".L3:\n",
                                       ".LBB2_5:\n",
                                       "function:\n",
                                       "1:\n",
                                       "\tjne\t.L3\n",
                                       "\tjmp\t*%rax\n",
                                       "\tret\n",
                                       "\trep ret\n",
                                       "\tretq\n",
                                       "\tcall\tmalloc@PLT\n",
                                       "\tcallq\t*%rax\n",
                                       "\tcall\t__tsan_func_exit\n",
                                       "\tcall\t__tsan_volatile_read4\n",
                                       "\tsyscall\n",
                                       "\tloop\t.L3\n",
                                       "#APP\n",
                                       "\t#APP\n",
                                       "\t.text\n",
                                       "\t.section\t.text.cold\n"};
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        char text[256], *words;
        snprintf(text, sizeof text, "%s%s%s", READ4, line[i], WRITE8);
        words = functions(text);
        if (strstr(words, "first") != NULL) fail_msg("%s goes through a block", line[i]);
        free(words);
    }
    expect(READ4 WRITE8 BRANCH READ4 WRITE8, "first last passed first last");
}

static void wide_ones_are_alone(void **unused) {
    (void)unused;
    expect("\tcall\t__tsan_read16\n", "wide");
    expect(READ4 "\tcall\t__tsan_write16\n" READ4 WRITE8, "access wide first last");
    expect("\tcall\t__tsan_unaligned_read4\n\tcall\t__tsan_unaligned_write8\n", "wide wide");
}

/* Each has its words of data: link 0, kind and size, its place in the block. */
static void data_of_hooks(void **unused) {
    (void)unused;
    static const char text[] = READ4 BRANCH READ4 WRITE8;
    size_t bytes;
    char *changed = hd_inline_hooks(text, strlen(text), &bytes);
    changed = hd_realloc(changed, bytes + 1, 1);
    changed[bytes] = '\0';
    const char *data = strstr(changed, "heddle_hooks");
    assert_non_null(data);
    assert_non_null(strstr(data, ".Lheddle_hook0:\n\t.long\t0, 1025\n"));
    assert_null(strstr(data, ".Lheddle_hook1:"));
    char second[64], third[64];
    snprintf(second, sizeof second, ".Lheddle_hook2:\n\t.long\t0, %u\n", 1025u | 1u << 24);
    snprintf(third, sizeof third, ".Lheddle_hook3:\n\t.long\t0, %u\n", 2050u | 1u << 16);
    assert_non_null(strstr(data, second));
    assert_non_null(strstr(data, third));
    free(changed);
}

/* A very long block is cut. */
static void long_blocks(void **unused) {
    (void)unused;
    char text[4096] = "", *words;
    for (int i = 0; i < 100; i++) strcat(text, READ4);
    words = functions(text);
    assert_non_null(strstr(words, "next last first next"));
    free(words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_all_forms),   cmocka_unit_test(straight_code_is_a_block),
        cmocka_unit_test(control_ends_a_block), cmocka_unit_test(wide_ones_are_alone),
        cmocka_unit_test(data_of_hooks),        cmocka_unit_test(long_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
