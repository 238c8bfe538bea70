/* Layerwise reload, as released. Source: vllm 0.33 model_loader/reload/layerwise.py; the fill between replay and
 * post-load is the reference pull requests'.
 *
 * While a module loads, its names point at meta tensors, its kernel tensors wait aside, and every loader call is
 * buffered with its source, dry-run on meta and counted. Completion is a count, not a set: `counted >= total`. A module
 * that is still LOADING when the next reload begins keeps its buffered calls: there is no abort and no rollback. */
#include "sim/driver/layers.h"

/* Tensors that INIT leaves alone keep their own loader: it writes the live tensor at once, and nobody counts it. */
static bool is_wrapped(const struct cs_slot *slot) {
    return slot->kind != CS_PLAIN_TENSOR && cs_layer_counts(slot->name);
}

/* ---- PROCESS ---- */

static enum cs_status replay(struct cs_module *module) {
    const struct cs_layerwise *layer = module->layerwise;
    size_t n_lost = cs_rank_has_defect(module->rank, CS_DEFECT_LAST_CALL_DROPPED) ? 1 : 0;
    for (size_t i = 0; i + n_lost < layer->n_calls; i++) {
        struct cs_load_call call = layer->calls[i].call;
        struct cs_slot *slot = cs_module_slot(module, layer->calls[i].param);
        CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "%s has no parameter \"%s\" any more, which %s was loaded into",
                   module->spec->name, layer->calls[i].param, call.tensor);
        call.param = slot->param;
        CS_TRY(cs_load(&call));
    }
    return CS_OK;
}

static enum cs_status process(struct cs_module *module) {
    CS_TRY(cs_layer_materialize(module));
    CS_TRY(replay(module));
    CS_TRY(cs_process(module));
    CS_TRY(cs_layer_copy_back(module));
    return cs_layer_place(module);
}

/* ---- FINALIZE ---- */

/* A module that did not get all of its tensors: what was not sent is undefined after post-load (found: F6). */
static bool is_incomplete(const struct cs_module *module) {
    size_t n = 0;
    const struct cs_layerwise *layer = module->layerwise;
    for (size_t i = 0; i < layer->n_calls; i++) {
        bool is_first = true;
        for (size_t j = 0; j < i && is_first; j++)
            is_first = layer->calls[j].call.expert != layer->calls[i].call.expert ||
                       !cs_text_equal(layer->calls[j].call.tensor, layer->calls[i].call.tensor);
        n += is_first;
    }
    return (int64_t)n < module->n_wanted_calls;
}

/* What was not loaded is not touched: as released, scales of the checkpoint before stay when this one has none (found:
 * F8). */
static enum cs_status process_attention(struct cs_module *module) {
    if (module->layerwise->counted == 0 && !cs_forgets_scales(module)) return cs_layer_place(module);
    CS_TRY(cs_layer_recreate(module));
    CS_TRY(replay(module));
    CS_TRY(cs_process(module));
    return cs_layer_place(module);
}

/* After all other modules. */
enum cs_status cs_layers_finish_attention(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        bool is_due = module->spec->is_attention && module->layerwise->is_loading;
        if (is_due) CS_TRY(process_attention(module));
    }
    return CS_OK;
}

static enum cs_status finish(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        if (!module->layerwise->is_loading || module->spec->is_attention) continue;
        /* nothing came: old values stay */
        bool is_untouched = module->layerwise->counted == 0 && !cs_rank_has_defect(rank, CS_DEFECT_UNTOUCHED_PROCESSED);
        bool is_left =
            is_untouched || (is_incomplete(module) && !cs_rank_has_defect(rank, CS_DEFECT_UNSENT_IS_UNDEFINED));
        cs_load_probe(rank->log, is_left ? CS_LOAD_PROBE_layer_left : CS_LOAD_PROBE_layer_complete_late);
        CS_TRY(is_left ? cs_layer_place(module) : process(module));
    }
    CS_TRY(cs_layers_finish_attention(rank));
    cs_rank_sweep(rank);
    return CS_OK;
}

/* ---- LOAD ---- */

static enum cs_status buffer(struct cs_rank *rank, struct cs_layerwise *layer, const struct cs_load_call *call,
                             const char *param) {
    struct cs_buffered_call *kept =
        cs_arena_grow(rank->arena, (void **)&layer->calls, layer->n_calls, &layer->call_capacity, sizeof *kept);
    CS_REQUIRE(kept, CS_NO_MEMORY, "out of memory for the buffered calls of %s", call->module->spec->name);
    *kept = (struct cs_buffered_call){.call = *call, .param = param};
    layer->n_calls++;
    cs_layer_hold(rank, &call->source);
    return CS_OK;
}

/* A late call: whoever looked the parameter up before holds the wrapped meta tensor, and the call is lost; whoever
 * looks it up again finds what post-load left (found: F4). */
static bool is_lost(const struct cs_layerwise *layer, const struct cs_load_call *call) {
    if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_LATE_CALLS_ARE_RAW)) return true;
    bool is_same_run = call->loader->keeps_in_run && call->run == layer->processed_run;
    return call->loader->keeps_parameters || call->keeps_parameters || is_same_run;
}

/* What the module's count grows by: at most the parameter's elements for one call, however often they are written and
 * whoever wrote them before (found: F4, F10). */
static int64_t growth(const struct cs_layerwise *layer, const struct cs_load_call *call, const char *param) {
    const struct cs_rank *rank = call->module->rank;
    int64_t most = cs_layer_numel(call->param), counted = call->counted < most ? call->counted : most, before = 0;
    bool is_by_call = cs_rank_has_defect(rank, CS_DEFECT_OVER_COUNTED),
         counts_again = cs_rank_has_defect(rank, CS_DEFECT_DUPLICATES_COUNT);
    if (is_by_call && counts_again) return counted;
    for (size_t i = 0; i + 1 < layer->n_calls; i++) {
        const struct cs_buffered_call *other = &layer->calls[i];
        bool is_same = cs_text_equal(other->call.tensor, call->tensor) && other->call.expert == call->expert;
        if (is_same && !counts_again) return 0;
        if (cs_text_equal(other->param, param)) before += other->counted;
    }
    return is_by_call || before + counted <= most ? counted : most > before ? most - before : 0;
}

static enum cs_status process_early(struct cs_rank *rank, struct cs_module *module) {
    cs_load_probe(rank->log, CS_LOAD_PROBE_layer_complete_early);
    CS_TRY(process(module));
    bool is_last = module == &rank->modules[rank->n_modules - 1];
    return is_last && cs_rank_has_defect(rank, CS_DEFECT_LAST_MODULE_ENDS) ? finish(rank) : CS_OK;
}

enum cs_status cs_layerwise_load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    struct cs_module *module = call->module;
    struct cs_layerwise *layer = module->layerwise;
    struct cs_slot *slot;
    if (layer->is_loading) CS_TRY(cs_module_register_late(module)); /* what post-load left has all names */
    CS_TRY(cs_find_param(call, param, &slot));
    if (!is_wrapped(slot)) {
        cs_load_probe(rank->log, CS_LOAD_PROBE_call_to_live_tensor);
        return cs_load(call);
    }
    bool is_gone = !layer->is_loading && is_lost(layer, call);
    /* counts do not wait for tensors without elements, as scales are of a size below one group; they have none to lose */
    call->is_dropped = is_gone && cs_view_numel(&call->source) > 0;
    bool is_bare = call->loader->bypasses_counter && cs_rank_has_defect(rank, CS_DEFECT_BARE_COPIES_LOST);
    if (call->loader->bypasses_counter) cs_load_probe(rank->log, CS_LOAD_PROBE_call_bypasses_counter);
    if (call->is_dropped) cs_load_probe(rank->log, CS_LOAD_PROBE_call_lost);
    if (is_gone || is_bare) return CS_OK; /* a plain copy writes to the meta tensor (found: F13) */
    cs_load_probe(rank->log, layer->is_loading ? CS_LOAD_PROBE_call_buffered : CS_LOAD_PROBE_call_late);
    if (!layer->is_loading) return cs_load(call); /* raw, into what post-load left (found: F4) */
    bool counts_late = !cs_rank_has_defect(rank, CS_DEFECT_LATE_NOT_COUNTED);
    if (counts_late) layer->total = cs_layer_total(module); /* anew, for what was registered since INIT (L9) */
    CS_TRY(buffer(rank, layer, call, param));
    CS_TRY(cs_load(call)); /* on meta, or on the live `bias`, which is written at once */
    int64_t counted = growth(layer, call, param);
    layer->calls[layer->n_calls - 1].counted = counted;
    layer->counted += counted;
    bool waits = module->spec->is_attention || layer->counted < layer->total;
    if (waits) return CS_OK;
    layer->processed_run = call->run;
    return process_early(rank, module);
}

/* clang-format off */
const struct cs_driver cs_driver_layerwise = {
    .name = "layerwise", .text = "released vLLM: buffer on meta, count, rematerialise, post-load, copy back",
    .begin = cs_layers_init, .load = cs_layerwise_load, .finish = finish,
};
/* clang-format on */
