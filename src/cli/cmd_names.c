/* heddle names: writes what the sources of a program call the memory it accesses. */
#include "base/whole_file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/source_input.h"
#include "source/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "names"

static bool write_text(const char *path, const char *text, struct hd_error *error) {
    struct hd_output_file file;
    if (!hd_output_file_open(&file, path, error)) return false;
    if (!hd_write_all(file.fd, text, strlen(text))) {
        int why = errno;
        hd_output_file_abandon(&file);
        return hd_fail(error, HD_ERR_IO, "cannot write %s: %s", path, strerror(why));
    }
    return hd_output_file_finish(&file, error);
}

int hd_cmd_names(int argc, char **argv) {
    const char *output = "-";
    bool whole = false;
    struct hd_source_input input = {0};
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &output,
                "write to FILE: APP.names beside the program APP is found by itself"),
        HD_FLAG("text", 0, &whole, "write all that was read of the sources instead, as text"),
        HD_SOURCE_OPTIONS(&input), HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[FILE]... [-- FLAG...]",
        .about = "Reads C and C++ sources and writes down what they call the memory they access:\n"
                 "for each file, line and column the expression there, with its struct and\n"
                 "field. With that file beside the program, or given by --names, reports say\n"
                 "daemon->shutdown instead of heap#1+492.\n",
        .example = "  heddle names -p build/compile_commands.json -o app.names\n"
                   "  heddle names src/main.c src/queue.c -o app.names -- -Iinclude\n",
        .options = options,
        .least = 0,
        .most = -1};
    int first, status;
    argc = hd_source_input_flags(&input, argc, argv);
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    struct hd_source source = {0};
    if (!hd_source_input_load(&input, COMMAND, argc, argv, first, &source, &status)) return status;
    uint32_t count = 0;
    char *text = whole ? hd_source_write_text(&source, NULL) : hd_source_names(&source, &count);
    char line[160];
    struct hd_error error;
    hd_source_input_warn(COMMAND, &source);
    hd_source_closing_line(&source, line, sizeof line);
    if (!write_text(output, text, &error))
        status = hd_complain_error(COMMAND, &error);
    else if (strcmp(output, "-") != 0) {
        if (!whole) printf("%u accesses named\n", count);
        printf("%s\n", line);
    } else
        fprintf(stderr, "%s\n", line);
    free(text);
    hd_source_free(&source);
    if (!hd_finish_output(COMMAND)) status = HD_EXIT_FAILED;
    return status;
}
