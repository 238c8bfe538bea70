/* Direct reload, in place. Source: reference pull requests (not released).
 *
 * Loaders write into the live storage through a view in checkpoint layout over the live bytes ("hosted"), so padding
 * holds the previous update's kernel bytes. Post-load results are then put where they were when the reload began. A
 * module that receives nothing is left alone. */
#include "sim/driver/drivers.h"

struct place {
    const char *name;
    struct cs_param *param;
    struct cs_view view;
};

struct hosted {
    bool is_touched;
    size_t n_places;
    struct place *places;
};

static void mark_roots(const struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        const struct hosted *hosted = rank->modules[m].driver;
        for (size_t i = 0; hosted && i < hosted->n_places; i++) hosted->places[i].view.storage->is_reachable = true;
    }
}

/* Every parameter and buffer, under every name. */
static enum cs_status remember(struct cs_module *module) {
    struct hosted *hosted = CS_NEW(module->rank->arena, struct hosted);
    struct place *places = CS_NEW_ARRAY(module->rank->arena, struct place, module->n_slots);
    CS_REQUIRE(hosted && places, CS_NO_MEMORY, "out of memory for the places of %s", module->spec->name);
    hosted->places = places;
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (slot->kind != CS_PLAIN_TENSOR)
            places[hosted->n_places++] = (struct place){slot->name, slot->param, slot->param->view};
    }
    module->driver = hosted;
    module->is_processed = false;
    return CS_OK;
}

static enum cs_status begin(struct cs_rank *rank) {
    CS_REQUIRE(!rank->is_restored_on_meta, CS_REFUSED,
               "rank %d: its weights arrived already processed (built on meta, tensors attached): direct reload has no "
               "checkpoint layout to load into",
               rank->index);
    rank->allocator.phase = CS_PHASE_RELOAD;
    for (size_t m = 0; m < rank->n_modules; m++) CS_TRY(remember(&rank->modules[m]));
    rank->mark_roots = mark_roots;
    return CS_OK;
}

static bool shares_storage(const struct cs_rank *rank, const struct cs_param *param) {
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++) {
            const struct cs_param *other = rank->modules[m].slots[i].param;
            if (other && other != param && other->view.storage == param->view.storage) return true;
        }
    return false;
}

enum { HOST_ALIGNMENT = 16 };

/* Whether the live bytes can carry the checkpoint layout. */
static bool can_host(const struct cs_rank *rank, const struct cs_param *live, const struct cs_view *layout) {
    size_t start = cs_view_byte_offset(&live->view), element = (size_t)cs_dtype_bits(layout->dtype) / 8;
    return live->view.storage->kind == CS_STORAGE_MEMORY && cs_view_numel(&live->view) > 0 &&
           cs_view_span_bytes(&live->view) >= cs_view_span_bytes(layout) && start % HOST_ALIGNMENT == 0 &&
           (element == 0 || start % element == 0) && !shares_storage(rank, live);
}

static enum cs_status host(struct cs_module *module, const struct cs_tensor_spec *spec) {
    struct cs_slot *slot = cs_module_slot(module, spec->name);
    if (!slot || slot->kind != CS_PARAMETER) return CS_OK;
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, spec->dtype, spec->ndim, spec->shape));
    if (!can_host(module->rank, slot->param, &layout))
        return cs_rank_allocate(module->rank, &layout, spec->name, &slot->param->view);
    layout.storage = slot->param->view.storage;
    int bits = cs_dtype_bits(spec->dtype);
    layout.offset = (int64_t)cs_view_byte_offset(&slot->param->view) * 8 / bits;
    slot->param->view = layout;
    return CS_OK;
}

static enum cs_status load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    struct cs_module *module = call->module;
    struct hosted *hosted = module->driver;
    if (!hosted->is_touched)
        for (size_t i = 0; i < module->spec->n_tensors; i++) CS_TRY(host(module, &module->spec->tensors[i]));
    hosted->is_touched = true;
    struct cs_slot *slot = cs_module_slot(module, param);
    CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "rank %d: %s has no parameter \"%s\" for %s", rank->index,
               module->spec->name, param, call->tensor);
    call->param = slot->param;
    return cs_load(call);
}

/* The result goes where graphs expect it, through a clone when the two overlap. */
static enum cs_status put_back(struct cs_rank *rank, const struct place *place, struct cs_param *result) {
    if (cs_view_same_place(&place->view, &result->view)) return CS_OK;
    struct cs_view source = result->view;
    if (source.storage == place->view.storage) {
        struct cs_view clone, layout;
        CS_TRY(cs_view_make(&layout, NULL, source.dtype, source.ndim, source.shape));
        CS_TRY(cs_rank_allocate(rank, &layout, place->name, &clone));
        CS_TRY(cs_rank_copy(rank, CS_LOG_COPY, "clone", place->name, &clone, &source));
        source = clone;
    }
    CS_REQUIRE(cs_view_same_shape(&place->view, &source) && place->view.dtype == source.dtype, CS_BAD_SHAPE,
               "%s changed its layout in post-load and cannot be put back: restart the server", place->name);
    CS_TRY(cs_rank_copy(rank, CS_LOG_COPY, "put back", place->name, &place->view, &source));
    result->view = place->view;
    return CS_OK;
}

static enum cs_status finish_module(struct cs_module *module) {
    struct hosted *hosted = module->driver;
    if (hosted->is_touched) CS_TRY(cs_process(module));
    for (size_t i = 0; i < hosted->n_places; i++) {
        const struct place *place = &hosted->places[i];
        struct cs_slot *slot = cs_module_slot(module, place->name);
        CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "%s.%s is gone after post-load: restart the server",
                   module->spec->name, place->name);
        enum cs_status status = put_back(module->rank, place, slot->param);
        CS_REQUIRE(status == CS_OK, status, "rank %d: %s: %s", module->rank->index, module->spec->name,
                   cs_error_text());
    }
    module->driver = NULL;
    return CS_OK;
}

static enum cs_status finish(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        CS_TRY(finish_module(&rank->modules[m]));
        cs_rank_sweep(rank);
    }
    rank->mark_roots = NULL;
    return CS_OK;
}

/* clang-format off */
const struct cs_driver cs_driver_direct = {
    .name = "direct", .text = "in place: hosted loads, post-load, results put back at the same address", .begin = begin, .load = load, .finish = finish,
};
/* clang-format on */
