/* Fingerprints: the same root cause, the same number, whatever else was edited. */
#include "finding/finding.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A variable's name without what differs from run to run: indices of array elements, numbers and
 * offsets of blocks, addresses. */
static void stable_name(const char *name, char *text, size_t room) {
    static const char *const vague[] = {"heap#", "map#", "stack of ", "0x"};
    for (size_t i = 0; i < sizeof vague / sizeof *vague; i++)
        if (strncmp(name, vague[i], strlen(vague[i])) == 0) {
            snprintf(text, room, "%s", vague[i]);
            return;
        }
    size_t used = 0;
    bool index = false;
    for (; *name != '\0' && used + 1 < room; name++) {
        if (*name == ']') index = false;
        if (!index) text[used++] = *name;
        if (*name == '[') index = true;
    }
    text[used] = '\0';
}

static uint64_t hash_word(uint64_t seed, const char *word) {
    return XXH3_64bits_withSeed(word, strlen(word) + 1, seed);
}

static uint64_t hash_event(const struct hd_finding_event *event) {
    char name[512];
    stable_name(event->plain != NULL ? event->plain : event->variable, name, sizeof name);
    uint64_t hash = hash_word(0, event->op);
    hash = hash_word(hash, name);
    if (event->site_is_name) return hash_word(hash, event->site);
    hash = hash_word(hash, event->function);
    if (event->file == NULL) return hash_word(hash, event->site);
    hash = hash_word(hash, event->file);
    /* Memory without a name is the same for all accesses of a function, and named variables are
     * used more than once: the place tells them apart. */
    uint64_t place[2] = {0};
    if (event->function_line > 0) {
        place[0] = (uint64_t)event->line - event->function_line;
        place[1] = event->column;
    }
    return XXH3_64bits_withSeed(place, sizeof place, hash);
}

bool hd_finding_is_circle(const struct hd_finding *finding) {
    return (finding->kind == HD_FINDING_RACE && finding->events == 2) ||
           (finding->kind == HD_FINDING_DEADLOCK && finding->events > 1);
}

uint64_t hd_hash_circle(const uint64_t *each, uint32_t count, uint64_t seed) {
    uint32_t first = 0;
    uint64_t *turned = hd_alloc(count, sizeof *turned);
    for (uint32_t i = 1; i < count; i++)
        if (each[i] < each[first]) first = i;
    for (uint32_t i = 0; i < count; i++) turned[i] = each[(first + i) % count];
    uint64_t hash = XXH3_64bits_withSeed(turned, count * sizeof *turned, seed);
    free(turned);
    return hash;
}

static uint64_t hash_finding(const struct hd_finding *finding) {
    uint64_t hash = hash_word(0, hd_finding_kind_name(finding->kind));
    if (finding->pattern != NULL) hash = hash_word(hash, finding->pattern);
    if (hd_finding_is_circle(finding)) {
        uint64_t *each = hd_alloc(finding->events, sizeof *each);
        for (uint32_t i = 0; i < finding->events; i++) each[i] = hash_event(&finding->event[i]);
        hash = hd_hash_circle(each, finding->events, hash);
        free(each);
        return hash;
    }
    for (uint32_t i = 0; i < finding->variable_count; i++)
        hash = hash_word(hash, finding->variables[i]);
    if (finding->events == 0) return hash_word(hash_word(hash, finding->variable), finding->place);
    for (uint32_t i = 0; i < finding->events; i++) {
        uint64_t each = hash_event(&finding->event[i]);
        hash = XXH3_64bits_withSeed(&each, sizeof each, hash);
    }
    return hash;
}

/* ---- findings that agree -------------------------------------------------------------------- */

struct numbered {
    uint64_t hash;
    const struct hd_finding *finding;
    size_t index;
};

static int compare_places(const void *left, const void *right) {
    const struct numbered *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    for (uint32_t i = 0; i < a->finding->events && i < b->finding->events; i++) {
        uint32_t first = a->finding->event[i].line, second = b->finding->event[i].line;
        if (first != second) return first < second ? -1 : 1;
        first = a->finding->event[i].column;
        second = b->finding->event[i].column;
        if (first != second) return first < second ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static void write_print(struct hd_finding *finding, uint64_t hash, unsigned number) {
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%016llx",
             (unsigned long long)hash);
    if (number > 1) hd_finding_number(finding, number);
}

void hd_finding_number(struct hd_finding *finding, unsigned number) {
    size_t alone = strcspn(finding->fingerprint, "-");
    snprintf(finding->fingerprint + alone, sizeof finding->fingerprint - alone, "-%u", number);
}

void hd_finding_fingerprint(struct hd_finding *finding) {
    write_print(finding, hash_finding(finding), 1);
}

void hd_findings_fingerprint(struct hd_findings *findings) {
    size_t count = findings->list.size;
    struct numbered *order = hd_alloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        const struct hd_finding *finding = &findings->list.data[i];
        order[i] = (struct numbered){hash_finding(finding), finding, i};
    }
    if (count > 1) qsort(order, count, sizeof *order, compare_places);
    unsigned number = 1;
    for (size_t i = 0; i < count; i++) {
        number = i > 0 && order[i].hash == order[i - 1].hash ? number + 1 : 1;
        write_print(&findings->list.data[order[i].index], order[i].hash, number);
    }
    free(order);
}
