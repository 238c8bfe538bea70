/* One run of the verb `run`. Inside sim/cli only.
 *
 *   run_settings.c  the command line       run_scenario.c  one scenario, in whatever process
 *   run_select.c    which scenarios        run_jobs.c      several at once, each in a child process
 *   run.c           the verb: one after the other, what comes of it, the exit status */
#ifndef CS_CLI_RUN_H
#define CS_CLI_RUN_H

#include "sim/cli/cli.h"
#include "sim/cli/internal.h"
#include "sim/cli/progress.h"
#include "sim/report/report.h"

enum { CS_RUN_DEVICES = 4 };

struct cs_run {
    struct cs_arena arena;
    struct cs_options options;
    size_t n_devices; /* ref first: what it makes is what the others must make */
    const struct cs_device *devices[CS_RUN_DEVICES];
    const char *policy; /* NULL: the scenario's */
    bool has_seed, is_coloured, stops_early;
    bool has_mutant, has_every_mutant; /* --mutant ID, --mutant all */
    enum cs_defect mutant;
    uint64_t seed;
    size_t n_repeats, n_jobs;
    FILE *text;
    struct cs_scenarios scenarios;
    size_t n_verdicts, capacity;
    struct cs_verdict *verdicts;
    struct cs_report_totals totals;
    struct cs_progress progress;
    bool is_child; /* of run_jobs.c: the parent reports, this process only ends */
};

enum cs_status cs_run_settings(struct cs_run *run, int argc, char **argv);
/* The command line of `mutants`. */
enum cs_status cs_mutants_settings(struct cs_run *run, int argc, char **argv);
/* Fills run->scenarios; says on stderr what it leaves out. None is no failure: cs_run_nothing says why there is none.
 */
enum cs_status cs_run_select(struct cs_run *run);
/* Says on stderr why no scenario was selected; returns the exit status. */
int cs_run_nothing(const struct cs_run *run);

/* A device that would have run too, and why it did not, once all processes have ended; NULL: none, or out of memory. */
const char *cs_run_device_left_out(struct cs_run *run);

uint64_t cs_run_seed(const struct cs_run *run, const struct cs_scenario *scenario);
/* Policies under which a scenario runs. */
size_t cs_run_n_policies(const struct cs_run *run, const struct cs_scenario *scenario);
/* Policies × devices. */
size_t cs_run_n_verdicts(const struct cs_run *run, const struct cs_scenario *scenario);
const char *cs_run_policy(const struct cs_run *run, const struct cs_scenario *scenario, size_t index);
/* Whether -x ends the run after this verdict. */
bool cs_run_stops_after(const struct cs_run *run, const struct cs_verdict *verdict);

/* What a running scenario tells. */
struct cs_run_listener {
    void *context;
    enum cs_status (*verdict)(void *context, const struct cs_verdict *verdict);
    void (*progress)(void *context, double n_done,
                     int64_t bytes); /* verdicts of this scenario, with the share of the current one */
};

/* Every policy of one scenario, each verdict told as it comes. Strings of verdicts live in `arena`. */
enum cs_status cs_run_scenario(const struct cs_run *run, const struct cs_scenario *scenario, struct cs_arena *arena,
                               const struct cs_run_listener *listener);

/* --mutant all: each mutant against the selected scenarios; returns the exit status. */
int cs_run_every_mutant(struct cs_run *run);

/* Takes the next verdict, in the order of the scenarios: counts it, prints it. */
enum cs_status cs_run_take(struct cs_run *run, const struct cs_verdict *verdict);
/* Shows how far the run is: `n_finished` scenarios, `n_verdicts` with shares of those that are being made; scenario
 * `index` is running. */
void cs_run_show_progress(struct cs_run *run, size_t n_finished, size_t index, double n_verdicts, int64_t bytes);

/* Runs the scenarios in run->n_jobs processes; verdicts are taken in order, as if there were one. A child that crashed
 * is CS_INTERNAL. In a child it comes back too, with run->is_child. */
enum cs_status cs_run_jobs(struct cs_run *run);

/* ---- a verdict on its way from a child to its parent ---- */

/* Bytes for free(); NULL: no memory. What it points to and is older than the fork (scenario, policy, device) is not
 * copied. */
char *cs_verdict_pack(const struct cs_verdict *verdict, size_t *size);
/* Strings are copied into `arena`. CS_NO_MEMORY. */
enum cs_status cs_verdict_unpack(const char *bytes, size_t size, struct cs_arena *arena, struct cs_verdict *verdict);

#endif
