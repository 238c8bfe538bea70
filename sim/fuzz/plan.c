/* A plan as text, and as a scenario. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fuzz/internal.h"

const char *const cs_fuzz_checkpoint_names[CS_PLAN_CHECKPOINTS] = {"A", "B", "C", "D", "E"};
const struct cs_checkpoint_config cs_fuzz_checkpoints[CS_PLAN_CHECKPOINTS] = {
    {.name = "A"},
    {.name = "B", .perturbs = "A", .version = 1},
    {.name = "C", .perturbs = "A", .version = 2},
    {.name = "D", .perturbs = "A", .version = 3},
    [CS_FUZZ_PATCHED] = {.name = "E", .patches = "A"},
};

/* KV-cache scales are optional in checkpoints: the last one has none, and the weights of the first. */
static const struct cs_checkpoint_config checkpoints_of_attention[CS_PLAN_CHECKPOINTS] = {
    {.name = "A"},
    {.name = "B", .perturbs = "A", .version = 1},
    {.name = "C", .perturbs = "A", .version = 2},
    [CS_FUZZ_WITHOUT_OPTIONAL] = {.name = "D", .leaves_out_optional = true},
    [CS_FUZZ_PATCHED] = {.name = "E", .patches = "A"},
};

/* Scales may have no element at all, where a group is larger than a size. */
static bool is_weight(const struct cs_fuzz_plan *plan, const struct cs_loader_row *row) {
    unsigned options = cs_fuzz_method_of(plan)->usual.options | cs_fuzz_layer_of(plan)->on;
    return cs_options_select(options, row->when) && !strstr(row->tensor, "scale") && !strstr(row->tensor, "zeros") &&
           !strstr(row->tensor, "bias");
}

/* The first weight of the loader's table that such a layer has, of the first layer and expert: its first element becomes
 * 3, which every dtype of weights has. */
static enum cs_status patch_first(const struct cs_fuzz_plan *plan, struct cs_arena *arena,
                                  struct cs_checkpoint_change *change) {
    const struct cs_loader_row *row = cs_fuzz_loader_of(plan)->rows;
    while (!is_weight(plan, row)) row++; /* every layer has some */
    const char *tensor = row->tensor;
    bool is_of_expert = strncmp(tensor, "{expert}.", 9) == 0;
    *change = (struct cs_checkpoint_change){.number = 3};
    change->tensor = cs_arena_format(arena, "model.layers.0.mlp.experts.%s%s", is_of_expert ? "0." : "",
                                     is_of_expert ? tensor + 9 : tensor);
    for (const char *c = row->shape; *c; c++) change->n_at += c == row->shape || c[-1] == ' ';
    return change->tensor ? CS_OK : CS_NO_MEMORY;
}

static bool is_sent(const struct cs_fuzz_plan *plan, int checkpoint) {
    bool is_here = plan->start == checkpoint;
    for (size_t i = 0; i < plan->n_steps; i++) is_here |= cs_fuzz_sent(plan, i) == checkpoint;
    return is_here;
}

static enum cs_status add_checkpoints(const struct cs_fuzz_plan *plan, struct cs_arena *arena,
                                      struct cs_scenario *scenario) {
    struct cs_checkpoint_config *configs = CS_NEW_ARRAY(arena, struct cs_checkpoint_config, CS_PLAN_CHECKPOINTS);
    CS_REQUIRE(configs, CS_NO_MEMORY, "out of memory for checkpoints");
    memcpy(configs, cs_fuzz_has_attention(plan) ? checkpoints_of_attention : cs_fuzz_checkpoints,
           sizeof *configs * CS_PLAN_CHECKPOINTS);
    scenario->n_checkpoints = is_sent(plan, CS_FUZZ_PATCHED) ? CS_PLAN_CHECKPOINTS : CS_FUZZ_PATCHED;
    scenario->checkpoints = configs;
    return patch_first(plan, arena, &configs[CS_FUZZ_PATCHED].change);
}

/* ---- text ---- */

struct text {
    char *buffer;
    size_t used;
};

static void add(struct text *text, const char *format, const char *a, const char *b) {
    if (text->used >= CS_PLAN_TEXT) return;
    int n = snprintf(text->buffer + text->used, CS_PLAN_TEXT - text->used, format, a, b);
    text->used += n > 0 ? (size_t)n : 0;
}

char *cs_fuzz_plan_text(const struct cs_fuzz_plan *plan, char *buffer) {
    struct text text = {buffer, 0};
    char seed[24], step[CS_STEP_TEXT];
    snprintf(seed, sizeof seed, "%" PRIu64, plan->seed);
    add(&text, "seed=%s%s", seed, "");
    for (int i = 0; i < CS_N_AXES; i++)
        add(&text, " %s=%s", cs_axis((enum cs_axis_id)i)->name, cs_axis_value((enum cs_axis_id)i, plan->axis[i]));
    if (plan->breakage) add(&text, " breaks=%s%s", cs_breakages[plan->breakage - 1].name, "");
    add(&text, " steps=%s%s", cs_fuzz_checkpoint_names[plan->start], "");
    for (size_t i = 0; i < plan->n_steps; i++)
        add(&text, ",%s:%s", cs_letter_text(plan->step[i].letter, step),
            cs_fuzz_checkpoint_names[plan->step[i].checkpoint]);
    return buffer;
}

static enum cs_status parse_checkpoint(const char *word, uint8_t *checkpoint) {
    CS_REQUIRE(word[0] >= 'A' && word[0] < 'A' + CS_PLAN_CHECKPOINTS && !word[1], CS_BAD_VALUE,
               "checkpoint \"%s\" of a plan: expected A to %s", word,
               cs_fuzz_checkpoint_names[CS_PLAN_CHECKPOINTS - 1]);
    *checkpoint = (uint8_t)(word[0] - 'A');
    return CS_OK;
}

static enum cs_status parse_step(char *word, struct cs_step_of_plan *step) {
    char *colon = strchr(word, ':'), name[CS_STEP_TEXT];
    CS_REQUIRE(colon, CS_BAD_VALUE, "step \"%s\" of a plan: expected DRIVER.MANNER:CHECKPOINT", word);
    *colon = 0;
    CS_TRY(parse_checkpoint(colon + 1, &step->checkpoint));
    for (size_t i = 0; i < cs_n_letters(); i++)
        if (cs_text_equal(cs_letter_text(i, name), word)) {
            step->letter = (uint8_t)i;
            return CS_OK;
        }
    return cs_fail(CS_BAD_VALUE, "step \"%s\" of a plan: no driver and manner are named so", word);
}

static enum cs_status parse_steps(char *words, struct cs_fuzz_plan *plan) {
    char *rest, *word = strtok_r(words, ",", &rest);
    CS_REQUIRE(word, CS_BAD_VALUE, "steps= of a plan: expected a checkpoint first");
    CS_TRY(parse_checkpoint(word, &plan->start));
    for (plan->n_steps = 0; (word = strtok_r(NULL, ",", &rest)); plan->n_steps++) {
        CS_REQUIRE(plan->n_steps < CS_PLAN_STEPS, CS_BAD_VALUE, "steps= of a plan: more than %d", CS_PLAN_STEPS);
        CS_TRY(parse_step(word, &plan->step[plan->n_steps]));
    }
    return CS_OK;
}

static enum cs_status parse_word(char *word, struct cs_fuzz_plan *plan, uint32_t *seen) {
    char *equals = strchr(word, '=');
    CS_REQUIRE(equals, CS_BAD_VALUE, "\"%s\" of a plan: expected KEY=VALUE", word);
    *equals = 0;
    const char *value = equals + 1;
    if (cs_text_equal(word, "steps")) return parse_steps(equals + 1, plan);
    if (cs_text_equal(word, "seed")) {
        size_t n = strspn(value, "0123456789");
        errno = 0;
        plan->seed = strtoull(value, NULL, 10);
        CS_REQUIRE(n && !value[n] && !errno, CS_BAD_VALUE, "seed=%s of a plan: expected a number below 2^64", value);
        return CS_OK;
    }
    for (size_t i = 0; i < cs_n_breakages && cs_text_equal(word, "breaks"); i++)
        if (cs_text_equal(cs_breakages[i].name, value)) {
            plan->breakage = (uint8_t)(i + 1);
            return CS_OK;
        }
    for (int i = 0; i < CS_N_AXES; i++)
        if (cs_text_equal(cs_axis((enum cs_axis_id)i)->name, word)) {
            CS_REQUIRE(!(*seen >> i & 1), CS_BAD_VALUE, "%s= is twice in a plan", word);
            *seen |= UINT32_C(1) << i;
            return cs_axis_parse((enum cs_axis_id)i, value, &plan->axis[i]);
        }
    return cs_fail(CS_BAD_VALUE, "\"%s=%s\" of a plan: unknown", word, value);
}

enum cs_status cs_fuzz_plan_parse(const char *text, struct cs_fuzz_plan *plan) {
    char copy[CS_PLAN_TEXT];
    uint32_t seen = 0;
    *plan = (struct cs_fuzz_plan){0};
    CS_REQUIRE(strlen(text) < sizeof copy, CS_BAD_VALUE, "a plan of %zu bytes is too long", strlen(text));
    strcpy(copy, text);
    char *rest;
    static const char blanks[] = " \r\n"; /* a repository may give files the line ends of its system */
    for (char *word = strtok_r(copy, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest))
        CS_TRY(parse_word(word, plan, &seen));
    for (int i = 0; i < CS_N_AXES; i++)
        CS_REQUIRE(seen >> i & 1 || i == CS_AXIS_layer /* plans of earlier releases have none */, CS_BAD_VALUE, "a plan without %s=", cs_axis((enum cs_axis_id)i)->name);
    return CS_OK;
}

uint64_t cs_fuzz_plan_key(const struct cs_fuzz_plan *plan) {
    char text[CS_PLAN_TEXT];
    cs_fuzz_plan_text(plan, text);
    return cs_fnv1a64(CS_FNV1A64_START, text, strlen(text));
}

/* ---- scenario ---- */

struct draft {
    const struct cs_fuzz_plan *plan;
    struct cs_arena *arena;
    struct cs_op *ops;
    size_t n_ops;
    struct cs_promise promise;
};

/* Laws cost cold starts of their own: one in so many plans asks. */
enum { LEAK_SHARE = 8 };

static bool asks_for_leaks(const struct cs_fuzz_plan *plan) {
    return cs_mix64(plan->seed ^ UINT64_C(0x6c65616b)) % LEAK_SHARE == 0;
}

/* In the release a scale of the whole tensor, or of a row, that is computed when the weights are complete is the largest
 * value of its padding too, where an exchange of tokens rounds the hidden size up. And weights that are quantised again
 * by another scale have padding that nobody refilled times that scale: a bit of both, and of no real number. */
static bool leaks_as_released(const struct cs_fuzz_plan *plan) {
    const struct cs_method *method = cs_fuzz_method_of(plan);
    bool is_wide = cs_text_equal(method->name, "online_fp8_tensor") || cs_text_equal(method->name, "online_fp8_channel"),
         is_requantised = !method->is_online && cs_backend_quantises(cs_fuzz_backend_of(plan));
    return (is_wide || is_requantised) && cs_fuzz_layer_of(plan)->all2all;
}

static bool is_asked(const struct draft *draft, enum cs_count count, bool is_judged, bool is_unchanged) {
    if (count == CS_COUNT_device_differ) return true;
    if (count == CS_COUNT_changed) return is_unchanged;
    if (!is_judged) return false;
    if (count == CS_COUNT_padding_leaks)
        return asks_for_leaks(draft->plan) && !leaks_as_released(draft->plan) && !cs_fuzz_compares_scales(draft->plan);
    bool is_channel = cs_count_is_channel(count) || count == CS_COUNT_params_lucky;
    return is_channel && !(draft->promise.excused >> count & 1);
}

static enum cs_status expect(struct draft *draft, bool is_judged, bool is_unchanged, bool is_refused) {
    struct cs_expected *expected = CS_NEW(draft->arena, struct cs_expected);
    CS_REQUIRE(expected, CS_NO_MEMORY, "out of memory for an expectation");
    expected->is_refused = is_refused;
    for (int i = 0; i < CS_N_COUNTS && !is_refused; i++)
        expected->has_count[i] = is_asked(draft, (enum cs_count)i, is_judged, is_unchanged);
    draft->ops[draft->n_ops] =
        (struct cs_op){.kind = CS_OP_EXPECT, .line = (int)draft->n_ops + 1, .n_expected = 1, .expected = expected};
    draft->n_ops++;
    return CS_OK;
}

static struct cs_op *add_op(struct draft *draft, const struct cs_op *op) {
    struct cs_op *added = &draft->ops[draft->n_ops++];
    *added = *op;
    added->line = (int)draft->n_ops;
    return added;
}

static enum cs_status add_load(struct draft *draft, size_t i) {
    const struct cs_fuzz_plan *plan = draft->plan;
    const struct cs_manner *manner = cs_letter_manner(plan->step[i].letter);
    const struct cs_driver *driver = cs_letter_driver(plan->step[i].letter);
    if (manner->sleeps) add_op(draft, &(struct cs_op){.kind = CS_OP_SLEEP, .sleep_level = 2});
    if (manner->sleeps) add_op(draft, &(struct cs_op){.kind = CS_OP_WAKE});
    if (manner->captures) add_op(draft, &(struct cs_op){.kind = CS_OP_CAPTURE});
    struct cs_op *op = add_op(draft, &(struct cs_op){.kind = CS_OP_RELOAD,
                                                     .driver = driver->name,
                                                     .checkpoint = cs_fuzz_checkpoint_names[cs_fuzz_sent(plan, i)]});
    if (cs_driver_nature(driver)->apply) CS_TRY(cs_driver_nature(driver)->apply(op));
    if (manner->apply) CS_TRY(manner->apply(op, plan, draft->arena));
    bool has_order = op->is_shuffled || op->is_reversed || driver->takes != CS_TAKES_CHECKPOINT;
    op->shuffles_modules = cs_fuzz_shuffles_modules(plan) && !has_order;
    return CS_OK;
}

static enum cs_status add_step(struct draft *draft, size_t i, bool is_refused) {
    struct cs_promise *promise = &draft->promise;
    bool is_last = i + 1 == draft->plan->n_steps;
    cs_promise_step(promise, i);
    bool has_before = draft->ops[draft->n_ops - 1].kind == CS_OP_EXPECT;
    if (promise->is_unchanged && !is_refused && !has_before) CS_TRY(expect(draft, false, false, false));
    CS_TRY(add_load(draft, i));
    bool is_due = is_last || ((promise->is_judged || promise->is_unchanged) && !is_refused);
    return is_due ? expect(draft, promise->is_judged, promise->is_unchanged, is_refused) : CS_OK;
}

bool cs_fuzz_may_be_refused(const struct cs_fuzz_plan *plan, int load) {
    struct cs_promise promise;
    cs_promise_start(&promise, plan);
    for (int i = 0; i < load && i < plan->n_steps; i++) cs_promise_step(&promise, (size_t)i);
    return load > 0 && promise.may_refuse;
}

static void add_start(struct draft *draft) {
    const struct cs_fuzz_plan *plan = draft->plan;
    const struct cs_driver *start = cs_fuzz_start_of(plan);
    bool has_checkpoint = start->takes != CS_TAKES_NOTHING;
    add_op(draft, &(struct cs_op){.kind = CS_OP_COLD_START,
                                  .driver = start->name,
                                  .checkpoint = has_checkpoint ? cs_fuzz_checkpoint_names[plan->start] : NULL,
                                  .shuffles_modules =
                                      cs_fuzz_shuffles_modules(plan) && start->takes == CS_TAKES_CHECKPOINT});
}

enum cs_status cs_fuzz_scenario(const struct cs_fuzz_plan *plan, const char *name, struct cs_arena *arena,
                                struct cs_scenario *scenario) {
    struct draft draft = {
        .plan = plan, .arena = arena, .ops = CS_NEW_ARRAY(arena, struct cs_op, 5 * CS_PLAN_STEPS + 4)};
    const char **policies = CS_NEW_ARRAY(arena, const char *, 1);
    CS_REQUIRE(draft.ops && policies, CS_NO_MEMORY, "out of memory for a plan");
    policies[0] = cs_fuzz_policy_of(plan);
    *scenario = (struct cs_scenario){.file = "plan",
                                     .line = 1,
                                     .name = name,
                                     .n_policies = 1,
                                     .policies = policies};
    cs_fuzz_apply_axes(plan, scenario);
    CS_TRY(add_checkpoints(plan, arena, scenario));
    bool is_refused = plan->breakage || cs_rule_broken(NULL, plan);
    cs_promise_start(&draft.promise, plan);
    add_start(&draft);
    if (!plan->n_steps) CS_TRY(expect(&draft, true, false, is_refused));
    for (size_t i = 0; i < plan->n_steps; i++) CS_TRY(add_step(&draft, i, is_refused));
    scenario->n_ops = draft.n_ops;
    scenario->ops = draft.ops;
    return plan->breakage ? cs_breakages[plan->breakage - 1].apply(scenario, draft.ops, arena) : CS_OK;
}
