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

/* What would be right: the checkpoint's layout over the live bytes, and results back where they were, as a direct
 * reload does. As released, nobody stands between loaders and kernel layout (found: F24). */
static const struct cs_driver *hosts(const struct cs_rank *rank) {
    return cs_rank_has_defect(rank, CS_DEFECT_RAW_INTO_KERNEL_LAYOUT) ? NULL : &cs_driver_direct;
}
static enum cs_status begin_to_process(struct cs_rank *rank) {
    return hosts(rank) ? hosts(rank)->begin(rank) : begin(rank);
}
static enum cs_status load_to_process(struct cs_rank *rank, struct cs_load_call *call, const char *param) {
    return hosts(rank) ? hosts(rank)->load(rank, call, param) : load(rank, call, param);
}
static enum cs_status finish_and_process(struct cs_rank *rank) {
    return hosts(rank) ? hosts(rank)->finish(rank) : process_all(rank);
}

/* clang-format off */
const struct cs_driver cs_driver_raw = {
    .name = "raw", .text = "loaders write into kernel-format tensors, and that is all",
    .begin = begin, .load = load, .finish = finish_without,
};
const struct cs_driver cs_driver_raw_post_load = {
    .name = "raw_post_load", .text = "loaders write into kernel-format tensors, then post-load of every module",
    .begin = begin_to_process, .load = load_to_process, .finish = finish_and_process,
};
const struct cs_driver cs_driver_raw_post_load_per_bucket = {
    .name = "raw_post_load_per_bucket", .text = "the same, but post-load of every module after each bucket",
    .begin = begin, .load = load, .bucket = process_all, .finish = finish_without,
};
/* clang-format on */
