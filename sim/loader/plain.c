/* Loaders without a table: the default one, which copies a tensor whole, and the toy's, which does what a scenario
 * says. */
#include "sim/loader/loaders.h"

static enum cs_status load_whole(struct cs_load_call *call) {
    return cs_load_copy(call, &call->param->view, &call->source);
}

const struct cs_loader cs_loader_default = {
    .name = "default", .text = "copies a tensor whole", .load = load_whole, .keeps_in_run = true};

/* An expert slice when the parameter has a leading dimension: all that such a loader knows (R2.7). */
static enum cs_status mark_in_view(struct cs_load_call *call, const struct cs_toy_box *box) {
    struct cs_view view = call->param->view;
    int skipped = view.ndim > 1 ? 1 : 0;
    if (skipped) CS_TRY(cs_view_select(&view, 0, box->start[0]));
    return cs_load_narrowed_in_view(call, &view, box->start + skipped, box->length + skipped);
}

static enum cs_status mark_plain(struct cs_load_call *call, const struct cs_toy_box *box) {
    struct cs_view plain;
    CS_TRY(cs_rank_allocate(call->module->rank, &call->param->view, "plain tensor", &plain));
    return cs_load_narrowed_in_view(call, &plain, box->start, box->length);
}

/* No byte of a checkpoint is in these: a load plan has no copy for them. */
static enum cs_status zero_itself(struct cs_load_call *call, const struct cs_toy_box *box) {
    const struct cs_content zero = {.kind = CS_CONTENT_ZERO, .as = call->param->view.dtype};
    struct cs_view to = call->param->view, zeros;
    for (int d = 0; d < to.ndim; d++) CS_TRY(cs_view_narrow(&to, d, box->start[d], box->length[d]));
    if (!call->toy->concatenates) return cs_device_fill(call->module->rank->device, &(struct cs_fill){.view = to}, 1);
    CS_TRY(cs_view_make(&zeros, NULL, to.dtype, to.ndim, to.shape));
    CS_TRY(cs_allocate_kind(&call->module->rank->allocator, CS_STORAGE_SYNTHETIC, cs_view_span_bytes(&zeros), &zero,
                            NULL, "zeros", &zeros.storage));
    struct cs_load_call unrecorded = *call;
    unrecorded.record = NULL;
    CS_TRY(cs_load_copy(&unrecorded, &to, &zeros));
    call->counted = unrecorded.counted;
    return CS_OK;
}

/* What post-load left may be smaller than the box. */
static enum cs_status write_box(struct cs_load_call *call) {
    struct cs_view box = call->param->view;
    enum cs_status status = CS_OK;
    for (int d = 0; d < box.ndim && status == CS_OK; d++)
        status = cs_view_narrow(&box, d, call->toy->write.start[d], call->toy->write.length[d]);
    CS_REQUIRE(status == CS_OK, status, "rank %d: %s into %s.%s: %s", call->module->rank->index, call->tensor,
               call->module->spec->name, call->param->name, cs_error_text());
    return cs_load_copy(call, &box, &call->source);
}

static enum cs_status load_toy(struct cs_load_call *call) {
    const struct cs_toy_call *toy = call->toy;
    if (toy->has_write) CS_TRY(write_box(call));
    for (size_t i = 0; i < toy->n_zeros; i++) CS_TRY(zero_itself(call, &toy->zeros[i]));
    for (size_t i = 0; i < toy->n_marks; i++) {
        const struct cs_toy_box *mark = &toy->marks[i];
        if (toy->on_plain)
            CS_TRY(mark_plain(call, mark));
        else if (toy->through_view)
            CS_TRY(mark_in_view(call, mark));
        else
            CS_TRY(cs_load_narrowed(call, mark->start, mark->length));
    }
    return CS_OK;
}

const struct cs_loader cs_loader_toy = {
    .name = "toy", .text = "writes and marks what a toy scenario says", .load = load_toy, .keeps_parameters = true};
