/* The decoder of instructions against objdump: the code of heddle itself, instruction by
 * instruction. What is known must have the right length, target, memory and direction. */
#include "trace/symbols_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "  4011a6:	48 8b 45 f8          	mov    -0x8(%rbp),%rax" */
static bool read_line(const char *line, uint64_t *address, uint8_t code[16], size_t *bytes,
                      const char **text) {
    char *end;
    *address = strtoull(line, &end, 16);
    if (end == line || end[0] != ':' || end[1] != '\t') return false;
    *bytes = 0;
    for (const char *at = end + 2; *bytes < 16; at = end) {
        unsigned long byte = strtoul(at, &end, 16);
        if (end == at) break;
        code[(*bytes)++] = (uint8_t)byte;
        if (strspn(end, " ") > 1 || *end == '\t' || end[1] == '\t') break;
    }
    *text = strrchr(line, '\t');
    return *bytes > 0 && *text != NULL;
}

/* Whether the text has the registers of memory that the decoder found. */
static void check_memory(const struct hd_instruction *instruction, const char *text) {
    static const char *const names[HD_REGISTERS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                    "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                    "r12", "r13", "r14", "r15"};
    if (instruction->base >= HD_REGISTERS) return;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "(%%%s", names[instruction->base]);
    const char *at = strstr(text, wanted);
    if (at == NULL) fail_msg("base %s: %s", names[instruction->base], text);
    /* the displacement stands before the parenthesis */
    const char *start = at;
    while (start > text && strchr("-0x123456789abcdef", start[-1]) != NULL) start--;
    long long displacement =
        *start == '-' ? -strtoll(start + 1, NULL, 16) : strtoll(start, NULL, 16);
    if (instruction->kind != HD_DOES_ADD && displacement != instruction->displacement)
        fail_msg("displacement %lld: %s", (long long)instruction->displacement, text);
}

static void check_control(const struct hd_instruction *instruction, const char *text) {
    const char *word = text + 1;
    bool call = strncmp(word, "call", 4) == 0, back = strncmp(word, "ret", 3) == 0;
    bool jump = strncmp(word, "jmp", 3) == 0, branch = !jump && *word == 'j';
    assert_int_equal(instruction->kind == HD_DOES_CALL, call);
    assert_int_equal(instruction->kind == HD_DOES_RETURN, back);
    assert_int_equal(instruction->kind == HD_DOES_JUMP, jump);
    assert_int_equal(instruction->kind == HD_DOES_BRANCH, branch);
    if (instruction->target == 0) return;
    char target[32];
    snprintf(target, sizeof target, " %llx ", (unsigned long long)instruction->target);
    if (strstr(text, target) == NULL) fail_msg("target %s: %s", target, text);
}

/* Plain moves, whose operands say in which direction. */
static void check_direction(const struct hd_instruction *instruction, const char *text) {
    const char *comma = strrchr(text, ','), *memory = strchr(text, '(');
    if (strncmp(text + 1, "mov", 3) != 0 || memory == NULL || comma == NULL ||
        instruction->memory_bytes == 0)
        return;
    /* a comma inside of the parentheses is none between operands */
    const char *close = strchr(memory, ')');
    bool last = close != NULL && strchr(close, ',') == NULL;
    if (instruction->writes != last || instruction->reads == last) fail_msg("direction: %s", text);
}

static void same_as_objdump(void **state) {
    (void)state;
    char command[5000], *line = NULL;
    const char *self = getenv("HEDDLE");
    if (self == NULL) self = "/proc/self/exe";
    snprintf(command, sizeof command, "objdump -d -w -j .text '%s' 2>/dev/null", self);
    FILE *lines = popen(command, "r");
    assert_non_null(lines);
    size_t room = 0, all = 0, known = 0;
    while (getline(&line, &room, lines) > 0 && all < 200000) {
        uint64_t address;
        uint8_t code[16];
        size_t bytes;
        const char *text;
        struct hd_instruction instruction;
        if (!read_line(line, &address, code, &bytes, &text)) continue;
        all++;
        if (!hd_instruction_read(code, bytes, address, &instruction)) continue;
        known++;
        if (instruction.length != bytes) fail_msg("%u bytes: %s", instruction.length, line);
        check_memory(&instruction, text);
        check_control(&instruction, text);
        check_direction(&instruction, text);
        /* what is cut off is not known */
        assert_false(hd_instruction_read(code, bytes - 1, address, &instruction));
    }
    free(line);
    pclose(lines);
    if (all < 10000) {
        print_message("no objdump: nothing to compare with\n");
        skip();
    }
    print_message("%zu instructions, %zu known\n", all, known);
    assert_true(known > all / 100 * 98);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_objdump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
