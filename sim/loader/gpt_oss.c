/* gpt-oss loaders. Source: vllm models/gpt_oss.py and fused_moe/routed_experts.py (_load_packed_expert). Gate and up
 * rows are interleaved, so that w13 is one piece with one tail. MXFP4 splits the intermediate dimension by whole
 * 32-blocks over the ranks (R5.2), others by I_full / tp rounded up. As released, the streamed loaders split by the
 * padded size instead (defect streamed_padded_split), and the combined ones give every rank the same number of experts,
 * wherever experts are placed (defect experts_by_quotient). */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor                          shape                dtype    as       parameter           split       shard    block when */
static const struct cs_loader_row combined_rows[] = {
    {"gate_up_proj_blocks", "E 2*If Hu//32 16", CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_WHOLE, 64, 0},
    {"gate_up_proj_scales", "E 2*If Hu//32",    CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_WHOLE, 64, 0},
    {"gate_up_proj_bias",   "E 2*If",           CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_WHOLE, 64, 0},
    {"down_proj_blocks",    "E Hu If//32 16",   CS_U8,   CS_U8,   "w2_weight",        CS_COLUMNS, CS_WHOLE, 16, 0},
    {"down_proj_scales",    "E Hu If//32",      CS_U8,   CS_E8M0, "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 1,  0},
    {"down_proj_bias",      "E Hu",             CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0,  0},
};
static const struct cs_loader_row streamed_rows[] = {
    {"{expert}.w13_weight",       "2*If Hu//32 16", CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.w13_weight_scale", "2*If Hu//32",    CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.w13_bias",         "2*If",           CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.w2_weight",        "Hu If//32 16",   CS_U8,   CS_U8,   "w2_weight",        CS_COLUMNS, CS_WHOLE, 16, 0},
    {"{expert}.w2_weight_scale",  "Hu If//32",      CS_U8,   CS_E8M0, "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 1,  0},
    {"{expert}.w2_bias",          "Hu",             CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0,  0},
};
static const struct cs_loader_row bf16_combined_rows[] = {
    {"gate_up_proj",      "E Hu 2*If", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_WHOLE, 2, 0},
    {"gate_up_proj_bias", "E 2*If",    CS_BF16, CS_BF16, "w13_bias",   CS_ROWS,    CS_WHOLE, 2, CS_WITH_BIAS},
    {"down_proj",         "E If Hu",   CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE, 1, 0},
    {"down_proj_bias",    "E Hu",      CS_BF16, CS_BF16, "w2_bias",    CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
};
static const struct cs_loader_row bf16_streamed_rows[] = {
    {"{expert}.w13_weight", "Hu 2*If", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_WHOLE, 2, 0},
    {"{expert}.w13_bias",   "2*If",    CS_BF16, CS_BF16, "w13_bias",   CS_ROWS,    CS_WHOLE, 2, CS_WITH_BIAS},
    {"{expert}.w2_weight",  "If Hu",   CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE, 1, 0},
    {"{expert}.w2_bias",    "Hu",      CS_BF16, CS_BF16, "w2_bias",    CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
};
static const struct cs_loader_row quark_mx_rows[] = {
    {"{expert}.gate_up_proj.weight",       "2*If Hu//2",  CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.gate_up_proj.weight_scale", "2*If Hu//32", CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_WHOLE, 64, 0},
    {"{expert}.gate_up_proj.bias",         "2*If",        CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_WHOLE, 64, CS_WITH_BIAS},
    {"{expert}.down_proj.weight",          "Hu If//2",    CS_U8,   CS_U8,   "w2_weight",        CS_COLUMNS, CS_WHOLE, 16, 0},
    {"{expert}.down_proj.weight_scale",    "Hu If//32",   CS_U8,   CS_E8M0, "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 1,  0},
    {"{expert}.down_proj.bias",            "Hu",          CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0,  CS_WITH_BIAS},
};
static const struct cs_loader_row quark_fp8_rows[] = {
    {"{expert}.gate_up_proj.weight",       "2*If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_WHOLE, 2, 0},
    {"{expert}.gate_up_proj.weight_scale", "",        CS_F32,  CS_F32,  "w13_weight_scale", CS_SCALAR,  CS_WHOLE, 0, 0},
    {"{expert}.gate_up_proj.bias",         "2*If",    CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_WHOLE, 2, CS_WITH_BIAS},
    {"{expert}.down_proj.weight",          "Hu If",   CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS, CS_WHOLE, 1, 0},
    {"{expert}.down_proj.weight_scale",    "",        CS_F32,  CS_F32,  "w2_weight_scale",  CS_SCALAR,  CS_WHOLE, 0, 0},
    {"{expert}.down_proj.bias",            "Hu",      CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
    {"{expert}.gate_up_proj.input_scale",  "",        CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT},
    {"{expert}.down_proj.input_scale",     "",        CS_F32,  CS_F32,  "w2_input_scale",   CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT},
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

/* Elements of the intermediate dimension that ranks do not share: the first row of every table is w13, gate and up. */
static int64_t unit_of(const struct cs_load_call *call) { return call->loader->rows[0].block / 2; }

static int64_t at_most(int64_t value, int64_t limit) { return value < limit ? value : limit; }

/* The whole blocks of this rank, and with the last ones what is left of the intermediate size; the last ranks may get
 * fewer, or none. Ranks that own whole experts take every row. */
static enum cs_status slice_blocks(const struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    int dim = call->row->shard_dim + 1;
    if (rank->sizes.ep > 1) return CS_OK;
    int64_t unit = unit_of(call), full = rank->sizes.intermediate_full, extent = source->shape[dim];
    int64_t each = unit * ((full / unit + rank->sizes.tp - 1) / rank->sizes.tp);
    int64_t first = at_most(rank->tp_rank * each * call->row->block / unit, extent);
    int64_t end = at_most(at_most((rank->tp_rank + 1) * each, full) * call->row->block / unit, extent);
    return cs_view_narrow(source, dim, first, end > first ? end - first : 0);
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

/* As released: each rank is handed the whole quotient of experts. A rank that has others needs as many, or one, which is
 * copied to all. Source: vllm models/gpt_oss.py, load_weights. */
static enum cs_status slice_quotient(const struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    int64_t each = rank->sizes.experts_global / rank->sizes.ep, local = call->param->view.shape[0];
    CS_REQUIRE(each == local || each == 1, CS_BAD_SHAPE,
               "%s: hands every rank %" PRId64 " of %" PRId64 " experts, but rank %d of %d has %" PRId64
               ": choose a number of experts that divides over the ranks (defect %s)",
               call->tensor, each, rank->sizes.experts_global, rank->ep_rank, rank->sizes.ep, local,
               cs_defect_name(CS_DEFECT_EXPERTS_BY_QUOTIENT));
    CS_TRY(cs_view_narrow(source, 0, rank->ep_rank * each, each));
    if (each == local) return CS_OK;
    bool is_counted = call->param->view.storage->kind == CS_STORAGE_META && !call->loader->bypasses_counter;
    CS_REQUIRE(!is_counted, CS_BAD_VALUE,
               "%s: one expert is copied to %" PRId64 ", and what a layerwise load counts must have as many elements as "
               "it writes (defect %s)",
               call->tensor, local, cs_defect_name(CS_DEFECT_EXPERTS_BY_QUOTIENT));
    source->shape[0] = local, source->stride[0] = 0;
    return CS_OK;
}

/* The experts of this rank: one behind the other, or in turn. */
static enum cs_status slice_experts(const struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    bool is_by_quotient =
        rank->sizes.ep > 1 && cs_rank_has_defect(call->module->rank, CS_DEFECT_EXPERTS_BY_QUOTIENT);
    if (is_by_quotient) return slice_quotient(call, source);
    int64_t local = call->param->view.shape[0];
    CS_REQUIRE(!rank->sizes.experts_redundant, CS_BAD_SHAPE,
               "%s: redundant experts are outside of the checkpoint's %" PRId64, call->tensor, source->shape[0]);
    if (!rank->is_round_robin) return cs_view_narrow(source, 0, rank->first_expert, local);
    CS_TRY(cs_view_narrow(source, 0, rank->ep_rank, source->shape[0] - rank->ep_rank));
    source->shape[0] = local, source->stride[0] *= rank->sizes.ep;
    return CS_OK;
}

static enum cs_status slice_combined(struct cs_load_call *call, struct cs_view *source) {
    *source = call->source;
    int64_t experts = call->module->rank->spec->sizes.experts_global;
    CS_REQUIRE(source->shape[0] == experts, CS_BAD_SHAPE, "%s: has %" PRId64 " experts, the layer %" PRId64,
               call->tensor, source->shape[0], experts);
    CS_TRY(view_blocks(call, source));
    CS_TRY(as_matrices(call, source));
    CS_TRY(slice_experts(call, source));
    return slice(call, source, true);
}

static enum cs_status load_combined(struct cs_load_call *call) {
    struct cs_view source;
    CS_TRY(slice_combined(call, &source));
    struct cs_load_part whole = {.n_experts = call->param->view.shape[0], .rows = call->param->view.shape[1]};
    return cs_load_prefix(call, &whole, &source);
}

/* What copy_ makes fit: dimensions of one element are repeated. */
static bool broadcasts(struct cs_view *source, const struct cs_view *destination) {
    if (source->ndim != destination->ndim) return false;
    for (int d = 0; d < source->ndim; d++) {
        if (source->shape[d] == destination->shape[d]) continue;
        if (source->shape[d] != 1) return false;
        source->shape[d] = destination->shape[d], source->stride[d] = 0;
    }
    return true;
}

/* param.copy_: nothing may be padded (found: F14). */
static enum cs_status load_exactly(struct cs_load_call *call) {
    if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_COMBINED_TAKES_NO_PADDING)) return load_combined(call);
    struct cs_view source;
    CS_TRY(slice_combined(call, &source));
    CS_REQUIRE(broadcasts(&source, &call->param->view), CS_BAD_SHAPE,
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

/* As released, the rows of one expert are sliced as if they were experts, and slots are numbers of the whole model's:
 * FP8 rows do not fit, and no rank has every slot. */
static enum cs_status load_by_blocks(struct cs_load_call *call) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    bool is_released = rank->sizes.ep > 1 && cs_rank_has_defect(call->module->rank, CS_DEFECT_EXPERTS_BY_QUOTIENT);
    int64_t each = rank->sizes.experts_global / rank->sizes.ep, rows = call->param->view.shape[1];
    bool fits = unit_of(call) > 1 ? each <= rows : each == 1 || each == rows;
    CS_REQUIRE(!is_released, fits ? CS_BAD_INDEX : CS_BAD_SHAPE,
               "%s: %" PRId64 " rows are taken for experts, and the %" PRId64 " experts of rank %d for all %" PRId64
               ": leave expert parallelism out (defect %s)",
               call->tensor, each, rank->sizes.experts, rank->ep_rank, rank->sizes.experts_global,
               cs_defect_name(CS_DEFECT_EXPERTS_BY_QUOTIENT));
    return load_expert(call, true);
}

#define ROWS(of) .rows = of, .n_rows = CS_COUNT(of)

/* clang-format off */
const struct cs_loader cs_loader_gpt_oss_combined = {
    .name = "gpt_oss_combined", .text = "gpt-oss MXFP4, one tensor for all experts, as published", ROWS(combined_rows), .load = load_combined,
    .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_streamed = {
    .name = "gpt_oss_streamed", .text = "gpt-oss MXFP4, one tensor per expert, as trainers stream them", ROWS(streamed_rows), .load = load_streamed,
    .keeps_parameters = true, .leaves_copies = true,
};
const struct cs_loader cs_loader_gpt_oss_bf16_combined = {
    .name = "gpt_oss_bf16_combined", .text = "gpt-oss BF16, one tensor for all experts; takes no padding", ROWS(bf16_combined_rows), .load = load_exactly,
    .is_transposed = true, .bypasses_counter = true, .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_bf16_streamed = {
    .name = "gpt_oss_bf16_streamed", .text = "gpt-oss BF16, one tensor per expert", ROWS(bf16_streamed_rows), .load = load_streamed,
    .is_transposed = true, .keeps_parameters = true, .leaves_copies = true,
};
const struct cs_loader cs_loader_gpt_oss_quark_mx = {
    .name = "gpt_oss_quark_mx", .text = "gpt-oss Quark MX, one tensor per expert", ROWS(quark_mx_rows), .load = load_by_blocks,
    .bypasses_counter = true, .keeps_parameters = true, .leaves_copies = true,
};
const struct cs_loader cs_loader_gpt_oss_quark_mx_combined = {
    .name = "gpt_oss_quark_mx_combined", .text = "gpt-oss Quark MX, one tensor for all experts; takes no padding", ROWS(combined_rows), .load = load_exactly,
    .bypasses_counter = true, .keeps_parameters = true,
};
const struct cs_loader cs_loader_gpt_oss_quark_fp8 = {
    .name = "gpt_oss_quark_fp8", .text = "gpt-oss Quark FP8, one tensor per expert", ROWS(quark_fp8_rows), .load = load_by_blocks,
    .bypasses_counter = true, .keeps_parameters = true, .leaves_copies = true,
};
/* clang-format on */
