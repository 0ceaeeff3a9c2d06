/* Findings of `heddle lint` that are to be forced. See suspicions.h. */
#include "explore/suspicions.h"

#include <stdio.h>

bool hd_is_suspicion(const struct hd_finding *finding) {
    return finding->kind == HD_FINDING_VIEW || finding->kind == HD_FINDING_STALE_VALUE;
}

static bool check_finding(const char *name, const struct hd_finding *finding,
                          struct hd_error *error) {
    unsigned seen = 1u << HD_FINDING_ROLE_NONE;
    if (!hd_is_suspicion(finding))
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "%s: a finding of kind '%s' can't be forced; --from takes what `heddle lint "
                       "--format json` writes (view, stale-value)",
                       name, hd_finding_kind_name(finding->kind));
    for (uint32_t i = 0; i < finding->events; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        seen |= 1u << event->role;
        if (event->role != HD_FINDING_ROLE_NONE && (event->file == NULL || event->line == 0))
            return hd_fail(error, HD_ERR_FORMAT, "%s: finding %s: event %u has no file and line",
                           name, finding->fingerprint, i);
    }
    for (unsigned role = 0; role < HD_FINDING_ROLE_COUNT; role++)
        if ((seen >> role & 1u) == 0)
            return hd_fail(error, HD_ERR_FORMAT, "%s: finding %s has no event with the role '%s'",
                           name, finding->fingerprint, hd_finding_role_name(role));
    return true;
}

static bool check(const char *name, struct hd_findings_file *file, struct hd_error *error) {
    bool good = true;
    for (size_t i = 0; i < file->findings.list.size && good; i++)
        good = check_finding(name, &file->findings.list.data[i], error);
    if (!good) hd_findings_file_free(file);
    return good;
}

bool hd_suspicions_load(const char *path, struct hd_findings_file *file, struct hd_error *error) {
    return hd_findings_read(path, file, error) && check(path, file, error);
}

bool hd_suspicions_parse(const char *name, const char *text, size_t bytes,
                         struct hd_findings_file *file, struct hd_error *error) {
    return hd_findings_parse(name, text, bytes, file, error) && check(name, file, error);
}

void hd_suspicion_where(const struct hd_finding *suspicion, enum hd_finding_role role, char *text,
                        size_t room) {
    snprintf(text, room, "?");
    for (uint32_t i = 0; i < suspicion->events; i++) {
        const struct hd_finding_event *event = &suspicion->event[i];
        if (event->role != role) continue;
        snprintf(text, room, "%s:%u", hd_finding_short_site(event->file), event->line);
        return;
    }
}
