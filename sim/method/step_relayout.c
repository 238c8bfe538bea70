/* Steps that are a chain of layouts. */
#include "sim/method/steps.h"

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
static enum cs_status plan_of(struct cs_rank *rank, const struct part *part, int bits, int64_t rows, int64_t columns,
                              const struct cs_plan **plan) {
    const void *key = &part->step->chain[part->first];
    for (struct cs_plan_cache *kept = rank->plans; kept; kept = kept->next)
        if (kept->key == key && kept->n_layouts == part->n && kept->bits == bits && kept->rows == rows &&
            kept->columns == columns) {
            *plan = &kept->plan;
            return CS_OK;
        }
    const struct cs_layout *chain[CS_CHAIN];
    for (size_t i = 0; i < part->n; i++) {
        const char *name = part->step->chain[part->first + i];
        const struct cs_layout *own = part->step->own[part->first + i];
        chain[i] = own ? own : cs_layout_by_name(name);
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
    for (size_t i = 1; rank->log->is_tracing && i < part->n && text; i++)
        text = cs_arena_format(rank->arena, "%s, %s", text, names[i]);
    return text ? text : part->step->param;
}

static enum cs_status relayout_part(struct cs_post_load *run, const struct part *part, struct cs_working *working) {
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
    CS_TRY(cs_rank_allocate_result(rank, &layout, part->step->param, &result));
    CS_TRY(cs_device_relayout(rank->device, plan, n, &result, &working->view));
    cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_RELAYOUT,
                                                  .who = chain_text(rank, part),
                                                  .what = part->step->param,
                                                  .destination = result,
                                                  .source = working->view,
                                                  .has_source = true,
                                                  .plan = plan});
    working->view = result;
    return CS_OK;
}

static enum cs_status relayout_parts(struct cs_post_load *run, const struct part *whole, struct cs_working *working) {
    enum cs_status status = relayout_part(run, whole, working);
    if (status != CS_UNSUPPORTED || whole->n < 2) return status;
    for (struct part one = {whole->step, 0, 1}; one.first < whole->n; one.first++)
        CS_TRY(relayout_part(run, &one, working));
    return CS_OK;
}

/* One pass for the chain, or one for each layout where their extents cross and no single plan exists. */
enum cs_status cs_step_relayout(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *working;
    CS_TRY(cs_steps_find(run, step->param, &working));
    if (cs_view_numel(&working->view) == 0) return CS_OK;
    struct part whole = {.step = step};
    while (whole.n < CS_CHAIN && step->chain[whole.n]) whole.n++;
    enum cs_status status = relayout_parts(run, &whole, working);
    return status == CS_OK ? CS_OK : cs_fail(status, "%s: %s", step->param, cs_error_text());
}
