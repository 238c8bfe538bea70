/* A load plan (sharded RDT): the loaders run once, on meta, and what they copy becomes a list of strided copies; later
 * the checkpoint's bytes are copied by that list into freshly materialised parameters. No loader runs then, so nothing
 * is recorded as padding and nothing is filled, unless the records of the load before are replayed (R4.11).
 * Source: vllm 0.33 distributed/weight_transfer (sharded RDT). */
#include "sim/driver/layers.h"

/* ---- baking ---- */

static enum cs_status record(struct cs_load_call *call, const struct cs_view *destination,
                             const struct cs_view *source) {
    struct cs_layerwise *layer = call->module->layerwise;
    struct cs_recorded_copy *copy = cs_arena_grow(call->module->rank->arena, (void **)&layer->copies, layer->n_copies,
                                                  &layer->copy_capacity, sizeof *copy);
    CS_REQUIRE(copy, CS_NO_MEMORY, "out of memory for the load plan of %s", call->module->spec->name);
    *copy = (struct cs_recorded_copy){call->param->name, *destination, *source};
    layer->n_copies++;
    return CS_OK;
}

static enum cs_status load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    struct cs_module *module = call->module;
    if (module->spec->is_attention) return cs_layerwise_load(rank, call, param); /* numbers: no plan has them */
    struct cs_layerwise *layer = module->layerwise;
    CS_TRY(cs_module_register_late(module));
    CS_TRY(cs_find_param(call, param, NULL));
    bool is_live = call->param->view.storage->kind != CS_STORAGE_META; /* INIT left it alone, or came before it */
    if (is_live) return cs_load(call);
    call->record = record;
    CS_TRY(cs_load(call));
    int64_t most = cs_layer_numel(call->param);
    layer->counted += call->counted < most ? call->counted : most;
    return CS_OK;
}

/* ---- replaying ---- */

static enum cs_status replay(struct cs_module *module) {
    const struct cs_layerwise *layer = module->layerwise;
    for (size_t i = 0; i < layer->n_copies; i++) {
        const struct cs_recorded_copy *copy = &layer->copies[i];
        struct cs_view to = copy->destination;
        to.storage = cs_module_slot(module, copy->param)->param->view.storage;
        CS_TRY(cs_rank_copy(module->rank, CS_LOG_LOAD, "load plan", copy->param, &to, &copy->source));
    }
    return CS_OK;
}

static enum cs_status process(struct cs_module *module) {
    struct cs_rank *rank = module->rank;
    CS_TRY(cs_layer_materialize(module));
    cs_load_probe(rank->log, CS_LOAD_PROBE_plan_replayed);
    CS_TRY(replay(module));
    if (rank->replays_records) {
        cs_load_probe(rank->log, CS_LOAD_PROBE_plan_revives_records);
        cs_padding_revive(&module->padding);
    }
    CS_TRY(cs_process(module));
    CS_TRY(cs_layer_copy_back(module));
    return cs_layer_place(module);
}

static int64_t total_of_parameters(const struct cs_module *module) {
    int64_t total = 0;
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        bool is_planned = slot->param->view.storage->kind == CS_STORAGE_META;
        if (slot->kind == CS_PARAMETER && is_planned && !cs_layer_skips(module->rank, slot->name))
            total += cs_layer_numel(slot->param);
    }
    return total;
}

/* A plan that would leave out what the module counts is refused before anything is copied. */
static enum cs_status check_plan(const struct cs_module *module) {
    const struct cs_layerwise *layer = module->layerwise;
    int64_t total = total_of_parameters(module);
    CS_REQUIRE(layer->counted == 0 || layer->counted >= total, CS_REFUSED,
               "rank %d: the load plan of %s cannot be baked: its loaders copy %" PRId64 " of the %" PRId64
               " elements that the module counts; its padding needs loaders: use another driver",
               module->rank->index, module->spec->name, layer->counted, total);
    return CS_OK;
}

static enum cs_status finish(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++)
        if (!rank->modules[m].spec->is_attention) CS_TRY(check_plan(&rank->modules[m]));
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        if (module->spec->is_attention) continue;
        CS_TRY(module->layerwise->counted == 0 ? cs_layer_place(module) : process(module));
    }
    CS_TRY(cs_layers_finish_attention(rank));
    cs_rank_sweep(rank);
    return CS_OK;
}

/* clang-format off */
const struct cs_driver cs_driver_load_plan = {
    .name = "load_plan", .text = "no loader runs: strided copies, planned on meta, into rematerialised parameters",
    .begin = cs_layers_init, .load = load, .finish = finish,
};
/* clang-format on */
