/* What every loader does: copies that count, and narrowing that the policy hears of. */
#include "sim/loader/loader.h"

enum cs_status cs_load(struct cs_load_call *call) {
    call->counted = 0;
    return call->loader->load(call);
}

enum cs_status cs_load_copy(struct cs_load_call *call, const struct cs_view *destination, const struct cs_view *source) {
    struct cs_rank *rank = call->module->rank;
    enum cs_status status = cs_rank_copy(rank, CS_LOG_LOAD, call->loader->name, call->tensor, destination, source);
    CS_REQUIRE(status == CS_OK, status, "rank %d: %s into %s.%s: %s", rank->index, call->tensor, call->module->spec->name, call->param->name, cs_error_text());
    call->counted += cs_view_numel(destination);
    return CS_OK;
}

/* Experts are the leading dimension of what a method's module holds. */
static int64_t experts_of(const struct cs_load_call *call, const struct cs_view *view) {
    bool has_experts = call->row && view->ndim >= 2;
    return has_experts ? view->shape[0] : 1;
}

/* A policy that zeroes does so at once, for the experts that the call loads. */
static enum cs_status note_zeroes(const struct cs_padding_site *site, const struct cs_region *region, const struct cs_rank *rank) {
    struct cs_view zeroed = cs_region_view(region, &site->view);
    bool is_one_expert = site->n_experts > 1 && site->expert >= 0;
    if (is_one_expert) CS_TRY(cs_view_narrow(&zeroed, 0, site->expert, 1));
    cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_ZERO, .who = rank->policy->name, .what = site->name, .destination = zeroed});
    return CS_OK;
}

static enum cs_status tell_policy(struct cs_load_call *call, struct cs_param *param, const char *name, bool is_parameter, bool is_registered,
                                  const struct cs_region *region) {
    struct cs_module *module = call->module;
    struct cs_rank *rank = module->rank;
    struct cs_padding_site site = {
        .padding = &module->padding, .device = rank->device, .stats = rank->stats, .module = module->spec->name, .name = name,
        .view = param->view, .n_experts = experts_of(call, &param->view), .expert = call->expert, .value = param->padding_value,
        .is_parameter = is_parameter, .is_registered = is_registered, .has_warned = &param->has_warned,
    };
    bool zeroes = !rank->policy->before_post_load && param->view.storage->kind == CS_STORAGE_MEMORY;
    if (zeroes) CS_TRY(note_zeroes(&site, region, rank));
    return rank->policy->on_narrowed(&site, region);
}

enum cs_status cs_load_narrowed(struct cs_load_call *call, const int64_t *start, const int64_t *length) {
    const struct cs_view *view = &call->param->view;
    int64_t first[CS_NDIM], extent[CS_NDIM];
    for (int d = 0; d < view->ndim; d++) {
        if (length[d] == 0) return CS_OK;
        first[d] = start[d], extent[d] = length[d];
    }
    if (!call->module->rank->policy->on_narrowed) return CS_OK;
    if (experts_of(call, view) > 1) first[0] = 0, extent[0] = view->shape[0];
    struct cs_region region;
    CS_TRY(cs_region_of_box(&region, view, first, extent));
    const struct cs_slot *slot = cs_module_slot(call->module, call->param->name);
    bool is_registered = slot && slot->param == call->param && slot->kind == CS_PARAMETER;
    return tell_policy(call, call->param, call->param->name, true, is_registered, &region);
}

enum cs_status cs_load_narrowed_in_view(struct cs_load_call *call, const struct cs_view *view, const int64_t *start, const int64_t *length) {
    if (!call->module->rank->policy->on_narrowed) return CS_OK;
    struct cs_region region;
    CS_TRY(cs_region_of_box(&region, view, start, length));
    for (size_t i = 0; i < call->module->n_slots; i++) {
        const struct cs_slot *slot = &call->module->slots[i];
        bool owns = slot->kind == CS_PARAMETER && slot->param && slot->param->view.storage == view->storage && view->storage->kind == CS_STORAGE_MEMORY;
        if (!owns) continue;
        region.offset += view->offset - slot->param->view.offset;
        return tell_policy(call, slot->param, slot->name, true, true, &region);
    }
    struct cs_param plain = {.name = call->param->name, .view = *view};
    return tell_policy(call, &plain, plain.name, false, false, &region);
}

static enum cs_status narrowed_axis(struct cs_load_call *call, const struct cs_load_part *part, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t start[] = {part->first_expert, row, column}, length[] = {part->n_experts, rows, columns};
    return cs_load_narrowed(call, start, length);
}

enum cs_status cs_load_prefix(struct cs_load_call *call, const struct cs_load_part *part, const struct cs_view *source) {
    const struct cs_view *param = &call->param->view;
    int64_t columns = param->ndim > 2 ? param->shape[2] : 1, rows = source->shape[1], width = source->ndim > 2 ? source->shape[2] : 1;
    CS_REQUIRE(rows <= part->rows && width <= columns && source->shape[0] == part->n_experts, CS_BAD_SHAPE,
               "%s: [%" PRId64 ", %" PRId64 ", %" PRId64 "] does not fit the [%" PRId64 ", %" PRId64 ", %" PRId64 "] of %s.%s that it is written to",
               call->tensor, source->shape[0], rows, width, part->n_experts, part->rows, columns, call->module->spec->name, call->param->name);
    struct cs_view destination = *param;
    CS_TRY(cs_view_narrow(&destination, 0, part->first_expert, part->n_experts));
    CS_TRY(cs_view_narrow(&destination, 1, part->row, rows));
    if (param->ndim > 2) CS_TRY(cs_view_narrow(&destination, 2, 0, width));
    if (cs_view_numel(&destination)) CS_TRY(cs_load_copy(call, &destination, source));
    CS_TRY(narrowed_axis(call, part, part->row + rows, part->rows - rows, 0, columns));
    bool has_narrow_columns = rows && width < columns; /* a bias has no columns to narrow */
    return has_narrow_columns ? narrowed_axis(call, part, part->row, rows, width, columns - width) : CS_OK;
}
