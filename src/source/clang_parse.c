/* One translation unit: its command for libclang, parsing, errors, the walk over its declarations,
 * the files it depends on. */
#include "source/clang.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command
 * --------------------------------------------------------------------------------- */

struct command {
    HD_VECTOR(const char *) argument;
    char *directory; /* -working-directory=... */
};

/* Options that write files, or that only other compilers have. Returns how many words to drop. */
static unsigned dropped(const char *const *argument, unsigned left) {
    static const char *const alone[] = {"-c",   "-S",  "-E",  "-M",  "-MM",         "-MD",
                                        "-MMD", "-MP", "-MG", "-MV", "-save-temps", "-Werror"};
    static const char *const with_word[] = {"-o", "-MF", "-MT", "-MQ", "-dumpbase"};
    static const char *const begin[] = {
        "-Wa,",  "-Wl,",         "-specs=",         "-fplugin", "-fdump-", "-fno-var-tracking",
        "-flto", "-fuse-linker", "-fprofile-update"};
    for (unsigned i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (strcmp(argument[0], alone[i]) == 0) return 1;
    for (unsigned i = 0; i < sizeof with_word / sizeof with_word[0]; i++)
        if (strcmp(argument[0], with_word[i]) == 0) return left > 1 ? 2 : 1;
    for (unsigned i = 0; i < sizeof begin / sizeof begin[0]; i++)
        if (strncmp(argument[0], begin[i], strlen(begin[i])) == 0) return 1;
    if (argument[0][0] == '-' && argument[0][1] == 'o' && argument[0][2] != '\0' &&
        strchr(argument[0], '/') != NULL)
        return 1; /* -obuild/x.o */
    return 0;
}

static void make_command(const struct hd_clang_request *request, struct command *command) {
    size_t length = strlen(request->directory) + 32;
    bool resources = false;
    command->directory = hd_alloc(length, 1);
    snprintf(command->directory, length, "-working-directory=%s", request->directory);
    for (unsigned i = 0; i < request->arguments;) {
        unsigned words = i == 0 ? 0 : dropped(&request->argument[i], request->arguments - i);
        if (words == 0) {
            if (strncmp(request->argument[i], "-resource-dir", 13) == 0) resources = true;
            hd_vector_push(&command->argument, request->argument[i]);
            if (i == 0) {
                hd_vector_push(&command->argument, command->directory);
                /* Only errors are wanted, all of them. */
                hd_vector_push(&command->argument, "-w");
                hd_vector_push(&command->argument, "-ferror-limit=0");
            }
            words = 1;
        }
        i += words;
    }
#ifdef HEDDLE_CLANG_RESOURCES
    if (!resources) {
        hd_vector_push(&command->argument, "-resource-dir");
        hd_vector_push(&command->argument, HEDDLE_CLANG_RESOURCES);
    }
#else
    (void)resources;
#endif
}

/* Takes out what the compiler does not know, as its messages say: "unknown argument: '-fx'". */
static bool drop_unknown(struct command *command, CXTranslationUnit unit) {
    bool changed = false;
    for (unsigned i = 0; i < clang_getNumDiagnostics(unit); i++) {
        CXDiagnostic diagnostic = clang_getDiagnostic(unit, i);
        CXString spelling = clang_getDiagnosticSpelling(diagnostic);
        const char *text = clang_getCString(spelling), *from = strchr(text, '\'');
        bool about = strncmp(text, "unknown argument", 16) == 0 ||
                     strncmp(text, "unsupported option", 18) == 0 ||
                     strncmp(text, "unsupported argument", 20) == 0;
        const char *to = from != NULL ? strchr(from + 1, '\'') : NULL;
        for (size_t a = 1; about && to != NULL && a < command->argument.size; a++) {
            const char *argument = command->argument.data[a];
            size_t length = (size_t)(to - from - 1);
            if (strncmp(argument, from + 1, length) != 0) continue;
            if (argument[length] != '\0' && strncmp(text, "unsupported", 11) != 0) continue;
            memmove(&command->argument.data[a], &command->argument.data[a + 1],
                    (command->argument.size - a - 1) * sizeof command->argument.data[0]);
            command->argument.size--;
            changed = true;
            break;
        }
        clang_disposeString(spelling);
        clang_disposeDiagnostic(diagnostic);
    }
    return changed;
}

static CXTranslationUnit parse(CXIndex index, struct command *command, enum CXErrorCode *code) {
    unsigned options = CXTranslationUnit_KeepGoing;
    CXTranslationUnit unit = NULL;
    for (unsigned tries = 0; tries < 3; tries++) {
        if (unit != NULL) clang_disposeTranslationUnit(unit);
        unit = NULL;
        *code = clang_parseTranslationUnit2FullArgv(index, NULL, command->argument.data,
                                                    (int)command->argument.size, NULL, 0, options,
                                                    &unit);
        if (unit == NULL || !drop_unknown(command, unit)) break;
    }
    return unit;
}

/* ---- the walk
 * ------------------------------------------------------------------------------------ */

static enum CXChildVisitResult declaration(CXCursor cursor, CXCursor parent, CXClientData data);

static bool in_system_header(CXCursor cursor) {
    return clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)) != 0;
}

static enum CXChildVisitResult declaration(CXCursor cursor, CXCursor parent, CXClientData data) {
    struct hd_clang *clang = data;
    (void)parent;
    if (in_system_header(cursor)) return CXChildVisit_Continue;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (hd_clang_is_function(kind)) {
        if (clang_isCursorDefinition(cursor)) hd_clang_body(clang, cursor);
        return CXChildVisit_Continue;
    }
    switch (kind) {
    case CXCursor_VarDecl:
        hd_clang_static_initialiser(clang, cursor);
        break;
    case CXCursor_FunctionTemplate:
    case CXCursor_ClassTemplate:
    case CXCursor_ClassTemplatePartialSpecialization:
        clang->left_out++;
        break;
    case CXCursor_Namespace:
    case CXCursor_LinkageSpec:
    case CXCursor_UnexposedDecl:
        return CXChildVisit_Recurse;
    case CXCursor_ClassDecl:
    case CXCursor_StructDecl:
    case CXCursor_UnionDecl:
        return clang->cxx ? CXChildVisit_Recurse : CXChildVisit_Continue;
    default:
        break;
    }
    return CXChildVisit_Continue;
}

static void note_errors(struct hd_clang *clang, struct hd_source_unit *unit) {
    for (unsigned i = 0; i < clang_getNumDiagnostics(clang->unit); i++) {
        CXDiagnostic diagnostic = clang_getDiagnostic(clang->unit, i);
        if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
            unit->state = HD_UNIT_DEGRADED;
            if (unit->errors++ == 0)
                unit->message = hd_clang_text(
                    clang, clang_formatDiagnostic(diagnostic, CXDiagnostic_DisplaySourceLocation |
                                                                  CXDiagnostic_DisplayColumn));
        }
        clang_disposeDiagnostic(diagnostic);
    }
}

struct inclusions {
    struct hd_clang *clang;
    struct hd_clang_reply *reply;
};

static void add_inclusion(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data) {
    struct inclusions *inclusions = data;
    struct hd_clang *clang = inclusions->clang;
    (void)stack;
    (void)depth;
    uint32_t index = hd_clang_file(clang, file);
    const char *path = hd_source_text(clang->source, clang->source->file.data[index].path);
    size_t length = strlen(path) + 1;
    hd_vector_reserve(&inclusions->reply->depends, length);
    memcpy(inclusions->reply->depends.data + inclusions->reply->depends.size, path, length);
    inclusions->reply->depends.size += length;
}

/* The language shows in the name of the compiler, in -x or -std, or in the name of the file. */
static bool is_cxx(const struct hd_clang_request *request) {
    static const char *const endings[] = {".cc", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".ii"};
    const char *ending = strrchr(request->file, '.'), *compiler = request->argument[0];
    size_t length = strlen(compiler);
    if (length >= 2 && strcmp(compiler + length - 2, "++") == 0) return true;
    for (unsigned i = 1; i < request->arguments; i++) {
        const char *argument = request->argument[i];
        if (strcmp(argument, "-x") == 0 && i + 1 < request->arguments)
            return strncmp(request->argument[i + 1], "c++", 3) == 0;
        if (strncmp(argument, "-xc++", 5) == 0 || strncmp(argument, "-std=c++", 8) == 0 ||
            strncmp(argument, "-std=gnu++", 10) == 0)
            return true;
    }
    for (unsigned i = 0; ending != NULL && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(ending, endings[i]) == 0) return true;
    return false;
}

static void walk(struct hd_clang *clang, struct hd_clang_reply *reply) {
    struct hd_source *source = clang->source;
    struct hd_source_unit unit = {.message = HD_SOURCE_NONE};
    CXString name = clang_getTranslationUnitSpelling(clang->unit);
    clang->main_file = clang_getFile(clang->unit, clang_getCString(name));
    clang_disposeString(name);
    unit.file = hd_clang_file(clang, clang->main_file);
    source->file.data[unit.file].header = false;
    note_errors(clang, &unit);
    hd_vector_push(&source->unit, unit);
    clang_visitChildren(clang_getTranslationUnitCursor(clang->unit), declaration, clang);
    source->unit.data[0].left_out = clang->left_out;
    if (unit.state == HD_UNIT_DEGRADED)
        for (size_t i = 0; i < source->function.size; i++)
            if ((source->function.data[i].flags & HD_FUNCTION_BODY) != 0)
                source->function.data[i].flags |= HD_FUNCTION_DEGRADED;
    struct inclusions inclusions = {.clang = clang, .reply = reply};
    clang_getInclusions(clang->unit, add_inclusion, &inclusions);
}

static void lost(struct hd_source *source, const struct hd_clang_request *request,
                 enum CXErrorCode code) {
    char message[128], path[8192];
    bool absolute = request->file[0] == '/';
    snprintf(path, sizeof path, "%s%s%s", absolute ? "" : request->directory, absolute ? "" : "/",
             request->file);
    snprintf(message, sizeof message, "the parser refused it (%s)",
             code == CXError_Crashed            ? "it crashed"
             : code == CXError_InvalidArguments ? "arguments it does not know"
                                                : "no such file, or an unusable command");
    struct hd_source_unit unit = {.file =
                                      hd_source_file_add(source, hd_source_text_add(source, path)),
                                  .state = HD_UNIT_LOST,
                                  .message = hd_source_text_add(source, message)};
    source->file.data[unit.file].header = false;
    hd_vector_push(&source->unit, unit);
}

void hd_clang_read_unit(const struct hd_clang_request *request, struct hd_clang_reply *reply) {
    struct hd_source source = {0};
    struct command command = {0};
    struct hd_clang clang = {.source = &source,
                             .directory = request->directory,
                             .method = request->method,
                             .function = HD_SOURCE_NONE,
                             .self = HD_SOURCE_NONE};
    enum CXErrorCode code = CXError_Failure;
    make_command(request, &command);
    CXIndex index = clang_createIndex(0, 0);
    clang.unit = parse(index, &command, &code);
    if (clang.unit != NULL) {
        clang.cxx = is_cxx(request);
        walk(&clang, reply);
        clang_disposeTranslationUnit(clang.unit);
    } else
        lost(&source, request, code);
    clang_disposeIndex(index);
    reply->text = hd_source_write_text(&source, &reply->length);
    hd_source_free(&source);
    hd_map_free(&clang.seen_at);
    hd_map_free(&clang.file_at);
    hd_vector_free(&clang.seen);
    hd_vector_free(&clang.cursors);
    hd_vector_free(&clang.locals);
    hd_vector_free(&clang.open);
    hd_vector_free(&clang.values);
    hd_vector_free(&command.argument);
    free(command.directory);
}
