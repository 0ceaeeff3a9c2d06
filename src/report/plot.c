/* See plot.h. */
#include "report/plot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 420, LEFT = 70, RIGHT = 190, TOP = 46, BOTTOM = 56, TICKS = 5 };

/* Colours that people with colour blindness tell apart (Okabe and Ito). */
static const char *const colour[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#999933", "#777777"};
#define COLOURS (sizeof colour / sizeof *colour)

static void put_text(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
}

static double x_at(const struct hd_plot_line *line, uint32_t i) {
    return line->x != NULL ? line->x[i] : (double)i + 1;
}

struct range {
    double low_x, high_x, high_y;
};

static struct range range_of(const struct hd_plot *plot) {
    struct range range = {INFINITY, -INFINITY, 0};
    for (uint32_t l = 0; l < plot->lines; l++)
        for (uint32_t i = 0; i < plot->line[l].count; i++) {
            double x = x_at(&plot->line[l], i), y = plot->line[l].y[i];
            if (x < range.low_x) range.low_x = x;
            if (x > range.high_x) range.high_x = x;
            if (y > range.high_y) range.high_y = y;
        }
    if (range.low_x > range.high_x) range.low_x = range.high_x = 0;
    if (range.low_x == range.high_x) range.high_x = range.low_x + 1;
    if (range.high_y <= 0) range.high_y = 1;
    return range;
}

/* A round number of at least `wanted` between ticks: 1, 2 or 5 times a power of ten. */
static double round_step(double wanted) {
    double power = pow(10, floor(log10(wanted)));
    double steps[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (steps[i] * power >= wanted * 0.999) return steps[i] * power;
    return 10 * power;
}

static double place_x(struct range range, double x) {
    return LEFT + (x - range.low_x) / (range.high_x - range.low_x) * (WIDTH - LEFT - RIGHT);
}
static double place_y(struct range range, double y) {
    return HEIGHT - BOTTOM - y / range.high_y * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(FILE *out, const struct hd_plot *plot, struct range range) {
    double step_y = round_step(range.high_y / TICKS);
    for (double y = 0; y <= range.high_y * 1.0001; y += step_y)
        fprintf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, WIDTH - RIGHT, place_y(range, y), place_y(range, y), LEFT - 8,
                place_y(range, y) + 4, y);
    double step_x = round_step((range.high_x - range.low_x) / (TICKS + 1));
    if (step_x < 1) step_x = 1;
    for (double x = ceil(range.low_x / step_x) * step_x; x <= range.high_x * 1.0001; x += step_x)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                place_x(range, x), HEIGHT - BOTTOM + 20, x);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
            HEIGHT - 14);
    put_text(out, plot->x_label);
    fprintf(out,
            "</text>\n<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">",
            (TOP + HEIGHT - BOTTOM) / 2);
    put_text(out, plot->y_label);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"26\" class=\"title\">", LEFT);
    put_text(out, plot->title);
    fprintf(out, "</text>\n");
}

/* Names stand at the lines' ends, moved apart where they would touch. */
static void draw_lines(FILE *out, const struct hd_plot *plot, struct range range) {
    double name_at[COLOURS];
    for (uint32_t l = 0; l < plot->lines && l < COLOURS; l++) {
        const struct hd_plot_line *line = &plot->line[l];
        if (line->count == 0) continue;
        fprintf(out, "<polyline stroke=\"%s\" points=\"", colour[l]);
        for (uint32_t i = 0; i < line->count; i++)
            fprintf(out, "%.1f,%.1f ", place_x(range, x_at(line, i)), place_y(range, line->y[i]));
        fprintf(out, "\"/>\n");
        double y = place_y(range, line->y[line->count - 1]) + 4;
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t k = 0; k < l; k++)
                if (plot->line[k].count > 0 && fabs(name_at[k] - y) < 14) {
                    y = name_at[k] + 15;
                    moved = true;
                }
        }
        name_at[l] = y;
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" style=\"fill:%s\">", WIDTH - RIGHT + 8, y,
                colour[l]);
        put_text(out, line->name);
        fprintf(out, "</text>\n");
    }
}

void hd_plot_svg(FILE *out, const struct hd_plot *plot) {
    struct range range = range_of(plot);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\">\n"
            "<style>svg{background:#fff}text{font:12px sans-serif;fill:#333}.title{font:bold 14px "
            "sans-serif}.grid{stroke:#ddd}polyline{fill:none;stroke-width:2}"
            "@media(prefers-color-scheme:dark){svg{background:#181818}text{fill:#ddd}"
            ".grid{stroke:#444}}</style>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    draw_axes(out, plot, range);
    draw_lines(out, plot, range);
    fprintf(out, "</svg>\n");
}

void hd_plot_text(FILE *out, const struct hd_plot *plot, unsigned width) {
    static const char *const bar[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t longest = 0;
    for (uint32_t l = 0; l < plot->lines; l++)
        if (strlen(plot->line[l].name) > longest) longest = strlen(plot->line[l].name);
    for (uint32_t l = 0; l < plot->lines; l++) {
        const struct hd_plot_line *line = &plot->line[l];
        double most = 0;
        for (uint32_t i = 0; i < line->count; i++)
            if (line->y[i] > most) most = line->y[i];
        unsigned columns = line->count < width ? line->count : width;
        fprintf(out, "  %-*s  ", (int)longest, line->name);
        for (unsigned c = 0; c < columns; c++) {
            uint32_t i = (uint32_t)((uint64_t)(c + 1) * line->count / columns) - 1;
            fputs(bar[most > 0 ? (int)(line->y[i] / most * 8 + 0.5) : 0], out);
        }
        if (line->count > 0) fprintf(out, "  %g", line->y[line->count - 1]);
        fputc('\n', out);
    }
}
