/* See explored.h. */
#include "cli/explored.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

char *hd_explored_path(const char *program, const char *kind) {
    const char *name = strrchr(program, '/');
    return hd_format("%s.%s.json", name != NULL ? name + 1 : program, kind);
}

void hd_print_output(const struct hd_exploration *exploration) {
    if (exploration->output_differs == 0) return;
    printf("Output depends on the schedule: in %u of %u run%s, %s. This is no failure; with "
           "--same-output it is.\n",
           exploration->output_differs, exploration->output_runs,
           exploration->output_runs == 1 ? "" : "s", exploration->output_words);
}

void hd_print_cut(const struct hd_exploration *exploration) {
    if (exploration->cut == 0) return;
    printf("%u run%s had not ended when the time was up and may hang (--time, --limit).\n",
           exploration->cut, exploration->cut == 1 ? "" : "s");
}
