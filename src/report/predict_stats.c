/* heddle predict --stats: which step of the method decided how much. */
#include "report/page.h"
#include "report/tables.h"

void hd_table_stats(FILE *out, enum hd_finding_kind kind, const struct hd_predict_stats *stats) {
    static const char *const rung[] = {
#define X(name, text) text,
        HD_RUNGS(X)
#undef X
    };
    const struct hd_engine_stats *engine = &stats->asked.engine;
    char text[32];
    fprintf(out, "\n%s: %llu candidate %s%s of sites, %llu of them ordered in every instance\n",
            hd_finding_kind_name(kind), (unsigned long long)stats->groups,
            hd_finding_candidate_name(kind), hd_page_plural(stats->groups),
            (unsigned long long)stats->ordered);
    fprintf(out, "questions asked %llu; %llu more settled by another's answer\n",
            (unsigned long long)stats->asked.checks, (unsigned long long)stats->dominated);
    if (engine->queries > 0) {
        fprintf(out, "\n  feasible  infeasible  decided by\n");
        for (unsigned i = 0; i < HD_RUNG_COUNT; i++)
            fprintf(out, "%10llu %11llu  %s\n", (unsigned long long)engine->feasible[i],
                    (unsigned long long)engine->infeasible[i], rung[i]);
        fprintf(out, "%10s %11llu  undecided\n", "", (unsigned long long)engine->undecided);
        fprintf(
            out, "\nchoices %llu, backtracks %llu, %s a query\n",
            (unsigned long long)engine->choices, (unsigned long long)engine->backtracks,
            hd_page_duration((double)engine->nanoseconds * 1e-9 / (double)engine->queries, text));
        fprintf(out, "witnesses checked %llu, %llu events in all\n",
                (unsigned long long)stats->asked.witnesses,
                (unsigned long long)stats->asked.witness_events);
    }
    fprintf(out, "time: candidates %.3f s, preparation %.3f s, decisions %.3f s",
            stats->candidate_seconds, stats->prepare_seconds, stats->decide_seconds);
    fprintf(out, " (%u thread%s), findings %.3f s\n", stats->asked.jobs,
            hd_page_plural(stats->asked.jobs), stats->report_seconds);
}
