/* gpt-oss loaders. Source: vllm models/gpt_oss.py and fused_moe/routed_experts.py (_load_packed_expert). Gate and up
 * rows are interleaved, so that w13 is one piece with one tail. MXFP4 splits the intermediate dimension by whole
 * 32-blocks over the ranks (R5.2), others by I_full / tp rounded up; as released, the streamed loaders split by the
 * padded size instead (defect streamed_padded_split). */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor                          shape                dtype    as       parameter           split       shard    block when */
static const struct cs_loader_row combined_rows[] = {
    {"gate_up_proj_blocks",          "E 2*If Hu/32 16",   CS_U8,   CS_U8,   "w13_weight",        CS_ROWS,    CS_WHOLE, 64, 0},
    {"gate_up_proj_scales",          "E 2*If Hu/32",      CS_U8,   CS_E8M0, "w13_weight_scale",  CS_ROWS,    CS_WHOLE, 64, 0},
    {"gate_up_proj_bias",            "E 2*If",            CS_BF16, CS_BF16, "w13_bias",          CS_ROWS,    CS_WHOLE, 64, 0},
    {"down_proj_blocks",             "E Hu If/32 16",     CS_U8,   CS_U8,   "w2_weight",         CS_COLUMNS, CS_WHOLE, 16, 0},
    {"down_proj_scales",             "E Hu If/32",        CS_U8,   CS_E8M0, "w2_weight_scale",   CS_COLUMNS, CS_WHOLE, 1,  0},
    {"down_proj_bias",               "E Hu",              CS_BF16, CS_BF16, "w2_bias",           CS_UNSPLIT, CS_WHOLE, 0,  0},
};
static const struct cs_loader_row streamed_rows[] = {
    {"{expert}.w13_weight",          "2*If Hu/32 16",     CS_U8,   CS_U8,   "w13_weight",        CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.w13_weight_scale",    "2*If Hu/32",        CS_U8,   CS_E8M0, "w13_weight_scale",  CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.w13_bias",            "2*If",              CS_BF16, CS_BF16, "w13_bias",          CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.w2_weight",           "Hu If/32 16",       CS_U8,   CS_U8,   "w2_weight",         CS_COLUMNS, CS_WHOLE, 16, 0},
    {"{expert}.w2_weight_scale",     "Hu If/32",          CS_U8,   CS_E8M0, "w2_weight_scale",   CS_COLUMNS, CS_WHOLE, 1,  0},
    {"{expert}.w2_bias",             "Hu",                CS_BF16, CS_BF16, "w2_bias",           CS_UNSPLIT, CS_WHOLE, 0,  0},
};
static const struct cs_loader_row bf16_combined_rows[] = {
    {"gate_up_proj",                 "E Hu 2*If",         CS_BF16, CS_BF16, "w13_weight",        CS_ROWS,    CS_WHOLE, 2,  0},
    {"gate_up_proj_bias",            "E 2*If",            CS_BF16, CS_BF16, "w13_bias",          CS_ROWS,    CS_WHOLE, 2,  CS_WITH_BIAS},
    {"down_proj",                    "E If Hu",           CS_BF16, CS_BF16, "w2_weight",         CS_COLUMNS, CS_WHOLE, 1,  0},
    {"down_proj_bias",               "E Hu",              CS_BF16, CS_BF16, "w2_bias",           CS_UNSPLIT, CS_WHOLE, 0,  CS_WITH_BIAS},
};
static const struct cs_loader_row bf16_streamed_rows[] = {
    {"{expert}.w13_weight",          "Hu 2*If",           CS_BF16, CS_BF16, "w13_weight",        CS_ROWS,    CS_WHOLE, 2,  0},
    {"{expert}.w13_bias",            "2*If",              CS_BF16, CS_BF16, "w13_bias",          CS_ROWS,    CS_WHOLE, 2,  CS_WITH_BIAS},
    {"{expert}.w2_weight",           "If Hu",             CS_BF16, CS_BF16, "w2_weight",         CS_COLUMNS, CS_WHOLE, 1,  0},
    {"{expert}.w2_bias",             "Hu",                CS_BF16, CS_BF16, "w2_bias",           CS_UNSPLIT, CS_WHOLE, 0,  CS_WITH_BIAS},
};
static const struct cs_loader_row quark_mx_rows[] = {
    {"{expert}.gate_up_proj.weight",       "2*If Hu/2",   CS_U8,   CS_U8,   "w13_weight",        CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.gate_up_proj.weight_scale", "2*If Hu/32",  CS_U8,   CS_E8M0, "w13_weight_scale",  CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.gate_up_proj.bias",         "2*If",        CS_BF16, CS_BF16, "w13_bias",          CS_ROWS,    CS_WHOLE, 64, CS_WITH_BIAS},
    {"{expert}.down_proj.weight",          "Hu If/2",     CS_U8,   CS_U8,   "w2_weight",         CS_COLUMNS, CS_WHOLE, 16, 0},
    {"{expert}.down_proj.weight_scale",    "Hu If/32",    CS_U8,   CS_E8M0, "w2_weight_scale",   CS_COLUMNS, CS_WHOLE, 1,  0},
    {"{expert}.down_proj.bias",            "Hu",          CS_BF16, CS_BF16, "w2_bias",           CS_UNSPLIT, CS_WHOLE, 0,  CS_WITH_BIAS},
};
static const struct cs_loader_row quark_fp8_rows[] = {
    {"{expert}.gate_up_proj.weight",       "2*If Hu",     CS_E4M3, CS_E4M3, "w13_weight",        CS_ROWS,    CS_WHOLE, 2,  0},
    {"{expert}.gate_up_proj.weight_scale", "",            CS_F32,  CS_F32,  "w13_weight_scale",  CS_SCALAR,  CS_WHOLE, 0,  0},
    {"{expert}.gate_up_proj.bias",         "2*If",        CS_BF16, CS_BF16, "w13_bias",          CS_ROWS,    CS_WHOLE, 2,  CS_WITH_BIAS},
    {"{expert}.down_proj.weight",          "Hu If",       CS_E4M3, CS_E4M3, "w2_weight",         CS_COLUMNS, CS_WHOLE, 1,  0},
    {"{expert}.down_proj.weight_scale",    "",            CS_F32,  CS_F32,  "w2_weight_scale",   CS_SCALAR,  CS_WHOLE, 0,  0},
    {"{expert}.down_proj.bias",            "Hu",          CS_BF16, CS_BF16, "w2_bias",           CS_UNSPLIT, CS_WHOLE, 0,  CS_WITH_BIAS},
    {"{expert}.gate_up_proj.input_scale",  "",            CS_F32,  CS_F32,  "w13_input_scale",   CS_SCALAR,  CS_WHOLE, 0,  CS_STATIC_INPUT},
    {"{expert}.down_proj.input_scale",     "",            CS_F32,  CS_F32,  "w2_input_scale",    CS_SCALAR,  CS_WHOLE, 0,  CS_STATIC_INPUT},
};
/* clang-format on */

/* ---- from a checkpoint tensor to [experts, rows, columns], or [experts, rows] of a bias ---- */

static bool is_bias(const struct cs_load_call *call) { return call->param->view.ndim == 2; }

/* Blocks and their 16 bytes side by side; K first is turned. */
static enum cs_status as_matrices(const struct cs_load_call *call, struct cs_view *source) {
    if (source->ndim > 3) CS_TRY(cs_view_reshape(source, 3, (int64_t[]){source->shape[0], source->shape[1], -1}));
    if (!call->loader->is_transposed || is_bias(call)) return CS_OK;
    int64_t extent = source->shape[1], stride = source->stride[1];
    source->shape[1] = source->shape[2], source->stride[1] = source->stride[2];
    source->shape[2] = extent, source->stride[2] = stride;
    return CS_OK;
}

/* The whole blocks of this rank; the last ranks may get fewer, or none. */
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
    int64_t extent = call->param->view.shape[dim], size = source->shape[dim],
            start = call->module->rank->spec->tp_rank * extent;
    CS_REQUIRE(start <= size, CS_BAD_INDEX,
               "%s: rank %d starts at %" PRId64 " of %" PRId64
               ": the streamed loader splits by the padded size (defect %s)",
               call->tensor, call->module->rank->index, start, size, cs_defect_name(CS_DEFECT_STREAMED_PADDED_SPLIT));
    return cs_view_narrow(source, dim, start, size - start < extent ? size - start : extent);
}

/* Row-parallel bias: rank 0 adds it, the others add zeros. Upstream zeroes the incoming tensor itself (found: F18;
 * defect source_zeroed, of memory that the caller still has); ours reads a zero tensor in its place. */
static enum cs_status zeros_like(struct cs_load_call *call, struct cs_view *source) {
    struct cs_rank *rank = call->module->rank;
    bool zeroes_source =
        cs_rank_has_defect(rank, CS_DEFECT_SOURCE_ZEROED) && source->storage->kind == CS_STORAGE_MEMORY;
    if (zeroes_source) return cs_device_fill(rank->device, &(struct cs_fill){.view = *source}, 1);
    const struct cs_content zero = {.kind = CS_CONTENT_ZERO, .as = source->dtype};
    return cs_allocate_kind(&rank->allocator, CS_STORAGE_SYNTHETIC, source->storage->bytes, &zero, NULL, "zero bias",
                            &source->storage);
}

static enum cs_status slice(struct cs_load_call *call, struct cs_view *source, bool by_blocks) {
    if (call->row->shard_dim >= 0) return (by_blocks ? slice_blocks : slice_padded)(call, source);
    bool adds_bias =
        call->module->rank->spec->tp_rank == 0 || cs_rank_has_defect(call->module->rank, CS_DEFECT_BIAS_ON_EVERY_RANK);
    return adds_bias ? CS_OK : zeros_like(call, source);
}

/* ---- the loaders ---- */

/* Blocks of all experts are viewed by the configured intermediate size, whatever the checkpoint's is: rows of another
 * size are read askew (found: F17). */
static enum cs_status view_blocks(const struct cs_load_call *call, struct cs_view *source) {
    int64_t full = call->module->rank->spec->sizes.intermediate_full, experts = source->shape[0];
    bool is_down = call->row->shard_dim == CS_COLUMNS;
    if (source->ndim <= 3 || call->loader->bypasses_counter) return CS_OK; /* those are copied as they are */
    return is_down ? cs_view_reshape(source, 3, (int64_t[]){experts, -1, full / 2})
                   : cs_view_reshape(source, 3, (int64_t[]){experts, 2 * full, -1});
}

static enum cs_status slice_combined(struct cs_load_call *call, struct cs_view *source) {
    *source = call->source;
    int64_t experts = call->module->rank->spec->sizes.experts_global;
    CS_REQUIRE(source->shape[0] == experts, CS_BAD_SHAPE, "%s: has %" PRId64 " experts, the layer %" PRId64,
               call->tensor, source->shape[0], experts);
    CS_TRY(view_blocks(call, source));
    CS_TRY(as_matrices(call, source));
    CS_TRY(cs_view_narrow(source, 0, call->module->rank->spec->first_expert, call->param->view.shape[0]));
    return slice(call, source, true);
}

static enum cs_status load_combined(struct cs_load_call *call) {
    struct cs_view source;
    CS_TRY(slice_combined(call, &source));
    struct cs_load_part whole = {.n_experts = call->param->view.shape[0], .rows = call->param->view.shape[1]};
    return cs_load_prefix(call, &whole, &source);
}

/* param.copy_: nothing may be padded (found: F14). */
static enum cs_status load_exactly(struct cs_load_call *call) {
    if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_COMBINED_TAKES_NO_PADDING)) return load_combined(call);
    struct cs_view source;
    CS_TRY(slice_combined(call, &source));
    CS_REQUIRE(cs_view_same_shape(&call->param->view, &source), CS_BAD_SHAPE,
               "%s: is copied whole, but %s.%s is padded", call->tensor, call->module->spec->name, call->param->name);
    return cs_load_copy(call, &call->param->view, &source);
}

static enum cs_status load_expert(struct cs_load_call *call, bool by_blocks) {
    if (call->row->shard_dim == CS_SCALAR) return cs_load_standard(call);
    struct cs_view source = call->source;
    CS_TRY(cs_load_one_expert(&source));
    CS_TRY(as_matrices(call, &source));
    CS_TRY(slice(call, &source, by_blocks));
    struct cs_load_part expert = {.first_expert = call->expert, .n_experts = 1, .rows = call->param->view.shape[1]};
    return cs_load_prefix(call, &expert, &source);
}

static enum cs_status load_streamed(struct cs_load_call *call) {
    return load_expert(call, !cs_rank_has_defect(call->module->rank, CS_DEFECT_STREAMED_PADDED_SPLIT));
}

static enum cs_status load_by_blocks(struct cs_load_call *call) { return load_expert(call, true); }

#define ROWS(of) .rows = of, .n_rows = CS_COUNT(of)

/* clang-format off */
const struct cs_loader cs_loader_gpt_oss_combined = {
    .name = "gpt_oss_combined", .text = "gpt-oss MXFP4, one tensor for all experts, as published", ROWS(combined_rows), .load = load_combined,
    .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_streamed = {
    .name = "gpt_oss_streamed", .text = "gpt-oss MXFP4, one tensor per expert, as trainers stream them", ROWS(streamed_rows), .load = load_streamed,
    .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_bf16_combined = {
    .name = "gpt_oss_bf16_combined", .text = "gpt-oss BF16, one tensor for all experts; takes no padding", ROWS(bf16_combined_rows), .load = load_exactly,
    .is_transposed = true, .bypasses_counter = true, .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_bf16_streamed = {
    .name = "gpt_oss_bf16_streamed", .text = "gpt-oss BF16, one tensor per expert", ROWS(bf16_streamed_rows), .load = load_streamed,
    .is_transposed = true, .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_quark_mx = {
    .name = "gpt_oss_quark_mx", .text = "gpt-oss Quark MX, one tensor per expert", ROWS(quark_mx_rows), .load = load_by_blocks,
    .bypasses_counter = true, .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_quark_mx_combined = {
    .name = "gpt_oss_quark_mx_combined", .text = "gpt-oss Quark MX, one tensor for all experts; takes no padding", ROWS(combined_rows), .load = load_exactly,
    .bypasses_counter = true, .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_quark_fp8 = {
    .name = "gpt_oss_quark_fp8", .text = "gpt-oss Quark FP8, one tensor per expert", ROWS(quark_fp8_rows), .load = load_by_blocks,
    .bypasses_counter = true, .keeps_parameters = true,
};
/* clang-format on */
