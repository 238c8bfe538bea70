/* Runs post-load tables: process_weights_after_loading. */
#include "sim/method/steps.h"

#include <string.h>

/* ---- values ---- */

static struct cs_working *find(struct cs_post_load *run, const char *name) {
    for (size_t i = 0; i < run->n_values; i++)
        if (cs_text_equal(run->values[i].name, name)) return &run->values[i];
    return NULL;
}

enum cs_status cs_steps_find(struct cs_post_load *run, const char *name, struct cs_working **value) {
    *value = find(run, name);
    if (*value) return CS_OK;
    struct cs_slot *slot = cs_module_slot(run->module, name);
    CS_REQUIRE(slot && slot->param, CS_BAD_VALUE,
               "%s: post-load needs a parameter \"%s\", which the module does not have", run->module->spec->name, name);
    return cs_steps_set(run, slot->name, &slot->param->view, value);
}

enum cs_status cs_steps_set(struct cs_post_load *run, const char *name, const struct cs_view *view,
                            struct cs_working **value) {
    struct cs_working *kept = find(run, name);
    CS_REQUIRE(kept || run->n_values < CS_MOST_VALUES, CS_UNSUPPORTED, "%s: post-load touches more than %d values",
               run->module->spec->name, CS_MOST_VALUES);
    if (!kept) kept = &run->values[run->n_values++];
    *kept = (struct cs_working){name, *view}; /* names live as long as steps and slots */
    if (value) *value = kept;
    return CS_OK;
}

enum cs_status cs_steps_value(struct cs_post_load *run, const char *name, struct cs_view *view) {
    struct cs_working *value;
    CS_TRY(cs_steps_find(run, name, &value));
    *view = value->view;
    return CS_OK;
}

static bool is_reload(const struct cs_post_load *run) { return run->module->rank->allocator.phase == CS_PHASE_RELOAD; }

/* Whether a step is left out of a reload's post-load: what was converted once is taken for converted for ever (V6), or
 * scales that weights belong to stay as they were (V4). */
static bool is_left_out(const struct cs_post_load *run, const struct cs_step *step) {
    const struct cs_rank *rank = run->module->rank;
    if (!rank->defects || !is_reload(run)) return false;
    bool is_cast = step->kind == CS_STEP_CAST && cs_rank_has_defect(rank, CS_DEFECT_CONVERSION_LATCHED);
    bool is_scale = step->kind == CS_STEP_RELAYOUT && strstr(step->param, "scale") &&
                    cs_rank_has_defect(rank, CS_DEFECT_SCALE_NOT_RELAID);
    bool is_constant = step->kind == CS_STEP_CONSTANT && cs_rank_has_defect(rank, CS_DEFECT_CONSTANT_NOT_REMADE);
    return is_cast || is_scale || is_constant;
}

/* ---- steps ---- */

static enum cs_status call(struct cs_post_load *run, const struct cs_step *step) {
    return cs_steps_run(run, step->table->steps, step->table->n_steps);
}

/* As the real engine refuses it. */
static enum cs_status require(struct cs_post_load *run, const struct cs_step *step) {
    CS_REQUIRE((run->facts & step->when) == step->when, CS_REFUSED, "%s", step->text);
    return CS_OK;
}

static enum cs_status set(struct cs_post_load *run, const struct cs_step *step) {
    int64_t *numbers = step->dim ? run->block : run->alignment;
    for (int i = 0; i < 2; i++)
        if (step->multiple[i]) numbers[i] = step->multiple[i];
    return CS_OK;
}

/* A step that a script made: what does not fit is the script's error, at the line that made it. */
static enum cs_status blame(const struct cs_step *step, enum cs_status status) {
    bool is_scripts = status == CS_BAD_SHAPE || status == CS_BAD_INDEX || status == CS_BAD_VALUE ||
                      status == CS_BAD_TYPE || status == CS_UNSUPPORTED;
    return step->place && is_scripts ? cs_fail(CS_BAD_SCRIPT, "%s%s", step->place, cs_error_text()) : status;
}

enum cs_status cs_steps_run(struct cs_post_load *run, const struct cs_step *steps, size_t n) {
    static enum cs_status (*const run_step[])(struct cs_post_load *, const struct cs_step *) = {
        [CS_STEP_RELAYOUT] = cs_step_relayout,
        [CS_STEP_CAST] = cs_step_cast,
        [CS_STEP_VIEW] = cs_step_view,
        [CS_STEP_RESHAPE] = cs_step_reshape,
        [CS_STEP_SELECT] = cs_step_select,
        [CS_STEP_TAKE] = cs_step_take,
        [CS_STEP_PAD] = cs_step_pad,
        [CS_STEP_ZERO] = cs_step_zero,
        [CS_STEP_MAP] = cs_step_map,
        [CS_STEP_UPDATE] = cs_step_update,
        [CS_STEP_MAXIMUM] = cs_step_maximum,
        [CS_STEP_ALL_REDUCE] = cs_step_all_reduce,
        [CS_STEP_CALL] = call,
        [CS_STEP_TRANSPOSE] = cs_step_transpose,
        [CS_STEP_SET] = set,
        [CS_STEP_DERIVE] = cs_step_derive,
        [CS_STEP_REPLACE] = cs_step_replace,
        [CS_STEP_REGISTER] = cs_step_register,
        [CS_STEP_RENAME] = cs_step_rename,
        [CS_STEP_RETIRE] = cs_step_retire,
        [CS_STEP_EMPTY] = cs_step_empty,
        [CS_STEP_WRAP] = cs_step_wrap,
        [CS_STEP_CONFIG] = cs_step_config,
        [CS_STEP_HOLD] = cs_step_hold,
        [CS_STEP_CONSTANT] = cs_step_constant,
        [CS_STEP_EXTENT] = cs_step_extent,
        [CS_STEP_REQUIRE] = require,
    };
    for (size_t i = 0; i < n; i++) {
        const struct cs_step *step = &steps[i];
        if (is_left_out(run, step)) continue;
        if (step->kind != CS_STEP_GUARD)
            CS_TRY(blame(step, run_step[step->kind](run, step)));
        else if ((run->facts & step->when) != step->when || run->facts & step->unless)
            i++;
    }
    return CS_OK;
}

/* Groups along K as Marlin sees them: of integers, -1 when one spans K; of FP8 blocks; 0 where nothing is grouped.
 * Upstream compares w13's group of integers with I before padding, although its K is H. */
static void set_groups(struct cs_post_load *run, const struct cs_sizes *sizes) {
    bool is_integer = sizes->group > 0;
    int64_t group = !is_integer ? run->block[1] : sizes->options & CS_PER_CHANNEL ? -1 : sizes->group;
    run->alignment[0] = cs_marlin_intermediate(1, group);
    if (is_integer && group > 0) run->block[1] = group;
    int64_t padded = cs_marlin_intermediate(sizes->intermediate, group),
            size_k = is_integer ? sizes->intermediate : sizes->hidden;
    if (group && cs_marlin_is_grouped(group, size_k, false)) run->facts |= CS_FACT_GROUPED;
    if (group && cs_marlin_is_grouped(group, padded, false)) run->facts |= CS_FACT_GROUPED_W2;
}

/* Steps see a layer's configuration as facts and numbers. */
static struct cs_post_load run_of(struct cs_module *module) {
    const struct cs_sizes *sizes = &module->rank->spec->sizes;
    struct cs_post_load run = {
        .module = module,
        .experts = sizes->experts,
        .unpadded = {sizes->intermediate_u, sizes->hidden_u},
        .first_id = module->rank->allocator.next_id,
    };
    const struct {
        bool holds;
        enum cs_fact fact;
    } facts[] = {
        {!(sizes->options & CS_NOT_GATED), CS_FACT_GATED},
        {cs_module_slot(module, "w13_bias") && sizes->options & CS_WITH_BIAS, CS_FACT_BIAS},
        {sizes->options & CS_ASYMMETRIC, CS_FACT_ZERO_POINT},
        {sizes->options & CS_STATIC_INPUT, CS_FACT_STATIC},
        {sizes->options & CS_CPU_ARITHMETIC, CS_FACT_CPU},
        {sizes->tp == 1, CS_FACT_ONE_RANK},
        {sizes->experts_redundant > 0, CS_FACT_BALANCED},
        {sizes->bits == 8, CS_FACT_8BIT},
        {sizes->hidden % 128 == 0, CS_FACT_H128},
        {sizes->block[0] > 0, CS_FACT_BLOCK},
        {module->n_sides == 0, CS_FACT_FIRST},
    };
    for (size_t i = 0; i < CS_COUNT(facts); i++)
        if (facts[i].holds) run.facts |= facts[i].fact;
    for (int i = 0; i < 2; i++)
        run.block[i] = sizes->refine[i] > 0 ? sizes->block[i] / sizes->refine[i] : sizes->block[i];
    set_groups(&run, sizes);
    return run;
}

/* Config and experts objects are built anew; what the module owns stays. */
static void drop_built_anew(struct cs_module *module) {
    size_t kept = 0;
    for (size_t i = 0; i < module->n_sides; i++)
        if (module->sides[i].is_kept) module->sides[kept++] = module->sides[i];
    module->n_sides = kept;
}

/* Online quantisation reads high-precision weights; torch has no arithmetic on FP8 numbers that it would find where
 * they were quantised already, unless they are converted first. */
static enum cs_status check_online(struct cs_module *module) {
    for (size_t i = 0; i < module->spec->n_tensors; i++) {
        const struct cs_tensor_spec *spec = &module->spec->tensors[i];
        const struct cs_slot *slot = cs_module_slot(module, spec->name);
        bool is_quantised = spec->is_online && slot && slot->param->view.dtype != spec->dtype;
        CS_REQUIRE(!is_quantised, CS_BAD_SHAPE, "%s.%s is %s already, expected %s: it cannot be quantised again",
                   module->spec->name, spec->name, cs_dtype_name(slot->param->view.dtype), cs_dtype_name(spec->dtype));
    }
    return CS_OK;
}

static enum cs_status run_once(struct cs_module *module) {
    const struct cs_backend *backend = module->spec->backend;
    if (!backend) return CS_OK;
    const struct cs_method *method = cs_method_by_name(backend->method);
    if (!method || !method->requantises) CS_TRY(check_online(module));
    CS_REQUIRE(backend->steps || !backend->upstream, backend->is_refused ? CS_REFUSED : CS_UNSUPPORTED,
               "%s with %s has no post-load: %s; `coldstart list backends` shows which have", backend->method,
               backend->name, backend->why_not ? backend->why_not : "no reason is known");
    if (!method || !method->builds_once) drop_built_anew(module);
    struct cs_post_load run = run_of(module);
    return cs_steps_run(&run, backend->steps, backend->n_steps ? *backend->n_steps : 0);
}

/* With a fault of the release switched off. */
static enum cs_status run_and_keep(struct cs_module *module) {
    size_t n = module->n_sides;
    struct cs_side *before = CS_NEW_ARRAY(module->rank->arena, struct cs_side, n + 1);
    CS_REQUIRE(before, CS_NO_MEMORY, "out of memory for the side tensors of %s", module->spec->name);
    if (n) memcpy(before, module->sides, n * sizeof *before);
    CS_TRY(run_once(module));
    return cs_sides_keep(module, before, n);
}

enum cs_status cs_post_load(struct cs_module *module) {
    if (module->spec->is_attention) return cs_kv_post_load(module);
    const struct cs_rank *rank = module->rank;
    bool is_mutant = rank->defects && rank->allocator.phase == CS_PHASE_RELOAD;
    if (is_mutant && cs_rank_has_defect(rank, CS_DEFECT_NO_POST_LOAD)) return CS_OK;
    if (rank->allocator.phase == CS_PHASE_RELOAD && !cs_rank_has_defect(rank, CS_DEFECT_SIDE_TENSORS_REBUILT))
        return run_and_keep(module);
    CS_TRY(run_once(module));
    return is_mutant && cs_rank_has_defect(rank, CS_DEFECT_POST_LOAD_TWICE) ? run_once(module) : CS_OK;
}
