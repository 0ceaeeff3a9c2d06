/* A fixture tells test_symbols.c what it should find, by running: each line of its output is a fact
 * about itself that the compiler knew.
 *   module PATH BIAS TEXT_LO TEXT_HI IMAGE_LO IMAGE_HI
 *   variable ADDRESS SIZE EXPRESSION
 *   site PC FUNCTION FILE LINE [FUNCTION LINE]...   innermost first, inlined callers after it */
#ifndef FIXTURE_H
#define FIXTURE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMED(object, size, text) \
    printf("variable %p %zu %s\n", (void *)(object), (size_t)(size), text)
#define VARIABLE(expression) NAMED(&(expression), sizeof(expression), #expression)

static int print_module(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    unsigned long text_lo = -1ul, text_hi = 0, image_lo = -1ul, image_hi = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        unsigned long lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        unsigned long hi = lo + info->dlpi_phdr[i].p_memsz;
        if (lo < image_lo) image_lo = lo;
        if (hi > image_hi) image_hi = hi;
        if (!(info->dlpi_phdr[i].p_flags & PF_X)) continue;
        if (lo < text_lo) text_lo = lo;
        if (hi > text_hi) text_hi = hi;
    }
    char self[4096], *path = NULL;
    if (!info->dlpi_name[0]) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        if (length < 0) abort();
        self[length] = 0;
        path = self;
    } else {
        path = realpath(info->dlpi_name, NULL);
    }
    printf("module %s %lx %lx %lx %lx %lx\n", path ? path : info->dlpi_name,
           (unsigned long)info->dlpi_addr, text_lo, text_hi, image_lo, image_hi);
    if (path != self) free(path);
    return 0;
}
static inline void print_modules(void) { dl_iterate_phdr(print_module, NULL); }
#endif
