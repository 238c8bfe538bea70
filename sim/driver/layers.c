#include "sim/driver/layers.h"

/* Never deleted, and never put on meta. */
static bool is_in_skip_list(const char *name) {
    static const char *const names[] = {
        "_expert_map",
        "bias",
        "e_score_correction_bias",
        "expert_global_to_physical",
        "expert_local_to_global",
        "expert_mask",
        "expert_physical_to_global",
    };
    for (size_t i = 0; i < CS_COUNT(names); i++)
        if (cs_text_equal(names[i], name)) return true;
    return false;
}

bool cs_layer_skips(const struct cs_rank *rank, const char *name) {
    return is_in_skip_list(name) && !cs_rank_has_defect(rank, CS_DEFECT_MAPS_RESET);
}

/* `bias` stays live, yet counts. */
bool cs_layer_counts(const char *name) { return cs_text_equal(name, "bias") || !is_in_skip_list(name); }

int64_t cs_layer_numel(const struct cs_param *param) {
    bool has_own = param->spec && param->spec->weight_loader_numel >= 0;
    return has_own ? param->spec->weight_loader_numel : cs_view_numel(&param->view);
}

/* A bias that was created and that the checkpoint does not have: as released it counts, so that the module is never
 * complete (found: F25). */
static bool is_absent_bias(const struct cs_module *module, const char *name) {
    return !module->has_biases && cs_text_matches("*_bias", name) &&
           !cs_rank_has_defect(module->rank, CS_DEFECT_ABSENT_BIASES_COUNT);
}

int64_t cs_layer_total(const struct cs_module *module) {
    int64_t total = 0;
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (slot->kind == CS_PLAIN_TENSOR || !cs_layer_counts(slot->name) || is_absent_bias(module, slot->name))
            continue;
        total += cs_layer_numel(slot->param);
    }
    return total;
}

void cs_layers_mark_roots(const struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        const struct cs_layerwise *layer = rank->modules[m].layerwise;
        if (!layer || !layer->is_loading) continue;
        for (size_t i = 0; i < layer->n_kernel; i++) layer->kernel[i].param->view.storage->is_reachable = true;
        for (size_t i = 0; i < layer->n_calls; i++) layer->calls[i].call.source.storage->is_reachable = true;
        for (size_t i = 0; i < layer->n_copies; i++) layer->copies[i].source.storage->is_reachable = true;
    }
}

size_t cs_driver_pending_calls(const struct cs_module *module) {
    return module->layerwise && module->layerwise->is_loading ? module->layerwise->n_calls : 0;
}

bool cs_driver_waits(const struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++)
        if (rank->modules[m].layerwise && rank->modules[m].layerwise->is_loading) return true;
    return false;
}

/* ---- what buffered calls hold ---- */

/* A view into memory keeps the whole of it alive; one of a combined tensor arrived as a tensor of its own. */
static size_t held_bytes(const struct cs_view *source) {
    bool is_buffer = source->storage->kind == CS_STORAGE_MEMORY;
    return is_buffer ? source->storage->bytes : (size_t)(cs_view_numel(source) * cs_dtype_bits(source->dtype) + 7) / 8;
}

void cs_layer_hold(struct cs_rank *rank, const struct cs_view *source) {
    if (source->storage->n_holders++) return;
    rank->buffered_bytes += held_bytes(source);
    if (rank->buffered_bytes > rank->buffered_peak) rank->buffered_peak = rank->buffered_bytes;
}

void cs_layer_release(struct cs_rank *rank, const struct cs_view *source) {
    if (--source->storage->n_holders) return;
    rank->buffered_bytes -= held_bytes(source);
}

/* ---- INIT ---- */

static enum cs_status keep_kernel_slots(struct cs_module *module, struct cs_layerwise *layer) {
    layer->n_kernel = 0;
    for (size_t i = 0; i < module->n_slots; i++) {
        struct cs_slot *kept = cs_arena_grow(module->rank->arena, (void **)&layer->kernel, layer->n_kernel,
                                             &layer->kernel_capacity, sizeof *kept);
        CS_REQUIRE(kept, CS_NO_MEMORY, "out of memory for the kernel tensors of %s", module->spec->name);
        *kept = module->slots[i];
        layer->n_kernel++;
    }
    return CS_OK;
}

static void drop_slots(struct cs_module *module) {
    size_t kept = 0;
    for (size_t i = 0; i < module->n_slots; i++)
        if (cs_layer_skips(module->rank, module->slots[i].name) || module->slots[i].kind == CS_PLAIN_TENSOR)
            module->slots[kept++] = module->slots[i];
    module->n_slots = kept;
}

static enum cs_status register_meta(struct cs_module *module, const struct cs_tensor_spec *spec) {
    struct cs_rank *rank = module->rank;
    struct cs_param *param = cs_param_new(rank, spec->name, spec);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for the meta tensors of %s", module->spec->name);
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, spec->dtype, spec->ndim, spec->shape));
    CS_TRY(cs_rank_allocate_meta(rank, &layout, spec->name, &param->view));
    param->padding_value =
        cs_padding_value(spec, rank->is_restored_on_meta && cs_rank_has_defect(rank, CS_DEFECT_META_RECORDS_ZERO));
    return cs_module_register(module, spec->name, spec->kind, param);
}

static enum cs_status init_module(struct cs_module *module) {
    if (!module->layerwise) module->layerwise = CS_NEW(module->rank->arena, struct cs_layerwise);
    struct cs_layerwise *layer = module->layerwise;
    CS_REQUIRE(layer, CS_NO_MEMORY, "out of memory for the reload of %s", module->spec->name);
    bool is_pending = layer->is_loading; /* of a load that was aborted (found: F5) */
    if (is_pending) cs_load_probe(module->rank->log, CS_LOAD_PROBE_layer_interrupted);
    if (is_pending && cs_rank_has_defect(module->rank, CS_DEFECT_PENDING_CALLS_SURVIVE)) return CS_OK;
    if (is_pending) CS_TRY(cs_layer_place(module));
    CS_TRY(keep_kernel_slots(module, layer));
    drop_slots(module);
    for (size_t i = 0; i < module->spec->n_tensors; i++) {
        const struct cs_tensor_spec *spec = &module->spec->tensors[i];
        /* on meta every tensor has the address 0, so that a buffer looks like a view of a parameter and is forgotten */
        bool is_forgotten = spec->kind == CS_BUFFER && module->rank->is_restored_on_meta &&
                            cs_rank_has_defect(module->rank, CS_DEFECT_META_RESTORE_DEVICE);
        bool is_recorded = !spec->is_unregistered && !spec->is_late && !is_forgotten;
        if (!cs_layer_skips(module->rank, spec->name) && is_recorded) CS_TRY(register_meta(module, spec));
    }
    layer->counted = 0;
    layer->total = cs_layer_total(module);
    layer->is_loading = true;
    module->is_processed = false;
    return CS_OK;
}

enum cs_status cs_layers_init(struct cs_rank *rank) {
    rank->allocator.phase = CS_PHASE_RELOAD;
    rank->mark_roots = cs_drivers_mark_roots;
    for (size_t m = 0; m < rank->n_modules; m++) CS_TRY(init_module(&rank->modules[m]));
    return CS_OK;
}

/* ---- PROCESS ---- */

enum cs_status cs_layer_materialize(struct cs_module *module) {
    struct cs_rank *rank = module->rank;
    CS_REQUIRE(!rank->is_restored_on_meta || !cs_rank_has_defect(rank, CS_DEFECT_META_RESTORE_DEVICE), CS_REFUSED,
               "%s: the model was built on the meta device, so its tensors are restored there: Cannot copy out of meta "
               "tensor; no data! (defect %s)",
               module->spec->name, cs_defect_name(CS_DEFECT_META_RESTORE_DEVICE));
    for (size_t i = 0; i < module->n_slots; i++) {
        struct cs_slot *slot = &module->slots[i];
        bool is_meta = slot->param->view.storage->kind == CS_STORAGE_META;
        if (is_meta && !cs_layer_skips(rank, slot->name)) CS_TRY(cs_materialize(rank, slot->param));
    }
    return CS_OK;
}

static bool was_loaded(const struct cs_layerwise *layer, const char *name) {
    for (size_t i = 0; i < layer->n_calls; i++)
        if (cs_text_equal(layer->calls[i].param, name)) return true;
    return false;
}

/* Buffers only when still there, and non-persistent ones only when they were loaded; persistent ones always (found:
 * F7). */
static bool keeps_old_buffer(const struct cs_layerwise *layer, const struct cs_rank *rank, const struct cs_slot *kernel,
                             const struct cs_slot *fresh) {
    if (kernel->kind == CS_PARAMETER) return false;
    if (!fresh) return true;
    bool is_overwritten = cs_rank_has_defect(
        rank, kernel->kind == CS_BUFFER ? CS_DEFECT_BUFFERS_OVERWRITTEN : CS_DEFECT_PERSISTENT_BUFFERS_OVERWRITTEN);
    return !is_overwritten && !was_loaded(layer, kernel->name);
}

enum cs_status cs_layer_copy_back(struct cs_module *module) {
    const struct cs_layerwise *layer = module->layerwise;
    if (cs_rank_has_defect(module->rank, CS_DEFECT_COPY_BACK_SKIPPED)) return CS_OK;
    for (size_t i = 0; i < layer->n_kernel; i++) {
        const struct cs_slot *kernel = &layer->kernel[i], *fresh = cs_module_slot(module, kernel->name);
        if (kernel->kind == CS_PLAIN_TENSOR) continue;
        if (keeps_old_buffer(layer, module->rank, kernel, fresh)) {
            cs_load_probe(module->rank->log, CS_LOAD_PROBE_buffer_not_copied_back);
            continue;
        }
        CS_REQUIRE(fresh, CS_BAD_VALUE, "%s has no attribute \"%s\" to copy back after post-load", module->spec->name,
                   kernel->name);
        if (cs_view_same_place(&kernel->param->view, &fresh->param->view)) continue;
        cs_load_probe(module->rank->log, CS_LOAD_PROBE_copied_back);
        CS_TRY(cs_rank_copy(module->rank, CS_LOG_COPY, "copy-back", kernel->name, &kernel->param->view,
                            &fresh->param->view));
    }
    return CS_OK;
}

/* Side paths that this post-load made hold the temporary parameters: orphans, once the kernel objects are back. As
 * released they stay so (found: F9). */
static void hold_kernel_objects(struct cs_module *module) {
    const struct cs_layerwise *layer = module->layerwise;
    for (size_t s = 0; s < module->n_sides; s++)
        for (size_t i = 0; i < layer->n_kernel; i++) {
            const struct cs_slot *fresh = cs_module_slot(module, layer->kernel[i].name);
            if (fresh && fresh->param == module->sides[s].param) module->sides[s].param = layer->kernel[i].param;
        }
}

/* Mutant: the second name of a tied parameter gets an object of its own. */
static enum cs_status untie(struct cs_module *module, struct cs_slot *slot) {
    bool is_tied = slot->param->spec && slot->param->is_tied;
    if (!is_tied || !cs_rank_has_defect(module->rank, CS_DEFECT_TIE_BROKEN)) return CS_OK;
    struct cs_param *own = cs_param_new(module->rank, slot->name, slot->param->spec);
    CS_REQUIRE(own, CS_NO_MEMORY, "out of memory for %s.%s", module->spec->name, slot->name);
    CS_TRY(cs_rank_allocate(module->rank, &slot->param->view, slot->name, &own->view));
    CS_TRY(cs_rank_copy(module->rank, CS_LOG_COPY, "untie", slot->name, &own->view, &slot->param->view));
    slot->param = own;
    return CS_OK;
}

static enum cs_status create_param(struct cs_module *module, const struct cs_tensor_spec *spec) {
    struct cs_rank *rank = module->rank;
    struct cs_view layout;
    struct cs_param *param = cs_param_new(rank, spec->name, spec);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s.%s", module->spec->name, spec->name);
    CS_TRY(cs_view_make(&layout, NULL, spec->dtype, spec->ndim, spec->shape));
    CS_TRY(cs_rank_allocate(rank, &layout, spec->name, &param->view));
    CS_TRY(cs_rank_initialise(rank, spec, &param->view));
    return cs_module_register(module, spec->name, spec->kind, param);
}

enum cs_status cs_layer_recreate(struct cs_module *module) {
    const struct cs_layerwise *layer = module->layerwise;
    module->n_slots = 0;
    for (size_t i = 0; i < layer->n_kernel; i++)
        CS_TRY(cs_module_register(module, layer->kernel[i].name, layer->kernel[i].kind, layer->kernel[i].param));
    for (size_t i = 0; i < module->spec->n_tensors; i++)
        if (module->spec->tensors[i].kind == CS_PARAMETER) CS_TRY(create_param(module, &module->spec->tensors[i]));
    return CS_OK;
}

enum cs_status cs_layer_place(struct cs_module *module) {
    struct cs_layerwise *layer = module->layerwise;
    const struct cs_rank *rank = module->rank;
    bool is_new = rank->defects && layer->n_calls && cs_rank_has_defect(rank, CS_DEFECT_NEW_OBJECTS_PLACED);
    if (!cs_rank_has_defect(rank, CS_DEFECT_SIDE_TENSORS_REBUILT)) hold_kernel_objects(module);
    if (!is_new) module->n_slots = 0;
    for (size_t i = 0; !is_new && i < layer->n_kernel; i++) {
        CS_TRY(untie(module, &layer->kernel[i]));
        CS_TRY(cs_module_register(module, layer->kernel[i].name, layer->kernel[i].kind, layer->kernel[i].param));
    }
    layer->is_loading = false;
    for (size_t i = 0; i < layer->n_calls; i++) cs_layer_release(module->rank, &layer->calls[i].call.source);
    layer->n_calls = layer->n_copies = 0;
    cs_rank_sweep(module->rank);
    return CS_OK;
}
