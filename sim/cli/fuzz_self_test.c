/* `fuzz --self-test`: is anything found at all, and how soon? Each mutant in turn is switched on in the plans of the
 * random part, from the first one on and with no corpus, until a plan fails that passes without it. The failure is then
 * made small as any other. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/fuzz_json.h"

enum { WINDOW = 1024, DEFAULT_SECONDS = 20, DEFAULT_PLANS = 5000, BLIND_SHARE = 10 };

struct hunt {
    enum cs_defect mutant;
    bool is_found;
    size_t n_plans; /* until it was found, that one included; or that found nothing */
    double seconds;
    struct cs_fuzz_failure failure;
};

struct self_test {
    struct cs_campaign *campaign;
    size_t n_hunts, most_plans;
    size_t n_plans, capacity; /* dealt so far: the same ones for each mutant */
    struct cs_fuzz_plan *plans;
    struct hunt *hunts;
    double most_seconds;
    struct cs_fuzz_answer *answers; /* WINDOW of them, by number */
    bool is_answered[WINDOW];
};

/* ---- plans ---- */

/* Plans of the random part alone. */
static enum cs_status skip_fixed(struct cs_plan_stream *stream) {
    struct cs_fuzz_plan plan;
    enum cs_part part;
    const struct cs_rule *breaks;
    for (size_t n = cs_stream_n_fixed(stream); n > 0; n--) CS_TRY(cs_stream_next(stream, &plan, &part, &breaks));
    return CS_OK;
}

/* Deals plan `i` when it is wanted, within the time of the mutant that wants it: --runs may be any number. */
static enum cs_status need_plan(struct self_test *test, size_t i) {
    enum cs_part part;
    const struct cs_rule *breaks;
    while (test->n_plans <= i) {
        void *items = test->plans;
        struct cs_fuzz_plan *plan =
            cs_arena_grow(&test->campaign->arena, &items, test->n_plans, &test->capacity, sizeof *plan);
        CS_REQUIRE(plan, CS_NO_MEMORY, "no memory for %zu plans", test->n_plans + 1);
        test->plans = items;
        CS_TRY(cs_stream_next(test->campaign->stream, plan, &part, &breaks));
        test->n_plans++;
    }
    return CS_OK;
}

/* ---- one mutant ---- */

static enum cs_status take_one(struct self_test *test) {
    struct cs_fuzz_answer answer;
    CS_TRY(cs_workers_take(test->campaign->pool, &answer));
    test->answers[answer.number % WINDOW] = answer;
    test->is_answered[answer.number % WINDOW] = true;
    return CS_OK;
}

/* A failure is the mutant's when the plan passes without it. */
static enum cs_status look_at(struct self_test *test, struct hunt *hunt, const struct cs_fuzz_plan *plan,
                              const struct cs_fuzz_answer *answer) {
    struct cs_fuzz_answer without;
    if (!cs_answer_is_failure(answer)) return CS_OK;
    CS_TRY(cs_campaign_ask(test->campaign, plan, 0, &without));
    if (cs_answer_is_failure(&without)) return CS_OK;
    hunt->is_found = true;
    hunt->failure =
        (struct cs_fuzz_failure){.found = *plan, .plan = *plan, .defects = CS_DEFECT_BIT(hunt->mutant)};
    snprintf(hunt->failure.fingerprint, sizeof hunt->failure.fingerprint, "%s", answer->fingerprint);
    return CS_OK;
}

static enum cs_status search(struct self_test *test, struct hunt *hunt) {
    const struct cs_campaign *campaign = test->campaign;
    double start = cs_progress_now(), most_seconds = test->most_seconds;
    size_t first = 0, next = 0;
    if (cs_fuzz_blind_reason(hunt->mutant)) most_seconds /= BLIND_SHARE; /* whether the reason is true */
    memset(test->is_answered, 0, sizeof test->is_answered);
    for (bool is_late = false; first < next || (!hunt->is_found && !is_late && next < test->most_plans);) {
        bool is_open = !hunt->is_found && !is_late && next < test->most_plans && next - first < WINDOW;
        if (is_open && cs_workers_has_room(campaign->pool)) {
            CS_TRY(need_plan(test, next));
            CS_TRY(cs_workers_send(campaign->pool, next, &test->plans[next], CS_DEFECT_BIT(hunt->mutant)));
            next++;
            continue;
        }
        CS_TRY(take_one(test));
        for (; first < next && test->is_answered[first % WINDOW]; first++) {
            test->is_answered[first % WINDOW] = false;
            if (hunt->is_found) continue; /* plans that were on their way */
            CS_TRY(look_at(test, hunt, &test->plans[first], &test->answers[first % WINDOW]));
            hunt->n_plans = first + 1;
            hunt->seconds = cs_progress_now() - start;
        }
        is_late = cs_progress_now() - start > most_seconds;
    }
    return CS_OK;
}

static enum cs_status run_hunt(struct self_test *test, struct hunt *hunt) {
    CS_TRY(search(test, hunt));
    if (!hunt->is_found) return CS_OK;
    struct cs_fuzz_answer answer;
    CS_TRY(cs_campaign_ask(test->campaign, &hunt->failure.plan, CS_DEFECT_BIT(hunt->mutant), &answer));
    return cs_campaign_shrink(test->campaign, &hunt->failure, &answer);
}

/* ---- what it says ---- */

/* Loads of the small plan, the start included; a sleep and its wake are two more. */
static int n_operations(const struct cs_fuzz_plan *plan) {
    int n = 1 + plan->n_steps;
    for (size_t i = 0; i < plan->n_steps; i++) n += cs_letter_manner(plan->step[i].letter)->sleeps ? 2 : 0;
    return n;
}

static const char *n_experts(const struct cs_fuzz_plan *plan) {
    return cs_axis_value(CS_AXIS_experts, plan->axis[CS_AXIS_experts]);
}

static const char *reason_of(const struct hunt *hunt) {
    const char *reason = cs_fuzz_blind_reason(hunt->mutant);
    return reason ? reason : "rare: more plans may find it";
}

static void print_hunt(FILE *out, const struct hunt *hunt) {
    const struct cs_fuzz_failure *failure = &hunt->failure;
    fprintf(out, "%-31s %6zu %8.1f", cs_defect_name(hunt->mutant), hunt->n_plans, hunt->seconds);
    if (hunt->is_found)
        fprintf(out, " %10d %7s %8.1f  %s\n", n_operations(&failure->plan), n_experts(&failure->plan), failure->seconds,
                failure->fingerprint);
    else
        fprintf(out, "  not found: %s\n", reason_of(hunt));
    fflush(out);
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *numbers, size_t n) {
    qsort(numbers, n, sizeof *numbers, by_number);
    return n ? numbers[n / 2] : 0;
}

static void print_medians(const struct self_test *test) {
    double numbers[5][CS_N_DEFECTS];
    size_t n = 0, n_blind = 0;
    for (size_t i = 0; i < test->n_hunts; i++) {
        const struct hunt *hunt = &test->hunts[i];
        n_blind += !hunt->is_found && cs_fuzz_blind_reason(hunt->mutant);
        if (!hunt->is_found) continue;
        numbers[0][n] = (double)hunt->n_plans, numbers[1][n] = hunt->seconds;
        numbers[2][n] = n_operations(&hunt->failure.plan), numbers[3][n] = atof(n_experts(&hunt->failure.plan));
        numbers[4][n++] = hunt->failure.seconds;
    }
    fprintf(test->campaign->text,
            "%zu of %zu mutants found, %zu more cannot be; medians: %.0f plans, %.1f s; made small: %.0f operations, %.0f experts, in "
            "%.1f s\n",
            n, test->n_hunts, n_blind, median(numbers[0], n), median(numbers[1], n), median(numbers[2], n),
            median(numbers[3], n), median(numbers[4], n));
}

static json_t *json_of_hunt(const struct hunt *hunt) {
    char text[CS_PLAN_TEXT];
    const struct cs_fuzz_failure *failure = &hunt->failure;
    json_t *object = json_pack("{s:s, s:b, s:I, s:f}", "mutant", cs_defect_name(hunt->mutant), "found", hunt->is_found,
                               "plans", (json_int_t)hunt->n_plans, "seconds", hunt->seconds);
    if (object && !hunt->is_found) json_object_set_new(object, "reason", json_string(reason_of(hunt)));
    if (!object || !hunt->is_found) return object;
    json_object_set_new(object, "fingerprint", cs_json_text(failure->fingerprint));
    json_object_set_new(object, "plan", json_string(cs_fuzz_plan_text(&failure->plan, text)));
    json_object_set_new(object, "operations", json_integer(n_operations(&failure->plan)));
    json_object_set_new(object, "experts", json_integer(atoi(n_experts(&failure->plan))));
    json_object_set_new(object, "shrink_runs", json_integer((json_int_t)failure->n_runs));
    json_object_set_new(object, "shrink_seconds", json_real(failure->seconds));
    return object;
}

static enum cs_status write_json(const struct self_test *test) {
    json_t *hunts = json_array();
    for (size_t i = 0; i < test->n_hunts; i++) json_array_append_new(hunts, json_of_hunt(&test->hunts[i]));
    json_t *report =
        json_pack("{s:i, s:s, s:f, s:I, s:o}", "schema", 1, "seed", test->campaign->seed_text, "most_seconds",
                  test->most_seconds, "most_plans", (json_int_t)test->most_plans, "mutants", hunts);
    enum cs_status status = cs_write_json(test->campaign->json, report, JSON_INDENT(2));
    json_decref(report);
    return status;
}

/* ---- all mutants ---- */

/* Those of the kill matrix; or one, that --canary names. */
static void list_mutants(struct self_test *test) {
    bool is_chosen = cs_options_value(&test->campaign->options, "canary") != NULL;
    for (int i = 0; i < CS_N_DEFECTS; i++) {
        bool is_wanted = is_chosen ? test->campaign->canary >> i & 1 : !cs_defect_proof((enum cs_defect)i);
        if (is_wanted) test->hunts[test->n_hunts++].mutant = (enum cs_defect)i;
    }
}

static enum cs_status prepare(struct self_test *test) {
    struct cs_campaign *campaign = test->campaign;
    bool is_limited = campaign->most_seconds > 0;
    test->most_seconds = is_limited ? campaign->most_seconds : DEFAULT_SECONDS;
    test->most_plans = cs_options_value(&campaign->options, "runs") ? campaign->most_random : DEFAULT_PLANS;
    test->hunts = CS_NEW_ARRAY(&campaign->arena, struct hunt, CS_N_DEFECTS);
    test->answers = CS_NEW_ARRAY(&campaign->arena, struct cs_fuzz_answer, WINDOW);
    CS_REQUIRE(test->hunts && test->answers, CS_NO_MEMORY, "no memory for %d answers", WINDOW);
    list_mutants(test);
    CS_TRY(skip_fixed(campaign->stream));
    return cs_workers_open(campaign->n_jobs, &campaign->judge, campaign->timeout, &campaign->pool);
}

static enum cs_status run(struct self_test *test) {
    struct cs_campaign *campaign = test->campaign;
    CS_TRY(prepare(test));
    fprintf(campaign->text, "%-31s %6s %8s %10s %7s %8s  %s\n", "mutant", "plans", "seconds", "operations", "experts",
            "small in", "seen as");
    for (size_t i = 0; i < test->n_hunts; i++) {
        CS_TRY(run_hunt(test, &test->hunts[i]));
        print_hunt(campaign->text, &test->hunts[i]);
    }
    print_medians(test);
    return campaign->json ? write_json(test) : CS_OK;
}

int cs_fuzz_self_test(struct cs_campaign *campaign) {
    struct self_test test = {.campaign = campaign};
    enum cs_status status = run(&test);
    cs_workers_close(campaign->pool);
    cs_workers_close(campaign->shrinkers);
    if (status != CS_OK) return cs_cli_fail(status);
    bool is_any_found = false;
    for (size_t i = 0; i < test.n_hunts; i++) is_any_found |= test.hunts[i].is_found;
    fprintf(stderr, "seed %s\n", campaign->seed_text);
    return is_any_found ? CS_EXIT_PASSED : CS_EXIT_FAILED;
}
