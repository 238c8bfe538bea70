/* The kill matrix: every mutant against every scenario, and which channels of the audit saw it.
 *
 * A harness is trusted when it has been seen to catch what it claims to catch. So the matrix is wrong when
 *   - a scenario is not clean: its verdict without a mutant must be passed or refused as upstream;
 *   - a mutant survives every scenario, unless sim/mutant has a proof that nothing can tell it from the engine;
 *   - a mutant with such a proof is killed, or the channel that its row names never saw it;
 *   - a scenario does not kill a mutant that it lists in `kills`;
 *   - a channel is never the only one that saw a mutant: nobody would miss it. */
#ifndef CS_MATRIX_H
#define CS_MATRIX_H

#include <stdio.h>

#include "sim/audit/audit.h"

/* What the audit can see, in the order of the columns of a report. */
struct cs_channel {
    const char *name, *text;
    uint64_t seen; /* bits of enum cs_count and enum cs_seen that belong to it */
};
extern const struct cs_channel cs_channels[];
extern const size_t cs_n_channels;

enum cs_cell_state { CS_CELL_NOT_RUN, CS_CELL_ON_ALREADY, CS_CELL_SURVIVED, CS_CELL_KILLED };
struct cs_cell {
    enum cs_cell_state state;
    uint32_t channels; /* KILLED: bit set over cs_channels */
};

/* A scenario under one of its policies. */
struct cs_matrix_column {
    const struct cs_scenario *scenario;
    const char *policy;
    bool is_clean;
    const char *reason; /* why it is not */
};

struct cs_matrix_row {
    enum cs_defect mutant;
    struct cs_cell *cells; /* one for each column */
    size_t n_kills, n_runs;
    uint32_t channels;  /* of all kills */
    size_t first;       /* column of the first kill, in the order of running */
    const char *reason; /* the first kill, in words */
};

struct cs_matrix {
    size_t n_columns, n_rows;
    struct cs_matrix_column *columns;
    struct cs_matrix_row *rows;
    uint32_t alone; /* channels that were the only one that saw some mutant in some scenario */
    size_t n_problems, problem_capacity;
    const char **problems; /* one line each; none: the matrix is good */
    double seconds;
    struct cs_arena *arena;
};

struct cs_matrix_plan {
    size_t n_scenarios;
    const struct cs_scenario *scenarios;
    size_t n_mutants;
    const enum cs_defect *mutants;
    const char *policy; /* instead of the scenarios', or NULL */
    bool has_seed;
    uint64_t seed;
    bool stops_early;      /* at the first kill of a mutant through the channel that its row names */
    bool is_about_mutants; /* channels are not asked for a kill of their own */
    void (*progress)(void *context, size_t done, size_t total, const char *mutant);
    void *progress_context;
};

/* Runs it on the device ref. Scenarios that list a mutant in `kills` meet it first. A status other than CS_OK: no
 * memory, or a fault of ours. */
enum cs_status cs_matrix_run(const struct cs_matrix_plan *plan, struct cs_arena *arena, struct cs_matrix *matrix);

/* One line for each mutant: killed by which scenario, seen by which channels; then what is wrong, and totals. */
void cs_matrix_text(FILE *out, const struct cs_matrix *matrix);
/* Whole, to a file, or to stdout when path is "-". Written to a temporary name and renamed. */
enum cs_status cs_matrix_json(const char *path, const struct cs_matrix *matrix);
enum cs_status cs_matrix_html(const char *path, const struct cs_matrix *matrix);

#endif
