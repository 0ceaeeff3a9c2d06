/* What a campaign file says to whoever asks, and two files in one. See campaign.h. */
#include "campaign/campaign.h"

#include "base/alloc.h"
#include "campaign/file.h"
#include "store/sql.h"

#include <stdio.h>
#include <time.h>

#define ALIVE 5 /* seconds since the last sign of a start that goes on */

static bool read_start(struct hd_store *file, struct hd_campaign_state *state,
                       struct hd_error *error) {
    int64_t id = 0, ended = 0, starts;
    if (!hd_sql_number(file, error, &starts, 0, "SELECT count(*) FROM start", "")) return false;
    state->starts = (uint32_t)starts;
    sqlite3_stmt *row =
        hd_sql_ask(file, error,
                   "SELECT s.id, p.command, p.build, s.began, s.beat, s.ended, s.taken, s.left,"
                   " s.running, s.failures, s.what FROM start AS s JOIN program AS p"
                   " ON p.id = s.program ORDER BY s.id DESC LIMIT 1",
                   "");
    bool there = hd_sql_next(row);
    state->command = hd_strdup(there ? hd_sql_text(row, 1) : "");
    state->build = hd_strdup(there ? hd_sql_text(row, 2) : "");
    state->what = hd_strdup(there ? hd_sql_text(row, 10) : "");
    if (there) {
        id = sqlite3_column_int64(row, 0);
        state->began = sqlite3_column_int64(row, 3);
        state->beat = sqlite3_column_int64(row, 4);
        ended = sqlite3_column_int64(row, 5);
        state->taken = (uint64_t)sqlite3_column_int64(row, 6);
        state->left = (uint64_t)sqlite3_column_int64(row, 7);
        state->failures = (uint32_t)sqlite3_column_int64(row, 9);
    }
    state->running = there && ended == 0 && (int64_t)time(NULL) - state->beat <= ALIVE;
    state->ended = there && ended != 0;
    int64_t runs = 0;
    if (!hd_sql_end(file, row, error) ||
        !hd_sql_number(file, error, &runs, 0, "SELECT count(*) FROM result WHERE start = ?1", "i",
                       id))
        return false;
    state->last_runs = (uint64_t)runs;
    return true;
}

static bool read_outcomes(struct hd_store *file, struct hd_campaign_state *state,
                          struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(
        file, error,
        "SELECT outcome, count(*) FROM result GROUP BY outcome ORDER BY count(*) DESC, outcome",
        "");
    while (hd_sql_next(row)) {
        uint64_t runs = (uint64_t)sqlite3_column_int64(row, 1);
        state->runs += runs;
        if (state->outcomes == HD_OUTCOME_COUNT) continue;
        struct hd_campaign_outcome *outcome = &state->outcome[state->outcomes++];
        snprintf(outcome->word, sizeof outcome->word, "%.15s", hd_sql_text(row, 0));
        outcome->runs = runs;
    }
    return hd_sql_end(file, row, error);
}

static bool read_machines(struct hd_store *file, struct hd_campaign_state *state,
                          struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(file, error,
                                   "SELECT m.name, count(r.id) FROM machine AS m LEFT JOIN result"
                                   " AS r ON r.machine = m.id GROUP BY m.id ORDER BY m.name",
                                   "");
    while (hd_sql_next(row)) {
        state->machine = hd_realloc(state->machine, state->machines + 1u, sizeof *state->machine);
        state->machine[state->machines++] = (struct hd_campaign_machine){
            hd_strdup(hd_sql_text(row, 0)), (uint64_t)sqlite3_column_int64(row, 1)};
    }
    return hd_sql_end(file, row, error);
}

bool hd_campaign_look(const char *path, struct hd_campaign_state *state, struct hd_error *error) {
    *state = (struct hd_campaign_state){.command = NULL};
    struct hd_store *file = campaign_file_open(path, false, error);
    if (file == NULL) return false;
    bool good = read_start(file, state, error) && read_outcomes(file, state, error) &&
                read_machines(file, state, error);
    hd_store_close(file);
    if (!good) hd_campaign_state_free(state);
    return good;
}

void hd_campaign_state_free(struct hd_campaign_state *state) {
    for (uint32_t i = 0; i < state->machines; i++) free(state->machine[i].name);
    free(state->machine);
    free(state->command);
    free(state->build);
    free(state->what);
    *state = (struct hd_campaign_state){.command = NULL};
}

bool hd_campaign_merge(const char *to, const char *from, uint64_t *added, uint64_t *known,
                       struct hd_error *error) {
    struct hd_store *source = campaign_file_open(from, false, error);
    struct hd_store *target = source != NULL ? campaign_file_open(to, true, error) : NULL;
    bool good = target != NULL && campaign_file_merge(target, source, added, known, error);
    hd_store_close(source);
    hd_store_close(target);
    return good;
}
