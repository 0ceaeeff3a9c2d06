/* --correlations: see correlations_option.h. */
#include "cli/correlations_option.h"

#include "cli/output.h"
#include "cli/store_option.h"
#include "facts/patterns.h"
#include "mine/access_sets.h"
#include "mine/corr_file.h"

/* A rule's modes are what an access does. */
_Static_assert((int)HD_MINE_READ == (int)HD_DOES_READ, "modes differ");
_Static_assert((int)HD_MINE_WRITE == (int)HD_DOES_WRITE, "modes differ");
_Static_assert((int)HD_MINE_ANY == (int)HD_DOES_UPDATE, "modes differ");

/* Each two members of a set imply each other. */
static void add_set(struct hd_correlated_rules *rules, const struct hd_corr_file *file,
                    const struct hd_corr_set *set) {
    for (uint32_t i = 0; i < set->count; i++)
        for (uint32_t k = i + 1; k < set->count; k++)
            hd_correlated_add(rules, file->member.data[set->first + i], set->mode,
                              file->member.data[set->first + k], set->mode);
}

static void add_file(struct hd_correlated_rules *rules, struct hd_corr_file *file) {
    for (size_t i = 0; i < file->rule.size; i++) {
        const struct hd_corr_rule *rule = &file->rule.data[i];
        hd_correlated_add(rules, rule->x, rule->a1, rule->y, rule->a2);
    }
    for (size_t i = 0; i < file->set.size; i++) add_set(rules, file, &file->set.data[i]);
    hd_corr_free(file);
}

static bool add_kept(const char *target, const char *text, size_t bytes, void *context,
                     struct hd_error *error) {
    struct hd_corr_file file;
    if (!hd_corr_read(text, bytes, target, &file, error)) return false;
    add_file(context, &file);
    return true;
}

bool hd_correlations_option_use(const char *command, const char *path, const char *project,
                                struct hd_correlated_rules *rules) {
    struct hd_corr_file file;
    struct hd_error error;
    if (hd_store_looks_like_one(path)) {
        if (!hd_store_option_kept(command, path, project, HD_STORE_CORRELATIONS, NULL, add_kept,
                                  rules))
            return false;
    } else if (hd_corr_load(path, &file, &error)) {
        add_file(rules, &file);
    } else {
        hd_complain_error(command, &error);
        return false;
    }
    if (rules->rule.count > 0) return true;
    hd_complain(command, "%s has no rule about two variables", path);
    return false;
}
