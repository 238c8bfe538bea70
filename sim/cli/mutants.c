/* The verb `mutants`, and `run --mutant all`. */
#include "sim/cli/run.h"
#include "sim/matrix/matrix.h"

/* clang-format off */
const struct cs_option cs_mutants_options[] = {
    {"mutant", 0, "ID", CS_REPEATED, "only this mutant (default: every one of `coldstart list mutants`)"},
    {"first-kill", 0, NULL, CS_ONCE, "stop each mutant at the first kill by the channel that should see it"},
    {"filter", 'k', "SUBSTRING", CS_ONCE, "only scenarios whose name contains it"},
    {"tag", 0, "T", CS_REPEATED, "only scenarios that have the tag"},
    {"seed", 0, "N", CS_ONCE, "seed of garbage and shuffling (default: the scenario's)"},
    {"json", 0, "FILE", CS_SHOWN, "write the matrix as JSON too; \"-\": to stdout, and the text to stderr"},
    {"html", 0, "FILE", CS_WRITTEN, "write the matrix as a page too"},
    {"quiet", 'q', NULL, CS_ONCE, "no progress on stderr"},
    {0},
};
/* clang-format on */

static void show_progress(void *context, size_t done, size_t total, const char *mutant) {
    struct cs_run *run = context;
    struct cs_progress_at at = {.n_done = done, .share = (double)done / (double)total, .name = mutant};
    cs_progress_show(&run->progress, &at, cs_progress_now());
}

static enum cs_status list_mutants(struct cs_run *run, struct cs_matrix_plan *plan) {
    enum cs_defect *mutants = CS_NEW_ARRAY(&run->arena, enum cs_defect, CS_N_DEFECTS + run->options.n_given);
    CS_REQUIRE(mutants, CS_NO_MEMORY, "no memory for the list of mutants");
    plan->mutants = mutants;
    for (size_t i = 0; i < run->options.n_given; i++) {
        const struct cs_option_given *given = &run->options.given[i];
        bool is_one = cs_text_equal(given->option->name, "mutant") && !cs_text_equal(given->value, "all");
        if (!is_one) continue;
        enum cs_status status = cs_defect_parse(given->value, &mutants[plan->n_mutants++]);
        CS_REQUIRE(status == CS_OK, CS_BAD_USAGE, "--mutant: %s", cs_error_text());
    }
    if (plan->n_mutants) return CS_OK;
    for (int i = 0; i < CS_N_DEFECTS; i++) mutants[plan->n_mutants++] = (enum cs_defect)i;
    return CS_OK;
}

static enum cs_status make(struct cs_run *run, struct cs_matrix_plan *plan, struct cs_matrix *matrix) {
    CS_TRY(list_mutants(run, plan));
    plan->n_scenarios = run->scenarios.n, plan->scenarios = run->scenarios.items;
    plan->policy = run->policy;
    plan->has_seed = run->has_seed, plan->seed = run->seed;
    plan->progress = show_progress, plan->progress_context = run;
    FILE *progress = cs_options_value(&run->options, "quiet") ? NULL : stderr;
    cs_progress_start(&run->progress, progress, "mutant", plan->n_mutants, cs_progress_now());
    enum cs_status status = cs_matrix_run(plan, &run->arena, matrix);
    cs_progress_clear(&run->progress);
    return status;
}

static enum cs_status report(const struct cs_run *run, const struct cs_matrix *matrix) {
    const char *json = cs_options_value(&run->options, "json"), *html = cs_options_value(&run->options, "html");
    cs_matrix_text(run->text, matrix);
    if (json) CS_TRY(cs_matrix_json(json, matrix));
    return html ? cs_matrix_html(html, matrix) : CS_OK;
}

int cs_run_every_mutant(struct cs_run *run) {
    struct cs_matrix_plan plan = {.stops_early = true, .is_about_mutants = true};
    struct cs_matrix matrix;
    enum cs_status status = make(run, &plan, &matrix);
    if (status != CS_OK) return cs_cli_fail(status);
    cs_matrix_text(run->text, &matrix);
    return matrix.n_problems ? CS_EXIT_FAILED : CS_EXIT_PASSED;
}

static int run_all(struct cs_run *run, int argc, char **argv) {
    struct cs_matrix_plan plan = {0};
    struct cs_matrix matrix;
    enum cs_status status = cs_mutants_settings(run, argc, argv);
    if (status == CS_OK) status = cs_run_select(run);
    if (status == CS_OK && run->scenarios.n == 0) return cs_run_nothing(run);
    plan.stops_early = cs_options_value(&run->options, "first-kill") != NULL;
    plan.is_about_mutants = cs_options_value(&run->options, "mutant") != NULL;
    if (status == CS_OK) status = make(run, &plan, &matrix);
    if (status == CS_OK) status = report(run, &matrix);
    if (status != CS_OK) return cs_cli_fail(status);
    return matrix.n_problems ? CS_EXIT_FAILED : CS_EXIT_PASSED;
}

int cs_verb_mutants(int argc, char **argv) {
    struct cs_run run = {0};
    int status = run_all(&run, argc, argv);
    cs_arena_release(&run.arena);
    return status;
}
