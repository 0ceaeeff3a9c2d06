/* Opens an executable or library for the symbols code: checks that it is the recorded one, finds
 * its separate debug file if it has one, and reads its symbol table. */
#include "base/alloc.h"
#include "trace/symbols_binary.h"
#include "trace/symbols_demangle.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"
#define LONGEST_TEXT 4096

/* A path out of a trace may name anything: never block on it, and take only regular files. */
static int open_regular(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    struct stat status;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode)) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* Plain reads instead of a mapping, so that a file that shrinks under us can't raise a signal. */
static Elf *open_elf(int fd) {
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF) return elf;
    if (elf) elf_end(elf);
    return NULL;
}

static Elf_Scn *find_section(Elf *elf, const char *name) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names)) return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS) continue;
        const char *its_name = elf_strptr(elf, names, header.sh_name);
        if (its_name && !strcmp(its_name, name)) return section;
    }
    return NULL;
}

static bool has_dwarf(Elf *elf) {
    return find_section(elf, ".debug_info") || find_section(elf, ".zdebug_info");
}

/* libdw takes for granted that the strings of a string section end inside it. */
bool hd_strings_are_closed(Elf *elf) {
    static const char *const name[] = {".debug_str", ".debug_line_str", ".debug_str.dwo",
                                       ".debug_line_str.dwo", ".zdebug_str"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        Elf_Scn *section = find_section(elf, name[i]);
        Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_size && ((const char *)data->d_buf)[data->d_size - 1]) return false;
    }
    return true;
}

static uint32_t file_crc(int fd) {
    uint32_t crc = UINT32_MAX;
    unsigned char buffer[16384];
    off_t at = 0;
    for (ssize_t got; (got = pread(fd, buffer, sizeof buffer, at)) > 0; at += got)
        for (ssize_t i = 0; i < got; i++) {
            crc ^= buffer[i];
            for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    return ~crc;
}

/* Takes the file as this binary's debug file if it is the one: by build id, or else by checksum. */
static bool try_debug_file(struct hd_binary *binary, const char *path, const void *build_id,
                           ssize_t build_id_length, const GElf_Word *crc) {
    int fd = open_regular(path);
    if (fd < 0) return false;
    Elf *elf = open_elf(fd);
    if (elf && has_dwarf(elf)) {
        const void *its_id;
        ssize_t its_length = dwelf_elf_gnu_build_id(elf, &its_id);
        bool same = build_id_length > 0
                        ? its_length == build_id_length && !memcmp(its_id, build_id, its_length)
                        : crc && file_crc(fd) == *crc;
        if (same) {
            binary->debug_fd = fd;
            binary->debug_elf = elf;
            return true;
        }
    }
    if (elf) elf_end(elf);
    close(fd);
    return false;
}

static void find_debug_file(struct hd_binary *binary) {
    char path[4096];
    const void *id;
    ssize_t length = dwelf_elf_gnu_build_id(binary->elf, &id);
    if (length > 1 && length <= 64) {
        const uint8_t *byte = id;
        int used = snprintf(path, sizeof path, DEBUG_ROOT "/.build-id/%02x/", byte[0]);
        for (ssize_t i = 1; i < length; i++)
            used += snprintf(path + used, sizeof path - used, "%02x", byte[i]);
        snprintf(path + used, sizeof path - used, ".debug");
        if (try_debug_file(binary, path, id, length, NULL)) return;
    }
    GElf_Word crc;
    const char *link = dwelf_elf_gnu_debuglink(binary->elf, &crc);
    if (!link || !*link || strchr(link, '/')) return;
    int directory = (int)(binary->file_name - binary->path);
    static const struct {
        const char *root, *below;
    } place[] = {{"", ""}, {"", ".debug/"}, {DEBUG_ROOT, ""}};
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        int used = snprintf(path, sizeof path, "%s%.*s%s%s", place[i].root, directory, binary->path,
                            place[i].below, link);
        if (used > 0 && (size_t)used < sizeof path && strcmp(path, binary->path) != 0 &&
            try_debug_file(binary, path, id, length, &crc))
            return;
    }
}

struct hd_binary *hd_binary_open(struct hd_pool *pool, const char *directory, const char *path,
                                 const uint8_t *build_id, uint32_t build_id_length, char *reason,
                                 size_t reason_size) {
    int fd = open_regular(path);
    if (fd < 0) {
        snprintf(reason, reason_size, "can't be opened: %s",
                 errno == EINVAL ? "not a regular file" : strerror(errno));
        return NULL;
    }
    elf_version(EV_CURRENT);
    Elf *elf = open_elf(fd);
    if (!elf) {
        snprintf(reason, reason_size, "is not an ELF file");
        close(fd);
        return NULL;
    }
    const void *its_id;
    ssize_t its_length = dwelf_elf_gnu_build_id(elf, &its_id);
    if (build_id_length && (its_length != (ssize_t)build_id_length ||
                            memcmp(its_id, build_id, build_id_length) != 0)) {
        snprintf(reason, reason_size, "is not the file that was recorded (its build id differs)");
        elf_end(elf);
        close(fd);
        return NULL;
    }
    struct hd_binary *binary = hd_zalloc(1, sizeof *binary);
    binary->pool = pool;
    binary->path = path;
    const char *slash = strrchr(path, '/');
    binary->file_name = slash ? slash + 1 : path;
    binary->directory = directory;
    binary->fd = fd;
    binary->debug_fd = -1;
    binary->elf = elf;
    if (!has_dwarf(elf)) find_debug_file(binary);
    /* opening it decompresses its sections, so the check comes after it */
    Elf *debug = binary->debug_elf ? binary->debug_elf : elf;
    binary->dwarf = dwarf_begin_elf(debug, DWARF_C_READ, NULL);
    if (binary->dwarf && !hd_strings_are_closed(debug)) {
        dwarf_end(binary->dwarf);
        binary->dwarf = NULL;
    }
    return binary;
}

void hd_binary_close(struct hd_binary *binary) {
    if (!binary) return;
    hd_units_free(binary);
    free(binary->symbol);
    hd_ranges_free(&binary->function_symbols);
    hd_ranges_free(&binary->object_symbols);
    if (binary->unwind) dwarf_cfi_end(binary->unwind);
    if (binary->dwarf) dwarf_end(binary->dwarf);
    if (binary->debug_elf) elf_end(binary->debug_elf);
    if (binary->debug_fd >= 0) close(binary->debug_fd);
    elf_end(binary->elf);
    close(binary->fd);
    free(binary);
}

/* ---- the symbol table --------------------------------------------------------------------- */

struct elf_symbol {
    uint64_t lo, hi, section_end;
    const char *name;
    bool function, global;
};

struct elf_symbols {
    struct elf_symbol *item;
    uint32_t count, capacity;
};

static Elf_Scn *symbol_section(Elf *elf, GElf_Word type) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == type && header.sh_entsize)
            return section;
    }
    return NULL;
}

static void collect_symbol(struct elf_symbols *all, Elf *elf, const GElf_Shdr *table,
                           const GElf_Sym *symbol) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE || !symbol->st_name)
        return;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE)
        return;
    GElf_Shdr section;
    Elf_Scn *home = elf_getscn(elf, symbol->st_shndx);
    if (!home || !gelf_getshdr(home, &section) || !(section.sh_flags & SHF_ALLOC)) return;
    const char *name = elf_strptr(elf, table->sh_link, symbol->st_name);
    if (!name || !*name) return;
    bool code = section.sh_flags & SHF_EXECINSTR;
    uint64_t section_end = section.sh_addr + section.sh_size;
    if (section_end < section.sh_addr || symbol->st_value < section.sh_addr ||
        symbol->st_value >= section_end)
        return;
    uint64_t room = section_end - symbol->st_value;
    all->item = hd_pool_grow(all->item, all->count, &all->capacity, sizeof *all->item);
    all->item[all->count++] = (struct elf_symbol){
        .lo = symbol->st_value,
        .hi = symbol->st_value + (symbol->st_size < room ? symbol->st_size : room),
        .section_end = section_end,
        .name = name,
        .function = type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && code),
        .global = GELF_ST_BIND(symbol->st_info) == STB_GLOBAL};
}

static size_t underscores(const char *name) { return strspn(name, "_"); }

/* By address; of several names for one address the best comes last. */
static int symbol_order(const void *left, const void *right) {
    const struct elf_symbol *a = left, *b = right;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    if (a->global != b->global) return a->global ? 1 : -1;
    size_t under_a = underscores(a->name), under_b = underscores(b->name);
    if (under_a != under_b) return under_a > under_b ? -1 : 1;
    return strcmp(b->name, a->name);
}

static void read_symbols(struct hd_binary *binary) {
    binary->symbols_read = true;
    Elf *elf = binary->elf;
    Elf_Scn *section = symbol_section(elf, SHT_SYMTAB);
    if (!section && binary->debug_elf && (section = symbol_section(binary->debug_elf, SHT_SYMTAB)))
        elf = binary->debug_elf;
    if (!section) section = symbol_section(elf, SHT_DYNSYM);
    GElf_Shdr table;
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    if (!data || !gelf_getshdr(section, &table)) return;

    struct elf_symbols all = {0};
    size_t count = data->d_size / table.sh_entsize;
    for (size_t i = 1; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol)) collect_symbol(&all, elf, &table, &symbol);
    }
    if (all.count) qsort(all.item, all.count, sizeof *all.item, symbol_order);
    uint64_t next = UINT64_MAX;
    for (uint32_t i = all.count; i-- > 0;) {
        struct elf_symbol *symbol = &all.item[i];
        /* a symbol without a size, as in assembly, reaches to the next one */
        if (i + 1 < all.count && all.item[i + 1].lo != symbol->lo) next = all.item[i + 1].lo;
        if (symbol->hi == symbol->lo)
            symbol->hi = next < symbol->section_end ? next : symbol->section_end;
    }
    for (uint32_t i = 0; i < all.count; i++) {
        const struct elf_symbol *symbol = &all.item[i];
        binary->symbol = hd_pool_grow(binary->symbol, binary->symbols, &binary->symbol_capacity,
                                      sizeof *binary->symbol);
        hd_ranges_add(symbol->function ? &binary->function_symbols : &binary->object_symbols,
                      symbol->lo, symbol->hi, binary->symbols);
        binary->symbol[binary->symbols++] = (struct hd_symbol){symbol->name, NULL, symbol->lo};
    }
    free(all.item);
    hd_ranges_finish(&binary->function_symbols);
    hd_ranges_finish(&binary->object_symbols);
}

const struct hd_symbol *hd_binary_symbol(struct hd_binary *binary, uint64_t address, bool function,
                                         uint64_t *lo, uint64_t *hi) {
    if (!binary->symbols_read) read_symbols(binary);
    const struct hd_ranges *ranges = function ? &binary->function_symbols : &binary->object_symbols;
    uint32_t at = hd_ranges_find(ranges, address);
    if (at == HD_NONE) return NULL;
    if (lo) *lo = ranges->item[at].lo;
    if (hi) *hi = ranges->item[at].hi;
    return &binary->symbol[ranges->item[at].value];
}

const char *hd_symbol_name(struct hd_binary *binary, const struct hd_symbol *symbol) {
    struct hd_symbol *own = &binary->symbol[symbol - binary->symbol];
    if (!own->name) {
        /* stdout@@GLIBC_2.2.5, work.constprop.0 */
        size_t length = strcspn(own->raw, "@");
        const char *raw =
            hd_pool_intern(binary->pool, own->raw, length ? length : strlen(own->raw));
        own->name = hd_demangle(binary->pool, raw);
    }
    return own->name;
}

uint32_t hd_binary_functions(struct hd_binary *binary, const char *name, uint64_t *address) {
    if (!binary->symbols_read) read_symbols(binary);
    uint32_t found = 0;
    for (uint32_t i = 0; i < binary->function_symbols.count; i++) {
        const struct hd_symbol *symbol = &binary->symbol[binary->function_symbols.item[i].value];
        if (found > 0 && symbol->lo == *address) continue; /* another name of the same */
        if (strcmp(symbol->raw, name) && strcmp(hd_symbol_name(binary, symbol), name)) continue;
        *address = symbol->lo;
        found++;
    }
    return found;
}

/* ---- the file's own bytes ----------------------------------------------------------------- */

/* The bytes that the file has for an address, and how many; NULL. */
static const char *image_at(struct hd_binary *binary, uint64_t address, uint64_t *bytes) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(binary->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
            !(header.sh_flags & SHF_ALLOC) || address < header.sh_addr ||
            address - header.sh_addr >= header.sh_size)
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        uint64_t offset = address - header.sh_addr;
        if (!data || !data->d_buf || offset >= data->d_size) return NULL;
        *bytes = data->d_size - offset;
        return (const char *)data->d_buf + offset;
    }
    return NULL;
}

const char *hd_binary_text(struct hd_binary *binary, uint64_t address) {
    uint64_t room;
    const char *text = image_at(binary, address, &room);
    if (!text) return NULL;
    size_t length = strnlen(text, room < LONGEST_TEXT ? room : LONGEST_TEXT);
    return length == room ? NULL : hd_pool_intern(binary->pool, text, length);
}

const uint8_t *hd_binary_code(struct hd_binary *binary, uint64_t address, size_t *bytes) {
    uint64_t room;
    const char *code = image_at(binary, address, &room);
    if (code) *bytes = room;
    return (const uint8_t *)code;
}

bool hd_binary_is_x86_64(struct hd_binary *binary) {
    GElf_Ehdr header;
    return gelf_getehdr(binary->elf, &header) && header.e_machine == EM_X86_64;
}
