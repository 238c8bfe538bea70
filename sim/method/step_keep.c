/* Steps that leave something behind: parameters, and what the quant config and the experts object hold.
 *
 * Parameters stay (R6): one that gets another name is the same object under both, one that no kernel reads is retired,
 * one that shrinks keeps its storage. The release forgets them instead: defect forgets_parameters. */
#include "sim/method/steps.h"

static bool forgets(const struct cs_post_load *run) {
    return cs_rank_has_defect(run->module->rank, CS_DEFECT_FORGETS_PARAMETERS);
}

/* ---- parameters ---- */

static enum cs_status slot_of(struct cs_post_load *run, const char *name, struct cs_slot **slot) {
    *slot = cs_module_slot(run->module, name);
    CS_REQUIRE(*slot && (*slot)->param, CS_BAD_VALUE,
               "%s: post-load needs a parameter \"%s\", which the module does not have", run->module->spec->name, name);
    return CS_OK;
}

static enum cs_status add(struct cs_post_load *run, const char *name, const struct cs_view *view) {
    struct cs_param *param = cs_param_new(run->module->rank, name, NULL);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s", name);
    param->view = *view;
    return cs_module_register(run->module, name, CS_PARAMETER, param);
}

static bool is_dense(const struct cs_view *view) {
    return cs_view_span_bytes(view) * 8 == (size_t)cs_view_numel(view) * (size_t)cs_dtype_bits(view->dtype);
}

/* A smaller result goes into the beginning of the parameter's own storage, with its strides. What online methods
 * quantise is freed all the same. */
static bool keeps_storage(const struct cs_post_load *run, const struct cs_param *param, const struct cs_view *result) {
    const struct cs_view *own = &param->view;
    bool is_online = param->spec && param->spec->is_online;
    size_t start = cs_view_byte_offset(own), width = (size_t)cs_dtype_bits(result->dtype) / 8;
    return !is_online && !forgets(run) && own->storage->kind == CS_STORAGE_MEMORY && is_dense(own) &&
           is_dense(result) && cs_view_span_bytes(result) < cs_view_span_bytes(own) &&
           (width == 0 || start % width == 0);
}

/* Whether nobody but the value `name` reads a storage: it was made in this run, so only this module can. */
static bool is_temporary(const struct cs_post_load *run, const char *name, const struct cs_storage *storage) {
    const struct cs_module *module = run->module;
    bool is_read = storage->id < run->first_id;
    for (size_t i = 0; i < run->n_values && !is_read; i++)
        is_read = run->values[i].view.storage == storage && !cs_text_equal(run->values[i].name, name);
    for (size_t i = 0; i < module->n_slots && !is_read; i++)
        is_read = module->slots[i].param && module->slots[i].param->view.storage == storage;
    for (size_t i = 0; i < module->n_sides && !is_read; i++) is_read = module->sides[i].param->view.storage == storage;
    return !is_read;
}

static enum cs_status copy_into(struct cs_post_load *run, const char *name, const struct cs_view *to,
                                struct cs_view from) {
    struct cs_rank *rank = run->module->rank;
    if (from.storage == to->storage) { /* the two may overlap */
        struct cs_view layout, clone;
        CS_TRY(cs_view_make(&layout, NULL, from.dtype, from.ndim, from.shape));
        CS_TRY(cs_rank_allocate_result(rank, &layout, name, &clone));
        CS_TRY(cs_rank_copy(rank, CS_LOG_COPY, "clone", name, &clone, &from));
        from = clone;
    }
    bool is_last = is_temporary(run, name, from.storage);
    return (is_last ? cs_rank_move : cs_rank_copy)(rank, CS_LOG_COPY, "replace_parameter", name, to, &from);
}

static enum cs_status put(struct cs_post_load *run, struct cs_param *param, const char *name,
                          const struct cs_view *result) {
    struct cs_view *own = &param->view;
    if (cs_view_same_place(own, result)) return CS_OK;
    if (cs_view_same_layout(own, result) && own->storage->kind == CS_STORAGE_MEMORY)
        return copy_into(run, name, own, *result);
    if (!keeps_storage(run, param, result)) {
        *own = *result;
        return CS_OK;
    }
    struct cs_view prefix = *result;
    prefix.storage = own->storage;
    prefix.offset = (int64_t)cs_view_byte_offset(own) * 8 / cs_dtype_bits(result->dtype);
    CS_TRY(copy_into(run, name, &prefix, *result));
    *own = prefix;
    return CS_OK;
}

/* The object stays. A value of the same layout is copied into it; another one becomes its data. Source: vllm 0.33
 * model_executor/utils.py, replace_parameter; smaller results: reference pull requests. */
enum cs_status cs_step_replace(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_working *working;
    CS_TRY(cs_steps_find(run, step->param, &working));
    struct cs_slot *slot = cs_module_slot(run->module, step->param);
    if (!slot || !slot->param) return add(run, step->param, &working->view);
    CS_TRY(put(run, slot->param, step->param, &working->view));
    working->view = slot->param->view; /* later steps see the parameter */
    return CS_OK;
}

enum cs_status cs_step_register(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_view view;
    CS_TRY(cs_steps_value(run, step->param, &view));
    return add(run, step->param, &view);
}

/* The release makes a new object of the same data, and deletes the old name. */
enum cs_status cs_step_rename(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_slot *slot;
    CS_TRY(slot_of(run, step->from, &slot));
    struct cs_param *param = slot->param;
    if (!forgets(run)) return cs_module_register(run->module, step->param, CS_PARAMETER, param);
    CS_TRY(add(run, step->param, &param->view));
    cs_module_unregister(run->module, step->from);
    return CS_OK;
}

enum cs_status cs_step_retire(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_slot *slot;
    CS_TRY(slot_of(run, step->param, &slot));
    slot->param->is_retired = true;
    if (step->at && forgets(run)) cs_module_unregister(run->module, step->param);
    return CS_OK;
}

enum cs_status cs_step_empty(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_slot *slot;
    const int64_t nothing = 0;
    CS_TRY(slot_of(run, step->param, &slot));
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, slot->param->view.dtype, 1, &nothing));
    CS_TRY(cs_rank_allocate(run->module->rank, &layout, step->param, &slot->param->view));
    slot->param->is_retired = true;
    if (step->at && forgets(run)) cs_module_unregister(run->module, step->param);
    return CS_OK;
}

/* ---- what objects hold ---- */

static enum cs_status own(struct cs_post_load *run, const struct cs_step *step, const struct cs_view *view) {
    struct cs_param *param = cs_param_new(run->module->rank, step->param, NULL);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s", step->param);
    param->view = *view;
    return cs_steps_hold(run, step, param);
}

enum cs_status cs_step_config(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_slot *slot;
    CS_TRY(slot_of(run, step->param, &slot));
    return cs_steps_hold(run, step, slot->param);
}

enum cs_status cs_step_hold(struct cs_post_load *run, const struct cs_step *step) {
    struct cs_view view;
    CS_TRY(cs_steps_value(run, step->param, &view));
    return own(run, step, &view);
}

/* The release deletes the parameter: only the wrapper has its data. */
enum cs_status cs_step_wrap(struct cs_post_load *run, const struct cs_step *step) {
    CS_TRY(cs_step_replace(run, step));
    struct cs_slot *slot;
    CS_TRY(slot_of(run, step->param, &slot));
    CS_TRY(cs_steps_hold(run, step, slot->param));
    if (forgets(run)) cs_module_unregister(run->module, step->param);
    return CS_OK;
}

/* ---- tensors of one number ---- */

static bool is_reload(const struct cs_post_load *run) { return run->module->rank->allocator.phase == CS_PHASE_RELOAD; }

static enum cs_status numbers(struct cs_post_load *run, const struct cs_step *step, enum cs_dtype dtype, uint64_t bits,
                              struct cs_view *view) {
    struct cs_rank *rank = run->module->rank;
    int64_t experts = run->experts > 0 ? run->experts : 1;
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, dtype, 1, &experts));
    CS_TRY(cs_rank_allocate(rank, &layout, step->param, view));
    struct cs_fill fill = {.view = *view, .bits = bits};
    bool is_forgotten = is_reload(run) && cs_rank_has_defect(rank, CS_DEFECT_CONSTANT_NOT_WRITTEN);
    CS_TRY(cs_device_fill(rank->device, &fill, is_forgotten ? 0 : 1));
    cs_log_note(rank->log,
                &(struct cs_log_entry){
                    .kind = CS_LOG_INIT, .who = "experts object", .what = step->param, .destination = *view});
    return CS_OK;
}

enum cs_status cs_step_constant(struct cs_post_load *run, const struct cs_step *step) {
    uint64_t bits;
    struct cs_view view;
    if (cs_steps_kept(run, step)) return CS_OK;
    CS_TRY(cs_dtype_encode(CS_F32, (double)step->value, &bits));
    CS_TRY(numbers(run, step, CS_F32, bits, &view));
    return own(run, step, &view);
}

enum cs_status cs_step_extent(struct cs_post_load *run, const struct cs_step *step) {
    int ndim;
    int64_t extent[CS_NDIM];
    struct cs_view view;
    CS_TRY(cs_steps_shape(run, step->text, &ndim, extent));
    CS_TRY(numbers(run, step, CS_I64, (uint64_t)extent[0], &view));
    return cs_steps_set(run, step->param, &view, NULL);
}
