/* One campaign of the verb `fuzz`. Inside sim/cli only.
 *
 *   fuzz_settings.c  the command line, shards            fuzz_pool.c   plans in processes of their own
 *   fuzz_failure.c   one failure: shrunk, in words       fuzz_store.c  the output folder: what survives, and merging
 *   fuzz_report.c    summary, JSON, JUnit                fuzz.c        the verb
 *   fuzz_deeds.c     what plans did: orders, coverage
 *   fuzz_check.c     whether a file is the result of a campaign
 *   fuzz_self_test.c  how soon each mutant is found */
#ifndef CS_CLI_FUZZ_H
#define CS_CLI_FUZZ_H

#include "sim/cli/cli.h"
#include "sim/cli/internal.h"
#include "sim/cli/progress.h"
#include "sim/coverage/coverage.h"
#include "sim/fuzz/fuzz.h"

enum { CS_FUZZ_LINES = 15, CS_FUZZ_LINE = 400, CS_FUZZ_MOST_JOBS = 256, CS_FUZZ_MOST_STRENGTH = 3, CS_FUZZ_MOST_DEPTH = 5 };

/* What a plan gave, as it travels from a process. */
struct cs_fuzz_answer {
    uint64_t number, digest;
    enum cs_fuzz_outcome outcome;
    enum cs_status status; /* CS_OK, or a fault of ours: `reason` is its message, the fingerprint says so */
    bool is_crash;         /* the process did not come back: `reason` says how it ended */
    struct cs_fuzz_plan judged; /* see cs_fuzz_result */
    struct cs_fuzz_deeds deeds;
    char fingerprint[256], reason[CS_FUZZ_LINE];
    uint32_t n_why;
    char why[CS_FUZZ_LINES][CS_FUZZ_LINE];
};

/* ---- processes ---- */

struct cs_workers;
/* `n` processes that judge plans; none is started before the first plan. A process that crashes, or says nothing for
 * `timeout` seconds, is replaced, and its plan answered with is_crash. */
enum cs_status cs_workers_open(size_t n, const struct cs_judge_options *options, double timeout,
                            struct cs_workers **pool);
bool cs_workers_has_room(const struct cs_workers *pool);
size_t cs_workers_n_waiting(const struct cs_workers *pool);
enum cs_status cs_workers_send(struct cs_workers *pool, uint64_t number, const struct cs_fuzz_plan *plan,
                            cs_defect_set defects);
/* Waits for an answer, of any plan. */
enum cs_status cs_workers_take(struct cs_workers *pool, struct cs_fuzz_answer *answer);
void cs_workers_set_timeout(struct cs_workers *pool, double timeout);
void cs_workers_close(struct cs_workers *pool);

/* Fingerprint of a plan that hangs, after whatever time. */
#define CS_FUZZ_HANG "hang"

/* ---- failures ---- */

struct cs_fuzz_failure {
    struct cs_fuzz_plan found, plan; /* as it was found, and shrunk */
    char fingerprint[256];
    const char *name, *file; /* of its scenario; file NULL: there is no output folder */
    uint64_t number;         /* of the plan that found it */
    int64_t n_times;
    size_t n_runs; /* of shrinking */
    double seconds;
    bool is_minimal, is_flaky;
    cs_defect_set defects; /* without them it does not fail: the canary's, whose name the fingerprint begins with */
    size_t n_lines;
    const char *lines[CS_FUZZ_LINES]; /* the same in text, JSON and JUnit */
};

/* ---- the campaign ---- */

struct cs_fuzz_shard {
    uint64_t index, n; /* index of n, from 0 */
    const char *source; /* "--shard", "SLURM_ARRAY_TASK_ID", …; NULL: not sharded */
};

struct cs_campaign {
    struct cs_arena arena;
    struct cs_options options;
    struct cs_stream_options stream_options;
    struct cs_judge_options judge;
    cs_defect_set canary; /* defects of every 16th plan, run once more; 0: none */
    const char *canary_name;
    const char *seed_text, *options_text; /* the latter: what else decides which plans there are */
    struct cs_fuzz_shard shard;
    double most_seconds, timeout; /* 0: no limit in seconds */
    uint64_t most_random;         /* plans of the random part */
    size_t n_jobs;
    const char *output, *json, *junit;
    FILE *text;
    struct cs_progress progress;

    struct cs_plan_stream *stream;
    struct cs_workers *pool, *shrinkers;
    struct cs_recount recount;
    double start;
    uint64_t n_sent, n_done, n_skipped; /* plans of this shard; skipped: an earlier run of the campaign had done them */
    uint64_t n_resumed;                 /* of the stream, done before */
    int64_t n_of_part[CS_N_PARTS], n_refused, n_corpus, n_canary_runs, first_canary;
    double seconds_before, canary_seconds; /* the latter negative: an earlier run of the campaign found it */
    bool is_finished;       /* all plans were sent and answered, or the time is used up */
    bool has_failed_before; /* the plan whose answer was taken last, canaries not counted */
    size_t n_failures, capacity;
    struct cs_fuzz_failure *failures;
    size_t n_ran, ran_capacity; /* plans of the guaranteed part as they were judged */
    struct cs_fuzz_plan *ran;
    struct cs_coverage_model *coverage_model; /* NULL: nobody wants coverage */
    struct cs_coverage coverage;
    size_t n_paths; /* letter × back end that ran */
    bool *has_path;
};

enum cs_status cs_campaign_settings(struct cs_campaign *campaign, int argc, char **argv);
enum cs_status cs_fuzz_shard_find(const char *text, struct cs_fuzz_shard *shard);

/* Notes a failing answer, of a plan that was judged with these defects: shrinks, saves and prints it when its fingerprint
 * is new. */
enum cs_status cs_campaign_failed(struct cs_campaign *campaign, const struct cs_fuzz_plan *plan, cs_defect_set defects,
                                  const struct cs_fuzz_answer *answer);
/* Goes on with failures of an earlier run whose shrinking ran out of its budget. */
enum cs_status cs_campaign_shrink_on(struct cs_campaign *campaign);
/* Judges one plan, with more defects, in a process beside the campaign's. */
enum cs_status cs_campaign_ask(struct cs_campaign *campaign, const struct cs_fuzz_plan *plan, cs_defect_set defects,
                               struct cs_fuzz_answer *answer);
bool cs_answer_is_failure(const struct cs_fuzz_answer *answer);
/* No verdict, but a fault of ours: a crash, a hang, an error of the engine itself. No mutant may cause one. */
bool cs_answer_is_fault(const struct cs_fuzz_answer *answer);
/* Makes failure->plan small, as it fails with its defects; `answer`: the failing one, then that of the small plan. */
enum cs_status cs_campaign_shrink(struct cs_campaign *campaign, struct cs_fuzz_failure *failure,
                                  struct cs_fuzz_answer *answer);

/* ---- what plans did (fuzz_deeds.c) ---- */

/* For --coverage; nothing without it. */
enum cs_status cs_campaign_coverage_open(struct cs_campaign *campaign);
enum cs_status cs_campaign_note_deeds(struct cs_campaign *campaign, enum cs_part part,
                                      const struct cs_fuzz_answer *answer);
/* How many orders of the guaranteed part ran in this run of the campaign. */
enum cs_status cs_campaign_count_ran(const struct cs_campaign *campaign, int64_t *n_orders);

/* `--self-test`: for each mutant, the plans and seconds that blind fuzzing needs (fuzz_self_test.c). */
int cs_fuzz_self_test(struct cs_campaign *campaign);

enum cs_status cs_store_open(struct cs_campaign *campaign);
enum cs_status cs_store_failure(struct cs_campaign *campaign, struct cs_fuzz_failure *failure);
enum cs_status cs_store_state(const struct cs_campaign *campaign);
/* Plans that scenarios of the corpus carry in their "-- plan: " line. */
enum cs_status cs_corpus_read(const char *path, struct cs_arena *arena, struct cs_fuzz_plan **plans, size_t *n);

void cs_campaign_print_head(const struct cs_campaign *campaign);
void cs_campaign_print_summary(const struct cs_campaign *campaign);
void cs_campaign_print_failure(const struct cs_campaign *campaign, const struct cs_fuzz_failure *failure);
enum cs_status cs_campaign_reports(const struct cs_campaign *campaign);

#endif
