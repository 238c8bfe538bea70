/* Finished tensors are copied by name into parameters: no buffers, no post-load, no layout check. Source: vllm 0.33
 * model_loader/reload/inplace.py, reload_weights with is_checkpoint_format = False. */
#include "sim/driver/drivers.h"

static enum cs_status begin(struct cs_rank *rank) {
    rank->allocator.phase = CS_PHASE_RELOAD;
    rank->mark_roots = cs_drivers_mark_roots;
    return CS_OK;
}

static enum cs_status take(struct cs_module *module, const char *param, const struct cs_view *finished) {
    struct cs_slot *slot = cs_module_slot(module, param);
    CS_REQUIRE(slot && slot->param && slot->kind == CS_PARAMETER, CS_BAD_VALUE,
               "rank %d: %s has no parameter \"%s\" to copy a finished tensor into", module->rank->index,
               module->spec->name, param);
    cs_load_probe(module->rank->log, CS_LOAD_PROBE_kernel_tensor_taken);
    return cs_rank_copy(module->rank, CS_LOG_COPY, "kernel format", param, &slot->param->view, finished);
}

static enum cs_status finish(struct cs_rank *rank) {
    cs_rank_sweep(rank);
    return CS_OK;
}

/* clang-format off */
const struct cs_driver cs_driver_kernel_format = {
    .name = "kernel_format", .text = "finished tensors of another server, copied by name: parameters only, no post-load",
    .takes = CS_TAKES_KERNEL_TENSORS, .begin = begin, .take = take, .finish = finish,
};
/* clang-format on */
