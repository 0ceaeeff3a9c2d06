/* The way from inline assembly into the runtime. `heddle cc` puts a call of __heddle_assembly in
 * front of instructions that synchronise (toolchain/inline_assembly.c); the piece around it does
 * not expect a call, so every register, the flags and the vector state are as before when it
 * returns. */
#include "runtime/rt.h"

#include <cpuid.h>

#pragma GCC visibility push(hidden)
uint32_t rt_has_xsave;
#pragma GCC visibility pop

__attribute__((constructor)) static void find_xsave(void) {
    unsigned a, b, c, d;
    rt_has_xsave = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) != 0;
}

/* On entry %rdi is the address; the stack has the return address, the code and the program's %rdi.
 * The sixteen registers are stored in the order of their numbers, which is that of the machine:
 * a, c, d, b, sp, bp, si, di, 8 to 15. x87, SSE, AVX and AVX-512 are components 0, 1, 2, 5, 6, 7 of
 * the state that xsave keeps: 2,688 bytes; its header, at 512, must be zero before. */
__asm__(".text\n"
        ".globl __heddle_assembly\n"
        ".type __heddle_assembly, @function\n"
        "__heddle_assembly:\n"
        "    pushfq\n"
        "    cld\n"
        "    leaq -128(%rsp), %rsp\n"
        "    movq %rax, 0(%rsp)\n"
        "    movq %rcx, 8(%rsp)\n"
        "    movq %rdx, 16(%rsp)\n"
        "    movq %rbx, 24(%rsp)\n"
        "    movq %rbp, 40(%rsp)\n"
        "    movq %rsi, 48(%rsp)\n"
        "    movq %r8, 64(%rsp)\n"
        "    movq %r9, 72(%rsp)\n"
        "    movq %r10, 80(%rsp)\n"
        "    movq %r11, 88(%rsp)\n"
        "    movq %r12, 96(%rsp)\n"
        "    movq %r13, 104(%rsp)\n"
        "    movq %r14, 112(%rsp)\n"
        "    movq %r15, 120(%rsp)\n"
        "    movq 152(%rsp), %rax\n" /* the program's %rdi: 128, flags, return, code */
        "    movq %rax, 56(%rsp)\n"
        "    movq %rsp, %rbx\n" /* kept by the function that is called */
        "    movl 144(%rsp), %esi\n"
        "    movq 136(%rsp), %rdx\n"
        "    movq %rsp, %rcx\n"
        "    leaq -2752(%rsp), %rsp\n"
        "    andq $-64, %rsp\n"
        "    movl rt_has_xsave(%rip), %eax\n"
        "    testl %eax, %eax\n"
        "    jz 1f\n"
        "    xorl %eax, %eax\n"
        "    movq %rax, 512(%rsp)\n"
        "    movq %rax, 520(%rsp)\n"
        "    movq %rax, 528(%rsp)\n"
        "    movq %rax, 536(%rsp)\n"
        "    movq %rax, 544(%rsp)\n"
        "    movq %rax, 552(%rsp)\n"
        "    movq %rax, 560(%rsp)\n"
        "    movq %rax, 568(%rsp)\n"
        "    movq %rdx, %rbp\n"
        "    xorl %edx, %edx\n"
        "    movl $0xe7, %eax\n"
        "    xsave64 (%rsp)\n"
        "    movq %rbp, %rdx\n"
        "    jmp 2f\n"
        "1:  fxsave64 (%rsp)\n"
        "2:  call rt_assembly\n"
        "    movl rt_has_xsave(%rip), %eax\n"
        "    testl %eax, %eax\n"
        "    jz 3f\n"
        "    xorl %edx, %edx\n"
        "    movl $0xe7, %eax\n"
        "    xrstor64 (%rsp)\n"
        "    jmp 4f\n"
        "3:  fxrstor64 (%rsp)\n"
        "4:  movq %rbx, %rsp\n"
        "    movq 0(%rsp), %rax\n"
        "    movq 8(%rsp), %rcx\n"
        "    movq 16(%rsp), %rdx\n"
        "    movq 24(%rsp), %rbx\n"
        "    movq 40(%rsp), %rbp\n"
        "    movq 48(%rsp), %rsi\n"
        "    movq 64(%rsp), %r8\n"
        "    movq 72(%rsp), %r9\n"
        "    movq 80(%rsp), %r10\n"
        "    movq 88(%rsp), %r11\n"
        "    leaq 128(%rsp), %rsp\n"
        "    popfq\n"
        "    ret\n"
        ".size __heddle_assembly, .-__heddle_assembly\n");
