/* Code addresses made small: the table of loaded modules, and the site number of a return address.
 */
#define _GNU_SOURCE
#include "runtime/marks.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct module {
    uintptr_t lo, hi;
    uint32_t base;
    bool gone;   /* unloaded: its addresses may be another module's now */
    bool hooked; /* linked with the runtime: it has hooks */
};

static struct module module[HD_MAX_MODULES];
static uint32_t modules;
static uint32_t next_base = 16;
static struct rt_spin lock;
static uintptr_t own_lo, own_hi; /* the runtime's own code */
static struct {
    uintptr_t lo, hi;
} libc_code, loader_code, openmp_code; /* the C library, the dynamic loader, libgomp */
static unsigned scan_mark[HD_MAX_MODULES], scan_round;

static uint32_t string_add(struct hd_wire_session *s, const char *text) {
    size_t length = strlen(text) + 1;
    if (s->string_bytes + length > HD_STRINGS_BYTES) return 0;
    uint32_t at = s->string_bytes;
    memcpy(s->strings + at, text, length);
    s->string_bytes += (uint32_t)length;
    return at;
}

static void read_build_id(const struct dl_phdr_info *info, struct hd_wire_module *out) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_NOTE) continue;
        const char *at = (const char *)(info->dlpi_addr + header->p_vaddr);
        const char *end = at + header->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *name = at + sizeof *note;
            const char *value = name + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0 && note->n_descsz <= sizeof out->build_id) {
                out->build_id_length = note->n_descsz;
                memcpy(out->build_id, value, note->n_descsz);
                return;
            }
            at = value + ((note->n_descsz + 3) & ~3u);
        }
    }
}

static bool is_hooked(const struct dl_phdr_info *info) {
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (entry == NULL) return true;
    const char *strings = NULL;
    for (const ElfW(Dyn) *e = entry; e->d_tag != DT_NULL; e++)
        if (e->d_tag == DT_STRTAB) strings = (const char *)e->d_un.d_ptr;
    if ((uintptr_t)strings < info->dlpi_addr) return true; /* not relocated: cannot tell */
    for (const ElfW(Dyn) *e = entry; e->d_tag != DT_NULL; e++)
        if (e->d_tag == DT_NEEDED && strstr(strings + e->d_un.d_val, "libheddle_rt") != NULL)
            return true;
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *first) {
    (void)size;
    uintptr_t lo = UINTPTR_MAX, hi = 0, image_lo = UINTPTR_MAX, image_hi = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;
        if (from < image_lo) image_lo = from;
        if (to > image_hi) image_hi = to;
        if (!(header->p_flags & PF_X)) continue;
        if (from < lo) lo = from;
        if (to > hi) hi = to;
    }
    bool is_first = *(bool *)first;
    *(bool *)first = false;
    if (lo >= hi) return 0;
    if ((uintptr_t)visit >= lo && (uintptr_t)visit < hi) own_lo = lo, own_hi = hi;
    uintptr_t in_libc = (uintptr_t)REAL(printf);
    if (in_libc >= lo && in_libc < hi) libc_code.lo = lo, libc_code.hi = hi;
    if (info->dlpi_addr == getauxval(AT_BASE) && info->dlpi_addr != 0)
        loader_code.lo = lo, loader_code.hi = hi;
    if (strstr(info->dlpi_name, "/libgomp.so") != NULL) openmp_code.lo = lo, openmp_code.hi = hi;
    const char *file = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;
    bool allocates = file != NULL && (strstr(file, "malloc") != NULL || strstr(file, "hoard"));
    for (uint32_t i = 0; i < modules; i++) {
        if (module[i].gone || module[i].lo != lo || module[i].hi != hi) continue;
        scan_mark[i] = scan_round;
        return 0;
    }
    if (modules == HD_MAX_MODULES || hi - lo > HD_SITE_LIMIT - next_base) return 0;
    uint32_t i = modules;
    rt_unmark(image_lo, image_hi - image_lo); /* the loader maps it out of our sight */
    bool hooked = is_hooked(info);
    module[i] = (struct module){lo, hi, next_base, false, hooked};
    if (hooked && allocates) rt.allocator_lo = lo, rt.allocator_bytes = hi - lo;
    scan_mark[i] = scan_round;
    next_base += (uint32_t)((hi - lo + 15) & ~(uintptr_t)15);
    modules = i + 1;
    struct hd_wire_session *s = rt.session;
    if (s == NULL) return 0;
    struct hd_wire_module *out = &s->module[i];
    *out = (struct hd_wire_module){.text_lo = lo,
                                   .text_hi = hi,
                                   .bias = info->dlpi_addr,
                                   .image_lo = image_lo,
                                   .image_hi = image_hi,
                                   .site_base = module[i].base};
    char path[4096];
    const char *name = info->dlpi_name;
    if (is_first || name == NULL || name[0] == '\0') {
        ssize_t length = is_first ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
        path[length > 0 ? length : 0] = '\0';
        name = length > 0 ? path : "[unnamed]";
    } else if (name[0] != '/' && strchr(name, '/') != NULL && getcwd(path, sizeof path / 2)) {
        strcat(path, "/");
        strncat(path, name, sizeof path / 2 - 2);
        name = path;
    }
    out->path = string_add(s, name);
    rt_force_module(name, module[i].base);
    read_build_id(info, out);
    __atomic_store_n(&s->module_count, i + 1, __ATOMIC_RELEASE);
    return 0;
}

/* Enters modules that were loaded since the last scan. */
void rt_modules_scan(void) {
    rt_spin_lock(&lock);
    bool first = true;
    scan_round++;
    dl_iterate_phdr(visit, &first);
    rt_spin_unlock(&lock);
}

/* After dlclose: modules that are gone lose their addresses, and every thread forgets the module of
 * its last site. */
void rt_modules_closed(void) {
    rt_modules_scan();
    rt_spin_lock(&lock);
    for (uint32_t i = 0; i < modules; i++)
        if (scan_mark[i] != scan_round) module[i].gone = true;
    rt_spin_unlock(&lock);
    rt_blocks_closed();
    for (uint32_t i = 0; i < rt.threads; i++) {
        struct rt_thread *t = rt.slot[i].thread;
        if (t != NULL) __atomic_store_n(&t->text_size, 0, __ATOMIC_RELAXED);
    }
}

static uint32_t find(struct rt_thread *t, uintptr_t pc) {
    uint32_t count = __atomic_load_n(&modules, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct module *m = &module[i];
        if (m->gone || pc < m->lo || pc >= m->hi) continue;
        t->text_lo = m->lo;
        t->site_base = m->base;
        t->text_size = m->hi - m->lo;
        return m->base + (uint32_t)(pc - m->lo);
    }
    return 0;
}

uint32_t rt_site_known(uintptr_t pc) { return find(&rt_self, pc); }

RT_NOINLINE uint32_t rt_site_slow(struct rt_thread *t, uintptr_t pc) {
    uint32_t site = find(t, pc);
    if (site != 0 || pc == 0) return site;
    static uintptr_t unknown; /* code without a module (a JIT): do not scan for it every time */
    if (__atomic_load_n(&unknown, __ATOMIC_RELAXED) == pc >> 12) return 0;
    t->busy++;
    t->inside++;
    int saved = errno;
    rt_modules_scan();
    errno = saved;
    t->inside--;
    t->busy--;
    site = find(t, pc);
    if (site == 0) __atomic_store_n(&unknown, pc >> 12, __ATOMIC_RELAXED);
    return site;
}

bool rt_is_openmp(uintptr_t pc) { return pc - openmp_code.lo < openmp_code.hi - openmp_code.lo; }

bool rt_is_loader(uintptr_t pc) { return pc - loader_code.lo < loader_code.hi - loader_code.lo; }
bool rt_is_c_library(uintptr_t pc) {
    return pc - libc_code.lo < libc_code.hi - libc_code.lo || rt_is_loader(pc);
}
bool rt_is_hooked(uintptr_t pc) {
    for (uint32_t i = 0; i < modules; i++)
        if (!module[i].gone && pc >= module[i].lo && pc < module[i].hi) return module[i].hooked;
    return false;
}
bool rt_is_runtime_code(uintptr_t pc) { return pc >= own_lo && pc < own_hi; }

void rt_modules_unlock(void) { lock.word = 0; }

void rt_modules_forget(void) {
    modules = 0;
    next_base = 16;
}
