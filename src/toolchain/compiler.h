/* `heddle cc`: reads a compiler's command line, finds the compiler and the runtime, and makes the
 * command line that is run. Nothing here prints. */
#ifndef HEDDLE_TOOLCHAIN_COMPILER_H
#define HEDDLE_TOOLCHAIN_COMPILER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* A growing NULL-terminated argument vector. */
struct hd_argv {
    char **word;
    size_t count, capacity;
};
void hd_argv_add(struct hd_argv *words, const char *word); /* copies */
void hd_argv_free(struct hd_argv *words);

/* Splits the text of a response file the way gcc and clang do: blanks separate, quotes and
 * backslashes protect. */
void hd_argv_split(struct hd_argv *words, const char *text);

/* What a compiler would do with a command line. */
struct hd_compiler_job {
    bool compiles;      /* some source goes through the compiler proper to assembly or further */
    bool sources;       /* reads some source or header, if only to preprocess it */
    bool links;         /* ends in a link that makes an executable or a shared library */
    bool relocatable;   /* -r: a link that makes an object */
    bool makes_static;  /* -static or -static-pie */
    bool other_width;   /* -m32 or -mx32 */
    bool asks_thread;   /* -fsanitize=thread is in effect by the user's own flags */
    bool own_assembler; /* not the system's assembler, if the compiler has one of its own */
    bool spares_thread; /* -fno-sanitize=thread (or all): leave the sources alone */
    char conflict[32];  /* a sanitizer in effect that cannot go with ours, "" if none */
    size_t end;         /* index of a "--" in argv, or argc: where options may be added */
};

/* argv[1..argc-1] are the compiler's arguments; response files are read where they stand. */
bool hd_compiler_classify(int argc, char **argv, struct hd_compiler_job *job,
                          struct hd_error *error);

struct hd_compiler_tool {
    const char *command;  /* "cc" */
    const char *variable; /* "HEDDLE_CC": names the compiler */
    const char *standard; /* "gcc": the one without it */
};
extern const struct hd_compiler_tool hd_c_compiler, hd_cxx_compiler;

enum hd_compiler_family { HD_COMPILER_GCC, HD_COMPILER_CLANG };

/* Splits a user's choice of compiler ("clang", "ccache gcc-12", "/path with blanks/gcc") and finds
 * out its family: by name if the name says it, else by asking the compiler. */
bool hd_compiler_choose(const char *choice, struct hd_argv *command,
                        enum hd_compiler_family *family, struct hd_error *error);
/* Is there a program of this name or path, as execvp looks for it? */
bool hd_compiler_is_there(const char *name);

/* The whole command line: argv[1..argc-1] with what heddle needs. */
bool hd_compiler_command(const struct hd_compiler_tool *tool, int argc, char **argv,
                         struct hd_argv *line, struct hd_error *error);

/* The directory that holds the runtime: HEDDLE_RUNTIME_DIR, or beside the heddle executable (build
 * tree), or ../lib/heddle from it (installed). malloc'ed. */
char *hd_runtime_directory(struct hd_error *error);

#define HD_RUNTIME_LIBRARY "libheddle_rt.so"
#define HD_GCC_SPECS "heddle-gcc.specs"
#define HD_TOOLS "heddle-tools" /* holds `as`, a link to heddle */

/* Assembly in which calls of the branch hook are the one instruction pair that it consists of, and
 * those of access hooks name their place. NULL if there is none: assemble the text as it is.
 * malloc'ed. */
char *hd_inline_hooks(const char *text, size_t bytes, size_t *new_bytes);
/* Assembly in which inline assembly that synchronises tells the runtime what it does. NULL if there
 * is none. malloc'ed. */
char *hd_note_inline_assembly(const char *text, size_t bytes, size_t *new_bytes);
/* Stands in for the assembler: both, on its input. Returns only on failure. */
void hd_run_assembler(int argc, char **argv, struct hd_error *error);

#endif
