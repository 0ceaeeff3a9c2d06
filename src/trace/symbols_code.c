/* From a code address to frames: the line table gives the position, the functions and inlined calls
 * around the address give the frames. Without debug information the symbol table gives a name. */
#include "trace/symbols_binary.h"

#include <dwarf.h>
#include <string.h>

/* Rows without a line (code the compiler made up) take the line of a row shortly before. */
#define LINELESS_ROWS 32

/* Takes "/./" and "/dir/../" out of a path: /usr/bin/../lib/x becomes /usr/lib/x. */
static const char *simplified(const char *path, char *copy, size_t size) {
    size_t length = strlen(path), used = 0;
    if (length >= size || !strstr(path, "/.")) return path;
    while (*path) {
        size_t step = strcspn(path + 1, "/") + 1; /* a slash and a name, or the first name */
        if (step == 2 && !strncmp(path, "/.", 2)) {
            path += step;
            continue;
        }
        size_t last = used;
        while (last && copy[last - 1] != '/') last--;
        bool up = step == 3 && !strncmp(path, "/..", 3);
        bool removable = used && last < used && strncmp(copy + last, "..", used - last) != 0;
        if (up && removable && last > 0) {
            used = last - 1;
        } else {
            memcpy(copy + used, path, step);
            used += step;
        }
        path += step;
    }
    copy[used] = 0;
    return copy;
}

static const char *shown_file(struct hd_binary *binary, const char *file) {
    if (!file) return NULL;
    char copy[4096];
    file = simplified(file, copy, sizeof copy);
    while (file[0] == '.' && file[1] == '/') file += 2;
    if (binary->directory) {
        size_t length = strlen(binary->directory);
        if (!strncmp(file, binary->directory, length) && file[length]) file += length;
    }
    return hd_pool_text(binary->pool, file);
}

static void find_line(struct hd_binary *binary, struct hd_unit *unit, uint64_t address, uint64_t lo,
                      struct hd_frame *frame) {
    if (!unit->has_lines) {
        unit->has_lines = true;
        if (dwarf_getsrclines(&unit->skeleton, &unit->lines, &unit->line_count))
            unit->line_count = 0;
    }
    size_t first = 0, end = unit->line_count;
    while (first < end) { /* the first row after the address */
        size_t middle = first + (end - first) / 2;
        Dwarf_Addr at = 0;
        dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &at);
        if (at <= address)
            first = middle + 1;
        else
            end = middle;
    }
    for (size_t back = 0; first > 0 && back < LINELESS_ROWS; back++) {
        Dwarf_Line *row = dwarf_onesrcline(unit->lines, --first);
        Dwarf_Addr at = 0;
        bool sequence_end = false;
        int line = 0, column = 0;
        if (!row || dwarf_lineaddr(row, &at) || (back && at < lo)) return;
        if (dwarf_lineendsequence(row, &sequence_end) || sequence_end) return;
        if (dwarf_lineno(row, &line) || line <= 0) continue;
        dwarf_linecol(row, &column);
        frame->file = shown_file(binary, dwarf_linesrc(row, NULL, NULL));
        frame->line = (uint32_t)line;
        frame->column = column > 0 ? (uint32_t)column : 0;
        return;
    }
}

static uint32_t number(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) ||
        value > INT32_MAX)
        return 0;
    return (uint32_t)value;
}

static void call_position(struct hd_binary *binary, struct hd_unit *unit, Dwarf_Die *inlined,
                          struct hd_frame *frame) {
    Dwarf_Files *files;
    size_t count;
    uint32_t file = number(inlined, DW_AT_call_file);
    if (dwarf_hasattr(inlined, DW_AT_call_file) && !dwarf_getsrcfiles(&unit->die, &files, &count) &&
        file < count)
        frame->file = shown_file(binary, dwarf_filesrc(files, file, NULL, NULL));
    frame->line = number(inlined, DW_AT_call_line);
    frame->column = number(inlined, DW_AT_call_column);
}

/* A name from the symbol table for a function that DWARF does not know, and the address in it. */
static void symbol_function(struct hd_binary *binary, uint64_t address, struct hd_frame *frame) {
    const struct hd_symbol *symbol = hd_binary_symbol(binary, address, true, NULL, NULL);
    frame->function = symbol ? hd_symbol_name(binary, symbol) : NULL;
    frame->function_offset = symbol ? (uint32_t)(address - symbol->lo) : 0;
}

uint32_t hd_binary_scope(struct hd_binary *binary, uint64_t address) {
    hd_units_read(binary);
    uint32_t at = hd_ranges_find(&binary->unit_code, address);
    if (at == HD_NONE) return HD_NONE;
    uint32_t unit = binary->unit_code.item[at].value;
    hd_unit_walk(binary, unit);
    uint32_t range = hd_ranges_find(&binary->unit[unit].code, address);
    return range != HD_NONE ? binary->unit[unit].code.item[range].value : HD_NONE;
}

uint32_t hd_binary_function(struct hd_binary *binary, uint64_t address) {
    uint32_t scope = hd_binary_scope(binary, address);
    while (scope != HD_NONE && binary->scope[scope].kind == HD_SCOPE_INLINED)
        scope = binary->scope[scope].parent;
    return scope != HD_NONE && binary->scope[scope].kind == HD_SCOPE_FUNCTION ? scope : HD_NONE;
}

uint32_t hd_binary_frames(struct hd_binary *binary, uint64_t address,
                          struct hd_frame frame[HD_FRAMES_MAX]) {
    hd_units_read(binary);
    uint32_t at = hd_ranges_find(&binary->unit_code, address);
    frame[0] = (struct hd_frame){.module = binary->file_name};
    if (at == HD_NONE) {
        symbol_function(binary, address, &frame[0]);
        return frame[0].function ? 1 : 0;
    }
    uint32_t unit_index = binary->unit_code.item[at].value;
    hd_unit_walk(binary, unit_index);
    struct hd_unit *unit = &binary->unit[unit_index];
    uint32_t range = hd_ranges_find(&unit->code, address);
    find_line(binary, unit, address, range == HD_NONE ? 0 : unit->code.item[range].lo, &frame[0]);
    if (range == HD_NONE) {
        symbol_function(binary, address, &frame[0]);
        if (!frame[0].function) frame[0].function = "??";
        return 1;
    }
    uint32_t scope = unit->code.item[range].value, count = 1;
    for (;;) {
        int begins = 0;
        frame[count - 1].function = hd_scope_name(binary, scope);
        if (!dwarf_decl_line(&binary->scope[scope].die, &begins) && begins > 0)
            frame[count - 1].function_line = (uint32_t)begins;
        if (binary->scope[scope].kind != HD_SCOPE_INLINED || count == HD_FRAMES_MAX) break;
        uint32_t parent = binary->scope[scope].parent;
        if (parent == HD_NONE || binary->scope[parent].kind == HD_SCOPE_NAMESPACE) break;
        frame[count - 1].inlined = true;
        frame[count] = (struct hd_frame){.module = binary->file_name};
        call_position(binary, unit, &binary->scope[scope].die, &frame[count]);
        scope = parent;
        count++;
    }
    return count;
}
