/* One failure: made small, said in words, saved. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/fuzz.h"

enum { MOST_SHRINK_RUNS = 2000, SHRINK_SECONDS = 20, REPEATS = 2 };
/* What hangs costs its whole timeout each time. Small plans take milliseconds: silence of this length is enough then. */
enum { HANG_SHRINK_SECONDS = 60, SMALL_TIMEOUT = 2 };

struct wanted {
    struct cs_campaign *campaign;
    const char *fingerprint;
    cs_defect_set defects;
    struct cs_fuzz_answer answer; /* of the last plan that failed so */
};

enum cs_status cs_campaign_ask(struct cs_campaign *campaign, const struct cs_fuzz_plan *plan, cs_defect_set defects,
                               struct cs_fuzz_answer *answer) {
    if (!campaign->shrinkers) CS_TRY(cs_workers_open(1, &campaign->judge, campaign->timeout, &campaign->shrinkers));
    CS_TRY(cs_workers_send(campaign->shrinkers, 0, plan, defects));
    return cs_workers_take(campaign->shrinkers, answer);
}

bool cs_answer_is_failure(const struct cs_fuzz_answer *answer) {
    return answer->outcome == CS_FUZZ_FAILED || answer->status != CS_OK;
}

bool cs_answer_is_fault(const struct cs_fuzz_answer *answer) { return answer->is_crash || answer->status != CS_OK; }

static enum cs_status still_fails(void *context, const struct cs_fuzz_plan *plan, bool *fails) {
    struct wanted *wanted = context;
    struct cs_fuzz_answer answer;
    CS_TRY(cs_campaign_ask(wanted->campaign, plan, wanted->defects, &answer));
    *fails = cs_answer_is_failure(&answer) && cs_text_equal(answer.fingerprint, wanted->fingerprint);
    if (*fails) wanted->answer = answer;
    return CS_OK;
}

/* ---- words ---- */

static void say(struct cs_fuzz_failure *failure, const char *line) {
    if (line && failure->n_lines < CS_FUZZ_LINES) failure->lines[failure->n_lines++] = line;
}

static const char *steps_text(const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    char text[CS_PLAN_TEXT];
    const char *steps = strstr(cs_fuzz_plan_text(plan, text), " steps=");
    return cs_arena_format(arena, "%s", steps ? steps + 7 : "");
}

static const char *model_text(const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    const char *v[CS_N_AXES];
    for (int i = 0; i < CS_N_AXES; i++) v[i] = cs_axis_value((enum cs_axis_id)i, plan->axis[i]);
    return cs_arena_format(arena, "%s, loader %s, %s, %s layers, %s experts, hidden %s, intermediate %s, beside: %s, rounding %s, layer %s, memory %s, policy %s, device %s, start %s, arrival %s, engine %s",
                           v[CS_AXIS_backend], v[CS_AXIS_loader], v[CS_AXIS_ranks], v[CS_AXIS_layers],
                           v[CS_AXIS_experts], v[CS_AXIS_hidden], v[CS_AXIS_intermediate], v[CS_AXIS_beside],
                           v[CS_AXIS_rounding], v[CS_AXIS_layer], v[CS_AXIS_allocator], v[CS_AXIS_policy], v[CS_AXIS_device],
                           v[CS_AXIS_start], v[CS_AXIS_arrival], v[CS_AXIS_engine]);
}

/* What it is, why, the plan, and the command: the last four lines always have room. */
static void describe(struct cs_campaign *campaign, const struct cs_fuzz_answer *answer,
                     struct cs_fuzz_failure *failure) {
    struct cs_arena *arena = &campaign->arena;
    enum { KEPT = 4 };
    failure->n_lines = 0;
    say(failure, cs_arena_format(arena, "%s", answer->reason));
    for (size_t i = 0; i < answer->n_why && failure->n_lines < CS_FUZZ_LINES - KEPT; i++)
        say(failure, cs_arena_format(arena, "%s", answer->why[i]));
    say(failure, cs_arena_format(arena, "steps: %s", steps_text(&failure->plan, arena)));
    say(failure, cs_arena_format(arena, "model: %s", model_text(&failure->plan, arena)));
    say(failure, cs_arena_format(arena, "%s after %zu plans, from plan %" PRIu64 " of %zu steps",
                                 failure->is_flaky     ? "FLAKY: the same plan does not fail each time; not made smaller"
                                 : failure->is_minimal ? "made small"
                                                       : "made smaller (the budget ended; the same command goes on)",
                                 failure->n_runs, failure->number, (size_t)failure->found.n_steps));
    say(failure, cs_arena_format(arena, "repeat: coldstart run %s", failure->file ? failure->file : "FILE (give --output-dir to have one)"));
}

/* ---- the failure ---- */

static enum cs_status repeat(struct wanted *wanted, struct cs_fuzz_failure *failure) {
    for (int i = 0; i < REPEATS && !failure->is_flaky; i++) {
        bool fails;
        CS_TRY(still_fails(wanted, &failure->plan, &fails));
        failure->is_flaky = !fails;
    }
    return CS_OK;
}

enum cs_status cs_campaign_shrink(struct cs_campaign *campaign, struct cs_fuzz_failure *failure,
                                  struct cs_fuzz_answer *answer) {
    struct wanted wanted = {campaign, answer->fingerprint, failure->defects, *answer};
    bool is_hang = cs_text_equal(answer->fingerprint, CS_FUZZ_HANG);
    double start = cs_progress_now(), most_seconds = is_hang ? HANG_SHRINK_SECONDS : SHRINK_SECONDS;
    CS_TRY(repeat(&wanted, failure));
    struct cs_shrink_options options = {still_fails, &wanted, MOST_SHRINK_RUNS, most_seconds};
    struct cs_shrunk shrunk = {0};
    if (is_hang && campaign->timeout > SMALL_TIMEOUT) cs_workers_set_timeout(campaign->shrinkers, SMALL_TIMEOUT);
    if (!failure->is_flaky) CS_TRY(cs_fuzz_shrink(&options, &failure->plan, &shrunk));
    if (campaign->shrinkers) cs_workers_set_timeout(campaign->shrinkers, campaign->timeout);
    if (is_hang && !failure->is_flaky) CS_TRY(repeat(&wanted, failure)); /* small, and as long as it must be */
    failure->is_minimal = shrunk.is_minimal;
    failure->n_runs += shrunk.n_runs;
    failure->seconds += cs_progress_now() - start;
    *answer = wanted.answer;
    return CS_OK;
}

static enum cs_status shrink(struct cs_campaign *campaign, struct cs_fuzz_failure *failure,
                             const struct cs_fuzz_answer *first) {
    struct cs_fuzz_answer answer = *first;
    CS_TRY(cs_campaign_shrink(campaign, failure, &answer));
    if (campaign->output) failure->file = cs_arena_format(&campaign->arena, "%s/%s.lua", campaign->output, failure->name);
    describe(campaign, &answer, failure);
    return campaign->output ? cs_store_failure(campaign, failure) : CS_OK;
}

static struct cs_fuzz_failure *find(struct cs_campaign *campaign, const char *fingerprint) {
    for (size_t i = 0; i < campaign->n_failures; i++)
        if (cs_text_equal(campaign->failures[i].fingerprint, fingerprint)) return &campaign->failures[i];
    return NULL;
}

/* What only the canary's engine does must not be taken for the same fault without it. */
static void name_finger(cs_defect_set defects, const char *fingerprint, char *name, size_t size) {
    int canary = 0;
    while (defects && !(defects >> canary & 1)) canary++;
    const char *defect = cs_defect_name((enum cs_defect)canary);
    size_t n = defects ? (size_t)snprintf(name, size, "canary %s: ", defect) : 0;
    snprintf(name + n, size - n, "%.*s", (int)cs_text_cut(fingerprint, size - n - 1), fingerprint);
}

enum cs_status cs_campaign_shrink_on(struct cs_campaign *campaign) {
    for (size_t i = 0; i < campaign->n_failures; i++) {
        struct cs_fuzz_failure *failure = &campaign->failures[i];
        struct cs_fuzz_answer answer;
        bool is_due = !failure->is_minimal && !failure->is_flaky;
        if (!is_due) continue;
        CS_TRY(cs_campaign_ask(campaign, &failure->plan, failure->defects, &answer));
        char name[sizeof failure->fingerprint];
        name_finger(failure->defects, answer.fingerprint, name, sizeof name);
        if (!cs_answer_is_failure(&answer) || !cs_text_equal(name, failure->fingerprint)) continue;
        CS_TRY(shrink(campaign, failure, &answer));
        cs_campaign_print_failure(campaign, failure);
    }
    return CS_OK;
}

enum cs_status cs_campaign_failed(struct cs_campaign *campaign, const struct cs_fuzz_plan *plan, cs_defect_set defects,
                                  const struct cs_fuzz_answer *answer) {
    char fingerprint[sizeof answer->fingerprint];
    name_finger(defects, answer->fingerprint, fingerprint, sizeof fingerprint);
    struct cs_fuzz_failure *known = find(campaign, fingerprint);
    if (known) {
        known->n_times++;
        return CS_OK;
    }
    void *items = campaign->failures;
    struct cs_fuzz_failure *failure =
        cs_arena_grow(&campaign->arena, &items, campaign->n_failures, &campaign->capacity, sizeof *failure);
    CS_REQUIRE(failure, CS_NO_MEMORY, "no memory for failure %zu", campaign->n_failures + 1);
    campaign->failures = items;
    campaign->n_failures++;
    *failure = (struct cs_fuzz_failure){
        .found = *plan, .plan = *plan, .defects = defects, .number = answer->number, .n_times = 1};
    memcpy(failure->fingerprint, fingerprint, sizeof failure->fingerprint);
    failure->name = cs_arena_format(
        &campaign->arena, "fuzz.f%016" PRIx64,
        cs_fnv1a64(CS_FNV1A64_START, failure->fingerprint, strlen(failure->fingerprint)));
    CS_REQUIRE(failure->name, CS_NO_MEMORY, "no memory for a failure");
    CS_TRY(shrink(campaign, failure, answer));
    cs_progress_clear(&campaign->progress);
    cs_campaign_print_failure(campaign, failure);
    return CS_OK;
}
