/* See suppress.h: entries as ThreadSanitizer has them, and which findings they fit. */
#include "finding/suppress.h"

#include "base/nearest_word.h"
#include "base/whole_file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES (64u << 20)

/* ---- patterns ------------------------------------------------------------------------------- */

/* Does all of the text fit, from here to its end? `*` is anything. On a mismatch the last star
 * takes one character more, so the time is the product of the lengths at worst. */
static bool fits_whole(const char *pattern, size_t length, bool open_end, const char *text) {
    const char *star = NULL, *again = NULL, *end = pattern + length;
    while (true) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (pattern == end && (open_end || *text == '\0')) {
            return true;
        } else if (pattern < end && *text != '\0' && *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL && *again != '\0') {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
}

bool hd_suppression_fits(const char *pattern, const char *text) {
    if (text == NULL || *text == '\0') return false;
    bool start = *pattern == '^';
    if (start) pattern++;
    size_t length = strlen(pattern);
    bool end = length > 0 && pattern[length - 1] == '$';
    if (end) length--;
    if (start) return fits_whole(pattern, length, !end, text);
    for (;; text++) {
        if (fits_whole(pattern, length, !end, text)) return true;
        if (*text == '\0') return false;
    }
}

/* ---- what fits ------------------------------------------------------------------------------ */

static bool fits_frame(const char *pattern, const struct hd_frame *frame) {
    return hd_suppression_fits(pattern, frame->function) ||
           hd_suppression_fits(pattern, frame->file) || hd_suppression_fits(pattern, frame->module);
}

static bool fits_event(const char *pattern, const struct hd_finding_event *event, bool top) {
    if (hd_suppression_fits(pattern, event->function) ||
        hd_suppression_fits(pattern, event->file) ||
        hd_suppression_fits(pattern, event->variable) ||
        (event->file == NULL && hd_suppression_fits(pattern, event->site)))
        return true;
    for (uint32_t i = 0; i < event->frames && (i == 0 || !top); i++)
        if (fits_frame(pattern, &event->frame[i])) return true;
    return false;
}

static bool fits_finding(const char *pattern, const struct hd_finding *finding, bool top) {
    if (hd_suppression_fits(pattern, finding->variable) ||
        hd_suppression_fits(pattern, finding->place))
        return true;
    for (uint32_t i = 0; i < finding->variable_count; i++)
        if (hd_suppression_fits(pattern, finding->variables[i])) return true;
    for (uint32_t i = 0; i < finding->events; i++)
        if (fits_event(pattern, &finding->event[i], top)) return true;
    return false;
}

static bool from_library(const char *pattern, const struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->events; i++)
        for (uint32_t k = 0; k < finding->event[i].frames; k++)
            if (hd_suppression_fits(pattern, finding->event[i].frame[k].module)) return true;
    return false;
}

static bool fits(const struct hd_suppression *entry, const struct hd_finding *finding) {
    switch (entry->type) {
    case HD_SUPPRESS_KIND:
    case HD_SUPPRESS_TOP:
        return finding->kind == entry->kind &&
               fits_finding(entry->pattern, finding, entry->type == HD_SUPPRESS_TOP);
    case HD_SUPPRESS_ANY:
        return fits_finding(entry->pattern, finding, false);
    case HD_SUPPRESS_LIBRARY:
        return from_library(entry->pattern, finding);
    case HD_SUPPRESS_FINGERPRINT:
        return strcmp(entry->pattern, finding->fingerprint) == 0;
    case HD_SUPPRESS_STACK:
        return finding->kind == entry->kind && hd_suppression_fits_stack(entry, finding);
    case HD_SUPPRESS_NOTHING:
        break;
    }
    return false;
}

void hd_suppressions_mark(struct hd_suppressions *suppressions, struct hd_findings *findings) {
    for (size_t i = 0; i < suppressions->list.size; i++) suppressions->list.data[i].hits = 0;
    for (size_t i = 0; i < findings->list.size; i++) {
        struct hd_finding *finding = &findings->list.data[i];
        for (size_t k = 0; k < suppressions->list.size; k++) {
            struct hd_suppression *entry = &suppressions->list.data[k];
            if (!fits(entry, finding)) continue;
            entry->hits++; /* each that fits is used, not only the first */
            if (finding->suppressed == NULL)
                finding->suppressed = *entry->reason != '\0' ? entry->reason : entry->text;
        }
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Words of ThreadSanitizer that are no kind of heddle's; kinds of findings are looked up. */
static const struct {
    const char *word;
    enum hd_suppression_type type;
    enum hd_finding_kind kind;
} words[] = {{"race_top", HD_SUPPRESS_TOP, HD_FINDING_RACE},
             {"called_from_lib", HD_SUPPRESS_LIBRARY, 0},
             {"thread", HD_SUPPRESS_NOTHING, 0},
             {"mutex", HD_SUPPRESS_NOTHING, 0},
             {"signal", HD_SUPPRESS_NOTHING, 0},
             {"nondet", HD_SUPPRESS_KIND, HD_FINDING_NONDETERMINISM},
             {"any", HD_SUPPRESS_ANY, 0},
             {"fingerprint", HD_SUPPRESS_FINGERPRINT, 0}};
#define WORDS (sizeof words / sizeof *words)

static bool set_type(struct hd_suppression *entry, const char *word) {
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].word, word) == 0) {
            entry->type = words[i].type;
            entry->kind = words[i].kind;
            return true;
        }
    entry->type = HD_SUPPRESS_KIND;
    return hd_finding_kind_of(word, &entry->kind);
}

static bool fail_on_word(const struct hd_suppression *entry, const char *word,
                         struct hd_error *error) {
    const char *known[WORDS + HD_FINDING_KIND_COUNT];
    unsigned count = 0;
    for (size_t i = 0; i < WORDS; i++) known[count++] = words[i].word;
    for (unsigned i = 0; i < HD_FINDING_KIND_COUNT; i++) known[count++] = hd_finding_kind_name(i);
    const char *nearest = hd_nearest_word(word, known, count);
    return hd_fail(error, HD_ERR_FORMAT, "%s:%u: '%.60s' is no kind of suppression%s%s%s",
                   entry->file, entry->line, word, nearest != NULL ? "; did you mean '" : "",
                   nearest != NULL ? nearest : "; race:FUNCTION_OR_FILE is one",
                   nearest != NULL ? "'?" : "");
}

/* "race:worker", without blanks around it. */
static bool add_entry(struct hd_suppressions *suppressions, struct hd_suppression *entry,
                      const char *text, size_t length, struct hd_error *error) {
    entry->text = hd_arena_copy(&suppressions->arena, text, length);
    const char *colon = memchr(text, ':', length);
    if (colon == NULL)
        return hd_fail(error, HD_ERR_FORMAT,
                       "%s:%u: '%.60s' is not KIND:PATTERN, as in race:worker", entry->file,
                       entry->line, entry->text);
    const char *word = hd_arena_copy(&suppressions->arena, text, (size_t)(colon - text));
    entry->pattern = entry->text + (colon + 1 - text);
    if (!set_type(entry, word)) return fail_on_word(entry, word, error);
    if (entry->pattern[strspn(entry->pattern, "*^$")] == '\0' && strcmp(entry->pattern, "*") != 0)
        return hd_fail(error, HD_ERR_FORMAT,
                       "%s:%u: '%s' has no pattern; %s:* hides every finding of the kind",
                       entry->file, entry->line, entry->text, word);
    hd_vector_push(&suppressions->list, *entry);
    return true;
}

static void trim(const char **from, const char **to) {
    while (*from < *to && isspace((unsigned char)**from)) ++*from;
    while (*to > *from && isspace((unsigned char)(*to)[-1])) --*to;
}

/* A '#' with a blank before it begins the comment: names may hold one ("heap#3"). */
static const char *comment_in(const char *from, const char *to) {
    for (const char *at = from + 1; at < to; at++)
        if (*at == '#' && isspace((unsigned char)at[-1])) return at;
    return to;
}

static const char *copy_comment(struct hd_suppressions *suppressions, const char *from,
                                const char *to) {
    while (from < to && *from == '#') from++;
    trim(&from, &to);
    return hd_arena_copy(&suppressions->arena, from, (size_t)(to - from));
}

bool hd_suppressions_parse(struct hd_suppressions *suppressions, const char *name, const char *text,
                           size_t bytes, struct hd_error *error) {
    const char *end = text + bytes, *above = "";
    uint32_t number = 1;
    if (memchr(text, '\0', bytes) != NULL)
        return hd_fail(error, HD_ERR_FORMAT, "%s is no text: it can't be a list of suppressions",
                       name);
    for (const char *line = text, *next; line < end; line = next, number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (stop == NULL) stop = end;
        next = stop < end ? stop + 1 : end;
        const char *from = line, *to = stop;
        trim(&from, &to);
        if (from == to) {
            above = ""; /* a reason stands right above its entry */
        } else if (*from == '#') {
            above = copy_comment(suppressions, from, to);
        } else if (*from == '{' && to == from + 1) {
            if (!hd_suppression_parse_valgrind(suppressions, name, &next, end, &number, error))
                return false;
            suppressions->list.data[suppressions->list.size - 1].reason = above;
            above = "";
        } else {
            const char *comment = comment_in(from, to), *entry_end = comment;
            struct hd_suppression entry = {.file = name, .line = number, .reason = above};
            if (comment < to) entry.reason = copy_comment(suppressions, comment, to);
            trim(&from, &entry_end);
            if (!add_entry(suppressions, &entry, from, (size_t)(entry_end - from), error))
                return false;
        }
    }
    return true;
}

bool hd_suppressions_read(struct hd_suppressions *suppressions, const char *path,
                          struct hd_error *error) {
    size_t bytes;
    char *text = hd_whole_file_read(path, MOST_BYTES, &bytes, error);
    if (text == NULL) return false;
    bool good = hd_suppressions_parse(suppressions, path, text, bytes, error);
    free(text);
    return good;
}

void hd_suppressions_free(struct hd_suppressions *suppressions) {
    hd_vector_free(&suppressions->list);
    hd_arena_free(&suppressions->arena);
}
