/* What every loader does: copies that count, and narrowing that the policy hears of. */
#include "sim/loader/loader.h"

#include <math.h>
#include <string.h>

enum cs_status cs_load(struct cs_load_call *call) {
    call->counted = 0;
    call->n_calls = call->loader->bypasses_counter ? 0 : cs_load_calls_of_row(call->row);
    return call->loader->load(call);
}

/* Scales that are powers of two are kept as bytes: as they are, whatever the checkpoint calls them, or converted from
 * other numbers. */
static enum cs_status read_as_bytes(const struct cs_load_call *call, struct cs_view *destination,
                                    struct cs_view *source) {
    bool is_scale = call->row && call->row->as == CS_E8M0 && destination->dtype == CS_U8;
    if (is_scale && source->dtype == CS_E8M0) return cs_view_as(source, CS_U8);
    return is_scale && cs_dtype_is_floating(source->dtype) ? cs_view_as(destination, CS_E8M0) : CS_OK;
}

/* n elements of a row, from `first` on. */
static struct cs_view run_of(const struct cs_view *view, int64_t first, int64_t n) {
    struct cs_view run = {
        .storage = view->storage, .offset = cs_view_element(view, first), .dtype = view->dtype, .ndim = 1};
    run.shape[0] = n;
    run.stride[0] = view->ndim ? view->stride[view->ndim - 1] : 1;
    return run;
}

/* How many numbers follow each other, NaN being none. */
static int64_t numbers_in(const struct cs_view *source, const unsigned char *bytes, int64_t n) {
    size_t width = (size_t)cs_dtype_bits(source->dtype) / 8;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, bytes + (size_t)i * width, width); /* little-endian, as the file formats */
        if (isnan(cs_dtype_decode(source->dtype, bits))) return i;
    }
    return n;
}

static enum cs_status copy_numbers(const struct cs_device *device, const struct cs_view *destination,
                                   const struct cs_view *source, unsigned char *bytes) {
    size_t width = (size_t)cs_dtype_bits(source->dtype) / 8;
    int64_t numel = cs_view_numel(source), row = source->ndim ? source->shape[source->ndim - 1] : 1;
    CS_TRY(cs_device_read(device, source, bytes, (size_t)numel * width));
    for (int64_t i = 0; i < numel;) {
        int64_t n = numbers_in(source, bytes + (size_t)i * width, row - i % row);
        struct cs_view to = run_of(destination, i, n), from = run_of(source, i, n);
        if (n) CS_TRY(cs_device_copy(device, &to, &from));
        i += n ? n : 1;
    }
    return CS_OK;
}

/* A sparse patch: only numbers are copied. torch has no NaN test for FP8, and integers have no NaN. */
static enum cs_status copy_patch(const struct cs_load_call *call, const struct cs_view *destination,
                                 const struct cs_view *source) {
    CS_REQUIRE(cs_dtype_is_floating(source->dtype), CS_BAD_TYPE,
               "%s: integers cannot be patched: no value says that an element stays", call->tensor);
    CS_REQUIRE(cs_dtype_bits(source->dtype) >= 16, CS_REFUSED, "%s: %s numbers cannot be tested for NaN",
               call->tensor, cs_dtype_name(source->dtype));
    struct cs_arena scratch = {0};
    size_t size = (size_t)cs_view_numel(source) * (size_t)cs_dtype_bits(source->dtype) / 8;
    unsigned char *bytes = CS_NEW_ARRAY(&scratch, unsigned char, size + 1);
    enum cs_status status = bytes ? copy_numbers(call->module->rank->device, destination, source, bytes)
                                  : cs_fail(CS_NO_MEMORY, "out of memory for a patch of %s", call->tensor);
    cs_arena_release(&scratch);
    return status;
}

/* Elements that layerwise takes for loaded: those of the copy, not of what it was narrowed from (L8), and once (L6). */
static int64_t count_of(const struct cs_rank *rank, const struct cs_view *destination, const struct cs_view *source) {
    if (cs_rank_has_defect(rank, CS_DEFECT_COUNT_OF_SOURCE)) return cs_view_numel(source);
    return cs_view_numel(destination) * (cs_rank_has_defect(rank, CS_DEFECT_COUNTED_TWICE) ? 2 : 1);
}

enum cs_status cs_load_copy(struct cs_load_call *call, const struct cs_view *destination,
                            const struct cs_view *source) {
    struct cs_rank *rank = call->module->rank;
    struct cs_view to = *destination, from = *source;
    CS_TRY(read_as_bytes(call, &to, &from));
    if (call->record && to.storage->kind == CS_STORAGE_META) CS_TRY(call->record(call, &to, &from));
    bool is_patched = call->is_patch && to.storage->kind == CS_STORAGE_MEMORY;
    if (is_patched) return copy_patch(call, &to, &from);
    enum cs_status status = cs_rank_copy(rank, CS_LOG_LOAD, call->loader->name, call->tensor, &to, &from);
    CS_REQUIRE(status == CS_OK, status, "rank %d: %s into %s.%s: %s", rank->index, call->tensor,
               call->module->spec->name, call->param->name, cs_error_text());
    bool is_bare = call->loader->bypasses_counter && cs_rank_has_defect(rank, CS_DEFECT_BARE_COPIES_LOST);
    if (!is_bare) call->counted += count_of(rank, destination, &call->source);
    return CS_OK;
}

/* Experts are the leading dimension of what a method's module holds. */
static int64_t experts_of(const struct cs_load_call *call, const struct cs_view *view) {
    bool has_experts = call->row && view->ndim >= 2;
    return has_experts ? view->shape[0] : 1;
}

/* A policy that zeroes does so at once, for the experts that the call loads. */
static enum cs_status note_zeroes(const struct cs_padding_site *site, const struct cs_region *region,
                                  const struct cs_rank *rank) {
    struct cs_view zeroed = cs_region_view(region, &site->view);
    bool is_one_expert = site->n_experts > 1 && site->expert >= 0;
    if (is_one_expert) CS_TRY(cs_view_narrow(&zeroed, 0, site->expert, 1));
    cs_log_note(rank->log,
                &(struct cs_log_entry){
                    .kind = CS_LOG_ZERO, .who = rank->policy->name, .what = site->name, .destination = zeroed});
    return CS_OK;
}

static enum cs_status tell_policy(struct cs_load_call *call, struct cs_param *param, const char *name,
                                  bool is_parameter, bool is_registered, const struct cs_region *region) {
    struct cs_module *module = call->module;
    struct cs_rank *rank = module->rank;
    double value;
    struct cs_view place = cs_region_view(region, &param->view);
    CS_TRY(cs_param_padding_value(rank, param, &place, &value));
    struct cs_padding_site site = {
        .padding = &module->padding,
        .device = rank->device,
        .stats = rank->stats,
        .module = module->spec->name,
        .name = name,
        .view = param->view,
        .n_experts = experts_of(call, &param->view),
        .expert = call->expert,
        .value = value,
        .is_parameter = is_parameter,
        .is_registered = is_registered,
        .has_warned = &param->has_warned,
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
    cs_load_probe(call->module->rank->log, CS_LOAD_PROBE_narrowed);
    if (!call->module->rank->policy->on_narrowed) return CS_OK;
    const struct cs_rank *rank = call->module->rank;
    bool has_experts = experts_of(call, view) > 1;
    if (has_experts && !cs_rank_has_defect(rank, CS_DEFECT_MARK_OF_ONE_EXPERT))
        first[0] = 0, extent[0] = view->shape[0];
    if (has_experts && cs_rank_has_defect(rank, CS_DEFECT_LAST_EXPERT_UNMARKED))
        first[0] = 0, extent[0] = view->shape[0] - 1;
    struct cs_region region;
    CS_TRY(cs_region_of_box(&region, view, first, extent));
    const struct cs_slot *slot = cs_module_slot(call->module, call->param->name);
    bool is_registered = slot && slot->param == call->param && slot->kind == CS_PARAMETER;
    return tell_policy(call, call->param, call->param->name, true, is_registered, &region);
}

enum cs_status cs_load_narrowed_in_view(struct cs_load_call *call, const struct cs_view *view, const int64_t *start,
                                        const int64_t *length) {
    if (!call->module->rank->policy->on_narrowed) return CS_OK;
    struct cs_region region;
    CS_TRY(cs_region_of_box(&region, view, start, length));
    for (size_t i = 0; i < call->module->n_slots; i++) {
        const struct cs_slot *slot = &call->module->slots[i];
        bool owns = slot->kind == CS_PARAMETER && slot->param && slot->param->view.storage == view->storage &&
                    view->storage->kind == CS_STORAGE_MEMORY;
        if (!owns) continue;
        cs_load_probe(call->module->rank->log, CS_LOAD_PROBE_narrowed_in_view);
        if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_VIEW_OFFSET_LOST))
            region.offset += view->offset - slot->param->view.offset;
        return tell_policy(call, slot->param, slot->name, true, true, &region);
    }
    cs_load_probe(call->module->rank->log, CS_LOAD_PROBE_narrowed_plain_tensor);
    struct cs_param plain = {.name = call->param->name, .view = *view};
    return tell_policy(call, &plain, plain.name, false, false, &region);
}

/* ---- parts of a parameter with experts ---- */

static int64_t columns_of(const struct cs_load_call *call, const struct cs_load_part *part) {
    const struct cs_view *view = &call->param->view;
    return part->columns ? part->columns : view->ndim > 2 ? view->shape[2] : 1;
}

enum cs_status cs_load_part_view(const struct cs_load_call *call, const struct cs_load_part *part,
                                 struct cs_view *view) {
    *view = call->param->view;
    CS_TRY(cs_view_narrow(view, 0, part->first_expert, part->n_experts));
    CS_TRY(cs_view_narrow(view, 1, part->row, part->rows));
    return view->ndim > 2 ? cs_view_narrow(view, 2, part->column, columns_of(call, part)) : CS_OK;
}

enum cs_status cs_load_check_part(struct cs_load_call *call, const struct cs_load_part *part, const int64_t shape[2]) {
    int64_t columns = columns_of(call, part);
    CS_REQUIRE(shape[0] <= part->rows && shape[1] <= columns, CS_BAD_SHAPE,
               "%s: [%" PRId64 ", %" PRId64 "] does not fit the [%" PRId64 ", %" PRId64
               "] of %s.%s that it is written to",
               call->tensor, shape[0], shape[1], part->rows, columns, call->module->spec->name, call->param->name);
    return CS_OK;
}

static enum cs_status narrowed_axis(struct cs_load_call *call, const struct cs_load_part *part, int64_t row,
                                    int64_t rows, int64_t column, int64_t columns) {
    const int64_t start[] = {part->first_expert, row, column}, length[] = {part->n_experts, rows, columns};
    return cs_load_narrowed(call, start, length);
}

/* Mutant: as many rows as columns are narrowed, or the other way round. */
static enum cs_status narrow_other_axis(struct cs_load_call *call, const struct cs_load_part *part,
                                        const int64_t shape[2], int64_t columns) {
    int64_t rows = columns - shape[1] < part->rows ? columns - shape[1] : part->rows,
            others = part->rows - shape[0] < columns ? part->rows - shape[0] : columns;
    if (rows) return narrowed_axis(call, part, part->row + part->rows - rows, rows, part->column, columns);
    return narrowed_axis(call, part, part->row, shape[0], part->column + columns - others, others);
}

enum cs_status cs_load_narrow_part(struct cs_load_call *call, const struct cs_load_part *part, const int64_t shape[2]) {
    int64_t columns = columns_of(call, part);
    const struct cs_rank *rank = call->module->rank;
    bool is_one = (shape[0] < part->rows) != (shape[1] < columns) && shape[0] && shape[1];
    if (is_one && call->param->view.ndim > 2 && cs_rank_has_defect(rank, CS_DEFECT_DIMENSIONS_CONFUSED))
        return narrow_other_axis(call, part, shape, columns);
    if (!cs_rank_has_defect(rank, CS_DEFECT_ROWS_UNMARKED))
        CS_TRY(narrowed_axis(call, part, part->row + shape[0], part->rows - shape[0], part->column, columns));
    bool has_narrow_columns = shape[0] && shape[1] < columns; /* a bias has no columns to narrow */
    if (cs_rank_has_defect(rank, CS_DEFECT_COLUMNS_UNMARKED)) return CS_OK;
    return has_narrow_columns
               ? narrowed_axis(call, part, part->row, shape[0], part->column + shape[1], columns - shape[1])
               : CS_OK;
}

enum cs_status cs_load_prefix(struct cs_load_call *call, const struct cs_load_part *part,
                              const struct cs_view *source) {
    const int64_t shape[] = {source->shape[1], source->ndim > 2 ? source->shape[2] : 1};
    CS_REQUIRE(source->shape[0] == part->n_experts, CS_BAD_SHAPE,
               "%s: has %" PRId64 " experts, %" PRId64 " of %s.%s are written", call->tensor, source->shape[0],
               part->n_experts, call->module->spec->name, call->param->name);
    CS_TRY(cs_load_check_part(call, part, shape));
    struct cs_load_part written = *part;
    written.rows = shape[0], written.columns = shape[1];
    struct cs_view destination;
    if (shape[0] && shape[1]) {
        CS_TRY(cs_load_part_view(call, &written, &destination));
        CS_TRY(cs_load_copy(call, &destination, source));
    }
    return cs_load_narrow_part(call, part, shape);
}
