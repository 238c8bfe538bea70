/* Which plans are legal, and ways to be illegal on purpose. */
#include <string.h>

#include "sim/fuzz/internal.h"

/* ---- between axes ---- */

static bool loader_is_of_method(const struct cs_fuzz_plan *plan) {
    for (const char *const *name = cs_fuzz_method_of(plan)->loaders; *name; name++)
        if (cs_text_equal(*name, cs_fuzz_loader_of(plan)->name)) return true;
    return false;
}

static bool one_kind_of_parallel(const struct cs_fuzz_plan *plan) {
    const struct cs_fuzz_ranks *ranks = cs_fuzz_ranks_of(plan);
    return ranks->tp == 1 || ranks->ep == 1;
}

static bool experts_for_every_rank(const struct cs_fuzz_plan *plan) {
    return cs_fuzz_number_of(plan, CS_AXIS_experts) >= cs_fuzz_ranks_of(plan)->ep;
}

/* Not ours to know: the engine is asked, with a cold start of one layer that moves no bytes. What it refuses must be
 * refused in good order. */
static bool sizes_fit(const struct cs_fuzz_plan *plan) {
    const struct cs_op ops[] = {{.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = "A"},
                                {.kind = CS_OP_EXPECT}};
    struct cs_fuzz_plan start = *plan;
    start.axis[CS_AXIS_beside] = start.axis[CS_AXIS_layers] = 0;
    struct cs_scenario scenario = {.file = "plan",
                                   .name = "sizes",
                                   .n_policies = 1,
                                   .policies = (const char *const[]){"none"},
                                   .n_checkpoints = 1,
                                   .checkpoints = cs_fuzz_checkpoints,
                                   .n_ops = CS_COUNT(ops),
                                   .ops = ops};
    cs_fuzz_apply_axes(&start, &scenario);
    if (plan->axis[CS_AXIS_layer] && cs_scenario_check(&scenario) != CS_OK) return false; /* nobody has such layers */
    scenario.own_method = cs_fuzz_method_of(plan);
    scenario.own_backend = cs_fuzz_backend_of(plan); /* nobody has to look for them */
    const struct cs_device device = cs_idle_device();
    const struct cs_session_config config = {.scenario = &scenario,
                                             .device = &device,
                                             .policy = "none",
                                             .allocator = {.fresh_cold = {.kind = CS_PATTERN_BYTE}},
                                             .seed = 1,
                                             .only_rank = -1};
    struct cs_session session;
    enum cs_status status = cs_session_open(&session, &config);
    if (status == CS_OK) status = cs_session_run(&session, &ops[0]);
    cs_session_close(&session);
    return status == CS_OK;
}

/* ---- between axes and steps ---- */

static bool other_loader_exists(const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++)
        if (cs_letter_manner(plan->step[i].letter)->needs_other_loader && !cs_fuzz_other_loader(plan)) return false;
    return true;
}

/* A weight cache's server has no checkpoint layout to load into (reload.md B.2). */
static bool direct_has_a_layout(const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++)
        if (strncmp(cs_letter_driver(plan->step[i].letter)->name, "direct", 6) == 0 &&
            cs_text_equal(cs_fuzz_start_of(plan)->name, "meta_build"))
            return false;
    return true;
}

/* Finished tensors have no loader and no order. */
static bool finished_tensors_have_no_order(const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++)
        if (cs_letter_driver(plan->step[i].letter)->takes == CS_TAKES_KERNEL_TENSORS &&
            cs_letter_manner(plan->step[i].letter)->needs_tensors)
            return false;
    return true;
}

/* Loaders that write some elements of a tensor need all others to be there, in the checkpoint's layout. */
static bool patches_are_raw(const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++)
        if (cs_letter_manner(plan->step[i].letter)->needs_raw &&
            !cs_text_equal(cs_letter_driver(plan->step[i].letter)->name, "raw"))
            return false;
    return true;
}

/* Random numbers are no checkpoint: nothing could be judged. */
static bool a_dummy_start_is_loaded(const struct cs_fuzz_plan *plan) {
    return plan->n_steps > 0 || cs_fuzz_start_of(plan)->takes != CS_TAKES_NOTHING;
}

#define AXIS(name) (UINT32_C(1) << CS_AXIS_##name)

/* clang-format off */
const struct cs_rule cs_rules[] = {
    {"loader_of_method", "a loader loads the methods that name it", AXIS(backend) | AXIS(loader), false, CS_REFUSED_BY_CHECK, loader_is_of_method},
    {"one_kind_of_parallel", "with expert parallel on, ranks own whole experts and are not split", AXIS(ranks), false, CS_REFUSED_BY_CHECK, one_kind_of_parallel},
    {"experts_for_every_rank", "every rank owns an expert", AXIS(ranks) | AXIS(experts), false, CS_REFUSED_BY_CHECK, experts_for_every_rank},
    {"other_loader_exists", "combined tensors can be streamed by another loader of the method, if it has one", AXIS(backend) | AXIS(loader), true, CS_REFUSED_BY_CHECK, other_loader_exists},
    {"direct_has_a_layout", "a server whose weights arrived already processed has no checkpoint layout for a direct reload", AXIS(start), true, CS_REFUSED_BY_RUN, direct_has_a_layout},
    {"a_dummy_start_is_loaded", "random numbers are no checkpoint: a dummy start needs a load", AXIS(start), true, CS_REFUSED_BY_CHECK, a_dummy_start_is_loaded},
    {"finished_tensors_have_no_order", "finished tensors have no loader and no order of arrival", 0, true, CS_REFUSED_BY_CHECK, finished_tensors_have_no_order},
    {"patches_are_raw", "sparse patches are written into live tensors, past every reload", 0, true, CS_REFUSED_BY_CHECK, patches_are_raw},
    {"sizes_fit", "the back end can split and round these sizes, and has such layers",
     AXIS(backend) | AXIS(loader) | AXIS(ranks) | AXIS(experts) | AXIS(hidden) | AXIS(intermediate) | AXIS(rounding) | AXIS(engine) | AXIS(layer), false, CS_REFUSED_BY_CHECK, sizes_fit},
};
/* clang-format on */
const size_t cs_n_rules = CS_COUNT(cs_rules);

static uint64_t sizes_key(const struct cs_fuzz_plan *plan) {
    static const enum cs_axis_id read[] = {CS_AXIS_backend,      CS_AXIS_loader,   CS_AXIS_ranks,
                                           CS_AXIS_experts,      CS_AXIS_hidden,   CS_AXIS_intermediate,
                                           CS_AXIS_rounding,     CS_AXIS_engine,   CS_AXIS_layer};
    uint64_t key = 0;
    for (size_t i = 0; i < CS_COUNT(read); i++) key = key * cs_axis(read[i])->n + plan->axis[read[i]];
    return key;
}

/* The engine's answer is dear: it is kept, and not asked for when the release can load the sizes: without its faults it
 * loads whatever it loads with them. */
static bool fits(struct cs_legal_memo *memo, const struct cs_fuzz_plan *plan) {
    enum { KNOWN = 1, HOLDS = 2 };
    struct cs_fuzz_plan released = *plan;
    uint64_t key = sizes_key(plan);
    if (key >= CS_LEGAL_SLOTS) return sizes_fit(plan);
    if (memo->slot[key]) return memo->slot[key] & HOLDS;
    released.axis[CS_AXIS_engine] = 0;
    bool holds = (cs_fuzz_is_repaired(plan) && fits(memo, &released)) || sizes_fit(plan);
    memo->slot[key] = holds ? KNOWN | HOLDS : KNOWN;
    return holds;
}

bool cs_rule_holds(struct cs_legal_memo *memo, const struct cs_rule *rule, const struct cs_fuzz_plan *plan) {
    return memo && rule->holds == sizes_fit ? fits(memo, plan) : rule->holds(plan);
}

const struct cs_rule *cs_rule_broken(struct cs_legal_memo *memo, const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < cs_n_rules; i++)
        if (!cs_rule_holds(memo, &cs_rules[i], plan)) return &cs_rules[i];
    return NULL;
}

bool cs_steps_are_legal(const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < cs_n_rules; i++)
        if (cs_rules[i].reads_steps && !cs_rules[i].axes && !cs_rules[i].holds(plan)) return false;
    return true;
}

bool cs_axes_are_legal(struct cs_legal_memo *memo, const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < cs_n_rules; i++)
        if (!cs_rules[i].reads_steps && !cs_rule_holds(memo, &cs_rules[i], plan)) return false;
    return true;
}

/* ---- broken scenarios ---- */

static enum cs_status start_twice(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)arena;
    ops[scenario->n_ops] = ops[0];
    ops[scenario->n_ops + 1] = (struct cs_op){.kind = CS_OP_EXPECT, .line = (int)scenario->n_ops + 2};
    scenario->n_ops += 2;
    return CS_OK;
}

static enum cs_status reload_first(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)arena;
    ops[0].kind = CS_OP_RELOAD;
    ops[0].driver = "layerwise";
    return scenario->n_ops ? CS_OK : CS_INTERNAL;
}

static enum cs_status start_as_reload(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)scenario, (void)arena;
    ops[0].driver = "layerwise";
    return CS_OK;
}

static enum cs_status unknown_checkpoint(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)scenario, (void)arena;
    ops[0].checkpoint = "Z";
    return CS_OK;
}

static enum cs_status unknown_driver(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)scenario, (void)arena;
    ops[0].driver = "warm_start";
    return CS_OK;
}

static enum cs_status unknown_policy(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)ops;
    const char **policies = CS_NEW_ARRAY(arena, const char *, 1);
    CS_REQUIRE(policies, CS_NO_MEMORY, "out of memory for a policy");
    policies[0] = "hope";
    scenario->policies = policies;
    return CS_OK;
}

static enum cs_status unknown_backend(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)ops, (void)arena;
    scenario->backend = "abacus";
    return CS_OK;
}

static enum cs_status no_rank(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)ops, (void)arena;
    scenario->tp = 0;
    return CS_OK;
}

/* Half the intermediate size, or twice: of the last load, or of the start, all of it. */
static enum cs_status resize_last(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena, int64_t size) {
    struct cs_checkpoint_config *configs = CS_NEW_ARRAY(arena, struct cs_checkpoint_config, scenario->n_checkpoints + 1);
    CS_REQUIRE(configs, CS_NO_MEMORY, "out of memory for checkpoints");
    memcpy(configs, scenario->checkpoints, sizeof *configs * scenario->n_checkpoints);
    configs[scenario->n_checkpoints++] =
        (struct cs_checkpoint_config){.name = "R", .kind = CS_CHECKPOINT_PATTERN, .version = 1, .intermediate = size};
    scenario->checkpoints = configs;
    for (size_t i = scenario->n_ops; i-- > 0;)
        if (ops[i].checkpoint) {
            ops[i].checkpoint = "R";
            ops[i].has_only = false;
            ops[i].n_omitted = 0;
            return CS_OK;
        }
    return CS_OK; /* a dummy start that nobody loads: refused as it is */
}

static enum cs_status smaller_checkpoint(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    return resize_last(scenario, ops, arena, scenario->model.intermediate / 2);
}

static enum cs_status larger_checkpoint(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    return resize_last(scenario, ops, arena, scenario->model.intermediate * 2);
}

static enum cs_status captured_asleep(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)arena;
    ops[scenario->n_ops] = (struct cs_op){.kind = CS_OP_SLEEP, .sleep_level = 1};
    ops[scenario->n_ops + 1] = (struct cs_op){.kind = CS_OP_CAPTURE};
    ops[scenario->n_ops + 2] = (struct cs_op){.kind = CS_OP_WAKE};
    ops[scenario->n_ops + 3] = ops[scenario->n_ops - 1];
    scenario->n_ops += 4;
    return CS_OK;
}

/* A copy that differs in a tensor that its original does not have. */
static enum cs_status patch_of_nothing(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)ops;
    struct cs_checkpoint_config *configs = CS_NEW_ARRAY(arena, struct cs_checkpoint_config, scenario->n_checkpoints + 1);
    CS_REQUIRE(configs, CS_NO_MEMORY, "out of memory for checkpoints");
    memcpy(configs, scenario->checkpoints, sizeof *configs * scenario->n_checkpoints);
    configs[scenario->n_checkpoints++] = (struct cs_checkpoint_config){
        .name = "R", .patches = "A", .change = {.tensor = "model.layers.0.mlp.nothing", .n_at = 1, .number = 3}};
    scenario->checkpoints = configs;
    return CS_OK;
}

static enum cs_status copy_of_nothing(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)ops;
    struct cs_checkpoint_config *configs = CS_NEW_ARRAY(arena, struct cs_checkpoint_config, scenario->n_checkpoints);
    CS_REQUIRE(configs, CS_NO_MEMORY, "out of memory for checkpoints");
    memcpy(configs, scenario->checkpoints, sizeof *configs * scenario->n_checkpoints);
    configs[1].perturbs = "Z";
    scenario->checkpoints = configs;
    return CS_OK;
}

static enum cs_status nothing_judged(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena) {
    (void)ops, (void)arena;
    scenario->n_ops = 1;
    return CS_OK;
}

/* clang-format off */
const struct cs_breakage cs_breakages[] = {
    {"captured_asleep",    "graphs captured of a server that sleeps", captured_asleep},
    {"copy_of_nothing",    "a perturbed copy of a checkpoint that does not exist", copy_of_nothing},
    {"larger_checkpoint",  "a checkpoint whose experts are twice as large as the model's", larger_checkpoint},
    {"no_rank",            "no tensor-parallel rank at all", no_rank},
    {"nothing_judged",     "a plan without an expectation", nothing_judged},
    {"patch_of_nothing",   "a copy that differs in a tensor which its original does not have", patch_of_nothing},
    {"reload_first",       "a reload before there is a server", reload_first},
    {"smaller_checkpoint", "a checkpoint whose experts are half as large as the model's", smaller_checkpoint},
    {"start_as_reload",    "a reload driver asked to start a server", start_as_reload},
    {"start_twice",        "a second cold start of the same server", start_twice},
    {"unknown_backend",    "a back end that nobody has", unknown_backend},
    {"unknown_checkpoint", "a checkpoint that nobody declared", unknown_checkpoint},
    {"unknown_driver",     "a driver that nobody has", unknown_driver},
    {"unknown_policy",     "a policy that nobody has", unknown_policy},
};
/* clang-format on */
const size_t cs_n_breakages = CS_COUNT(cs_breakages);
