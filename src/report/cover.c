/* See cover.h. */
#include "report/cover.h"

#include "base/alloc.h"
#include "report/page.h"
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_CRITERIA (HD_CRITERION_COUNT - HD_COVER_KEPT)

static double mean(uint64_t sum, uint64_t count) {
    return count > 0 ? (double)sum / (double)count : 0;
}

/* ---- one trace --------------------------------------------------------------------------------
 */

/* Section 6.4, with the numbers of threads (M) and variables (V), and the mean numbers of accesses
 * per thread (N) and per thread and variable (N_V). Costs are powers of ten. */
struct cost {
    double least, most;
};

static double log10_of(double value) { return value > 1 ? log10(value) : 0; }

static struct cost cost_of(const struct hd_cover_measure *m, enum hd_criterion criterion) {
    double M = m->threads, V = m->variables;
    double N = mean(m->accesses, m->threads),
           NV = mean(m->touches, (uint64_t)m->threads * m->variables);
    double size = m->size[criterion].log10;
    switch (criterion) {
    case HD_COVER_ALL:
        return (struct cost){size, size};
    case HD_COVER_TPAIR:
        return (struct cost){size - log10_of(M * (M - 1) / 2), size - log10_of(M - 1)};
    case HD_COVER_SVAR:
        return (struct cost){size - log10_of(V * M * (M - 1) / 2), size - log10_of(M - 1)};
    case HD_COVER_PINV:
        return (struct cost){log10_of(NV - 1), size - log10_of(M - 1)};
    case HD_COVER_DEF_USE:
        return (struct cost){size - log10_of(N * M / 2), size - log10_of(M - 1)};
    default:
        return (struct cost){0, log10_of(N * M)};
    }
}

static void put_cost(FILE *out, double power) {
    if (!(power > 0))
        fprintf(out, "%14s", "1");
    else if (power < 9)
        fprintf(out, "%14.0f", pow(10, power));
    else
        fprintf(out, "%7s10^%-4.0f", "", power);
}

void hd_report_measure(FILE *out, const char *name, const struct hd_cover_measure *m, bool costs) {
    fprintf(out, "%s: %u thread%s, %u shared variable%s, %llu access%s, %llu read%s\n\n", name,
            m->threads, hd_page_plural(m->threads), m->variables, hd_page_plural(m->variables),
            (unsigned long long)m->accesses, m->accesses == 1 ? "" : "es",
            (unsigned long long)m->reads, hd_page_plural(m->reads));
    fprintf(out, "  %-9s %24s %20s%s\n", "criterion", "properties", "covered by this run",
            costs ? "    runs at least       at most" : "");
    for (unsigned c = 0; c < HD_CRITERION_COUNT; c++) {
        char size[HD_SIZE_TEXT];
        hd_size_text(m->size[c], size);
        fprintf(out, "  %-9s %24s %20llu", hd_criterion_name(c), size,
                (unsigned long long)m->covered[c]);
        if (costs) {
            struct cost cost = cost_of(m, c);
            put_cost(out, cost.least);
            put_cost(out, cost.most);
        }
        fputc('\n', out);
    }
    if (costs)
        fprintf(out,
                "\n  Costs by section 6.4 of the dissertation: M = %u threads, V = %u variables,\n"
                "  N = %.1f accesses per thread, N_V = %.1f per thread and variable.\n",
                m->threads, m->variables, mean(m->accesses, m->threads),
                mean(m->touches, (uint64_t)m->threads * m->variables));
    fputc('\n', out);
}

json_t *hd_measure_json(const char *name, const struct hd_cover_measure *m) {
    json_t *criteria = json_object();
    for (unsigned c = 0; c < HD_CRITERION_COUNT; c++) {
        char size[HD_SIZE_TEXT];
        hd_size_text(m->size[c], size);
        bool zero = m->size[c].exact && m->size[c].value == 0;
        json_object_set_new(criteria, hd_criterion_name(c),
                            json_pack("{s:s, s:o, s:o}", "properties", size, "log10",
                                      zero ? json_null() : json_real(m->size[c].log10), "covered",
                                      hd_json_number(m->covered[c])));
    }
    return json_pack("{s:o, s:i, s:i, s:o, s:o, s:o}", "trace", hd_json_text(name), "threads",
                     (int)m->threads, "variables", (int)m->variables, "accesses",
                     hd_json_number(m->accesses), "reads", hd_json_number(m->reads), "criteria",
                     criteria);
}

/* ---- all runs ---------------------------------------------------------------------------------
 */

struct growth {
    double *covered[HD_CRITERION_COUNT];
    struct hd_plot_line line[KEPT_CRITERIA];
};

static void growth_make(const struct hd_cover *cover, struct growth *growth) {
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        uint32_t *covered = hd_cover_growth(cover, c);
        growth->covered[c] = hd_alloc(cover->run.size, sizeof(double));
        for (size_t i = 0; i < cover->run.size; i++) growth->covered[c][i] = covered[i];
        free(covered);
        growth->line[c - HD_COVER_KEPT] = (struct hd_plot_line){.name = hd_criterion_name(c),
                                                                .y = growth->covered[c],
                                                                .count = (uint32_t)cover->run.size};
    }
}

static void growth_free(struct growth *growth) {
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) free(growth->covered[c]);
}

void hd_report_cover(FILE *out, const struct hd_cover *cover) {
    fprintf(out, "%zu run%s, properties by sites:\n\n", cover->run.size,
            hd_page_plural(cover->run.size));
    fprintf(out, "  %-9s %10s %10s %10s %12s\n", "criterion", "properties", "covered", "open",
            "infeasible");
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        struct hd_cover_count count = hd_cover_count(cover, c);
        fprintf(out, "  %-9s %10u %10u %10u %12u\n", hd_criterion_name(c), count.properties,
                count.covered, count.properties - count.covered - count.infeasible,
                count.infeasible);
    }
    if (cover->cut)
        fprintf(out,
                "\n  A location is accessed at so many sites that not all of its properties are "
                "listed.\n");
    if (cover->run.size > 1) {
        struct growth growth;
        growth_make(cover, &growth);
        struct hd_plot plot = {.line = growth.line, .lines = KEPT_CRITERIA};
        fprintf(out, "\n  covered after each run\n");
        hd_plot_text(out, &plot, 60);
        growth_free(&growth);
    }
    fputc('\n', out);
}

void hd_report_growth_svg(FILE *out, const struct hd_cover *cover, const char *title) {
    struct growth growth;
    growth_make(cover, &growth);
    struct hd_plot plot = {.title = title,
                           .x_label = "runs",
                           .y_label = "properties covered",
                           .line = growth.line,
                           .lines = KEPT_CRITERIA};
    hd_plot_svg(out, &plot);
    growth_free(&growth);
}

void hd_report_growths_svg(FILE *out, const struct hd_cover *cover, const char *const *name,
                           uint32_t files, enum hd_criterion criterion) {
    struct hd_plot_line *line = hd_alloc(files, sizeof *line);
    double **y = hd_alloc(files, sizeof *y);
    for (uint32_t f = 0; f < files; f++) {
        uint32_t *covered = hd_cover_growth(&cover[f], criterion),
                 runs = (uint32_t)cover[f].run.size;
        y[f] = hd_alloc(runs, sizeof **y);
        for (uint32_t i = 0; i < runs; i++) y[f][i] = covered[i];
        line[f] = (struct hd_plot_line){.name = name[f], .y = y[f], .count = runs};
        free(covered);
    }
    struct hd_plot plot = {.title = hd_criterion_about(criterion),
                           .x_label = "runs",
                           .y_label = "properties covered",
                           .line = line,
                           .lines = files};
    hd_plot_svg(out, &plot);
    for (uint32_t f = 0; f < files; f++) free(y[f]);
    free(y);
    free(line);
}

/* ---- what is open -----------------------------------------------------------------------------
 */

static void put_property(FILE *out, const struct hd_cover *cover, enum hd_criterion criterion,
                         const struct hd_property *p) {
    const char *a = hd_cover_site(cover, p->site[0]), *b = hd_cover_site(cover, p->site[1]);
    switch (criterion) {
    case HD_COVER_PINV:
        fprintf(out, "%s, then %s by another thread, then %s", a, hd_cover_site(cover, p->site[2]),
                b);
        break;
    case HD_COVER_DEF_USE:
        if (p->site[0] == HD_COVER_LOCAL)
            fprintf(out, "%s sees its own thread's write, or the initial value", b);
        else
            fprintf(out, "%s sees %s of another thread", b, a);
        break;
    case HD_COVER_LR_INV:
        fprintf(out, "%s, then anything of another thread that breaks it, then %s", a, b);
        break;
    default:
        fprintf(out, "%s sees %s", a,
                p->site[1] != 0 ? "another thread's write" : "its own thread's write");
    }
}

void hd_report_open(FILE *out, const struct hd_cover *cover, enum hd_criterion criterion,
                    uint32_t most) {
    uint32_t count, *list = hd_cover_open(cover, criterion, &count);
    fprintf(out, "%s: %u open%s\n", hd_criterion_name(criterion), count,
            count > 0 ? ", likely bugs first" : "");
    for (uint32_t i = 0; i < count && (most == 0 || i < most); i++) {
        fprintf(out, "  %4u  ", i + 1);
        put_property(out, cover, criterion, &cover->kept[criterion].list.data[list[i]]);
        fputc('\n', out);
    }
    if (most != 0 && count > most)
        fprintf(out, "  ... and %u more (--max 0 lists all)\n", count - most);
    fputc('\n', out);
    free(list);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static json_t *open_json(const struct hd_cover *cover, enum hd_criterion criterion) {
    uint32_t count, *list = hd_cover_open(cover, criterion, &count);
    json_t *open = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_property *p = &cover->kept[criterion].list.data[list[i]];
        json_t *sites = json_array();
        for (int k = 0; k < 3; k++)
            if (p->site[k] != 0 && (k != 1 || criterion != HD_COVER_LR_DEF))
                json_array_append_new(sites, hd_json_text(hd_cover_site(cover, p->site[k])));
        json_t *entry = json_pack("{s:o, s:f}", "sites", sites, "gap", hd_cover_gap(cover, p));
        if (criterion == HD_COVER_LR_DEF)
            json_object_set_new(entry, "remote", json_boolean(p->site[1]));
        if (criterion == HD_COVER_DEF_USE)
            json_object_set_new(entry, "local", json_boolean(p->site[0] == HD_COVER_LOCAL));
        if (criterion == HD_COVER_PINV)
            json_object_set_new(entry, "unserializable", json_boolean(p->unserializable));
        json_array_append_new(open, entry);
    }
    free(list);
    return open;
}

json_t *hd_cover_json(const struct hd_cover *cover) {
    json_t *criteria = json_object(), *runs = json_array();
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        struct hd_cover_count count = hd_cover_count(cover, c);
        json_object_set_new(criteria, hd_criterion_name(c),
                            json_pack("{s:i, s:i, s:i, s:o}", "properties", (int)count.properties,
                                      "covered", (int)count.covered, "infeasible",
                                      (int)count.infeasible, "open", open_json(cover, c)));
    }
    uint32_t *growth[HD_CRITERION_COUNT];
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++)
        growth[c] = hd_cover_growth(cover, c);
    for (size_t i = 0; i < cover->run.size; i++) {
        json_t *run = json_pack("{s:o}", "name", hd_json_text(cover->run.data[i].name));
        for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++)
            json_object_set_new(run, hd_criterion_name(c),
                                json_pack("{s:i, s:i}", "covered",
                                          (int)cover->run.data[i].covered[c], "covered_so_far",
                                          (int)growth[c][i]));
        json_array_append_new(runs, run);
    }
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) free(growth[c]);
    return json_pack("{s:o, s:o, s:b}", "runs", runs, "criteria", criteria, "cut", cover->cut);
}
