/* Declarations: what libclang calls a cursor becomes a variable, record, function or file of the
 * program, found again by key. */
#include "source/clang.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t hd_clang_text(struct hd_clang *clang, CXString string) {
    const char *text = clang_getCString(string);
    uint32_t result = hd_source_text_add(clang->source, text != NULL ? text : "");
    clang_disposeString(string);
    return result;
}

static enum CXChildVisitResult collect(CXCursor cursor, CXCursor parent, CXClientData data) {
    struct hd_clang *clang = data;
    (void)parent;
    hd_vector_push(&clang->cursors, cursor);
    return CXChildVisit_Continue;
}

unsigned hd_clang_children(struct hd_clang *clang, CXCursor cursor, size_t *first) {
    *first = clang->cursors.size;
    clang_visitChildren(cursor, collect, clang);
    return (unsigned)(clang->cursors.size - *first);
}

CXCursor hd_clang_child(const struct hd_clang *clang, size_t index) {
    return clang->cursors.data[index];
}

/* ---- files and types ----------------------------------------------------------------------------
 */

uint32_t hd_clang_file(struct hd_clang *clang, CXFile file) {
    uint32_t *slot = hd_map_slot(&clang->file_at, (uint64_t)(uintptr_t)file, HD_SOURCE_NONE);
    if (*slot != HD_SOURCE_NONE) return *slot;
    char path[PATH_MAX], absolute[2 * PATH_MAX];
    CXString real = clang_File_tryGetRealPathName(file), name = clang_getFileName(file);
    const char *spelled = file != NULL ? clang_getCString(name) : "(no file)";
    const char *known = clang_getCString(real);
    if (known == NULL || *known == '\0') {
        snprintf(absolute, sizeof absolute, "%s%s%s", *spelled == '/' ? "" : clang->directory,
                 *spelled == '/' ? "" : "/", spelled);
        known = file != NULL && realpath(absolute, path) != NULL ? path : spelled;
    }
    uint32_t index = hd_source_file_add(clang->source, hd_source_text_add(clang->source, known));
    clang_disposeString(real);
    clang_disposeString(name);
    /* The map may have grown meanwhile. */
    *hd_map_slot(&clang->file_at, (uint64_t)(uintptr_t)file, index) = index;
    return index;
}

bool hd_clang_is_array(CXType type) {
    enum CXTypeKind kind = clang_getCanonicalType(type).kind;
    return kind == CXType_ConstantArray || kind == CXType_IncompleteArray ||
           kind == CXType_VariableArray || kind == CXType_DependentSizedArray;
}

/* libclang shows the type of a parameter `int a[]` and of its value as it is written: an array. No
 * value is an array, so where a value is wanted both are pointers. */
bool hd_clang_is_pointer(CXType type) {
    return clang_getCanonicalType(type).kind == CXType_Pointer || hd_clang_is_array(type);
}

bool hd_clang_is_array_place(CXCursor place) {
    if (clang_getCursorKind(place) == CXCursor_DeclRefExpr &&
        clang_getCursorKind(clang_getCursorReferenced(place)) == CXCursor_ParmDecl)
        return false;
    return hd_clang_is_array(clang_getCursorType(place));
}

bool hd_clang_is_record(CXType type) { return clang_getCanonicalType(type).kind == CXType_Record; }

/* Qualifiers of the type itself: before it, or behind the last * of a pointer. */
uint32_t hd_clang_type(struct hd_clang *clang, CXType type) {
    static const char *const before[] = {"const ", "volatile "};
    static const char *const behind[] = {"const", "volatile", "restrict", "__restrict"};
    type = clang_getCanonicalType(type);
    CXString string = clang_getTypeSpelling(type);
    const char *text = clang_getCString(string);
    size_t length = strlen(text);
    bool function = type.kind == CXType_FunctionProto || type.kind == CXType_FunctionNoProto;
    const char *attribute = function ? strstr(text, " __attribute__((noreturn))") : NULL;
    if (attribute != NULL) length = (size_t)(attribute - text);
    for (bool again = !function; again;) {
        again = false;
        for (unsigned i = 0; i < 2; i++)
            if (strncmp(text, before[i], strlen(before[i])) == 0 && text[length - 1] != '*') {
                text += strlen(before[i]);
                length -= strlen(before[i]);
                again = true;
            }
        for (unsigned i = 0; i < 4; i++) {
            size_t word = strlen(behind[i]);
            if (length > word && text[length - word - 1] == '*' &&
                memcmp(text + length - word, behind[i], word) == 0) {
                length -= word;
                again = true;
            }
        }
    }
    uint32_t result = hd_source_text_add_bytes(clang->source, text, length);
    clang_disposeString(string);
    return result;
}

static uint16_t type_flags(CXType type) {
    CXType canonical = clang_getCanonicalType(type);
    CXType element = canonical;
    while (hd_clang_is_array(element))
        element = clang_getCanonicalType(clang_getArrayElementType(element));
    unsigned flags = 0;
    if (canonical.kind == CXType_Pointer) flags |= HD_VARIABLE_POINTER;
    if (canonical.kind == CXType_LValueReference || canonical.kind == CXType_RValueReference)
        flags |= HD_VARIABLE_POINTER;
    if (hd_clang_is_array(canonical)) flags |= HD_VARIABLE_ARRAY;
    if (canonical.kind == CXType_Record) flags |= HD_VARIABLE_RECORD;
    if (element.kind == CXType_Atomic) flags |= HD_VARIABLE_ATOMIC;
    /* Qualifiers of an array's elements are those of its canonical type. */
    if (clang_isVolatileQualifiedType(element) || clang_isVolatileQualifiedType(canonical))
        flags |= HD_VARIABLE_VOLATILE;
    if (clang_isConstQualifiedType(element) || clang_isConstQualifiedType(canonical))
        flags |= HD_VARIABLE_CONST;
    return (uint16_t)flags;
}

/* ---- keys ---------------------------------------------------------------------------------------
 */

static void place_of(struct hd_clang *clang, CXCursor cursor, uint32_t *file, uint32_t *line) {
    CXFile at;
    unsigned number;
    clang_getExpansionLocation(clang_getCursorLocation(cursor), &at, &number, NULL, NULL);
    *file = hd_clang_file(clang, at);
    *line = number;
}

/* The USR; with the path of the file for what only that file sees, because such a USR has the
 * file's base name at most, and two files of one name would share it. */
static uint32_t key_of(struct hd_clang *clang, CXCursor cursor, bool internal) {
    CXString usr = clang_getCursorUSR(cursor);
    const char *text = clang_getCString(usr);
    if (!internal && strncmp(text, "c:@", 3) == 0) return hd_clang_text(clang, usr);
    uint32_t file, line;
    place_of(clang, cursor, &file, &line);
    const char *path = hd_source_text(clang->source, clang->source->file.data[file].path);
    size_t length = strlen(text) + strlen(path) + 16;
    char *key = hd_alloc(length, 1);
    /* Without a USR (libclang has none for some local declarations) the line must do. */
    if (*text != '\0')
        snprintf(key, length, "%s@%s", text, path);
    else
        snprintf(key, length, "@%s:%u", path, line);
    uint32_t result = hd_source_text_add(clang->source, key);
    free(key);
    clang_disposeString(usr);
    return result;
}

/* The place for a declaration's index; *added says whether it is new. */
static uint32_t *seen(struct hd_clang *clang, CXCursor cursor, bool *added) {
    uint64_t hash = clang_hashCursor(cursor);
    *added = false;
    for (uint64_t probe = 0;; probe++) {
        uint32_t *slot =
            hd_map_slot(&clang->seen_at, hash | probe << 32, (uint32_t)clang->seen.size);
        if (*slot == clang->seen.size) {
            struct hd_clang_seen entry = {.cursor = cursor, .index = HD_SOURCE_NONE};
            hd_vector_push(&clang->seen, entry);
            *added = true;
        }
        struct hd_clang_seen *entry = &clang->seen.data[*slot];
        if (clang_equalCursors(entry->cursor, cursor)) return &entry->index;
    }
}

static void set_seen(struct hd_clang *clang, CXCursor cursor, uint32_t index) {
    bool added;
    *seen(clang, cursor, &added) = index;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static bool is_record_kind(enum CXCursorKind kind) {
    return kind == CXCursor_StructDecl || kind == CXCursor_UnionDecl ||
           kind == CXCursor_ClassDecl || kind == CXCursor_ClassTemplate ||
           kind == CXCursor_ClassTemplatePartialSpecialization;
}

/* Members of anonymous structs and unions belong to the record around them. */
static CXCursor record_around(CXCursor record) {
    while (clang_Cursor_isAnonymousRecordDecl(record)) {
        CXCursor outer = clang_getCursorLexicalParent(record);
        if (!is_record_kind(clang_getCursorKind(outer))) break;
        record = outer;
    }
    return record;
}

/* `struct S`, the typedef's name of an anonymous one, or of the record around it. */
static uint32_t record_name(struct hd_clang *clang, CXCursor record) {
    for (;;) {
        CXString string = clang_getTypeSpelling(clang_getCursorType(record));
        const char *text = clang_getCString(string);
        static const char *const words[] = {"struct ", "union ", "class "};
        for (unsigned i = 0; i < 3; i++)
            if (strncmp(text, words[i], strlen(words[i])) == 0) text += strlen(words[i]);
        bool anonymous = strchr(text, '(') != NULL || *text == '\0';
        uint32_t name = hd_source_text_add(clang->source, anonymous ? "(anonymous)" : text);
        clang_disposeString(string);
        CXCursor outer = clang_getCursorLexicalParent(record);
        if (!anonymous || !is_record_kind(clang_getCursorKind(outer))) return name;
        record = outer;
    }
}

struct field_list {
    struct hd_clang *clang;
    HD_VECTOR(CXCursor) field;
};

static enum CXVisitorResult add_field(CXCursor field, CXClientData data) {
    struct field_list *list = data;
    CXCursor record = clang_getTypeDeclaration(clang_getCursorType(field));
    CXString name = clang_getCursorSpelling(field);
    bool nameless = *clang_getCString(name) == '\0' || *clang_getCString(name) == '(';
    clang_disposeString(name);
    if (nameless && clang_Cursor_isAnonymousRecordDecl(record))
        clang_Type_visitFields(clang_getCursorType(record), add_field, list);
    else if (!nameless)
        hd_vector_push(&list->field, field);
    return CXVisit_Continue;
}

static uint32_t new_field(struct hd_clang *clang, CXCursor field, uint32_t record, bool internal) {
    struct hd_source *source = clang->source;
    CXString spelling = clang_getCursorSpelling(field);
    const char *record_text = hd_source_text(source, source->record.data[record].name);
    const char *field_text = clang_getCString(spelling);
    size_t length = strlen(record_text) + strlen(field_text) + 3;
    char *name = hd_alloc(length, 1);
    snprintf(name, length, "%s::%s", record_text, field_text);
    uint32_t index =
        hd_source_variable_add(source, HD_VARIABLE_FIELD, key_of(clang, field, internal),
                               hd_source_text_add(source, name));
    free(name);
    clang_disposeString(spelling);
    struct hd_source_variable *variable = &source->variable.data[index];
    variable->record = record;
    variable->flags = type_flags(clang_getCursorType(field));
    uint32_t type = hd_clang_type(clang, clang_getCursorType(field)), file, line;
    place_of(clang, field, &file, &line);
    variable = &source->variable.data[index];
    variable->type = type;
    variable->file = file;
    variable->line = line;
    set_seen(clang, field, index);
    return index;
}

/* A record that is defined in a .c file is that file's own, whatever its name. */
static uint32_t record_of(struct hd_clang *clang, CXCursor declaration) {
    struct hd_source *source = clang->source;
    CXCursor record = record_around(declaration);
    bool added;
    uint32_t known = *seen(clang, record, &added);
    if (!added && known != HD_SOURCE_NONE) return known;
    CXFile file;
    clang_getExpansionLocation(clang_getCursorLocation(record), &file, NULL, NULL, NULL);
    bool internal = clang_File_isEqual(file, clang->main_file);
    uint32_t key = key_of(clang, record, internal), name = record_name(clang, record);
    uint32_t index = hd_source_record_add(source, key, name), where, line;
    place_of(clang, record, &where, &line);
    source->record.data[index].file = where;
    source->record.data[index].line = line;
    set_seen(clang, record, index);
    struct field_list list = {.clang = clang};
    clang_Type_visitFields(clang_getCursorType(record), add_field, &list);
    HD_VECTOR(uint32_t) fields = {0};
    for (size_t i = 0; i < list.field.size; i++)
        hd_vector_push(&fields, new_field(clang, list.field.data[i], index, internal));
    source->record.data[index].fields = hd_source_links_add(source, fields.data, fields.size);
    hd_vector_free(&fields);
    hd_vector_free(&list.field);
    return index;
}

uint32_t hd_clang_record_key(struct hd_clang *clang, CXType type) {
    CXCursor declaration = clang_getTypeDeclaration(clang_getCanonicalType(type));
    if (!is_record_kind(clang_getCursorKind(declaration))) return hd_clang_type(clang, type);
    uint32_t record = record_of(clang, declaration);
    return clang->source->record.data[record].key;
}

static uint32_t field_of(struct hd_clang *clang, CXCursor field) {
    bool added;
    uint32_t *index = seen(clang, field, &added);
    if (!added && *index != HD_SOURCE_NONE) return *index;
    CXCursor parent = clang_getCursorSemanticParent(field);
    if (!is_record_kind(clang_getCursorKind(parent))) return HD_SOURCE_NONE;
    uint32_t record = record_of(clang, parent);
    index = seen(clang, field, &added);
    if (*index != HD_SOURCE_NONE) return *index;
    /* Not among the fields of its record as libclang lists them: a template's, for instance. */
    return new_field(clang, field, record, false);
}

/* ---- variables and functions --------------------------------------------------------------------
 */

/* Parameters need no name, nor do the constructors of a struct that only a typedef names. */
static uint32_t name_of(struct hd_clang *clang, CXCursor declaration) {
    uint32_t name = hd_clang_text(clang, clang_getCursorSpelling(declaration));
    if (*hd_source_text(clang->source, name) != '\0') return name;
    return hd_source_text_add(clang->source, "(unnamed)");
}

static void fill_variable(struct hd_clang *clang, CXCursor cursor, uint32_t index) {
    uint32_t type = hd_clang_type(clang, clang_getCursorType(cursor)), file, line;
    place_of(clang, cursor, &file, &line);
    struct hd_source_variable *variable = &clang->source->variable.data[index];
    variable->flags |= type_flags(clang_getCursorType(cursor));
    if (clang_getCursorKind(cursor) == CXCursor_ParmDecl &&
        (variable->flags & HD_VARIABLE_ARRAY) != 0)
        variable->flags ^= HD_VARIABLE_ARRAY | HD_VARIABLE_POINTER;
    if (clang_getCursorTLSKind(cursor) != CXTLS_None) variable->flags |= HD_VARIABLE_THREAD_LOCAL;
    variable->type = type;
    variable->file = file;
    variable->line = line;
}

uint32_t hd_clang_variable(struct hd_clang *clang, CXCursor declaration) {
    struct hd_source *source = clang->source;
    enum CXCursorKind kind = clang_getCursorKind(declaration);
    if (kind == CXCursor_FieldDecl) return field_of(clang, declaration);
    if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl) return HD_SOURCE_NONE;
    CXCursor canonical = clang_getCanonicalCursor(declaration);
    bool added;
    uint32_t known = *seen(clang, canonical, &added);
    if (!added && known != HD_SOURCE_NONE) return known;
    enum CXLinkageKind linkage = clang_getCursorLinkage(declaration);
    bool local = linkage == CXLinkage_NoLinkage || linkage == CXLinkage_Invalid;
    bool fixed = clang_Cursor_getStorageClass(declaration) == CX_SC_Static;
    uint32_t name = name_of(clang, declaration), index;
    if (clang->function == HD_SOURCE_NONE && local) return HD_SOURCE_NONE;
    if (kind == CXCursor_ParmDecl || (local && !fixed)) {
        index = hd_source_local_add(
            source, kind == CXCursor_ParmDecl ? HD_VARIABLE_PARAMETER : HD_VARIABLE_LOCAL,
            clang->function, name);
        hd_vector_push(&clang->locals, index);
    } else {
        bool internal = linkage != CXLinkage_External && linkage != CXLinkage_UniqueExternal;
        index = hd_source_variable_add(source, HD_VARIABLE_GLOBAL,
                                       key_of(clang, canonical, internal), name);
        if (internal) source->variable.data[index].flags |= HD_VARIABLE_INTERNAL;
        if (local && source->variable.data[index].function == HD_SOURCE_NONE) {
            source->variable.data[index].function = clang->function;
            hd_vector_push(&clang->locals, index);
        }
    }
    fill_variable(clang, declaration, index);
    set_seen(clang, canonical, index);
    return index;
}

bool hd_clang_is_function(enum CXCursorKind kind) {
    return kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod ||
           kind == CXCursor_Constructor || kind == CXCursor_Destructor ||
           kind == CXCursor_ConversionFunction;
}

/* The attribute is part of the type; _Noreturn is not, and libclang does not show it. */
static bool does_not_return(CXType type) {
    CXString string = clang_getTypeSpelling(type);
    bool found = strstr(clang_getCString(string), "__attribute__((noreturn))") != NULL;
    clang_disposeString(string);
    return found;
}

uint32_t hd_clang_function(struct hd_clang *clang, CXCursor declaration) {
    struct hd_source *source = clang->source;
    if (!hd_clang_is_function(clang_getCursorKind(declaration))) return HD_SOURCE_NONE;
    CXCursor canonical = clang_getCanonicalCursor(declaration);
    bool added;
    uint32_t known = *seen(clang, canonical, &added);
    if (!added && known != HD_SOURCE_NONE) return known;
    bool internal = clang_getCursorLinkage(declaration) == CXLinkage_Internal;
    uint32_t key = key_of(clang, canonical, internal);
    uint32_t name = name_of(clang, declaration);
    uint32_t index = hd_source_function_add(source, key, name);
    CXType type = clang_getCursorType(declaration);
    uint32_t spelled = hd_clang_type(clang, type);
    struct hd_source_function *function = &source->function.data[index];
    function->type = spelled;
    if (internal) function->flags |= HD_FUNCTION_INTERNAL;
    if (clang_isFunctionTypeVariadic(type)) function->flags |= HD_FUNCTION_VARIADIC;
    if (does_not_return(type)) function->flags |= HD_FUNCTION_NORETURN;
    if (clang_getCursorKind(declaration) != CXCursor_FunctionDecl &&
        !clang_CXXMethod_isStatic(declaration))
        function->flags |= HD_FUNCTION_METHOD;
    set_seen(clang, canonical, index);
    return index;
}
