#include "sim/driver/layers.h"

/* Sorted by name. */
const struct cs_driver *const cs_drivers[] = {
    &cs_driver_cold_start,
    &cs_driver_direct,
    &cs_driver_direct_unprocessed,
    &cs_driver_dummy_start,
    &cs_driver_kernel_format,
    &cs_driver_layerwise,
    &cs_driver_load_plan,
    &cs_driver_meta_build,
    &cs_driver_raw,
    &cs_driver_raw_post_load,
    &cs_driver_raw_post_load_per_bucket,
};
const size_t cs_n_drivers = CS_COUNT(cs_drivers);

const struct cs_driver *cs_driver_by_name(const char *name) {
    for (size_t i = 0; i < cs_n_drivers; i++)
        if (cs_text_equal(cs_drivers[i]->name, name)) return cs_drivers[i];
    return NULL;
}

void cs_drivers_mark_roots(const struct cs_rank *rank) {
    cs_layers_mark_roots(rank);
    cs_hosted_mark_roots(rank);
}

enum cs_status cs_materialize(struct cs_rank *rank, struct cs_param *param) {
    cs_load_probe(rank->log, CS_LOAD_PROBE_rematerialised);
    CS_TRY(cs_rank_allocate(rank, &param->view, param->name, &param->view));
    if (rank->has_prefill) {
        struct cs_fill fill = {.view = {.storage = param->view.storage,
                                        .dtype = CS_U8,
                                        .ndim = 1,
                                        .shape = {(int64_t)param->view.storage->bytes},
                                        .stride = {1}},
                               .bits = rank->prefill};
        CS_TRY(cs_device_fill(rank->device, &fill, 1));
    }
    if (!rank->policy->on_materialize) return CS_OK;
    cs_load_probe(rank->log, CS_LOAD_PROBE_zeroed_by_policy);
    cs_log_note(rank->log,
                &(struct cs_log_entry){
                    .kind = CS_LOG_ZERO, .who = rank->policy->name, .what = param->name, .destination = param->view});
    return rank->policy->on_materialize(rank->device, &param->view, rank->stats);
}

enum cs_status cs_find_param(struct cs_load_call *call, const char *name, struct cs_slot **slot) {
    struct cs_slot *found = cs_module_slot(call->module, name);
    CS_REQUIRE(found && found->param, CS_BAD_VALUE, "rank %d: %s has no parameter \"%s\" for %s",
               call->module->rank->index, call->module->spec->name, name, call->tensor);
    call->param = found->param;
    if (slot) *slot = found;
    return CS_OK;
}

bool cs_forgets_scales(const struct cs_module *module) {
    return module->spec->is_attention && module->lacks_optional &&
           !cs_rank_has_defect(module->rank, CS_DEFECT_KV_SCALES_KEPT);
}

enum cs_status cs_process(struct cs_module *module) {
    const struct cs_rank *rank = module->rank;
    cs_load_probe(rank->log, CS_LOAD_PROBE_post_load);
    bool fills_late = cs_rank_has_defect(rank, CS_DEFECT_FILL_AFTER_POST_LOAD);
    if (!fills_late) CS_TRY(cs_module_fill(module));
    enum cs_status status = cs_post_load(module);
    if (status == CS_BAD_SCRIPT) return status; /* it begins with the script's line */
    CS_REQUIRE(status == CS_OK, status, "rank %d: post-load of %s: %s", rank->index, module->spec->name,
               cs_error_text());
    bool fills_again = cs_rank_has_defect(rank, CS_DEFECT_FILL_TWICE);
    if (fills_again) cs_padding_revive(&module->padding);
    if (fills_late || fills_again) CS_TRY(cs_module_fill(module));
    module->is_processed = true;
    return CS_OK;
}
