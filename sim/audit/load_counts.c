/* Counts of a verdict that are the load's own: accounting, fills, what was buffered. */
#include "sim/audit/state.h"

static int64_t buffered_bytes(const struct cs_session *session) {
    size_t most = 0;
    for (size_t r = 0; r < session->n_ranks; r++)
        if (session->ranks[r].buffered_peak > most) most = session->ranks[r].buffered_peak;
    return (int64_t)most;
}

void cs_load_counts(const struct cs_session *session, struct cs_arena *arena, struct cs_verdict *verdict) {
    const struct {
        enum cs_count count;
        int64_t value;
    } counts[] = {
        {CS_COUNT_missing, session->accounting.missing},
        {CS_COUNT_duplicate, session->accounting.duplicate},
        {CS_COUNT_excess, session->accounting.excess},
        {CS_COUNT_fill_calls, session->fill.calls},
        {CS_COUNT_fill_regions, session->fill.regions},
        {CS_COUNT_fill_bytes, session->fill.bytes},
        {CS_COUNT_fill_skipped, session->fill.skipped},
        {CS_COUNT_warnings, session->fill.warnings},
        {CS_COUNT_buffered_bytes, buffered_bytes(session)},
        {CS_COUNT_source_differ, (int64_t)session->accounting.n_changed},
    };
    for (size_t i = 0; i < CS_COUNT(counts); i++) verdict->count[counts[i].count] = counts[i].value;
    verdict->not_simulated = session->accounting.not_simulated;
    if (session->fill.warning) verdict->warning = cs_arena_text(arena, session->fill.warning);
}
