/* gpt-oss MXFP4 loaders. Source: vllm models/gpt_oss.py (_load_weights_mxfp4) and fused_moe/routed_experts.py
 * (_load_packed_expert). Both split the intermediate dimension by whole 32-blocks over the ranks (R5.2); as released, the streamed one
 * splits by the padded size instead (defect streamed_padded_split). */
#include "sim/loader/loaders.h"

/*   tensor                          shape                  dtype    as       parameter           dim shard block */
static const struct cs_loader_row combined_rows[] = {
    {"gate_up_proj_blocks",          "E 2*If Hu/32 16",     CS_U8,   CS_U8,   "w13_weight",        0, -1, 64},
    {"gate_up_proj_scales",          "E 2*If Hu/32",        CS_U8,   CS_E8M0, "w13_weight_scale",  0, -1, 64},
    {"gate_up_proj_bias",            "E 2*If",              CS_BF16, CS_BF16, "w13_bias",          0, -1, 64},
    {"down_proj_blocks",             "E Hu If/32 16",       CS_U8,   CS_U8,   "w2_weight",         1, -1, 16},
    {"down_proj_scales",             "E Hu If/32",          CS_U8,   CS_E8M0, "w2_weight_scale",   1, -1, 1},
    {"down_proj_bias",               "E Hu",                CS_BF16, CS_BF16, "w2_bias",          -1, -1, 0},
};
static const struct cs_loader_row streamed_rows[] = {
    {"{expert}.w13_weight",          "2*If Hu/32 16",       CS_U8,   CS_U8,   "w13_weight",        0, -1, 64},
    {"{expert}.w13_weight_scale",    "2*If Hu/32",          CS_U8,   CS_E8M0, "w13_weight_scale",  0, -1, 64},
    {"{expert}.w13_bias",            "2*If",                CS_BF16, CS_BF16, "w13_bias",          0, -1, 64},
    {"{expert}.w2_weight",           "Hu If/32 16",         CS_U8,   CS_U8,   "w2_weight",         1, -1, 16},
    {"{expert}.w2_weight_scale",     "Hu If/32",            CS_U8,   CS_E8M0, "w2_weight_scale",   1, -1, 1},
    {"{expert}.w2_bias",             "Hu",                  CS_BF16, CS_BF16, "w2_bias",          -1, -1, 0},
};

/* Blocks and their 16 bytes side by side: [experts, rows, columns], or [experts, rows] for a bias. */
static enum cs_status as_matrices(struct cs_view *source, bool has_experts) {
    int64_t shape[] = {has_experts ? source->shape[0] : 1, source->shape[has_experts ? 1 : 0], -1};
    bool is_bias = source->ndim == (has_experts ? 2 : 1);
    return cs_view_reshape(source, is_bias ? 2 : 3, shape);
}

/* The whole 32-blocks of this rank; the last ranks may get fewer, or none. */
static enum cs_status slice_blocks(const struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    int dim = call->row->shard_dim + 1;
    int64_t blocks = source->shape[dim] / call->row->block, each = (blocks + rank->sizes.tp - 1) / rank->sizes.tp;
    int64_t first = rank->tp_rank * each, end = first + each < blocks ? first + each : blocks;
    if (first > end) first = end;
    return cs_view_narrow(source, dim, first * call->row->block, (end - first) * call->row->block);
}

/* As released: the rank's padded extent is taken for the checkpoint's. */
static enum cs_status slice_padded(const struct cs_load_call *call, struct cs_view *source) {
    int dim = call->row->shard_dim + 1;
    int64_t extent = call->param->view.shape[dim], size = source->shape[dim], start = call->module->rank->spec->tp_rank * extent;
    CS_REQUIRE(start <= size, CS_BAD_INDEX, "%s: rank %d starts at %" PRId64 " of %" PRId64 ": the streamed loader splits by the padded size (defect %s)",
               call->tensor, call->module->rank->index, start, size, cs_defect_name(CS_DEFECT_STREAMED_PADDED_SPLIT));
    return cs_view_narrow(source, dim, start, size - start < extent ? size - start : extent);
}

/* Row-parallel bias: rank 0 adds it, the others add zeros. Upstream's combined loader zeroes the incoming tensor itself
 * (found: F18); ours reads a zero tensor in its place. */
static enum cs_status zeros_like(struct cs_load_call *call, struct cs_view *source) {
    const struct cs_content zero = {.kind = CS_CONTENT_ZERO, .as = source->dtype};
    return cs_allocate_kind(&call->module->rank->allocator, CS_STORAGE_SYNTHETIC, source->storage->bytes, &zero, NULL, "zero bias", &source->storage);
}

static enum cs_status slice(struct cs_load_call *call, struct cs_view *source, bool by_blocks) {
    bool is_split = call->row->shard_dim >= 0;
    if (is_split) return (by_blocks ? slice_blocks : slice_padded)(call, source);
    return call->module->rank->spec->tp_rank ? zeros_like(call, source) : CS_OK;
}

static enum cs_status load_combined(struct cs_load_call *call) {
    struct cs_view source = call->source;
    const struct cs_rank_spec *rank = call->module->rank->spec;
    CS_TRY(as_matrices(&source, true));
    CS_TRY(cs_view_narrow(&source, 0, rank->first_expert, call->param->view.shape[0]));
    CS_TRY(slice(call, &source, true));
    struct cs_load_part whole = {0, call->param->view.shape[0], 0, call->param->view.shape[1]};
    return cs_load_prefix(call, &whole, &source);
}

static enum cs_status load_streamed(struct cs_load_call *call) {
    struct cs_view source = call->source;
    CS_TRY(as_matrices(&source, false));
    CS_TRY(slice(call, &source, !cs_rank_has_defect(call->module->rank, CS_DEFECT_STREAMED_PADDED_SPLIT)));
    struct cs_load_part expert = {call->expert, 1, 0, call->param->view.shape[1]};
    return cs_load_prefix(call, &expert, &source);
}

const struct cs_loader cs_loader_gpt_oss_combined = {
    .name = "gpt_oss_combined", .text = "gpt-oss MXFP4, one tensor for all experts, as published",
    .rows = combined_rows, .n_rows = CS_COUNT(combined_rows), .load = load_combined,
};
const struct cs_loader cs_loader_gpt_oss_streamed = {
    .name = "gpt_oss_streamed", .text = "gpt-oss MXFP4, one tensor per expert, as trainers stream them",
    .rows = streamed_rows, .n_rows = CS_COUNT(streamed_rows), .load = load_streamed,
};
