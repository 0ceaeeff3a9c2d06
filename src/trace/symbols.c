/* The symbols of a trace: which module an address or site belongs to, and a cache of the answers.
 * Modules are opened when first asked about. */
#define _GNU_SOURCE /* qsort_r */
#include "trace/symbols.h"
#include "base/alloc.h"

#include "trace/symbols_binary.h"
#include "trace/symbols_pool.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
    const struct hd_trace_module *recorded;
    const char *file_name;
    struct hd_binary *binary; /* NULL if it can't be had */
    bool opened;
};

struct site_entry {
    uint32_t site; /* 0: free (site 0 is never stored) */
    uint32_t frames;
    const struct hd_frame *frame;
};

struct variable_entry {
    uint64_t address, size;
    const char *text, *base;
    uint64_t offset;
    bool used;
};

struct hd_symbols {
    struct hd_pool *pool;
    const char *directory;
    struct module *module;
    uint32_t modules;
    uint32_t *by_site; /* modules in order of their site_base */
    struct site_entry *site;
    uint32_t sites, site_mask;
    struct variable_entry *variable;
    uint32_t variables, variable_mask;
    const char **warning;
    uint32_t warnings, warning_capacity;
};

static int compare_by_site(const void *left, const void *right, void *context) {
    const struct module *module = context;
    const uint32_t *a = left, *b = right;
    uint32_t base_a = module[*a].recorded->site_base, base_b = module[*b].recorded->site_base;
    return base_a != base_b ? (base_a > base_b) - (base_a < base_b) : (*a > *b) - (*a < *b);
}

static const char *current_directory(struct hd_pool *pool) {
    char path[PATH_MAX];
    if (!getcwd(path, sizeof path - 1) || !strcmp(path, "/")) return NULL;
    return hd_pool_text(pool, strcat(path, "/"));
}

struct hd_symbols *hd_symbols_open(const struct hd_trace *trace) {
    struct hd_symbols *symbols = hd_zalloc(1, sizeof *symbols);
    symbols->pool = hd_pool_new();
    symbols->directory = current_directory(symbols->pool);
    symbols->modules = trace->modules;
    symbols->module = hd_zalloc(trace->modules, sizeof *symbols->module);
    symbols->by_site = hd_zalloc(trace->modules, sizeof *symbols->by_site);
    for (uint32_t i = 0; i < trace->modules; i++) {
        struct module *module = &symbols->module[i];
        module->recorded = &trace->module[i];
        const char *path = trace->module[i].path ? trace->module[i].path : "";
        const char *slash = strrchr(path, '/');
        module->file_name = hd_pool_text(symbols->pool, slash ? slash + 1 : path);
        symbols->by_site[i] = i;
    }
    qsort_r(symbols->by_site, symbols->modules, sizeof *symbols->by_site, compare_by_site,
            symbols->module);
    symbols->site_mask = symbols->variable_mask = 1023;
    symbols->site = hd_zalloc(symbols->site_mask + 1, sizeof *symbols->site);
    symbols->variable = hd_zalloc(symbols->variable_mask + 1, sizeof *symbols->variable);
    return symbols;
}

void hd_symbols_close(struct hd_symbols *symbols) {
    if (!symbols) return;
    for (uint32_t i = 0; i < symbols->modules; i++) hd_binary_return(symbols->module[i].binary);
    free(symbols->module);
    free(symbols->by_site);
    free(symbols->site);
    free(symbols->variable);
    free(symbols->warning);
    hd_pool_free(symbols->pool);
    free(symbols);
}

uint32_t hd_symbols_warnings(const struct hd_symbols *symbols, const char *const **lines) {
    *lines = symbols->warning;
    return symbols->warnings;
}

bool hd_frame_is_system(const struct hd_frame *frame) {
    static const char *const module[] = {"libc.so.",        "libpthread.so.", "libpthread-",
                                         "libc-2.",         "ld-linux",       "ld-musl",
                                         "libheddle_rt.so", "libstdc++.so",   "libc++.so",
                                         "libc++abi.so",    "libgcc_s.so",    "libm.so."};
    static const char *const directory[] = {"/usr/include/", "/usr/lib/"};
    if (!frame->file) return true;
    for (size_t i = 0; i < sizeof directory / sizeof *directory; i++)
        if (!strncmp(frame->file, directory[i], strlen(directory[i]))) return true;
    for (size_t i = 0; i < sizeof module / sizeof *module; i++)
        if (!strncmp(frame->module, module[i], strlen(module[i]))) return true;
    return false;
}

/* ---- modules ------------------------------------------------------------------------------ */

static bool same_file(const struct hd_trace_module *a, const struct hd_trace_module *b) {
    return !strcmp(a->path, b->path) && a->build_id_length == b->build_id_length &&
           !memcmp(a->build_id, b->build_id, a->build_id_length);
}

static void open_module(struct hd_symbols *symbols, struct module *module) {
    const struct hd_trace_module *recorded = module->recorded;
    module->opened = true;
    /* the kernel's own page has no file */
    if (!recorded->path || recorded->path[0] != '/') return;
    if (recorded->build_id_length > sizeof recorded->build_id) return;
    for (uint32_t i = 0; i < symbols->modules; i++) {
        const struct module *other = &symbols->module[i];
        if (other != module && other->opened && !other->binary && other->recorded->path &&
            same_file(other->recorded, recorded))
            return; /* loaded twice: one warning is enough */
    }
    char reason[256];
    module->binary = hd_binary_borrow(symbols->directory, recorded->path, recorded->build_id,
                                      recorded->build_id_length, reason, sizeof reason);
    if (module->binary) return;
    symbols->warning = hd_pool_grow(symbols->warning, symbols->warnings, &symbols->warning_capacity,
                                    sizeof *symbols->warning);
    symbols->warning[symbols->warnings++] =
        hd_pool_format(symbols->pool, "%s %s; its functions and variables are shown as addresses",
                       recorded->path, reason);
}

static struct hd_binary *module_binary(struct hd_symbols *symbols, struct module *module) {
    if (!module->opened) open_module(symbols, module);
    return module->binary;
}

uint32_t hd_symbols_function(const char *path, const char *name, uint64_t *address) {
    char reason[256];
    struct hd_pool *pool = hd_pool_new();
    struct hd_binary *binary = hd_binary_open(pool, NULL, path, NULL, 0, reason, sizeof reason);
    uint32_t found = binary ? hd_binary_functions(binary, name, address) : 0;
    hd_binary_close(binary);
    hd_pool_free(pool);
    return found;
}

static uint64_t mix(uint64_t value) {
    value *= 0x9e3779b97f4a7c15ull;
    return value ^ value >> 29;
}

/* ---- sites -------------------------------------------------------------------------------- */

/* The call itself ends before its return address, so the byte before it names module and line. */
static struct module *module_of_site(struct hd_symbols *symbols, uint32_t site) {
    uint32_t lo = 0, hi = symbols->modules;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (symbols->module[symbols->by_site[middle]].recorded->site_base < site)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo) return NULL;
    struct module *module = &symbols->module[symbols->by_site[lo - 1]];
    const struct hd_trace_module *recorded = module->recorded;
    uint64_t distance = site - recorded->site_base;
    return distance <= recorded->text_hi - recorded->text_lo ? module : NULL;
}

/* In the module's file. */
static uint64_t address_of_site(const struct module *module, uint32_t site) {
    const struct hd_trace_module *recorded = module->recorded;
    return recorded->text_lo + (site - recorded->site_base) - recorded->bias;
}

static uint32_t resolve_site(struct hd_symbols *symbols, uint32_t site,
                             struct hd_frame frame[HD_FRAMES_MAX]) {
    frame[0] = (struct hd_frame){.function = "??", .module = "??"};
    struct module *module = site ? module_of_site(symbols, site) : NULL;
    if (!module) return 1;
    uint64_t address = address_of_site(module, site);
    struct hd_binary *binary = module_binary(symbols, module);
    hd_binaries_lock();
    uint32_t count = binary ? hd_binary_frames(binary, address - 1, frame) : 0;
    hd_binaries_unlock();
    if (count) return count;
    frame[0] =
        (struct hd_frame){.function = hd_pool_format(symbols->pool, "%s+0x%llx", module->file_name,
                                                     (unsigned long long)address),
                          .module = module->file_name};
    return 1;
}

static void grow_sites(struct hd_symbols *symbols) {
    uint32_t mask = symbols->site_mask * 2 + 1;
    struct site_entry *table = hd_zalloc((size_t)mask + 1, sizeof *table);
    for (uint32_t i = 0; i <= symbols->site_mask; i++) {
        if (!symbols->site[i].frame) continue;
        uint32_t at = (uint32_t)mix(symbols->site[i].site) & mask;
        while (table[at].frame) at = (at + 1) & mask;
        table[at] = symbols->site[i];
    }
    free(symbols->site);
    symbols->site = table;
    symbols->site_mask = mask;
}

uint32_t hd_symbols_site(struct hd_symbols *symbols, uint32_t site,
                         const struct hd_frame **frames) {
    uint32_t at = (uint32_t)mix(site) & symbols->site_mask;
    for (; symbols->site[at].frame; at = (at + 1) & symbols->site_mask)
        if (symbols->site[at].site == site) {
            *frames = symbols->site[at].frame;
            return symbols->site[at].frames;
        }
    struct hd_frame frame[HD_FRAMES_MAX];
    uint32_t count = resolve_site(symbols, site, frame);
    struct hd_frame *kept = hd_pool_alloc(symbols->pool, count * sizeof *kept);
    memcpy(kept, frame, count * sizeof *kept);
    symbols->site[at] = (struct site_entry){site, count, kept};
    if (++symbols->sites > symbols->site_mask / 2) grow_sites(symbols);
    *frames = kept;
    return count;
}

/* ---- variables ---------------------------------------------------------------------------- */

/* Of modules that were loaded at one place one after the other, the last. */
static struct module *module_of_data(struct hd_symbols *symbols, uint64_t address) {
    for (uint32_t i = symbols->modules; i-- > 0;) {
        const struct hd_trace_module *recorded = symbols->module[i].recorded;
        if (recorded->image_lo <= address && address < recorded->image_hi)
            return &symbols->module[i];
    }
    return NULL;
}

static void resolve_variable(struct hd_symbols *symbols, struct variable_entry *entry) {
    struct module *module = module_of_data(symbols, entry->address);
    if (!module) return;
    uint64_t address = entry->address - module->recorded->bias;
    struct hd_binary *binary = module_binary(symbols, module);
    hd_binaries_lock();
    if (binary)
        entry->text =
            hd_binary_variable(binary, address, entry->size, &entry->base, &entry->offset);
    hd_binaries_unlock();
    if (entry->text) return;
    entry->text =
        hd_pool_format(symbols->pool, "%s+0x%llx", module->file_name, (unsigned long long)address);
    entry->base = module->file_name;
    entry->offset = address;
}

static uint32_t variable_hash(uint64_t address, uint64_t size) {
    return (uint32_t)mix(address ^ size << 48);
}

static void grow_variables(struct hd_symbols *symbols) {
    uint32_t mask = symbols->variable_mask * 2 + 1;
    struct variable_entry *table = hd_zalloc((size_t)mask + 1, sizeof *table);
    for (uint32_t i = 0; i <= symbols->variable_mask; i++) {
        const struct variable_entry *entry = &symbols->variable[i];
        if (!entry->used) continue;
        uint32_t at = variable_hash(entry->address, entry->size) & mask;
        while (table[at].used) at = (at + 1) & mask;
        table[at] = *entry;
    }
    free(symbols->variable);
    symbols->variable = table;
    symbols->variable_mask = mask;
}

const char *hd_symbols_variable(struct hd_symbols *symbols, uint64_t address, uint64_t size,
                                const char **base, uint64_t *offset) {
    uint32_t at = variable_hash(address, size) & symbols->variable_mask;
    while (symbols->variable[at].used &&
           (symbols->variable[at].address != address || symbols->variable[at].size != size))
        at = (at + 1) & symbols->variable_mask;
    struct variable_entry entry = symbols->variable[at];
    if (!entry.used) {
        entry = (struct variable_entry){.address = address, .size = size, .used = true};
        resolve_variable(symbols, &entry);
        symbols->variable[at] = entry;
        if (++symbols->variables > symbols->variable_mask / 2) grow_variables(symbols);
    }
    if (base) {
        *base = entry.base;
        if (offset) *offset = entry.offset;
    }
    return entry.text;
}

const char *hd_symbols_local(struct hd_symbols *symbols, uint32_t site, int64_t offset,
                             uint64_t size, bool inside) {
    struct module *module = site ? module_of_site(symbols, site) : NULL;
    struct hd_binary *binary = module ? module_binary(symbols, module) : NULL;
    if (!binary) return NULL;
    const char *function;
    hd_binaries_lock();
    const char *name =
        hd_binary_local(binary, address_of_site(module, site) - 1, offset, size, &function);
    hd_binaries_unlock();
    if (name || !function || !inside) return name;
    return hd_pool_format(symbols->pool, "a local of %s", function);
}

/* ---- heap memory -------------------------------------------------------------------------- */

static const struct hd_pointee *keep(struct hd_symbols *symbols, const struct hd_pointee *type) {
    struct hd_pointee *kept = hd_pool_alloc(symbols->pool, sizeof *kept);
    *kept = *type;
    return kept;
}

const struct hd_pointee *hd_symbols_allocated(struct hd_symbols *symbols, uint32_t site,
                                              uint64_t bytes, bool *returned) {
    struct module *module = site ? module_of_site(symbols, site) : NULL;
    struct hd_binary *binary = module ? module_binary(symbols, module) : NULL;
    struct hd_pointee type;
    *returned = false;
    if (!binary) return NULL;
    hd_binaries_lock();
    bool known = hd_binary_allocated(binary, address_of_site(module, site), bytes, &type, returned);
    hd_binaries_unlock();
    return known ? keep(symbols, &type) : NULL;
}

const struct hd_pointee *hd_symbols_accessed(struct hd_symbols *symbols, uint32_t site,
                                             uint64_t size, bool write, uint64_t *offset) {
    struct module *module = site ? module_of_site(symbols, site) : NULL;
    struct hd_binary *binary = module ? module_binary(symbols, module) : NULL;
    struct hd_pointee type;
    if (!binary) return NULL;
    hd_binaries_lock();
    bool known =
        hd_binary_accessed(binary, address_of_site(module, site), size, write, &type, offset);
    hd_binaries_unlock();
    return known ? keep(symbols, &type) : NULL;
}

const char *hd_pointee_name(const struct hd_pointee *pointee) { return pointee->name; }

const char *hd_symbols_text(struct hd_symbols *symbols, uint64_t address) {
    struct module *module = module_of_data(symbols, address);
    struct hd_binary *binary = module ? module_binary(symbols, module) : NULL;
    if (!binary) return NULL;
    hd_binaries_lock();
    const char *text = hd_binary_text(binary, address - module->recorded->bias);
    hd_binaries_unlock();
    return text;
}
