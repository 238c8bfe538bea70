/* Side tensors that are made of values: copies that some object keeps beside the parameters. */
#include "sim/method/steps.h"

struct cs_side *cs_steps_kept(const struct cs_post_load *run, const struct cs_step *step) {
    for (size_t i = 0; i < run->module->n_sides; i++) {
        struct cs_side *side = &run->module->sides[i];
        if (side->is_kept && step->paths && cs_text_equal(side->path, step->paths[0])) return side;
    }
    return NULL;
}

enum cs_status cs_steps_hold(struct cs_post_load *run, const struct cs_step *step, struct cs_param *param) {
    for (size_t i = 0; step->paths && step->paths[i]; i++) {
        CS_TRY(cs_module_hold(run->module, step->paths[i], param));
        struct cs_side *side = &run->module->sides[run->module->n_sides - 1];
        side->is_kept = step->keep != CS_MADE_ANEW;
        side->is_hidden = step->is_hidden;
    }
    return CS_OK;
}

enum cs_status cs_step_derive(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_rank *rank = run->module->rank;
    struct cs_side *kept = cs_steps_kept(run, step);
    struct cs_view value, layout;
    if (kept && step->keep == CS_MADE_ONCE) return CS_OK;
    CS_TRY(cs_steps_value(run, step->param, &value));
    if (kept) return cs_rank_copy(rank, CS_LOG_COPY, "derived tensor", step->paths[0], &kept->param->view, &value);
    struct cs_param *param = cs_param_new(rank, step->paths[0], NULL);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s", step->paths[0]);
    CS_TRY(cs_view_make(&layout, NULL, value.dtype, value.ndim, value.shape));
    CS_TRY(cs_rank_allocate_result(rank, &layout, step->paths[0], &param->view));
    CS_TRY(cs_rank_copy(rank, CS_LOG_COPY, "derived tensor", step->paths[0], &param->view, &value));
    return cs_steps_hold(run, step, param);
}
