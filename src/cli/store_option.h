/* --store, the same in all commands: where runs, findings and what was learned are remembered. */
#ifndef HEDDLE_CLI_STORE_OPTION_H
#define HEDDLE_CLI_STORE_OPTION_H

#include "cli/options.h"
#include "report/report.h"
#include "store/store.h"

struct hd_store_option {
    const char *path;    /* NULL: none */
    const char *project; /* NULL: "default" */
    bool fresh;          /* --new-store */
};

#define HD_STORE_OPTIONS(o, about)                                                \
    HD_TEXT("store", 0, "FILE", &(o)->path, about),                               \
        HD_TEXT("project", 0, "NAME", &(o)->project,                              \
                "whose runs, in a store of several projects (default: default)"), \
        HD_FLAG("new-store", 0, &(o)->fresh,                                      \
                "if the store is damaged, give it another name and begin a new one")

const char *hd_store_option_project(const struct hd_store_option *option);
/* Opens it, after --new-store was seen to. Complains and returns NULL if that can't be done. */
struct hd_store *hd_store_option_open(const char *command, const struct hd_store_option *option,
                                      enum hd_store_use use);
/* Can it be used? To be asked before the long work. True without a store. */
bool hd_store_option_check(const char *command, const struct hd_store_option *option);
/* Calls `use` for each text that a store keeps of a kind, of one target or (NULL) of all; false
 * after a complaint. `path` is that of a store. */
bool hd_store_option_kept(const char *command, const char *path, const char *project,
                          const char *what, const char *target, hd_store_use *use, void *context);
/* Changes what the store keeps: hd_store_keep. */
bool hd_store_option_keep(const char *command, const struct hd_store_option *option,
                          const char *what, const char *target, hd_store_change *change,
                          void *context);
/* The target of a command that reads sources: its database and its operands; malloc'ed. */
char *hd_store_option_files(const char *path);
/* Adds the run of a command: what it looked at and what it found. Says so on standard error. */
bool hd_store_option_add(const char *command, const struct hd_store_option *option,
                         const struct hd_report_input *input, const struct hd_findings *findings);

#endif
