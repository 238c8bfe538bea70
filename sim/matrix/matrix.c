#include "sim/matrix/matrix.h"

#include <string.h>
#include <time.h>

struct run {
    const struct cs_matrix_plan *plan;
    struct cs_matrix *matrix;
    struct cs_arena scratch;             /* of the cold starts below */
    struct cs_recording *without_mutant; /* for each column, made once; they depend on no mutant */
    size_t n_done;
};

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static enum cs_status add_problem(struct cs_matrix *matrix, const char *problem) {
    const char **added = cs_arena_grow(matrix->arena, (void **)&matrix->problems, matrix->n_problems,
                                       &matrix->problem_capacity, sizeof *added);
    CS_REQUIRE(added && problem, CS_NO_MEMORY, "out of memory for problem %zu", matrix->n_problems + 1);
    *added = problem;
    matrix->n_problems++;
    return CS_OK;
}

/* ---- one verdict ---- */

static bool is_passed(const struct cs_verdict *verdict) {
    return verdict->status == CS_PASSED || verdict->status == CS_REFUSED_AS_UPSTREAM;
}

static uint32_t channels_of(uint64_t seen) {
    uint32_t channels = 0;
    for (size_t i = 0; i < cs_n_channels; i++)
        if (seen & cs_channels[i].seen) channels |= UINT32_C(1) << i;
    return channels;
}

/* A load that fails before the audit could judge it is a refusal, whatever it says. */
static enum cs_status judge(const struct run *run, const struct cs_scenario *scenario, const char *policy,
                            struct cs_audit_options *options, struct cs_arena *arena, struct cs_verdict *verdict) {
    options->device = cs_devices[0];
    options->policy = policy;
    options->seed = run->plan->has_seed ? run->plan->seed : scenario->seed;
    options->is_brief = true;
    enum cs_status status = cs_audit_scenario(scenario, options, arena, verdict);
    if (status == CS_OK || status == CS_NO_MEMORY || status == CS_INTERNAL) return status;
    verdict->status = CS_FAILED;
    verdict->reason = cs_arena_text(arena, cs_error_text());
    verdict->seen = CS_SEEN_BIT(CS_SEEN_REFUSAL);
    return CS_OK;
}

/* ---- columns: scenarios without a mutant ---- */

static enum cs_status run_clean(struct run *run, size_t index) {
    struct cs_matrix_column *column = &run->matrix->columns[index];
    run->without_mutant[index] = (struct cs_recording){.arena = &run->scratch};
    struct cs_audit_options options = {.recording_cold = &run->without_mutant[index]};
    struct cs_verdict verdict;
    CS_TRY(judge(run, column->scenario, column->policy, &options, run->matrix->arena, &verdict));
    column->is_clean = is_passed(&verdict);
    if (column->is_clean) return CS_OK;
    column->reason = verdict.reason ? verdict.reason : "not passed";
    return add_problem(run->matrix, cs_arena_format(run->matrix->arena, "not clean without a mutant: %s, %s: %s",
                                                    column->scenario->name, column->policy, column->reason));
}

static enum cs_status make_columns(struct run *run) {
    const struct cs_matrix_plan *plan = run->plan;
    struct cs_matrix *matrix = run->matrix;
    size_t most = 0;
    for (size_t i = 0; i < plan->n_scenarios; i++) most += plan->policy ? 1 : plan->scenarios[i].n_policies;
    matrix->columns = CS_NEW_ARRAY(matrix->arena, struct cs_matrix_column, most + 1);
    run->without_mutant = CS_NEW_ARRAY(&run->scratch, struct cs_recording, most + 1);
    CS_REQUIRE(matrix->columns && run->without_mutant, CS_NO_MEMORY, "out of memory for %zu columns", most);
    for (size_t i = 0; i < plan->n_scenarios; i++) {
        const struct cs_scenario *scenario = &plan->scenarios[i];
        for (size_t p = 0; p < (plan->policy ? 1 : scenario->n_policies); p++)
            matrix->columns[matrix->n_columns++] = (struct cs_matrix_column){
                .scenario = scenario, .policy = plan->policy ? plan->policy : scenario->policies[p]};
    }
    for (size_t i = 0; i < matrix->n_columns; i++) CS_TRY(run_clean(run, i));
    return CS_OK;
}

/* ---- cells ---- */

static void note_kill(struct run *run, struct cs_matrix_row *row, size_t column, uint32_t channels,
                      const char *reason) {
    if (row->n_kills++ == 0) {
        row->first = column;
        row->reason = cs_arena_text(run->matrix->arena, reason ? reason : "no reason given");
    }
    row->channels |= channels;
    bool is_alone = channels && !(channels & (channels - 1));
    if (is_alone) run->matrix->alone |= channels;
}

static enum cs_status run_cell(struct run *run, struct cs_matrix_row *row, size_t index) {
    const struct cs_matrix_column *column = &run->matrix->columns[index];
    struct cs_cell *cell = &row->cells[index];
    if (cell->state != CS_CELL_NOT_RUN || !column->is_clean) return CS_OK;
    if (cs_defects_have(column->scenario->defects, row->mutant)) {
        cell->state = CS_CELL_ON_ALREADY;
        return CS_OK;
    }
    struct cs_scenario mutated = *column->scenario;
    mutated.defects = cs_defects_with(mutated.defects, row->mutant, true);
    struct cs_audit_options options = {.reference_cold = &run->without_mutant[index]};
    struct cs_arena scratch = {0};
    struct cs_verdict verdict;
    enum cs_status status = judge(run, &mutated, column->policy, &options, &scratch, &verdict);
    if (status == CS_OK) {
        row->n_runs++;
        cell->state = is_passed(&verdict) ? CS_CELL_SURVIVED : CS_CELL_KILLED;
        cell->channels = cell->state == CS_CELL_KILLED ? channels_of(verdict.seen) : 0;
        if (cell->state == CS_CELL_KILLED) note_kill(run, row, index, cell->channels, verdict.reason);
    }
    cs_arena_release(&scratch);
    return status;
}

static bool lists(const struct cs_scenario *scenario, enum cs_defect mutant) {
    for (size_t i = 0; i < scenario->n_kills; i++)
        if (scenario->kills[i] == mutant) return true;
    return false;
}

static size_t channel_named(const char *name) {
    size_t i = 0;
    while (i < cs_n_channels && !cs_text_equal(cs_channels[i].name, name)) i++;
    return i;
}

static bool is_seen_as_said(const struct cs_matrix_row *row) {
    return row->channels >> channel_named(cs_defect_row(row->mutant)->channel) & 1;
}

/* Those that are there for it come first. */
static enum cs_status run_row(struct run *run, struct cs_matrix_row *row) {
    const struct cs_matrix *matrix = run->matrix;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < matrix->n_columns; i++) {
            bool is_due = pass == 1 || lists(matrix->columns[i].scenario, row->mutant);
            if (pass == 1 && run->plan->stops_early && is_seen_as_said(row)) return CS_OK;
            if (is_due) CS_TRY(run_cell(run, row, i));
        }
    return CS_OK;
}

static enum cs_status run_rows(struct run *run) {
    struct cs_matrix *matrix = run->matrix;
    matrix->rows = CS_NEW_ARRAY(matrix->arena, struct cs_matrix_row, run->plan->n_mutants + 1);
    CS_REQUIRE(matrix->rows, CS_NO_MEMORY, "out of memory for %zu mutants", run->plan->n_mutants);
    for (size_t i = 0; i < run->plan->n_mutants; i++) {
        struct cs_matrix_row *row = &matrix->rows[matrix->n_rows++];
        row->mutant = run->plan->mutants[i];
        row->cells = CS_NEW_ARRAY(matrix->arena, struct cs_cell, matrix->n_columns + 1);
        CS_REQUIRE(row->cells, CS_NO_MEMORY, "out of memory for %zu cells", matrix->n_columns);
        if (run->plan->progress)
            run->plan->progress(run->plan->progress_context, i, run->plan->n_mutants, cs_defect_name(row->mutant));
        CS_TRY(run_row(run, row));
    }
    return CS_OK;
}

/* When rows stopped early, a channel that was never alone gets the scenarios that its mutants did not meet. */
static enum cs_status look_for_channels(struct run *run) {
    struct cs_matrix *matrix = run->matrix;
    for (size_t c = 0; c < cs_n_channels; c++)
        for (size_t r = 0; r < matrix->n_rows; r++) {
            struct cs_matrix_row *row = &matrix->rows[r];
            bool may_be_alone = cs_text_equal(cs_defect_row(row->mutant)->channel, cs_channels[c].name);
            for (size_t i = 0; may_be_alone && i < matrix->n_columns && !(matrix->alone >> c & 1); i++)
                CS_TRY(run_cell(run, row, i));
        }
    return CS_OK;
}

/* ---- what is wrong ---- */

static enum cs_status judge_row(struct cs_matrix *matrix, const struct cs_matrix_row *row) {
    const struct cs_defect_row *defect = cs_defect_row(row->mutant);
    bool is_equivalent = cs_defect_proof(row->mutant) != NULL;
    const char *first = row->n_kills ? matrix->columns[row->first].scenario->name : NULL;
    if (!row->n_kills && !is_equivalent)
        return add_problem(matrix, cs_arena_format(matrix->arena,
                                                   "mutant %s survives all %zu runs: write a scenario "
                                                   "that kills it, or a proof that none can",
                                                   defect->name, row->n_runs));
    if (row->n_kills && is_equivalent)
        return add_problem(matrix, cs_arena_format(matrix->arena,
                                                   "mutant %s is killed by %s, yet there is a proof that "
                                                   "nothing can tell it from the engine: %s",
                                                   defect->name, first, cs_defect_proof(row->mutant)));
    if (row->n_kills && !is_seen_as_said(row))
        return add_problem(matrix, cs_arena_format(matrix->arena,
                                                   "mutant %s is killed, but channel %s, which should see "
                                                   "it, never did",
                                                   defect->name, defect->channel));
    return CS_OK;
}

static const struct cs_matrix_row *row_of(const struct cs_matrix *matrix, enum cs_defect mutant) {
    for (size_t i = 0; i < matrix->n_rows; i++)
        if (matrix->rows[i].mutant == mutant) return &matrix->rows[i];
    return NULL;
}

static bool kills(const struct cs_matrix *matrix, const struct cs_matrix_row *row, const struct cs_scenario *scenario) {
    for (size_t i = 0; i < matrix->n_columns; i++)
        if (matrix->columns[i].scenario == scenario && row->cells[i].state == CS_CELL_KILLED) return true;
    return false;
}

static enum cs_status judge_scenario(struct cs_matrix *matrix, const struct cs_scenario *scenario) {
    for (size_t i = 0; i < scenario->n_kills; i++) {
        const struct cs_matrix_row *row = row_of(matrix, scenario->kills[i]);
        if (!row || kills(matrix, row, scenario)) continue;
        CS_TRY(add_problem(matrix,
                           cs_arena_format(matrix->arena, "%s:%d: %s lists mutant %s in kills, and does not kill it",
                                           scenario->file, scenario->line, scenario->name,
                                           cs_defect_name(scenario->kills[i]))));
    }
    return CS_OK;
}

static enum cs_status judge_channels(struct cs_matrix *matrix) {
    for (size_t c = 0; c < cs_n_channels; c++) {
        if (matrix->alone >> c & 1) continue;
        CS_TRY(add_problem(matrix, cs_arena_format(matrix->arena, "channel %s is never the only one that sees a mutant",
                                                   cs_channels[c].name)));
    }
    return CS_OK;
}

static enum cs_status judge_all(struct run *run) {
    struct cs_matrix *matrix = run->matrix;
    for (size_t i = 0; i < matrix->n_rows; i++) CS_TRY(judge_row(matrix, &matrix->rows[i]));
    for (size_t i = 0; i < run->plan->n_scenarios; i++) CS_TRY(judge_scenario(matrix, &run->plan->scenarios[i]));
    return run->plan->is_about_mutants ? CS_OK : judge_channels(matrix);
}

enum cs_status cs_matrix_run(const struct cs_matrix_plan *plan, struct cs_arena *arena, struct cs_matrix *matrix) {
    struct run run = {.plan = plan, .matrix = matrix};
    double start = now_seconds();
    *matrix = (struct cs_matrix){.arena = arena};
    enum cs_status status = make_columns(&run);
    if (status == CS_OK) status = run_rows(&run);
    if (status == CS_OK && plan->stops_early && !plan->is_about_mutants) status = look_for_channels(&run);
    if (status == CS_OK) status = judge_all(&run);
    cs_arena_release(&run.scratch);
    matrix->seconds = now_seconds() - start;
    return status;
}
