/* Suppressions: files that say which findings a user knows of and does not want to see. In the
 * syntax of ThreadSanitizer, with heddle's own kinds, and Valgrind's; docs/suppressions.md says
 * what an entry fits. */
#ifndef HEDDLE_FINDING_SUPPRESS_H
#define HEDDLE_FINDING_SUPPRESS_H

#include "base/status.h"
#include "finding/finding.h"

/* What an entry fits. */
enum hd_suppression_type {
    HD_SUPPRESS_KIND,        /* anything of a kind of finding: function, file, module, variable */
    HD_SUPPRESS_TOP,         /* the same, of the innermost frame only */
    HD_SUPPRESS_ANY,         /* the same, of every kind */
    HD_SUPPRESS_LIBRARY,     /* a module on the stack */
    HD_SUPPRESS_FINGERPRINT, /* one finding */
    HD_SUPPRESS_STACK,       /* Valgrind's: frames from the innermost on */
    HD_SUPPRESS_NOTHING      /* of a kind that heddle does not report */
};

/* A frame of a Valgrind entry. */
enum hd_suppression_frame_type {
    HD_FRAME_FUNCTION,
    HD_FRAME_OBJECT,
    HD_FRAME_SOURCE,
    HD_FRAME_ANY
};
struct hd_suppression_frame {
    enum hd_suppression_frame_type type;
    const char *pattern; /* with * and ? */
};

struct hd_suppression {
    const char *file; /* where it was written */
    uint32_t line;
    const char *text;   /* "race:worker"; "{ name }" of Valgrind's */
    const char *reason; /* the comment beside or above it; "" */
    enum hd_suppression_type type;
    enum hd_finding_kind kind;
    const char *pattern;
    struct hd_suppression_frame *frame;
    uint32_t frames;
    uint64_t hits; /* findings that it hid */
};

/* A zeroed one is empty. */
struct hd_suppressions {
    struct hd_arena arena;
    HD_VECTOR(struct hd_suppression) list;
};

/* Adds the entries of a file. A mistake in it is an error "FILE:LINE: ...". */
bool hd_suppressions_read(struct hd_suppressions *suppressions, const char *path,
                          struct hd_error *error);
/* The same from memory; `name` is that of the file in error lines and must live as long. */
bool hd_suppressions_parse(struct hd_suppressions *suppressions, const char *name, const char *text,
                           size_t bytes, struct hd_error *error);
/* Sets `suppressed` of all findings that an entry fits, and counts anew. */
void hd_suppressions_mark(struct hd_suppressions *suppressions, struct hd_findings *findings);
void hd_suppressions_free(struct hd_suppressions *suppressions);

/* Does a text fit a pattern of ThreadSanitizer's: anywhere in it, * for anything, ^ and $ for its
 * ends? */
bool hd_suppression_fits(const char *pattern, const char *text);

/* ---- for the parser of Valgrind's entries ---------------------------------------------------- */

/* Reads "{ ... }" from *at on, which is moved behind it; *line counts lines. */
bool hd_suppression_parse_valgrind(struct hd_suppressions *suppressions, const char *name,
                                   const char **at, const char *end, uint32_t *line,
                                   struct hd_error *error);
/* Does one of the stacks of a finding begin with the entry's frames? */
bool hd_suppression_fits_stack(const struct hd_suppression *entry,
                               const struct hd_finding *finding);

#endif
