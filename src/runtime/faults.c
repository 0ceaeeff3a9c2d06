/* Crashes inside the runtime itself: they are heddle's fault, and the program must not be blamed.
 * The signals that a fault raises are looked at before the program's own handler, or death. What is
 * found is left in the session and said on standard error. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char __start_rt_program[] __attribute__((visibility("hidden")));
extern const char __stop_rt_program[] __attribute__((visibility("hidden")));

bool rt_is_fault(int number) {
    /* How a process below the program ends, nobody else can tell the recorder. */
    if (number == SIGABRT) return rt.options.process > 0;
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
}

#define NEAR_STACK (256u * 1024u)

/* Code of ours that uses pointers of the program's may fault because of them, and all code when the
 * stack is used up. */
static bool is_ours(const siginfo_t *info, uintptr_t pc, uintptr_t sp) {
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code <= 0) return false; /* sent by somebody, not raised by an instruction */
    if (!rt_is_runtime_code(pc)) return false;
    if (pc - (uintptr_t)__start_rt_program < (size_t)(__stop_rt_program - __start_rt_program))
        return false;
    return address - (sp - NEAR_STACK) > 2 * NEAR_STACK;
}

static char *put_text(char *to, const char *text) {
    while (*text != '\0') *to++ = *text++;
    return to;
}
static char *put_hex(char *to, uint64_t value) {
    int digits = 1;
    while (digits < 16 && value >> 4 * digits) digits++;
    while (digits-- > 0) *to++ = "0123456789abcdef"[value >> 4 * digits & 15];
    return to;
}

void rt_fault(int number, const void *signal_info, const void *context) {
    const siginfo_t *info = signal_info;
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP], sp = (uintptr_t)registers[REG_RSP];
    struct hd_wire_session *session = rt.session;
    if (session == NULL || session->pid != getpid() || session->fault_signal != 0) return;
    if (!is_ours(info, pc, sp)) return;
    session->fault_pc = pc - (uintptr_t)__ehdr_start;
    session->fault_address = (uintptr_t)info->si_addr;
    session->fault_signal = (uint32_t)number;
    char text[320], *end = put_text(text, "heddle's own runtime crashed (");
    end = put_text(end, number == SIGSEGV  ? "SIGSEGV"
                        : number == SIGBUS ? "SIGBUS"
                        : number == SIGFPE ? "SIGFPE"
                                           : "SIGILL");
    end = put_hex(put_text(end, " at libheddle_rt.so+0x"), session->fault_pc);
    end = put_hex(put_text(end, ", address 0x"), session->fault_address);
    end = put_text(end, "): this is a bug of heddle, not of the program. Please send this line, "
                        "the output of heddle --version, and the program if you can");
    *end = '\0';
    rt_message(text);
}
