/* Steps that move bytes or only look at them in another way. */
#include "sim/method/steps.h"

enum cs_status cs_step_cast(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *value;
    CS_TRY(cs_steps_find(run, step->param, &value));
    struct cs_view layout, result;
    CS_TRY(cs_view_make(&layout, NULL, step->dtype, value->view.ndim, value->view.shape));
    CS_TRY(cs_rank_allocate_result(run->module->rank, &layout, step->param, &result));
    CS_TRY(cs_rank_copy(run->module->rank, CS_LOG_CONVERT, "cast", step->param, &result, &value->view));
    value->view = result;
    return CS_OK;
}

/* Same bytes, other width: torch's view(dtype). */
static enum cs_status view_width(struct cs_view *view, enum cs_dtype dtype) {
    int last = view->ndim - 1, from = cs_dtype_bits(view->dtype), to = cs_dtype_bits(dtype);
    CS_REQUIRE(last >= 0 && cs_view_is_contiguous(view), CS_BAD_SHAPE,
               "a view as %s needs a contiguous tensor with a dimension", cs_dtype_name(dtype));
    CS_REQUIRE(view->shape[last] * from % to == 0 && view->offset * from % to == 0, CS_BAD_SHAPE,
               "%" PRId64 " elements of %s are no whole number of %s", view->shape[last], cs_dtype_name(view->dtype),
               cs_dtype_name(dtype));
    int64_t offset = view->offset * from / to;
    view->shape[last] = view->shape[last] * from / to;
    CS_TRY(cs_view_make(view, view->storage, dtype, view->ndim, view->shape));
    view->offset = offset;
    return CS_OK;
}

enum cs_status cs_step_view(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *value;
    CS_TRY(cs_steps_find(run, step->param, &value));
    if (cs_dtype_bits(step->dtype) == cs_dtype_bits(value->view.dtype)) return cs_view_as(&value->view, step->dtype);
    return view_width(&value->view, step->dtype);
}

enum cs_status cs_step_reshape(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *value;
    int ndim;
    int64_t shape[CS_NDIM];
    CS_TRY(cs_steps_shape(run, step->text, &ndim, shape));
    CS_TRY(cs_steps_find(run, step->param, &value));
    return cs_view_reshape(&value->view, ndim, shape);
}

enum cs_status cs_step_select(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_view view;
    CS_TRY(cs_steps_value(run, step->from, &view));
    CS_TRY(cs_view_select(&view, step->dim, step->at));
    return cs_steps_set(run, step->param, &view, NULL);
}

enum cs_status cs_step_transpose(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *value;
    CS_TRY(cs_steps_find(run, step->param, &value));
    struct cs_view *view = &value->view;
    int last = view->ndim - 1;
    CS_REQUIRE(last >= 1, CS_BAD_SHAPE, "%s has %d dimensions: nothing to transpose", step->param, view->ndim);
    int64_t extent = view->shape[last], stride = view->stride[last];
    view->shape[last] = view->shape[last - 1], view->stride[last] = view->stride[last - 1];
    view->shape[last - 1] = extent, view->stride[last - 1] = stride;
    return CS_OK;
}

enum cs_status cs_step_take(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_view view;
    CS_TRY(cs_steps_value(run, step->from, &view));
    return cs_steps_set(run, step->param, &view, NULL);
}

/* ---- halves ---- */

static int64_t halves_of(const struct cs_post_load *run, const struct cs_step *step) {
    return step->by_halves && (run->facts & CS_FACT_GATED) ? 2 : 1;
}

/* [E, S*M, K…] as [E, S, M, K…]; also of views with gaps. `param`: whose view, for messages. */
static enum cs_status split_halves(const char *param, struct cs_view *view, int64_t halves) {
    CS_REQUIRE(view->ndim >= 2 && view->ndim < CS_NDIM, CS_BAD_SHAPE,
               "parameter %s: found %d dimension%s, expected 2 to %d: rows are the second one%s", param, view->ndim,
               view->ndim == 1 ? "" : "s", CS_NDIM - 1,
               view->ndim == 1 && view->shape[0] == 0 ? ", and an earlier step left nothing of this parameter" : "");
    CS_REQUIRE(view->shape[1] % halves == 0, CS_BAD_SHAPE,
               "parameter %s: found %" PRId64 " rows, expected a multiple of %" PRId64 ": gate and up apart", param,
               view->shape[1], halves);
    for (int d = view->ndim++; d > 1; d--) {
        view->shape[d] = view->shape[d - 1];
        view->stride[d] = view->stride[d - 1];
    }
    view->shape[2] /= halves;
    view->shape[1] = halves;
    view->stride[1] = view->stride[2] * view->shape[2];
    return CS_OK;
}

static int64_t round_up(const struct cs_post_load *run, int64_t extent, int64_t multiple) {
    if (multiple == CS_PER_GROUP)
        multiple = run->block[1] > 0 ? run->alignment[0] / run->block[1] : 0;
    else if (multiple < -CS_OF_H_BASE)
        multiple = run->alignment[1] / (-multiple - CS_OF_H_BASE);
    else if (multiple < 0)
        multiple = run->alignment[0] / -multiple;
    return multiple > 0 ? (extent + multiple - 1) / multiple * multiple : extent;
}

static enum cs_status fill(struct cs_rank *rank, const char *who, const struct cs_view *view, double value) {
    struct cs_fill fill = {.view = *view};
    CS_TRY(cs_dtype_encode(view->dtype, value, &fill.bits));
    CS_TRY(cs_device_fill(rank->device, &fill, 1));
    cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_ZERO, .who = who, .what = who, .destination = *view});
    return CS_OK;
}

static enum cs_status pad_into(struct cs_rank *rank, const struct cs_step *step, struct cs_view to,
                               const struct cs_view *from) {
    CS_TRY(fill(rank, "padding by post-load", &to, (double)step->value));
    for (int d = 0; d < to.ndim; d++) CS_TRY(cs_view_narrow(&to, d, 0, from->shape[d]));
    return cs_rank_copy(rank, CS_LOG_COPY, "padding by post-load", step->param, &to, from);
}

enum cs_status cs_step_pad(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *value;
    CS_TRY(cs_steps_find(run, step->param, &value));
    struct cs_view from = value->view, layout, result, to;
    int64_t halves = halves_of(run, step), shape[CS_NDIM];
    CS_TRY(split_halves(step->param, &from, halves));
    for (int d = 0; d < value->view.ndim; d++) shape[d] = value->view.shape[d];
    shape[1] = round_up(run, shape[1] / halves, step->multiple[0]) * halves;
    if (value->view.ndim > 2) shape[2] = round_up(run, shape[2], step->multiple[1]);
    CS_TRY(cs_view_make(&layout, NULL, value->view.dtype, value->view.ndim, shape));
    if (cs_view_same_shape(&layout, &value->view)) return CS_OK;
    CS_TRY(cs_rank_allocate(run->module->rank, &layout, step->param, &result));
    to = result;
    CS_TRY(split_halves(step->param, &to, halves));
    CS_TRY(pad_into(run->module->rank, step, to, &from));
    value->view = result;
    return CS_OK;
}

/* Zeros from index `first` of dimension `dim`. */
static enum cs_status zero_from(struct cs_post_load *run, struct cs_view view, int dim, int64_t first) {
    if (first >= view.shape[dim]) return CS_OK;
    CS_TRY(cs_view_narrow(&view, dim, first, view.shape[dim] - first));
    return fill(run->module->rank, "post-load's zeroing", &view, 0.0);
}

/* `multiple` says what the rows and the columns are: 'I', 'H', or 0 for no padding there. */
enum cs_status cs_step_zero(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_view view;
    if (cs_rank_has_defect(run->module->rank, CS_DEFECT_PADDING_NOT_CLEARED)) return CS_OK;
    CS_TRY(cs_steps_value(run, step->param, &view));
    CS_TRY(split_halves(step->param, &view, halves_of(run, step)));
    for (int i = 0; i < 2 && 2 + i < view.ndim; i++)
        if (step->multiple[i]) CS_TRY(zero_from(run, view, 2 + i, run->unpadded[step->multiple[i] == 'H']));
    return CS_OK;
}
