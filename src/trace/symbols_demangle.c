/* Demangling by the C++ runtime library's own __cxa_demangle. It is looked up when first needed, so
 * that a C product does not depend on a C++ library. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "trace/symbols_demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SYMBOL 16384

typedef char *demangler(const char *mangled, char *buffer, size_t *length, int *status);

static demangler *find_demangler(void) {
    static const char *const library[] = {"libstdc++.so.6", "libc++abi.so.1"};
    static demangler *found;
    static bool looked;
    if (looked) return found;
    looked = true;
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    for (size_t i = 0; !symbol && i < sizeof library / sizeof *library; i++) {
        void *handle = dlopen(library[i], RTLD_LAZY | RTLD_LOCAL);
        if (handle) symbol = dlsym(handle, "__cxa_demangle");
    }
    /* ISO C has no cast from an object pointer to a function pointer */
    memcpy(&found, &symbol, sizeof found);
    return found;
}

static bool is_mangled(const char *symbol) {
    return symbol[0] == '_' && symbol[1] == 'Z' && strlen(symbol) < LONGEST_SYMBOL;
}

bool hd_demangle_can(const char *symbol) { return is_mangled(symbol) && find_demangler(); }

static void remove_all(char *text, const char *what) {
    size_t length = strlen(what);
    for (char *at = text; (at = strstr(at, what));)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* After the word "operator": the symbol that belongs to it, whose brackets are not brackets. */
static size_t operator_symbol(const char *at) {
    if (at[0] == '(' && at[1] == ')') return 2;
    if (at[0] == '[' && at[1] == ']') return 2;
    size_t length = 0;
    while (at[length] && strchr("<>=-+*/%^&|~!,", at[length]) && length < 3) length++;
    /* operator< and operator<< may be followed by template arguments: "operator<< <char>" */
    return length;
}

void hd_demangle_shorten(char *name) {
    static const char word[] = "operator";
    remove_all(name, "(anonymous namespace)::");
    size_t start = 0, parameters = 0, depth = 0;
    for (size_t i = 0; name[i]; i++) {
        if (!strncmp(name + i, word, sizeof word - 1) &&
            (!i || (!isalnum((unsigned char)name[i - 1]) && name[i - 1] != '_')) &&
            !isalnum((unsigned char)name[i + sizeof word - 1]) &&
            name[i + sizeof word - 1] != '_') {
            i += sizeof word - 1;
            size_t length = operator_symbol(name + i);
            if (!length && name[i] == ' ') { /* operator new, operator bool */
                while (name[i + 1] && name[i + 1] != '(') i++;
                continue;
            }
            i += length;
            if (!name[i]) break;
            if (length && name[i] == ' ' && name[i + 1] == '<') continue;
            i--;
            continue;
        }
        switch (name[i]) {
        case '(':
            if (!depth++) parameters = i;
            break;
        case '<':
        case '[':
        case '{':
            depth++;
            break;
        case ')':
        case '>':
        case ']':
        case '}':
            if (depth) depth--;
            break;
        case ' ':
            /* the return type of a template function stands before its name */
            if (!depth && !parameters) start = i + 1;
            break;
        case ':':
            /* f(int)::name: what was passed were the parameters of an enclosing function */
            if (!depth && parameters && name[i + 1] == ':') {
                size_t end = i;
                memmove(name + parameters, name + end, strlen(name + end) + 1);
                i = parameters + 1;
                parameters = 0;
            }
            break;
        default:
            break;
        }
    }
    if (parameters > start) name[parameters] = 0;
    if (start) memmove(name, name + start, strlen(name + start) + 1);
}

/* "vtable for X", "guard variable for f()::x", "non-virtual thunk to X::f()" */
static bool is_described(const char *name) {
    const char *word = strstr(name, " for ");
    if (!word) word = strstr(name, " to ");
    return word && !memchr(name, '(', (size_t)(word - name)) &&
           !memchr(name, '<', (size_t)(word - name));
}

const char *hd_demangle(struct hd_pool *pool, const char *symbol) {
    if (!is_mangled(symbol)) return hd_pool_text(pool, symbol);
    demangler *demangle = find_demangler();
    int status = -1;
    char *name = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
    if (!name || status) {
        free(name);
        return hd_pool_text(pool, symbol);
    }
    if (is_described(name))
        remove_all(name, "(anonymous namespace)::");
    else
        hd_demangle_shorten(name);
    const char *text = hd_pool_text(pool, name);
    free(name);
    return text;
}
