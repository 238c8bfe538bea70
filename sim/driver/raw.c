/* Loaders write checkpoint slices into whatever post-load left, by the names that the live parameters have; then
 * nothing, or post-load once, or after each bucket. Right where kernel layout is checkpoint layout. Source: calling
 * vllm's load_weights on a running model, and process_weights_after_loading after it. */
#include "sim/driver/drivers.h"

static enum cs_status begin(struct cs_rank *rank) {
    rank->allocator.phase = CS_PHASE_RELOAD;
    rank->mark_roots = cs_drivers_mark_roots;
    return CS_OK;
}

static enum cs_status load(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    CS_TRY(cs_module_register_late(call->module));
    CS_TRY(cs_find_param(call, param, NULL));
    cs_load_probe(rank->log, CS_LOAD_PROBE_raw_write);
    return cs_load(call);
}

static enum cs_status finish_without(struct cs_rank *rank) {
    cs_rank_sweep(rank);
    return CS_OK;
}

/* Every module, whether it received something or not. */
static enum cs_status process_all(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        CS_TRY(cs_process(&rank->modules[m]));
        cs_rank_sweep(rank);
    }
    return CS_OK;
}

/* clang-format off */
const struct cs_driver cs_driver_raw = {
    .name = "raw", .text = "loaders write into kernel-format tensors, and that is all",
    .begin = begin, .load = load, .finish = finish_without,
};
const struct cs_driver cs_driver_raw_post_load = {
    .name = "raw_post_load", .text = "loaders write into kernel-format tensors, then post-load of every module",
    .begin = begin, .load = load, .finish = process_all,
};
const struct cs_driver cs_driver_raw_post_load_per_bucket = {
    .name = "raw_post_load_per_bucket", .text = "the same, but post-load of every module after each bucket",
    .begin = begin, .load = load, .bucket = process_all, .finish = finish_without,
};
/* clang-format on */
