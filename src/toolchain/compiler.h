/* What `heddle cc` has to know about a compiler's command line and about compilers. Nothing here
 * prints; cmd_cc.c puts the pieces together. */
#ifndef HEDDLE_TOOLCHAIN_COMPILER_H
#define HEDDLE_TOOLCHAIN_COMPILER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* A growing NULL-terminated argument vector. */
struct hd_words {
    char **word;
    size_t count, capacity;
};
bool hd_words_add(struct hd_words *words, const char *word); /* copies; false: out of memory */
void hd_words_free(struct hd_words *words);

/* Splits the text of a response file the way gcc and clang do: blanks separate, quotes and
 * backslashes protect. */
bool hd_words_add_split(struct hd_words *words, const char *text);

/* What a compiler would do with a command line. */
struct hd_compiler_job {
    bool compiles;      /* some source goes through the compiler proper to assembly or further */
    bool links;         /* ends in a link that makes an executable or a shared library */
    bool relocatable;   /* -r: a link that makes an object */
    bool makes_static;  /* -static or -static-pie */
    bool other_width;   /* -m32 or -mx32 */
    bool asks_thread;   /* -fsanitize=thread is in effect by the user's own flags */
    bool spares_thread; /* -fno-sanitize=thread (or all): leave the sources alone */
    char conflict[32];  /* a sanitizer in effect that cannot go with ours, "" if none */
    size_t end;         /* index of a "--" in argv, or argc: where options may be added */
};

/* argv[1..argc-1] are the compiler's arguments; response files are read where they stand. */
bool hd_compiler_classify(int argc, char **argv, struct hd_compiler_job *job,
                          struct hd_error *error);

enum hd_compiler_family { HD_COMPILER_GCC, HD_COMPILER_CLANG };

/* Splits a user's choice of compiler ("clang", "ccache gcc-12", "/path with blanks/gcc") and tells
 * its family: by name if the name says it, else by asking the compiler. */
bool hd_compiler_choose(const char *choice, struct hd_words *command,
                        enum hd_compiler_family *family, struct hd_error *error);

/* The directory that holds the runtime: HEDDLE_RUNTIME_DIR, or beside the heddle executable (build
 * tree), or ../lib/heddle from it (installed). malloc'ed. */
char *hd_runtime_directory(struct hd_error *error);

#define HD_RUNTIME_LIBRARY "libheddle_rt.so"
#define HD_GCC_SPECS "heddle-gcc.specs"
#define HD_GCC_TOOLS "heddle-tools" /* holds `as`, a link to heddle */

/* Assembly with every call of gcc's branch hook replaced by the one instruction pair that the hook
 * consists of. NULL if there is none (or memory is out): assemble the text as it is. malloc'ed. */
char *hd_inline_branch_hooks(const char *text, size_t bytes, size_t *new_bytes);
/* Stands in for the assembler under gcc: the same, on its input. Returns only on failure. */
void hd_run_assembler(int argc, char **argv, struct hd_error *error);

#endif
