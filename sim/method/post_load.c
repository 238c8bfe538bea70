/* Runs post-load tables: process_weights_after_loading. */
#include "sim/method/methods.h"

#include <string.h>

/* The working value of each parameter that a step touched; its own bytes until then. */
struct working {
    const char *param;
    struct cs_view view;
};

enum { MOST_WORKING = 32 };

struct post_load {
    struct cs_module *module;
    struct working working[MOST_WORKING];
    size_t n_working;
};

static enum cs_status working_of(struct post_load *run, const char *name, struct working **working) {
    for (size_t i = 0; i < run->n_working; i++)
        if (cs_text_equal(run->working[i].param, name)) {
            *working = &run->working[i];
            return CS_OK;
        }
    struct cs_slot *slot = cs_module_slot(run->module, name);
    CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "%s: post-load needs a parameter \"%s\", which the module does not have",
               run->module->spec->name, name);
    CS_REQUIRE(run->n_working < MOST_WORKING, CS_UNSUPPORTED, "%s: post-load touches more than %d parameters", run->module->spec->name, MOST_WORKING);
    *working = &run->working[run->n_working++];
    **working = (struct working){name, slot->param->view};
    return CS_OK;
}

/* A parameter as matrices: [E, M, K…] is E of [M, K], [E, M] is E of [M, 1], [M] is one of [M, 1]. */
static void matrices_of(const struct cs_view *view, int64_t *n, int64_t *rows, int64_t *columns) {
    *n = view->ndim > 1 ? view->shape[0] : 1;
    *rows = view->ndim == 0 ? 1 : view->ndim == 1 ? view->shape[0] : view->shape[1];
    *columns = 1;
    for (int d = 2; d < view->ndim; d++) *columns *= view->shape[d];
}

/* Part of a step's chain: layouts [first, first + n). */
struct part {
    const struct cs_step *step;
    size_t first, n;
};

/* Composing costs more than a small relayout: a rank keeps its plans by chain and shape. */
static enum cs_status plan_of(struct cs_rank *rank, const struct part *part, int bits, int64_t rows, int64_t columns, const struct cs_plan **plan) {
    const void *key = &part->step->chain[part->first];
    for (struct cs_plan_cache *kept = rank->plans; kept; kept = kept->next)
        if (kept->key == key && kept->n_layouts == part->n && kept->bits == bits && kept->rows == rows && kept->columns == columns) {
            *plan = &kept->plan;
            return CS_OK;
        }
    const struct cs_layout *chain[CS_CHAIN];
    for (size_t i = 0; i < part->n; i++) {
        const char *name = part->step->chain[part->first + i];
        chain[i] = cs_layout_by_name(name);
        CS_REQUIRE(chain[i], CS_BAD_VALUE, "no layout is named \"%s\"; `coldstart list layouts` shows them", name);
    }
    struct cs_plan_cache *made = CS_NEW(rank->arena, struct cs_plan_cache);
    CS_REQUIRE(made, CS_NO_MEMORY, "out of memory for the plan of %s", part->step->param);
    CS_TRY(cs_plan_compose(&made->plan, chain, part->n, bits, rows, columns));
    made->key = key, made->n_layouts = part->n, made->bits = bits, made->rows = rows, made->columns = columns;
    made->next = rank->plans;
    rank->plans = made;
    *plan = &made->plan;
    return CS_OK;
}

static const char *chain_text(struct cs_rank *rank, const struct part *part) {
    const char *const *names = part->step->chain + part->first;
    const char *text = names[0];
    for (size_t i = 1; rank->log->is_tracing && i < part->n && text; i++) text = cs_arena_format(rank->arena, "%s, %s", text, names[i]);
    return text ? text : part->step->param;
}

static enum cs_status relayout_part(struct post_load *run, const struct part *part, struct working *working) {
    struct cs_rank *rank = run->module->rank;
    int64_t n, rows, columns;
    matrices_of(&working->view, &n, &rows, &columns);
    const struct cs_plan *plan = NULL;
    CS_TRY(plan_of(rank, part, cs_dtype_bits(working->view.dtype), rows, columns, &plan));
    struct cs_view layout, result;
    /* Results keep the parameter's shape; one that pads has the padded one. */
    bool keeps_shape = plan->rows == rows && plan->columns == columns;
    CS_TRY(cs_view_make(&layout, NULL, working->view.dtype, keeps_shape ? working->view.ndim : 3,
                        keeps_shape ? working->view.shape : (int64_t[]){n, plan->rows, plan->columns}));
    CS_TRY(cs_rank_allocate(rank, &layout, part->step->param, &result));
    CS_TRY(cs_device_relayout(rank->device, plan, n, &result, &working->view));
    cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_RELAYOUT, .who = chain_text(rank, part), .what = part->step->param,
                                                  .destination = result, .source = working->view, .has_source = true, .plan = plan});
    working->view = result;
    return CS_OK;
}

/* One pass for the chain, or one for each layout where their extents cross and no single plan exists. */
static enum cs_status relayout(struct post_load *run, const struct cs_step *step) {
    struct working *working;
    CS_TRY(working_of(run, step->param, &working));
    if (cs_view_numel(&working->view) == 0) return CS_OK;
    struct part whole = {.step = step};
    while (whole.n < CS_CHAIN && step->chain[whole.n]) whole.n++;
    enum cs_status status = relayout_part(run, &whole, working);
    if (status != CS_UNSUPPORTED || whole.n < 2) return status;
    for (struct part one = {step, 0, 1}; one.first < whole.n; one.first++) CS_TRY(relayout_part(run, &one, working));
    return CS_OK;
}

static enum cs_status cast(struct post_load *run, const struct cs_step *step) {
    struct working *working;
    CS_TRY(working_of(run, step->param, &working));
    struct cs_view layout, result;
    CS_TRY(cs_view_make(&layout, NULL, step->dtype, working->view.ndim, working->view.shape));
    CS_TRY(cs_rank_allocate(run->module->rank, &layout, step->param, &result));
    CS_TRY(cs_rank_copy(run->module->rank, CS_LOG_CONVERT, "cast", step->param, &result, &working->view));
    working->view = result;
    return CS_OK;
}

static enum cs_status view_as(struct post_load *run, const struct cs_step *step) {
    struct working *working;
    CS_TRY(working_of(run, step->param, &working));
    return cs_view_as(&working->view, step->dtype);
}

/* The object stays. A value of the same layout is copied into it; another one becomes its data. Source: vllm 0.33
 * model_executor/utils.py, replace_parameter. */
static enum cs_status replace(struct post_load *run, const struct cs_step *step) {
    struct working *working;
    CS_TRY(working_of(run, step->param, &working));
    struct cs_slot *slot = cs_module_slot(run->module, step->param);
    CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "%s has no parameter \"%s\" to replace", run->module->spec->name, step->param);
    struct cs_view *own = &slot->param->view;
    if (cs_view_same_place(own, &working->view)) return CS_OK;
    if (cs_view_same_layout(own, &working->view) && own->storage->kind == CS_STORAGE_MEMORY)
        return cs_rank_copy(run->module->rank, CS_LOG_COPY, "replace_parameter", step->param, own, &working->view);
    *own = working->view;
    return CS_OK;
}

static enum cs_status hold(struct post_load *run, const struct cs_step *step, struct cs_param *param) {
    for (size_t i = 0; step->paths && step->paths[i]; i++) CS_TRY(cs_module_hold(run->module, step->paths[i], param));
    return CS_OK;
}

static enum cs_status config(struct post_load *run, const struct cs_step *step) {
    struct cs_slot *slot = cs_module_slot(run->module, step->param);
    CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "%s has no parameter \"%s\" for its quant config", run->module->spec->name, step->param);
    return hold(run, step, slot->param);
}

static enum cs_status constant(struct post_load *run, const struct cs_step *step) {
    struct cs_rank *rank = run->module->rank;
    struct cs_param *param = cs_param_new(rank, step->param, NULL);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s", step->param);
    int64_t experts = rank->spec->sizes.experts > 0 ? rank->spec->sizes.experts : 1;
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, CS_F32, 1, &experts));
    CS_TRY(cs_rank_allocate(rank, &layout, step->param, &param->view));
    uint64_t bits;
    CS_TRY(cs_dtype_encode(CS_F32, (double)step->value, &bits));
    struct cs_fill fill = {.view = param->view, .bits = bits};
    CS_TRY(cs_device_fill(rank->device, &fill, 1));
    cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_INIT, .who = "experts object", .what = step->param, .destination = param->view});
    return hold(run, step, param);
}

enum cs_status cs_post_load(struct cs_module *module) {
    static enum cs_status (*const run_step[])(struct post_load *, const struct cs_step *) = {
        [CS_STEP_RELAYOUT] = relayout, [CS_STEP_CAST] = cast,     [CS_STEP_VIEW] = view_as,
        [CS_STEP_REPLACE] = replace,   [CS_STEP_CONFIG] = config, [CS_STEP_CONSTANT] = constant,
    };
    const struct cs_backend *backend = module->spec->backend;
    if (!backend) return CS_OK;
    CS_REQUIRE(backend->steps || !backend->upstream, CS_UNSUPPORTED, "the post-load of %s with %s is not implemented; `coldstart list backends` shows which are",
               backend->method, backend->name);
    module->n_sides = 0; /* config and experts objects are built anew */
    struct post_load run = {.module = module};
    for (size_t i = 0; i < (backend->n_steps ? *backend->n_steps : 0); i++) CS_TRY(run_step[backend->steps[i].kind](&run, &backend->steps[i]));
    return CS_OK;
}
