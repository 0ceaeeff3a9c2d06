/* Coverage as a file: text, one line for each run, site, pair and property (docs/cover.md). */
#include "base/alloc.h"
#include "base/whole_file.h"
#include "cover/cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "heddle-cover/1"
#define MOST_BYTES ((size_t)1 << 30)
#define MOST_SITES ((uint32_t)1 << 21)

/* ---- writing ----------------------------------------------------------------------------------
 */

static void write_properties(FILE *out, const struct hd_cover *cover, enum hd_criterion criterion) {
    for (size_t i = 0; i < cover->kept[criterion].list.size; i++) {
        const struct hd_property *p = &cover->kept[criterion].list.data[i];
        fprintf(out, "%s %u %u", hd_criterion_name(criterion), p->site[0], p->site[1]);
        if (criterion == HD_COVER_PINV) fprintf(out, " %u", p->site[2]);
        fprintf(out, " %u %u %s\n", p->runs, p->first,
                p->infeasible       ? p->unserializable ? "ui" : "i"
                : p->unserializable ? "u"
                                    : "-");
    }
}

char *hd_cover_write(const struct hd_cover *cover) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) hd_out_of_memory();
    fprintf(out, FIRST_LINE "\n");
    for (size_t i = 0; i < cover->run.size; i++) {
        const struct hd_cover_run *run = &cover->run.data[i];
        fprintf(out, "run %u %u %u %u %s\n", run->covered[HD_COVER_PINV],
                run->covered[HD_COVER_DEF_USE], run->covered[HD_COVER_LR_INV],
                run->covered[HD_COVER_LR_DEF], run->name);
    }
    for (size_t i = 0; i < cover->site.name.size; i++)
        fprintf(out, "site %s\n", cover->site.name.data[i]);
    for (uint32_t i = 0; cover->pair_number.entry != NULL && i <= cover->pair_number.mask; i++) {
        const struct hd_map_entry *entry = &cover->pair_number.entry[i];
        if (!entry->used) continue;
        const struct hd_cover_pair *pair = &cover->pair.data[entry->value];
        fprintf(out, "pair %u %u %llu %llu\n", (uint32_t)(entry->key >> 32), (uint32_t)entry->key,
                (unsigned long long)pair->gap, (unsigned long long)pair->instances);
    }
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) write_properties(out, cover, c);
    fprintf(out, "%s\n", cover->cut ? "end cut" : "end");
    if (fclose(out) != 0) hd_out_of_memory();
    return text;
}

/* ---- reading: untrusted -----------------------------------------------------------------------
 */

struct reader {
    struct hd_cover *cover;
    const char *name;
    unsigned long line;
    struct hd_error *error;
    bool ended;
};

static bool wrong(struct reader *r, const char *what) {
    return hd_fail(r->error, HD_ERR_FORMAT, "%s:%lu: %s", r->name, r->line, what);
}

/* `count` numbers of at most 2^62, each after a blank. Leaves *at behind them. */
static bool numbers(const char **at, uint64_t *number, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        char *end;
        if (**at != ' ' || (*at)[1] < '0' || (*at)[1] > '9') return false;
        number[i] = strtoull(*at + 1, &end, 10);
        if (number[i] >> 62 != 0) return false;
        *at = end;
    }
    return true;
}

static bool read_run(struct reader *r, const char *at) {
    uint64_t n[4];
    if (!numbers(&at, n, 4) || *at != ' ')
        return wrong(r, "not a run: run PInv Def-Use LR-Inv LR-Def NAME");
    struct hd_cover_run run = {.name = hd_arena_copy(&r->cover->arena, at + 1, strlen(at + 1))};
    for (unsigned i = 0; i < 4; i++) {
        if (n[i] > UINT32_MAX) return wrong(r, "a number that is too large");
        run.covered[HD_COVER_KEPT + i] = (uint32_t)n[i];
    }
    hd_vector_push(&r->cover->run, run);
    return true;
}

static bool read_site(struct reader *r, const char *at) {
    if (*at != ' ') return wrong(r, "a site without words");
    uint32_t before = (uint32_t)r->cover->site.name.size;
    if (before >= MOST_SITES - 1) return wrong(r, "too many sites");
    if (hd_intern(&r->cover->site, at + 1, strlen(at + 1)) != before)
        return wrong(r, "a site that was there before");
    return true;
}

static bool is_site(const struct reader *r, uint64_t number, bool may_be_none) {
    return number <= r->cover->site.name.size && (may_be_none || number > 0);
}

static bool read_pair(struct reader *r, const char *at) {
    uint64_t n[4];
    if (!numbers(&at, n, 4) || *at != '\0')
        return wrong(r, "not a pair: pair SITE SITE GAP INSTANCES");
    if (!is_site(r, n[0], false) || !is_site(r, n[1], false))
        return wrong(r, "a site that is not there");
    *hd_cover_pair(r->cover, (uint32_t)n[0], (uint32_t)n[1]) = (struct hd_cover_pair){n[2], n[3]};
    return true;
}

static bool sites_are_right(const struct reader *r, enum hd_criterion criterion,
                            const uint64_t *n) {
    switch (criterion) {
    case HD_COVER_PINV:
        return is_site(r, n[0], false) && is_site(r, n[1], false) && is_site(r, n[2], false);
    case HD_COVER_DEF_USE:
        return is_site(r, n[0], true) && is_site(r, n[1], false);
    case HD_COVER_LR_INV:
        return is_site(r, n[0], false) && is_site(r, n[1], false);
    default:
        return is_site(r, n[0], false) && n[1] <= 1;
    }
}

static bool read_property(struct reader *r, enum hd_criterion criterion, const char *at) {
    uint64_t n[5] = {0};
    unsigned sites = criterion == HD_COVER_PINV ? 3 : 2;
    if (!numbers(&at, n, sites + 2) || *at++ != ' ')
        return wrong(r, "not a property: sites, runs, first run, flags");
    if (!sites_are_right(r, criterion, n)) return wrong(r, "a site that is not there");
    uint64_t runs = n[sites], first = n[sites + 1];
    if (runs > r->cover->run.size || first > r->cover->run.size || (runs == 0) != (first == 0))
        return wrong(r, "a run that is not there");
    bool plain = strcmp(at, "-") == 0, u = *at == 'u', i = strcmp(at + u, "i") == 0;
    if (!plain && !i && strcmp(at, "u") != 0) return wrong(r, "unknown flags");
    size_t before = r->cover->kept[criterion].list.size;
    uint32_t site[3] = {(uint32_t)n[0], (uint32_t)n[1], sites == 3 ? (uint32_t)n[2] : 0};
    struct hd_property *property = hd_cover_property(r->cover, criterion, site);
    if (r->cover->kept[criterion].list.size == before)
        return wrong(r, "a property that was there before");
    property->runs = (uint32_t)runs;
    property->first = (uint32_t)first;
    property->unserializable = u;
    property->infeasible = i;
    return true;
}

static bool read_line(struct reader *r, const char *line) {
    if (r->ended) return wrong(r, "more lines after the end");
    if (strcmp(line, "end") == 0 || strcmp(line, "end cut") == 0) {
        r->cover->cut = line[3] != '\0';
        return r->ended = true;
    }
    if (strncmp(line, "run ", 4) == 0) return read_run(r, line + 3);
    if (strncmp(line, "site ", 5) == 0) return read_site(r, line + 4);
    if (strncmp(line, "pair ", 5) == 0) return read_pair(r, line + 4);
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        size_t length = strlen(hd_criterion_name(c));
        if (strncmp(line, hd_criterion_name(c), length) == 0 && line[length] == ' ')
            return read_property(r, c, line + length);
    }
    return wrong(r, "neither run, site, pair nor property");
}

bool hd_cover_read(const char *text, size_t bytes, const char *name, struct hd_cover *cover,
                   struct hd_error *error) {
    struct reader r = {.cover = cover, .name = name, .line = 1, .error = error};
    memset(cover, 0, sizeof *cover);
    size_t first = strlen(FIRST_LINE);
    if (bytes <= first || strncmp(text, "heddle-cover/", 13) != 0)
        return hd_fail(error, HD_ERR_FORMAT, "%s is no coverage file (see 'heddle cover -o')",
                       name);
    if (memcmp(text, FIRST_LINE "\n", first + 1) != 0)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "%s was written by another version of heddle: %.*s instead of " FIRST_LINE,
                       name, (int)strcspn(text, "\n") < 40 ? (int)strcspn(text, "\n") : 40, text);
    const char *end = text + bytes;
    bool good = true;
    char *line = NULL;
    for (const char *at = text + first + 1; good && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        r.line++;
        if (stop == NULL || memchr(at, '\0', (size_t)(stop - at)) != NULL) {
            good = wrong(&r, stop == NULL ? "the last line is cut" : "a NUL byte");
            break;
        }
        line = hd_realloc(line, (size_t)(stop - at) + 1, 1);
        memcpy(line, at, (size_t)(stop - at));
        line[stop - at] = '\0';
        good = read_line(&r, line);
        at = stop + 1;
    }
    free(line);
    if (good && !r.ended) good = wrong(&r, "the file is cut: its end is missing");
    if (!good) hd_cover_free(cover);
    return good;
}

bool hd_cover_load(const char *path, struct hd_cover *cover, struct hd_error *error) {
    size_t bytes;
    char *text = hd_whole_file_read(path, MOST_BYTES, &bytes, error);
    if (text == NULL) return false;
    bool good = hd_cover_read(text, bytes, path, cover, error);
    free(text);
    return good;
}

bool hd_cover_save(const char *path, const struct hd_cover *cover, struct hd_error *error) {
    char *text = hd_cover_write(cover);
    bool good = hd_whole_file_write(path, text, error);
    free(text);
    return good;
}
