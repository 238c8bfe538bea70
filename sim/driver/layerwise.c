/* Layerwise reload, as released. Source: vllm 0.33 model_loader/reload/layerwise.py and meta.py; the fill between
 * replay and post-load is the reference pull requests'.
 *
 * A module is IDLE, or LOADING from INIT until it is processed. While it loads, its names point at meta tensors, its
 * kernel tensors wait aside, and every loader call is buffered with its source, dry-run on meta and counted. Completion
 * is a count, not a set: `counted >= total`. A module that is still LOADING when the next reload begins keeps its
 * buffered calls. */
#include "sim/driver/drivers.h"

struct layer {
    bool is_loading;
    int64_t counted, total;
    size_t n_kernel, kernel_capacity;
    struct cs_slot *kernel; /* slots before INIT: objects, so addresses */
    size_t n_calls, call_capacity;
    struct buffered {
        struct cs_load_call call;
        const char *param;
    } * calls;
};

/* Never deleted, and never put on meta. */
static bool is_skipped(const char *name) {
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

/* `bias` stays live, yet counts. */
static bool is_counted(const char *name) { return cs_text_equal(name, "bias") || !is_skipped(name); }

/* Tensors that INIT leaves alone keep their own loader: it writes the live tensor at once, and nobody counts it. */
static bool is_wrapped(const struct cs_slot *slot) { return slot->kind != CS_PLAIN_TENSOR && is_counted(slot->name); }

static int64_t load_numel(const struct cs_param *param) {
    bool has_own = param->spec && param->spec->weight_loader_numel >= 0;
    return has_own ? param->spec->weight_loader_numel : cs_view_numel(&param->view);
}

static void mark_roots(const struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct layer *layer = rank->modules[m].driver;
        if (!layer || !layer->is_loading) continue;
        for (size_t i = 0; i < layer->n_kernel; i++) layer->kernel[i].param->view.storage->is_reachable = true;
        for (size_t i = 0; i < layer->n_calls; i++) layer->calls[i].call.source.storage->is_reachable = true;
    }
}

/* ---- INIT ---- */

static enum cs_status keep_kernel_slots(struct cs_module *module, struct layer *layer) {
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
        if (is_skipped(module->slots[i].name) || module->slots[i].kind == CS_PLAIN_TENSOR)
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
    param->padding_value = cs_padding_value(spec, rank->is_restored_on_meta);
    return cs_module_register(module, spec->name, spec->kind, param);
}

static enum cs_status init_module(struct cs_module *module) {
    if (!module->driver) module->driver = CS_NEW(module->rank->arena, struct layer);
    struct layer *layer = module->driver;
    CS_REQUIRE(layer, CS_NO_MEMORY, "out of memory for the reload of %s", module->spec->name);
    if (layer->is_loading) return CS_OK;
    CS_TRY(keep_kernel_slots(module, layer));
    drop_slots(module);
    for (size_t i = 0; i < module->spec->n_tensors; i++) {
        const struct cs_tensor_spec *spec = &module->spec->tensors[i];
        if (!is_skipped(spec->name) && !spec->is_unregistered) CS_TRY(register_meta(module, spec));
    }
    layer->counted = layer->total = 0;
    for (size_t i = 0; i < module->n_slots; i++)
        if (is_wrapped(&module->slots[i])) layer->total += load_numel(module->slots[i].param);
    layer->is_loading = true;
    module->is_processed = false;
    return CS_OK;
}

static enum cs_status begin(struct cs_rank *rank) {
    rank->allocator.phase = CS_PHASE_RELOAD;
    rank->mark_roots = mark_roots;
    for (size_t m = 0; m < rank->n_modules; m++) CS_TRY(init_module(&rank->modules[m]));
    return CS_OK;
}

/* ---- PROCESS ---- */

static enum cs_status materialize_all(struct cs_module *module) {
    struct cs_rank *rank = module->rank;
    CS_REQUIRE(!rank->is_restored_on_meta || !cs_rank_has_defect(rank, CS_DEFECT_META_RESTORE_DEVICE), CS_REFUSED,
               "%s: the model was built on the meta device, so its tensors are restored there: Cannot copy out of meta "
               "tensor; no data! (defect %s)",
               module->spec->name, cs_defect_name(CS_DEFECT_META_RESTORE_DEVICE));
    for (size_t i = 0; i < module->n_slots; i++) {
        struct cs_slot *slot = &module->slots[i];
        bool is_meta = slot->param->view.storage->kind == CS_STORAGE_META;
        if (is_meta && !is_skipped(slot->name)) CS_TRY(cs_materialize(rank, slot->param));
    }
    return CS_OK;
}

static enum cs_status replay(struct cs_module *module, const struct layer *layer) {
    for (size_t i = 0; i < layer->n_calls; i++) {
        struct cs_load_call call = layer->calls[i].call;
        call.param = cs_module_slot(module, layer->calls[i].param)->param;
        CS_TRY(cs_load(&call));
    }
    return CS_OK;
}

static bool was_loaded(const struct layer *layer, const char *name) {
    for (size_t i = 0; i < layer->n_calls; i++)
        if (cs_text_equal(layer->calls[i].param, name)) return true;
    return false;
}

/* Unconditional, dtype-converting; buffers only when still there, and non-persistent ones only when they were loaded.
 */
static enum cs_status copy_back(struct cs_module *module, const struct layer *layer) {
    for (size_t i = 0; i < layer->n_kernel; i++) {
        const struct cs_slot *kernel = &layer->kernel[i], *fresh = cs_module_slot(module, kernel->name);
        if (kernel->kind == CS_PLAIN_TENSOR) continue;
        bool is_buffer = kernel->kind != CS_PARAMETER;
        if (is_buffer && (!fresh || (kernel->kind == CS_BUFFER && !was_loaded(layer, kernel->name)))) continue;
        CS_REQUIRE(fresh, CS_BAD_VALUE, "%s has no attribute \"%s\" to copy back after post-load", module->spec->name,
                   kernel->name);
        if (cs_view_same_place(&kernel->param->view, &fresh->param->view)) continue;
        CS_TRY(cs_rank_copy(module->rank, CS_LOG_COPY, "copy-back", kernel->name, &kernel->param->view,
                            &fresh->param->view));
    }
    return CS_OK;
}

/* The kernel objects return under their names; names that only this post-load made vanish. */
static enum cs_status place(struct cs_module *module, struct layer *layer) {
    module->n_slots = 0;
    for (size_t i = 0; i < layer->n_kernel; i++)
        CS_TRY(cs_module_register(module, layer->kernel[i].name, layer->kernel[i].kind, layer->kernel[i].param));
    layer->is_loading = false;
    layer->n_calls = 0;
    cs_rank_sweep(module->rank);
    return CS_OK;
}

static enum cs_status process(struct cs_module *module, struct layer *layer) {
    CS_TRY(materialize_all(module));
    CS_TRY(replay(module, layer));
    CS_TRY(cs_process(module));
    CS_TRY(copy_back(module, layer));
    return place(module, layer);
}

/* ---- LOAD ---- */

static enum cs_status load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    struct cs_module *module = call->module;
    struct layer *layer = module->driver;
    struct cs_slot *slot = cs_module_slot(module, param);
    CS_REQUIRE(slot, CS_BAD_VALUE, "rank %d: %s has no parameter \"%s\" for %s", rank->index, module->spec->name, param,
               call->tensor);
    call->param = slot->param;
    if (!is_wrapped(slot)) return cs_load(call);
    call->is_dropped =
        !layer->is_loading &&
        call->loader->keeps_parameters; /* the model holds the wrapped meta tensor: late calls are dropped */
    if (call->is_dropped || call->loader->bypasses_counter)
        return CS_OK;                             /* a plain copy writes to the meta tensor (found: F13) */
    if (!layer->is_loading) return cs_load(call); /* raw, into what post-load left (found: F4) */
    struct buffered *kept =
        cs_arena_grow(rank->arena, (void **)&layer->calls, layer->n_calls, &layer->call_capacity, sizeof *kept);
    CS_REQUIRE(kept, CS_NO_MEMORY, "out of memory for the buffered calls of %s", module->spec->name);
    *kept = (struct buffered){*call, param};
    layer->n_calls++;
    CS_TRY(cs_load(call)); /* on meta, or on the live `bias`, which is written at once */
    int64_t most = load_numel(slot->param);
    layer->counted += call->counted < most ? call->counted : most;
    return layer->counted >= layer->total ? process(module, layer) : CS_OK;
}

/* ---- FINALIZE ---- */

static enum cs_status finish(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        struct layer *layer = module->driver;
        if (!layer->is_loading) continue;
        if (layer->counted == 0)
            CS_TRY(place(module, layer)); /* nothing came: old values stay */
        else
            CS_TRY(process(module, layer));
    }
    rank->mark_roots = NULL;
    cs_rank_sweep(rank);
    return CS_OK;
}

/* clang-format off */
const struct cs_driver cs_driver_layerwise = {
    .name = "layerwise", .text = "released vLLM: buffer on meta, count, rematerialise, post-load, copy back", .begin = begin, .load = load, .finish = finish,
};
/* clang-format on */
