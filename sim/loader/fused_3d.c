/* All experts in one 3-D tensor. Source: vllm fused_moe/routed_experts.py; Llama-4: models/llama4.py. Without a gate, the
 * up projection stands alone, and a gate_up_proj is nobody's. As released, the experts of the checkpoint are taken for
 * physical ones (defect fused_expert_ids). */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor, shape, dtype, numbers of, parameter, split, shard, block, when */
static const struct cs_loader_row rows[] = {
    {"gate_up_proj", "E 2*If Hu", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_GATE_UP, 0, CS_UNLESS(CS_NOT_GATED)},
    {"up_proj",      "E If Hu",   CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_UP,      0, CS_NOT_GATED},
    {"down_proj",    "E Hu If",   CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE,   0, 0},
};
static const struct cs_loader_row transposed_rows[] = {
    {"gate_up_proj", "E Hu 2*If", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_GATE_UP, 0, CS_UNLESS(CS_NOT_GATED)},
    {"up_proj",      "E Hu If",   CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_UP,      0, CS_NOT_GATED},
    {"down_proj",    "E If Hu",   CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE,   0, 0},
};
static const struct cs_loader_row llama4_rows[] = {
    {"gate_up_proj", "E Hu 2*If", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_GATE_UP, 0, 0},
    {"down_proj",    "E If Hu",   CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE,   0, 0},
};
/* clang-format on */

static void transpose(struct cs_view *source) {
    int64_t extent = source->shape[1], stride = source->stride[1];
    source->shape[1] = source->shape[2], source->stride[1] = source->stride[2];
    source->shape[2] = extent, source->stride[2] = stride;
}

/* Experts of `source` into the local slots from `slot` on. */
static enum cs_status load_shards(struct cs_load_call *call, const struct cs_view *source, int64_t slot) {
    struct cs_view halves[2];
    if (call->row->shard != CS_GATE_UP) return cs_load_shard(call, source, slot, call->row->shard);
    CS_TRY(cs_load_halves(source, halves));
    CS_TRY(cs_load_shard(call, &halves[0], slot, CS_GATE));
    return cs_load_shard(call, &halves[1], slot, CS_UP);
}

/* Checkpoint expert `expert`, for every physical one that holds it. */
static enum cs_status load_expert(struct cs_load_call *call, const struct cs_view *source, int64_t expert) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    struct cs_view one = *source;
    CS_TRY(cs_view_narrow(&one, 0, expert, 1));
    int64_t n = cs_load_physical_experts(call->module->rank, call->loader);
    for (int64_t physical = expert; physical < n; physical += rank->sizes.experts_global) {
        int64_t slot = cs_rank_expert_slot(rank, physical);
        call->n_calls += cs_load_calls_of_row(call->row);
        if (slot >= 0) CS_TRY(load_shards(call, &one, slot));
    }
    return CS_OK;
}

static enum cs_status load(struct cs_load_call *call) {
    struct cs_view source = call->source;
    if (call->loader->is_transposed) transpose(&source);
    call->n_calls = 0;
    for (int64_t expert = 0; expert < source.shape[0]; expert++) CS_TRY(load_expert(call, &source, expert));
    return CS_OK;
}

/* The rank's physical experts, by their numbers in the checkpoint: copies have none. */
static enum cs_status take_experts(const struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    int64_t step = rank->is_round_robin ? rank->sizes.ep : 1, n = rank->sizes.experts,
            first = rank->is_round_robin ? rank->ep_rank : rank->first_expert, last = first + (n - 1) * step;
    enum cs_status unlike = source->shape[0] == 1 ? CS_BAD_VALUE : CS_BAD_SHAPE; /* one is repeated, and then counted */
    CS_REQUIRE(rank->sizes.ep > 1 || n == source->shape[0], unlike,
               "%s: %" PRId64 " experts do not fit %" PRId64 ": leave redundant ones out", call->tensor,
               source->shape[0], n);
    CS_REQUIRE(n > 0 && last < source->shape[0], CS_BAD_INDEX,
               "%s: expert %" PRId64 " of rank %d is outside of the checkpoint's %" PRId64
               ": leave redundant experts out",
               call->tensor, last, rank->ep_rank, source->shape[0]);
    CS_TRY(cs_view_narrow(source, 0, first, last - first + 1));
    source->shape[0] = n, source->stride[0] *= step;
    return CS_OK;
}

/* The rank's experts at once. */
static enum cs_status load_llama4(struct cs_load_call *call) {
    struct cs_view source = call->source;
    CS_REQUIRE(!(call->module->rank->spec->sizes.options & CS_NOT_GATED), CS_BAD_SHAPE,
               "%s: an up projection begins behind a gate, and the experts have none", call->tensor);
    transpose(&source);
    CS_TRY(take_experts(call, &source));
    return load_shards(call, &source, 0);
}

const struct cs_loader cs_loader_fused_3d = {
    .name = "fused_3d",
    .text = "BF16, all experts in one tensor [experts, N, K]",
    .rows = rows,
    .n_rows = CS_COUNT(rows),
    .load = load,
    .leaves_copies = true,
};

const struct cs_loader cs_loader_fused_3d_transposed = {
    .name = "fused_3d_transposed",
    .text = "BF16, all experts in one tensor [experts, K, N]",
    .rows = transposed_rows,
    .n_rows = CS_COUNT(transposed_rows),
    .load = load,
    .leaves_copies = true,
    .is_transposed = true,
};

const struct cs_loader cs_loader_llama4 = {
    .name = "llama4",
    .text = "Llama-4, all experts in one tensor [experts, K, N]",
    .rows = llama4_rows,
    .n_rows = CS_COUNT(llama4_rows),
    .load = load_llama4,
    .is_transposed = true,
};
