/* Direct reload, in place. Source: reference pull requests (not released).
 *
 * Loaders write into the live storage through a view in checkpoint layout over the live bytes ("hosted"), so padding
 * holds the previous update's kernel bytes. Post-load results are then put where they were after the cold start:
 * graphs read there. A module that receives nothing is left alone. A load that stopped half-way left hosted views; the
 * places of before stay, and the next load ends what it began. */
#include "sim/driver/drivers.h"

struct place {
    const char *name;
    struct cs_param *param;
    struct cs_view view;
};

struct cs_hosted {
    bool is_touched;
    size_t n_places;
    struct place *places;
};

void cs_hosted_mark_roots(const struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        const struct cs_hosted *hosted = rank->modules[m].hosted;
        for (size_t i = 0; hosted && i < hosted->n_places; i++) hosted->places[i].view.storage->is_reachable = true;
    }
}

/* ---- begin ---- */

/* Also of a module that a direct load before hosted: a layerwise one may have come in between. */
static enum cs_status refuse_meta(const struct cs_module *module) {
    for (size_t i = 0; i < module->n_slots; i++)
        CS_REQUIRE(module->slots[i].param->view.storage->kind != CS_STORAGE_META, CS_BAD_VALUE,
                   "rank %d: %s.%s is on the meta device: a reload before was interrupted; finish it, or restart the "
                   "server",
                   module->rank->index, module->spec->name, module->slots[i].name);
    return CS_OK;
}

/* Every parameter and buffer, under every name. */
static enum cs_status remember(struct cs_module *module) {
    struct cs_hosted *hosted = CS_NEW(module->rank->arena, struct cs_hosted);
    struct place *places = CS_NEW_ARRAY(module->rank->arena, struct place, module->n_slots);
    CS_REQUIRE(hosted && places, CS_NO_MEMORY, "out of memory for the places of %s", module->spec->name);
    hosted->places = places;
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (slot->kind != CS_PLAIN_TENSOR)
            places[hosted->n_places++] = (struct place){slot->name, slot->param, slot->param->view};
    }
    module->hosted = hosted;
    return CS_OK;
}

static enum cs_status begin(struct cs_rank *rank) {
    CS_REQUIRE(!rank->is_restored_on_meta, CS_REFUSED,
               "rank %d: its weights arrived already processed (built on meta, tensors attached): direct reload has no "
               "checkpoint layout to load into",
               rank->index);
    rank->allocator.phase = CS_PHASE_RELOAD;
    rank->mark_roots = cs_drivers_mark_roots;
    for (size_t m = 0; m < rank->n_modules; m++) {
        CS_TRY(refuse_meta(&rank->modules[m]));
        if (!rank->modules[m].hosted) CS_TRY(remember(&rank->modules[m]));
        rank->modules[m].is_processed = false;
    }
    return CS_OK;
}

/* ---- load ---- */

static bool shares_storage(const struct cs_rank *rank, const struct cs_param *param) {
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++) {
            const struct cs_param *other = rank->modules[m].slots[i].param;
            if (other && other != param && other->view.storage == param->view.storage) return true;
        }
    return false;
}

/* A tie between modules: one object under names of both. */
static bool is_tied(const struct cs_module *module, const struct cs_param *param) {
    const struct cs_rank *rank = module->rank;
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; &rank->modules[m] != module && i < rank->modules[m].n_slots; i++)
            if (rank->modules[m].slots[i].param == param) return true;
    return false;
}

enum { HOST_ALIGNMENT = 16 };

/* Whether the live bytes can carry the checkpoint layout. */
static bool can_host(const struct cs_module *module, const struct cs_param *live, const struct cs_view *layout) {
    size_t start = cs_view_byte_offset(&live->view), element = (size_t)cs_dtype_bits(layout->dtype) / 8;
    return live->view.storage->kind == CS_STORAGE_MEMORY && cs_view_numel(&live->view) > 0 &&
           cs_view_span_bytes(&live->view) >= cs_view_span_bytes(layout) && start % HOST_ALIGNMENT == 0 &&
           (element == 0 || start % element == 0) &&
           (cs_rank_has_defect(module->rank, CS_DEFECT_SHARED_STORAGE_HOSTED) ||
            (!shares_storage(module->rank, live) && !is_tied(module, live)));
}

/* A parameter that post-load dropped gets its name back, in scratch memory. */
static enum cs_status register_scratch(struct cs_module *module, const struct cs_tensor_spec *spec,
                                       const struct cs_view *layout) {
    struct cs_param *param = cs_param_new(module->rank, spec->name, spec);
    cs_load_probe(module->rank->log, CS_LOAD_PROBE_hosted_scratch);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s.%s", module->spec->name, spec->name);
    param->padding_value = cs_padding_value(spec, false);
    CS_TRY(cs_rank_allocate(module->rank, layout, spec->name, &param->view));
    if (module->spec->is_attention) CS_TRY(cs_rank_initialise(module->rank, spec, &param->view)); /* -1: not loaded */
    return cs_module_register(module, spec->name, spec->kind, param);
}

static enum cs_status host(struct cs_module *module, const struct cs_tensor_spec *spec) {
    if (spec->kind != CS_PARAMETER || spec->is_unregistered) return CS_OK;
    struct cs_slot *slot = cs_module_slot(module, spec->name);
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, spec->dtype, spec->ndim, spec->shape));
    if (!slot) return register_scratch(module, spec, &layout);
    if (slot->kind != CS_PARAMETER) return CS_OK;
    bool is_in_place = can_host(module, slot->param, &layout);
    cs_load_probe(module->rank->log, is_in_place ? CS_LOAD_PROBE_hosted_in_place : CS_LOAD_PROBE_hosted_elsewhere);
    if (!is_in_place) return cs_rank_allocate(module->rank, &layout, spec->name, &slot->param->view);
    layout.storage = slot->param->view.storage;
    int bits = cs_dtype_bits(spec->dtype);
    layout.offset = (int64_t)cs_view_byte_offset(&slot->param->view) * 8 / bits;
    slot->param->view = layout;
    return CS_OK;
}

static enum cs_status host_all(struct cs_module *module) {
    bool is_hosted = !module->hosted->is_touched && !cs_rank_has_defect(module->rank, CS_DEFECT_NO_HOSTING);
    for (size_t i = 0; is_hosted && i < module->spec->n_tensors; i++) CS_TRY(host(module, &module->spec->tensors[i]));
    module->hosted->is_touched = true;
    return CS_OK;
}

static enum cs_status load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    (void)rank;
    CS_TRY(cs_module_register_late(call->module));
    CS_TRY(host_all(call->module));
    CS_TRY(cs_find_param(call, param, NULL));
    return cs_load(call);
}

/* ---- finish ---- */

static struct cs_param *result_of(struct cs_module *module, const struct place *place) {
    struct cs_slot *slot = cs_module_slot(module, place->name);
    return slot ? slot->param : NULL;
}

static bool is_a_place(const struct cs_hosted *hosted, const struct cs_storage *storage) {
    for (size_t i = 0; i < hosted->n_places; i++)
        if (hosted->places[i].view.storage == storage) return true;
    return false;
}

/* A result that lies where another is about to be put, or in its own place in another layout, is cloned first. */
static enum cs_status clone_overlapping(struct cs_module *module, const struct place *place) {
    struct cs_param *result = result_of(module, place);
    CS_REQUIRE(result, CS_BAD_VALUE, "%s.%s is gone after post-load: restart the server", module->spec->name,
               place->name);
    bool is_in_place = cs_view_same_place(&place->view, &result->view);
    bool is_careless = cs_rank_has_defect(module->rank, CS_DEFECT_OVERLAP_NOT_CLONED);
    if (is_in_place || is_careless || !is_a_place(module->hosted, result->view.storage)) return CS_OK;
    struct cs_view clone, layout;
    CS_TRY(cs_view_make(&layout, NULL, result->view.dtype, result->view.ndim, result->view.shape));
    CS_TRY(cs_rank_allocate_result(module->rank, &layout, place->name, &clone));
    cs_load_probe(module->rank->log, CS_LOAD_PROBE_hosted_cloned);
    CS_TRY(cs_rank_copy(module->rank, CS_LOG_COPY, "clone", place->name, &clone, &result->view));
    result->view = clone;
    return CS_OK;
}

/* The result goes where graphs expect it. */
static enum cs_status put_back(struct cs_module *module, const struct place *place) {
    struct cs_param *result = result_of(module, place);
    bool stays = cs_rank_has_defect(module->rank, CS_DEFECT_PUT_BACK_SKIPPED);
    bool is_there = cs_view_same_place(&place->view, &result->view);
    cs_load_probe(module->rank->log, is_there ? CS_LOAD_PROBE_hosted_kept : CS_LOAD_PROBE_hosted_put_back);
    if (stays || is_there) return CS_OK;
    CS_REQUIRE(cs_view_same_shape(&place->view, &result->view) && place->view.dtype == result->view.dtype, CS_BAD_SHAPE,
               "rank %d: %s.%s changed its layout in post-load and cannot be put back: restart the server",
               module->rank->index, module->spec->name, place->name);
    CS_TRY(cs_rank_copy(module->rank, CS_LOG_COPY, "put back", place->name, &place->view, &result->view));
    result->view = place->view;
    return CS_OK;
}

/* Names that were not there before: scratch of loaders. */
static void drop_new_names(struct cs_module *module) {
    const struct cs_hosted *hosted = module->hosted;
    size_t kept = 0;
    for (size_t i = 0; i < module->n_slots; i++) {
        bool is_known = module->slots[i].kind == CS_PLAIN_TENSOR;
        for (size_t p = 0; p < hosted->n_places && !is_known; p++)
            is_known = cs_text_equal(hosted->places[p].name, module->slots[i].name);
        if (is_known) module->slots[kept++] = module->slots[i];
    }
    module->n_slots = kept;
}

static enum cs_status finish_module(struct cs_module *module) {
    struct cs_hosted *hosted = module->hosted;
    if (!hosted->is_touched && cs_forgets_scales(module)) CS_TRY(host_all(module));
    if (hosted->is_touched) CS_TRY(cs_process(module));
    for (size_t i = 0; i < hosted->n_places; i++) CS_TRY(clone_overlapping(module, &hosted->places[i]));
    for (size_t i = 0; i < hosted->n_places; i++) CS_TRY(put_back(module, &hosted->places[i]));
    drop_new_names(module);
    module->hosted = NULL;
    return CS_OK;
}

static enum cs_status finish(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        CS_TRY(finish_module(&rank->modules[m]));
        cs_rank_sweep(rank);
    }
    return CS_OK;
}

/* The first form: what was loaded is what kernels read, if it lies where they read in the layout that they know. */
static enum cs_status compare_module(struct cs_module *module) {
    const struct cs_hosted *hosted = module->hosted;
    for (size_t i = 0; i < hosted->n_places; i++) {
        const struct place *place = &hosted->places[i];
        const struct cs_param *loaded = result_of(module, place);
        CS_REQUIRE(loaded && cs_view_same_place(&place->view, &loaded->view), CS_BAD_SHAPE,
                   "rank %d: %s.%s has another address, shape, stride or dtype after the load, and no post-load runs: "
                   "use the driver \"direct\", or restart the server",
                   module->rank->index, module->spec->name, place->name);
    }
    module->hosted = NULL;
    return CS_OK;
}

static enum cs_status finish_unprocessed(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) CS_TRY(compare_module(&rank->modules[m]));
    cs_rank_sweep(rank);
    return CS_OK;
}

/* clang-format off */
const struct cs_driver cs_driver_direct = {
    .name = "direct", .text = "in place: hosted loads, post-load, results put back at the same address",
    .is_fragile = true, .begin = begin, .load = load, .finish = finish,
};
const struct cs_driver cs_driver_direct_unprocessed = {
    .name = "direct_unprocessed", .text = "its first form: hosted loads, no post-load, addresses and layouts are only compared",
    .is_fragile = true, .begin = begin, .load = load, .finish = finish_unprocessed,
};
/* clang-format on */
