/* A fresh server: create_weights, load, fill, post-load; the same for a server that was built on the meta device and
 * then given a finished server's tensors (weight cache); and one that starts with random numbers. */
#include "sim/driver/drivers.h"

/* Mutant: a rank's share must be whole blocks of the scales, as long as nobody pads it. */
static enum cs_status refuse_partial_blocks(const struct cs_rank *rank) {
    const struct cs_sizes *sizes = &rank->spec->sizes;
    int64_t block = sizes->block[0] > 0 ? sizes->block[0] : 128;
    CS_REQUIRE(sizes->intermediate_full / sizes->tp % block == 0, CS_REFUSED,
               "rank %d: %" PRId64 " rows of an expert are not whole blocks of %" PRId64 ": start %" PRId64
               " + length 1 exceeds the scales (defect partial_block_refused)",
               rank->index, sizes->intermediate_full / sizes->tp, block, sizes->intermediate_full / block);
    return CS_OK;
}

static enum cs_status begin(struct cs_rank *rank) {
    rank->allocator.phase = CS_PHASE_COLD;
    rank->mark_roots = cs_drivers_mark_roots;
    if (cs_rank_has_defect(rank, CS_DEFECT_PARTIAL_BLOCK_REFUSED)) CS_TRY(refuse_partial_blocks(rank));
    for (size_t m = 0; m < rank->n_modules; m++)
        CS_TRY(cs_module_create(rank, &rank->modules[m], &rank->spec->modules[m], false));
    return CS_OK;
}

/* Parameters created on meta get memory when their module's first tensor arrives, as online quantisation does. */
static enum cs_status materialize_module(struct cs_module *module) {
    for (size_t i = 0; i < module->n_slots; i++) {
        struct cs_param *param = module->slots[i].param;
        if (param && param->view.storage->kind == CS_STORAGE_META) CS_TRY(cs_materialize(module->rank, param));
    }
    return CS_OK;
}

static enum cs_status load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    (void)rank;
    struct cs_module *module = call->module;
    CS_TRY(cs_module_register_late(module));
    CS_TRY(materialize_module(module));
    CS_TRY(cs_find_param(call, param, NULL));
    CS_TRY(cs_load(call));
    module->n_calls++;
    bool is_complete = module->spec->processes_while_loading && module->n_calls == module->n_expected_calls;
    return is_complete ? cs_process(module) : CS_OK;
}

static enum cs_status finish(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        CS_TRY(materialize_module(module));
        bool fills_again = module->is_processed && cs_rank_has_defect(rank, CS_DEFECT_FILL_ONLINE_AGAIN);
        if (fills_again) cs_padding_revive(&module->padding);
        if (fills_again) CS_TRY(cs_module_fill(module));
        if (!module->is_processed)
            CS_TRY(cs_process(module)); /* what loading already processed is not filled again (R2.4) */
        cs_rank_sweep(rank);
    }
    return CS_OK;
}

/* The records stay with the server that loaded; a model built on meta records 0 for every parameter (R2.2), and its
 * layerwise reload would restore to meta (found: F23). */
static enum cs_status finish_on_meta(struct cs_rank *rank) {
    CS_TRY(finish(rank));
    rank->is_restored_on_meta = true;
    bool records_zero = cs_rank_has_defect(rank, CS_DEFECT_META_RECORDS_ZERO);
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        module->padding.n_records = 0;
        for (size_t i = 0; i < module->n_slots; i++) {
            struct cs_param *param = module->slots[i].param;
            if (param && param->spec) param->padding_value = cs_padding_value(param->spec, records_zero);
        }
    }
    return CS_OK;
}

/* No loader runs, so nothing is recorded and nothing filled: random numbers stand in the padding too. Integers stay as
 * they were created. Source: vllm model_loader/weight_utils.py, initialize_dummy_weights. */
static enum cs_status fill_with_dummies(struct cs_module *module) {
    struct cs_rank *rank = module->rank;
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        bool is_filled =
            slot->kind == CS_PARAMETER && !module->spec->is_attention && cs_dtype_is_floating(slot->param->view.dtype);
        if (!is_filled) continue;
        const struct cs_content content = {
            .kind = CS_CONTENT_HASH,
            .as = slot->param->view.dtype,
            .key = cs_stream_key(rank->allocator.key, "dummy", slot->param->view.storage->id)};
        struct cs_view source = slot->param->view;
        source.offset = 0;
        CS_TRY(cs_view_make(&source, NULL, source.dtype, source.ndim, source.shape));
        CS_TRY(cs_allocate_kind(&rank->allocator, CS_STORAGE_SYNTHETIC, cs_view_span_bytes(&source), &content, NULL,
                                "dummy numbers", &source.storage));
        CS_TRY(cs_rank_copy(rank, CS_LOG_INIT, "dummy loader", slot->name, &slot->param->view, &source));
    }
    return CS_OK;
}

static enum cs_status finish_with_dummies(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        CS_TRY(materialize_module(&rank->modules[m]));
        CS_TRY(fill_with_dummies(&rank->modules[m]));
    }
    return finish(rank);
}

/* clang-format off */
const struct cs_driver cs_driver_cold_start = {
    .name = "cold_start", .text = "a fresh server: create weights, load, fill, post-load", .is_start = true, .begin = begin, .load = load, .finish = finish,
};
const struct cs_driver cs_driver_dummy_start = {
    .name = "dummy_start", .text = "random numbers instead of a checkpoint: the first real load is a reload", .is_start = true,
    .takes = CS_TAKES_NOTHING, .begin = begin, .finish = finish_with_dummies,
};
const struct cs_driver cs_driver_meta_build = {
    .name = "meta_build", .text = "a server built on the meta device, tensors of a finished one attached", .is_start = true,
    .begin = begin, .load = load, .finish = finish_on_meta,
};
/* clang-format on */
