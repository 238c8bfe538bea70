#include "sim/cli/run.h"
#include "sim/coverage/coverage.h"

/* Whoever repeats a run needs it, even when the run ends in a crash. */
static void print_seed(const struct cs_run *run) {
    uint64_t seed = cs_run_seed(run, &run->scenarios.items[0]);
    for (size_t i = 1; i < run->scenarios.n; i++)
        if (cs_run_seed(run, &run->scenarios.items[i]) != seed) {
            fputs("seed of each scenario\n", stderr);
            return;
        }
    fprintf(stderr, "seed %" PRIu64 "\n", seed);
}

/* ---- one after the other ---- */

static void print_warning(const struct cs_verdict *verdict) {
    const struct cs_scenario *scenario = verdict->scenario;
    if (verdict->warning) fprintf(stderr, "warning: %s: %s: %s\n", scenario->file, scenario->name, verdict->warning);
}

enum cs_status cs_run_take(struct cs_run *run, const struct cs_verdict *verdict) {
    void *items = run->verdicts;
    struct cs_verdict *slot = cs_arena_grow(&run->arena, &items, run->n_verdicts, &run->capacity, sizeof *slot);
    CS_REQUIRE(slot, CS_NO_MEMORY, "no memory for verdict %zu", run->n_verdicts + 1);
    run->verdicts = items;
    *slot = *verdict;
    run->n_verdicts++;
    cs_report_count(&run->totals, verdict);
    cs_progress_clear(&run->progress);
    print_warning(verdict);
    cs_report_text(run->text, verdict, run->is_coloured);
    fflush(run->text); /* a pipe shows each verdict as it comes */
    return CS_OK;
}

static size_t n_planned(const struct cs_run *run) {
    size_t n = 0;
    for (size_t i = 0; i < run->scenarios.n; i++) n += cs_run_n_verdicts(run, &run->scenarios.items[i]);
    return n;
}

void cs_run_show_progress(struct cs_run *run, size_t n_finished, size_t index, double n_verdicts, int64_t bytes) {
    const char *name = index < run->scenarios.n ? run->scenarios.items[index].name : NULL;
    struct cs_progress_at at = {
        .n_done = n_finished, .share = n_verdicts / (double)n_planned(run), .bytes = bytes, .name = name};
    cs_progress_show(&run->progress, &at, cs_progress_now());
}

/* Where the run is: it listens to the scenario that runs. */
struct place {
    struct cs_run *run;
    size_t index; /* of the scenario */
    size_t n_before;
    int64_t bytes_before, bytes;
};

static enum cs_status take(void *context, const struct cs_verdict *verdict) {
    return cs_run_take(((struct place *)context)->run, verdict);
}

static void show_progress(void *context, double n_done, int64_t bytes) {
    struct place *place = context;
    place->bytes = bytes;
    cs_run_show_progress(place->run, place->index, place->index, (double)place->n_before + n_done,
                         place->bytes_before + bytes);
}

static bool is_stopped(const struct cs_run *run) { return run->stops_early && run->totals.failed; }

static enum cs_status run_in_turn(struct cs_run *run) {
    struct place place = {.run = run};
    const struct cs_run_listener listener = {&place, take, show_progress};
    for (; place.index < run->scenarios.n && !is_stopped(run); place.index++) {
        const struct cs_scenario *scenario = &run->scenarios.items[place.index];
        CS_TRY(cs_run_scenario(run, scenario, &run->arena, &listener));
        place.n_before += cs_run_n_verdicts(run, scenario);
        place.bytes_before += place.bytes;
        place.bytes = 0;
    }
    return CS_OK;
}

/* ---- reporting ---- */

/* Verdicts that -x left undone, by name: a run that stopped must not look like a run of everything. */
static void print_not_run(const struct cs_run *run) {
    size_t n_run = run->n_verdicts - (size_t)run->totals.skipped, n = n_planned(run), at = 0;
    if (!is_stopped(run) || n_run == n) return;
    fprintf(stderr, "stopped after the first failure, %zu of %zu not run:\n", n - n_run, n);
    for (size_t i = 0; i < run->scenarios.n; i++)
        for (size_t j = 0; j < cs_run_n_verdicts(run, &run->scenarios.items[i]); j++)
            if (at++ >= n_run)
                fprintf(stderr, "  %s  %s\n", run->scenarios.items[i].name,
                        cs_run_policy(run, &run->scenarios.items[i], j / run->n_devices));
}

static enum cs_status write_coverage(const struct cs_run *run, const char *path) {
    struct cs_arena arena = {0};
    struct cs_coverage_model model;
    struct cs_coverage coverage;
    const struct cs_coverage_registries registries = cs_coverage_own_registries();
    enum cs_status status = cs_coverage_model(&model, &registries, &arena);
    cs_coverage_init(&coverage, &model, &arena);
    for (size_t i = 0; status == CS_OK && i < run->n_verdicts; i++)
        status = cs_coverage_note(&coverage, run->verdicts[i].scenario, &run->verdicts[i]);
    if (status == CS_OK) status = cs_coverage_write(path, &coverage);
    cs_arena_release(&arena);
    return status;
}

static int report(struct cs_run *run) {
    const char *coverage = cs_options_value(&run->options, "coverage");
    const char *json = cs_options_value(&run->options, "json");
    print_not_run(run);
    cs_report_text_totals(run->text, &run->totals);
    if (json) run->totals.device_left_out = cs_run_device_left_out(run);
    if (json && cs_report_json(json, run->verdicts, run->n_verdicts, &run->totals) != CS_OK) {
        cs_cli_fail(CS_INTERNAL);
        return CS_EXIT_INTERNAL;
    }
    if (coverage && write_coverage(run, coverage) != CS_OK) {
        cs_cli_fail(CS_INTERNAL);
        return CS_EXIT_INTERNAL;
    }
    if (run->totals.failed) return CS_EXIT_FAILED;
    return run->totals.passed ? CS_EXIT_PASSED : CS_EXIT_NOTHING;
}

static int run_all(struct cs_run *run, int argc, char **argv) {
    enum cs_status status = cs_run_settings(run, argc, argv);
    if (status == CS_OK) status = cs_run_select(run);
    if (status == CS_OK && run->scenarios.n == 0) return cs_run_nothing(run);
    if (status != CS_OK) return cs_cli_fail(status);
    print_seed(run);
    if (run->has_every_mutant) return cs_run_every_mutant(run);
    FILE *progress = cs_options_value(&run->options, "quiet") ? NULL : stderr;
    cs_progress_start(&run->progress, progress, "scenario", run->scenarios.n, cs_progress_now());
    status = run->n_jobs > 1 ? cs_run_jobs(run) : run_in_turn(run);
    if (run->is_child) return cs_cli_exit(status);
    cs_progress_clear(&run->progress);
    return status == CS_OK ? report(run) : cs_cli_fail(status);
}

int cs_verb_run(int argc, char **argv) {
    struct cs_run run = {0};
    int status = run_all(&run, argc, argv);
    cs_arena_release(&run.arena);
    return status;
}
