/* See changes.h. */
#include "report/changes.h"

#include "base/json.h"
#include "report/page.h"

#include <string.h>
#include <time.h>

#define BAR 40u /* columns */

static const char *time_words(int64_t seconds, char text[32]) {
    time_t when = (time_t)seconds;
    struct tm fields;
    if (localtime_r(&when, &fields) == NULL || strftime(text, 32, "%Y-%m-%d %H:%M", &fields) == 0)
        snprintf(text, 32, "?");
    return text;
}

/* ---- what changed ---------------------------------------------------------------------------- */

/* "race on hits at two.c:5 and two.c:9" */
static void print_name(const struct hd_page *page, const struct hd_finding *finding) {
    fprintf(page->out, "  %s%s%s", page->bold, hd_finding_kind_name(finding->kind), page->off);
    if (*finding->variable != '\0') fprintf(page->out, " on %s", finding->variable);
    unsigned shown = 0;
    for (uint32_t i = 0; i < finding->events && shown < 3; i++) {
        const char *site = finding->event[i].site;
        bool known = *site == '\0';
        for (uint32_t k = 0; k < i; k++) known |= strcmp(site, finding->event[k].site) == 0;
        if (known) continue;
        const char *slash = strrchr(site, '/');
        fprintf(page->out, "%s%s", shown++ == 0 ? " at " : ", ", slash != NULL ? slash + 1 : site);
    }
    fprintf(page->out, "  %s%s%s\n", page->dim, finding->fingerprint, page->off);
}

/* Verdicts one after the other, each with the run that first gave it. */
static void print_verdicts(const struct hd_page *page, const struct hd_changes *changes,
                           const struct hd_changes_finding *finding) {
    const struct hd_changes_sighting *sighting = &changes->sighting.data[finding->sighting];
    const char *last = "";
    for (uint32_t i = 0; i < finding->sightings; i++) {
        if (strcmp(sighting[i].verdict, last) == 0) continue;
        last = sighting[i].verdict;
        fprintf(page->out, "%s%s by run %lld", i > 0 ? ", " : "      ", last,
                (long long)sighting[i].run);
    }
}

static const char *unseen_words(enum hd_unseen unseen) {
    static const char *const words[] = {
        [HD_SEEN] = "",
        [HD_UNSEEN_NOT_ASKED] = "did not look for this kind",
        [HD_UNSEEN_NOT_WHOLE] = "did not find it, but did not look at everything",
        [HD_UNSEEN_NO_BUILD] = "did not find it, but of which builds they were is not known",
        [HD_UNSEEN_SAME_BUILD] = "did not find it in the same build"};
    return words[unseen];
}

static void print_finding(const struct hd_page *page, const struct hd_changes *changes,
                          const struct hd_changes_finding *finding) {
    print_name(page, finding->finding);
    print_verdicts(page, changes, finding);
    if (finding->last != finding->first)
        fprintf(page->out, "; seen by %u runs, last by run %lld", finding->sightings,
                (long long)finding->last);
    if (finding->change == HD_CHANGE_BACK)
        fprintf(page->out, "; it was fixed by run %lld", (long long)finding->fixed_by);
    else if (finding->change == HD_CHANGE_FIXED)
        fprintf(page->out, "; run %lld did not find it any more", (long long)finding->fixed_by);
    else if (finding->unseen != HD_SEEN)
        fprintf(page->out, "; run %lld %s", (long long)finding->unseen_by,
                unseen_words(finding->unseen));
    fputc('\n', page->out);
}

static void print_part(const struct hd_page *page, const struct hd_changes *changes,
                       enum hd_change change, const char *title) {
    if (changes->count[change] == 0) return;
    fprintf(page->out, "%s\n", title);
    for (size_t i = 0; i < changes->list.size; i++) {
        const struct hd_changes_finding *finding = &changes->list.data[i];
        if (finding->change == change && !finding->hidden) print_finding(page, changes, finding);
    }
    fputc('\n', page->out);
}

void hd_report_changes(FILE *out, const struct hd_report_store *store,
                       const struct hd_report_style *style) {
    const struct hd_changes *changes = store->changes;
    struct hd_page page = hd_page_for(out, style);
    char when[32];
    fprintf(out, "%s, project %s: %zu run%s", store->path, store->project, changes->run.size,
            hd_page_plural(changes->run.size));
    const struct hd_changes_run *base = hd_changes_run(changes, changes->since);
    if (base != NULL)
        fprintf(out, "; since run %lld (%s)", (long long)base->id, time_words(base->started, when));
    fputs("\n\n", out);
    print_part(&page, changes, HD_CHANGE_NEW, store->since ? "New:" : "Found:");
    print_part(&page, changes, HD_CHANGE_BACK, "Back again:");
    print_part(&page, changes, HD_CHANGE_FIXED, "Fixed:");
    print_part(&page, changes, HD_CHANGE_STILL, "Still there:");
    fprintf(out, "%u %s, %u back again, %u fixed", changes->count[HD_CHANGE_NEW],
            store->since ? "new" : "found", changes->count[HD_CHANGE_BACK],
            changes->count[HD_CHANGE_FIXED]);
    if (store->since) fprintf(out, ", %u still there", changes->count[HD_CHANGE_STILL]);
    if (changes->hidden > 0)
        fprintf(out, "; %u hidden by suppressions or a baseline", changes->hidden);
    fputc('\n', out);
}

/* ---- runs ------------------------------------------------------------------------------------ */

void hd_report_runs(FILE *out, const struct hd_report_store *store,
                    const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    char when[32];
    fprintf(out, "%srun   when              command  findings  new  back  fixed  there  target%s\n",
            page.dim, page.off);
    for (size_t i = 0; i < store->changes->run.size; i++) {
        const struct hd_changes_run *run = &store->changes->run.data[i];
        fprintf(out, "%-5lld %s  %-7s  %8u  %3u  %4u  %5u  %5u  %s%s%s\n", (long long)run->id,
                time_words(run->started, when), run->tool, run->findings, run->fresh, run->back,
                run->fixed, run->there, run->target, *run->settings != '\0' ? " " : "",
                run->settings);
    }
}

void hd_report_trends(FILE *out, const struct hd_report_store *store,
                      const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    const struct hd_changes *changes = store->changes;
    uint32_t most = 1;
    char when[32];
    for (size_t i = 0; i < changes->run.size; i++)
        if (changes->run.data[i].there > most) most = changes->run.data[i].there;
    fprintf(out, "%srun   when               new  fixed  there%s\n", page.dim, page.off);
    for (size_t i = 0; i < changes->run.size; i++) {
        const struct hd_changes_run *run = &changes->run.data[i];
        bool ends = i == 0 || i + 1 == changes->run.size;
        if (!ends && run->fresh + run->back + run->fixed == 0) continue;
        fprintf(out, "%-5lld %s  %4u  %5u  %5u  ", (long long)run->id,
                time_words(run->started, when), run->fresh + run->back, run->fixed, run->there);
        for (uint32_t k = 0; k < (uint64_t)run->there * BAR / most; k++) fputc('#', out);
        fputc('\n', out);
    }
}

/* ---- for programs ---------------------------------------------------------------------------- */

json_t *hd_report_runs_json(const struct hd_report_store *store) {
    json_t *list = json_array();
    for (size_t i = 0; i < store->changes->run.size; i++) {
        const struct hd_changes_run *run = &store->changes->run.data[i];
        json_t *kinds = json_array();
        for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++)
            if ((run->looked_for & 1u << kind) != 0)
                json_array_append_new(kinds,
                                      json_pack("{s:s, s:b}", "kind", hd_finding_kind_name(kind),
                                                "whole", (run->whole & 1u << kind) != 0));
        json_array_append_new(
            list,
            json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:I, s:I, s:I, s:I, s:I}",
                      "run", HD_INT(run->id), "started", HD_INT(run->started), "command",
                      hd_json_text(run->tool), "target", hd_json_text(run->target), "settings",
                      hd_json_text(run->settings), "version", hd_json_text(run->version), "build",
                      hd_json_text_or_null(run->build), "trace", hd_json_text_or_null(run->trace),
                      "status", run->status, "kinds", kinds, "findings", HD_INT(run->findings),
                      "new", HD_INT(run->fresh), "back", HD_INT(run->back), "fixed",
                      HD_INT(run->fixed), "there", HD_INT(run->there)));
    }
    return json_pack("{s:s, s:o, s:o}", "schema", "heddle-store/1", "project",
                     hd_json_text(store->project), "runs", list);
}

static json_t *json_verdicts(const struct hd_changes *changes,
                             const struct hd_changes_finding *finding) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < finding->sightings; i++) {
        const struct hd_changes_sighting *sighting = &changes->sighting.data[finding->sighting + i];
        json_array_append_new(list, json_pack("{s:I, s:o, s:o, s:I}", "run", HD_INT(sighting->run),
                                              "verdict", hd_json_text(sighting->verdict), "harm",
                                              hd_json_text(sighting->harm), "instances",
                                              HD_INT(sighting->instances)));
    }
    return list;
}

json_t *hd_report_changes_json(const struct hd_report_store *store) {
    const struct hd_changes *changes = store->changes;
    json_t *list = json_array();
    for (size_t i = 0; i < changes->list.size; i++) {
        const struct hd_changes_finding *finding = &changes->list.data[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b, s:I, s:I, s:o, s:o}", "fingerprint",
                            finding->finding->fingerprint, "change",
                            hd_change_word(finding->change), "hidden", finding->hidden, "first_run",
                            HD_INT(finding->first), "last_run", HD_INT(finding->last), "fixed_by",
                            finding->fixed_by > 0 ? hd_json_number((uint64_t)finding->fixed_by)
                                                  : json_null(),
                            "seen", json_verdicts(changes, finding)));
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "project", hd_json_text(store->project),
                     "since", HD_INT(changes->since), "new", HD_INT(changes->count[HD_CHANGE_NEW]),
                     "back", HD_INT(changes->count[HD_CHANGE_BACK]), "fixed",
                     HD_INT(changes->count[HD_CHANGE_FIXED]), "still_there",
                     HD_INT(changes->count[HD_CHANGE_STILL]), "findings", list);
}
