/* The verb `fuzz`: sends plans to processes, takes the answers in the order of the plans, and says what came of it. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/fuzz.h"

enum { ROOM = 8192, CANARY_SHARE = 16, MOST_CANARIES = 256 };

/* A plan that was sent and whose answer has not been taken yet. */
struct pending {
    bool is_answered, is_canary;
    enum cs_part part;
    uint64_t number; /* of the plan in the stream, or in the corpus */
    struct cs_fuzz_plan plan;
    struct cs_fuzz_answer answer;
};

struct running {
    struct cs_campaign *campaign;
    struct pending *pending; /* ROOM of them, by ticket */
    uint64_t first, next;    /* tickets: answered in order before `first`, sent before `next` */
    bool is_canary_due;      /* the plan that was sent last is sent once more */
    double told;
};

static double seconds_of(const struct cs_campaign *campaign) {
    return campaign->seconds_before + cs_progress_now() - campaign->start;
}

/* ---- answers, in order ---- */

static void note_paths(struct cs_campaign *campaign, const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++) {
        bool *has_path =
            &campaign->has_path[(size_t)plan->step[i].letter * CS_AXIS_VALUES + plan->axis[CS_AXIS_backend]];
        campaign->n_paths += !*has_path;
        *has_path = true;
    }
}

/* The same plan without the canary, whose answer came right before, must not fail, or nothing was found. A crash finds
 * nothing either: it is a fault of ours, told as any other. */
static enum cs_status take_canary(struct cs_campaign *campaign, const struct pending *pending,
                                  const struct cs_fuzz_answer *answer) {
    campaign->n_canary_runs++;
    if (!cs_answer_is_failure(answer) || campaign->has_failed_before) return CS_OK;
    if (cs_answer_is_fault(answer)) return cs_campaign_failed(campaign, &pending->plan, campaign->canary, answer);
    if (campaign->first_canary >= 0) return CS_OK;
    campaign->first_canary = campaign->n_canary_runs;
    campaign->canary_seconds = cs_progress_now() - campaign->start;
    return CS_OK;
}

static enum cs_status take(struct cs_campaign *campaign, const struct pending *pending) {
    struct cs_fuzz_answer answer = pending->answer;
    CS_REQUIRE(answer.status != CS_NO_MEMORY, CS_NO_MEMORY, "%s", answer.reason);
    answer.number = pending->number;
    if (pending->is_canary) return take_canary(campaign, pending, &answer);
    campaign->n_refused += answer.outcome == CS_FUZZ_REFUSED;
    campaign->n_done += pending->part != CS_PART_CORPUS;
    campaign->n_of_part[pending->part]++;
    note_paths(campaign, &pending->plan);
    CS_TRY(cs_campaign_note_deeds(campaign, pending->part, &answer));
    campaign->has_failed_before = cs_answer_is_failure(&answer);
    return campaign->has_failed_before ? cs_campaign_failed(campaign, &pending->plan, 0, &answer) : CS_OK;
}

/* Whether a plan has been taken, and its canary has not: a campaign that goes on would not send that one. */
static bool is_between(const struct running *running) {
    if (running->first == running->next) return running->is_canary_due;
    return running->pending[running->first % ROOM].is_canary;
}

static void show_progress(struct running *running) {
    struct cs_campaign *campaign = running->campaign;
    double now = cs_progress_now(), share = 0;
    if (campaign->most_seconds > 0) share = seconds_of(campaign) / campaign->most_seconds;
    if (campaign->most_random != UINT64_MAX && campaign->progress.n)
        share = (double)campaign->n_done / (double)campaign->progress.n;
    struct cs_progress_at at = {.n_done = campaign->n_done, .share = share > 1 ? 1 : share};
    cs_progress_show(&campaign->progress, &at, now);
    if (!campaign->output || now - running->told < 2 || is_between(running)) return;
    running->told = now;
    cs_store_state(campaign); /* a state that cannot be written is said at the end */
}

static enum cs_status take_one(struct running *running) {
    struct cs_fuzz_answer answer;
    CS_TRY(cs_workers_take(running->campaign->pool, &answer));
    struct pending *pending = &running->pending[answer.number % ROOM];
    pending->answer = answer;
    pending->is_answered = true;
    for (; running->first < running->next && running->pending[running->first % ROOM].is_answered; running->first++)
        CS_TRY(take(running->campaign, &running->pending[running->first % ROOM]));
    show_progress(running);
    return CS_OK;
}

/* ---- questions ---- */

static enum cs_status send(struct running *running, uint64_t number, const struct cs_fuzz_plan *plan,
                           enum cs_part part, bool is_canary) {
    struct cs_campaign *campaign = running->campaign;
    while (!cs_workers_has_room(campaign->pool) || running->next - running->first >= ROOM) CS_TRY(take_one(running));
    struct pending *pending = &running->pending[running->next % ROOM];
    pending->is_answered = false;
    pending->is_canary = is_canary;
    pending->part = part;
    pending->number = number;
    pending->plan = *plan;
    CS_TRY(cs_workers_send(campaign->pool, running->next, plan, is_canary ? campaign->canary : 0));
    running->next++;
    return CS_OK;
}

static enum cs_status finish(struct running *running) {
    while (running->first < running->next) CS_TRY(take_one(running));
    return CS_OK;
}

/* Not before all is passed that an earlier run of the campaign has done. */
static bool is_over(const struct cs_campaign *campaign, uint64_t number, enum cs_part part) {
    if (part != CS_PART_RANDOM || campaign->n_sent < campaign->n_resumed) return false;
    uint64_t n_random = number - cs_stream_n_fixed(campaign->stream);
    bool is_late = campaign->most_seconds > 0 && seconds_of(campaign) >= campaign->most_seconds;
    return n_random >= campaign->most_random || is_late;
}

/* A short campaign, or a small shard of one, has dealt few canaries: more of them, until one is found. */
static enum cs_status send_canaries(struct running *running) {
    struct cs_campaign *campaign = running->campaign;
    size_t n;
    const struct cs_fuzz_plan *plans = cs_stream_guaranteed(campaign->stream, &n);
    CS_TRY(finish(running));
    campaign->has_failed_before = false;
    for (size_t i = campaign->shard.index; i < n && i < MOST_CANARIES && campaign->canary; i++) {
        if (campaign->first_canary >= 0) break;
        CS_TRY(send(running, i, &plans[i], CS_PART_GUARANTEED, true));
        if (i % campaign->n_jobs == 0) CS_TRY(finish(running));
    }
    return finish(running);
}

/* Plans of the stream, less those of other shards and those that an earlier run of this campaign has done. */
static enum cs_status send_all(struct running *running) {
    struct cs_campaign *campaign = running->campaign;
    for (uint64_t number = 0;; number++) {
        struct cs_fuzz_plan plan;
        enum cs_part part;
        const struct cs_rule *breaks;
        CS_TRY(cs_stream_next(campaign->stream, &plan, &part, &breaks));
        if (is_over(campaign, number, part)) return send_canaries(running);
        if (number % campaign->shard.n != campaign->shard.index) continue;
        bool is_illegal = breaks || plan.breakage, is_resumed = campaign->n_sent++ < campaign->n_resumed;
        bool is_canary_due = campaign->canary && campaign->n_sent % CANARY_SHARE == 0 && !is_illegal;
        if (is_resumed) {
            note_paths(campaign, &plan);
            campaign->n_canary_runs += is_canary_due;
            continue;
        }
        running->is_canary_due = is_canary_due;
        CS_TRY(send(running, number, &plan, part, false));
        if (is_canary_due) CS_TRY(send(running, number, &plan, part, true));
        running->is_canary_due = false;
    }
}

static enum cs_status replay_corpus(struct running *running) {
    struct cs_campaign *campaign = running->campaign;
    for (size_t i = 0; i < campaign->options.n_words; i++) {
        struct cs_fuzz_plan *plans;
        size_t n;
        CS_TRY(cs_corpus_read(campaign->options.words[i], &campaign->arena, &plans, &n));
        for (size_t p = 0; p < n; p++) CS_TRY(send(running, p, &plans[p], CS_PART_CORPUS, false));
    }
    return finish(running);
}

/* ---- the campaign ---- */

static enum cs_status print_plans(struct cs_campaign *campaign) {
    for (uint64_t number = 0;; number++) {
        struct cs_fuzz_plan plan;
        enum cs_part part;
        const struct cs_rule *breaks;
        char text[CS_PLAN_TEXT];
        CS_TRY(cs_stream_next(campaign->stream, &plan, &part, &breaks));
        if (is_over(campaign, number, part)) return CS_OK;
        if (number % campaign->shard.n != campaign->shard.index) continue;
        printf("%s %s\n", cs_part_name(part), cs_fuzz_plan_text(&plan, text));
    }
}

static enum cs_status recount(struct cs_campaign *campaign) {
    size_t n;
    const struct cs_fuzz_plan *plans = cs_stream_guaranteed(campaign->stream, &n);
    CS_TRY(cs_recount(campaign->stream_options.t, plans, n, &campaign->recount));
    const struct cs_axes_cover *axes = cs_stream_axes(campaign->stream);
    CS_REQUIRE(campaign->recount.tuples == axes->n_tuples, CS_INTERNAL,
               "the guaranteed part has %" PRId64 " combinations, counted again; it should have %" PRId64,
               campaign->recount.tuples, axes->n_tuples);
    return CS_OK;
}

static enum cs_status run(struct cs_campaign *campaign) {
    struct running running = {.campaign = campaign, .pending = calloc(ROOM, sizeof *running.pending)};
    campaign->has_path = CS_NEW_ARRAY(&campaign->arena, bool, 256 * CS_AXIS_VALUES);
    CS_REQUIRE(running.pending && campaign->has_path, CS_NO_MEMORY, "no memory for %d plans", ROOM);
    enum cs_status status = cs_workers_open(campaign->n_jobs, &campaign->judge, campaign->timeout, &campaign->pool);
    if (status == CS_OK) status = cs_campaign_shrink_on(campaign);
    if (status == CS_OK) status = replay_corpus(&running);
    if (status == CS_OK) status = send_all(&running);
    campaign->is_finished = status == CS_OK;
    if (status == CS_OK && campaign->output) status = cs_store_state(campaign);
    cs_workers_close(campaign->pool);
    cs_workers_close(campaign->shrinkers);
    free(running.pending);
    return status;
}

static size_t n_processors(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > CS_FUZZ_MOST_JOBS ? CS_FUZZ_MOST_JOBS : (size_t)n;
}

static int conclude(const struct cs_campaign *campaign) {
    const char *coverage = cs_options_value(&campaign->options, "coverage");
    if (cs_campaign_reports(campaign) != CS_OK) return cs_cli_fail(CS_INTERNAL);
    if (coverage && cs_coverage_write(coverage, &campaign->coverage) != CS_OK) return cs_cli_fail(CS_INTERNAL);
    cs_campaign_print_summary(campaign);
    bool is_blind = campaign->canary && campaign->first_canary < 0;
    if (campaign->n_failures || is_blind) return CS_EXIT_FAILED;
    return campaign->n_done ? CS_EXIT_PASSED : CS_EXIT_NOTHING;
}

static int run_campaign(struct cs_campaign *campaign, int argc, char **argv) {
    enum cs_status status = cs_campaign_settings(campaign, argc, argv);
    if (status != CS_OK) return cs_cli_fail(status);
    if (!campaign->n_jobs) campaign->n_jobs = n_processors();
    fprintf(stderr, "seed %s\n", campaign->seed_text);
    omp_set_num_threads(1); /* threads would not survive a fork */
    campaign->start = cs_progress_now();
    bool only_prints = cs_options_value(&campaign->options, "plans") != NULL;
    /* Before the plans, which take seconds: nobody waits for those to hear of a folder that cannot be. */
    if (campaign->output && !only_prints) status = cs_options_make_output(campaign->output);
    if (status == CS_OK) status = cs_stream_open(&campaign->stream_options, &campaign->stream);
    campaign->first_canary = -1;
    if (status == CS_OK && cs_options_value(&campaign->options, "self-test")) return cs_fuzz_self_test(campaign);
    if (status == CS_OK && only_prints) {
        status = print_plans(campaign);
        return status == CS_OK ? CS_EXIT_PASSED : cs_cli_fail(status);
    }
    if (status == CS_OK) status = recount(campaign);
    if (status == CS_OK && campaign->output) status = cs_store_open(campaign);
    if (status == CS_OK) status = cs_campaign_coverage_open(campaign);
    if (status != CS_OK) return cs_cli_fail(status);
    cs_campaign_print_head(campaign);
    size_t n = campaign->most_random == UINT64_MAX ? 0 : cs_stream_n_fixed(campaign->stream) + campaign->most_random;
    FILE *progress = cs_options_value(&campaign->options, "quiet") ? NULL : stderr;
    cs_progress_start(&campaign->progress, progress, "plan", n / campaign->shard.n, cs_progress_now());
    status = run(campaign);
    cs_progress_clear(&campaign->progress);
    int exit_status = status == CS_OK ? conclude(campaign) : cs_cli_fail(status);
    fprintf(stderr, "seed %s\n", campaign->seed_text);
    return exit_status;
}

int cs_verb_fuzz(int argc, char **argv) {
    struct cs_campaign campaign = {0};
    int status = run_campaign(&campaign, argc, argv);
    cs_stream_close(campaign.stream);
    cs_arena_release(&campaign.arena);
    return status;
}
