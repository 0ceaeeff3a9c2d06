/* Line plots: numbers over runs, as SVG for a page and as characters for a terminal. */
#ifndef HEDDLE_REPORT_PLOT_H
#define HEDDLE_REPORT_PLOT_H

#include <stdint.h>
#include <stdio.h>

struct hd_plot_line {
    const char *name;
    const double *x, *y; /* ascending in x; NULL for x: 1, 2, 3, ... */
    uint32_t count;
};

struct hd_plot {
    const char *title, *x_label, *y_label;
    const struct hd_plot_line *line;
    uint32_t lines; /* at most 8 are told apart by colour */
};

/* A whole SVG document, readable on white and on black. Names are escaped. */
void hd_plot_svg(FILE *out, const struct hd_plot *plot);
/* One row of bars for each line: how far it had come, in `width` columns. */
void hd_plot_text(FILE *out, const struct hd_plot *plot, unsigned width);

#endif
