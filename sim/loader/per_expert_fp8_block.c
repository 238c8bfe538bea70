/* FP8 per-expert tensors with scales of blocks. Source: vllm fused_moe/routed_experts.py. As released, a loader that
 * takes whole blocks fills what it will not write (defect block_loader_fills); the reference pull requests record it
 * instead. */
#include "sim/loader/loaders.h"

#include <string.h>

/* clang-format off */
/*   tensor, shape, dtype, numbers of, parameter, split, shard, block, when */
static const struct cs_loader_row rows[] = {
    {"{expert}.gate_proj.weight",           "If Hu",         CS_E4M3, CS_E4M3, "w13_weight",           CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",             "If Hu",         CS_E4M3, CS_E4M3, "w13_weight",           CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",           "Hu If",         CS_E4M3, CS_E4M3, "w2_weight",            CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",             "If",            CS_BF16, CS_BF16, "w13_bias",             CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",               "If",            CS_BF16, CS_BF16, "w13_bias",             CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",             "Hu",            CS_BF16, CS_BF16, "w2_bias",              CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
    {"{expert}.gate_proj.weight_scale_inv", "If/+Bn Hu/+Bk", CS_F32,  CS_F32,  "w13_weight_scale_inv", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale_inv",   "If/+Bn Hu/+Bk", CS_F32,  CS_F32,  "w13_weight_scale_inv", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale_inv", "Hu/+Bn If/+Bk", CS_F32,  CS_F32,  "w2_weight_scale_inv",  CS_COLUMNS, CS_WHOLE, 0, 0},
};
/* clang-format on */

/* ---- whole blocks: each rank's share is the parameter's extent ---- */

static enum cs_status fill_first(struct cs_load_call *call, const struct cs_load_part *part) {
    struct cs_rank *rank = call->module->rank;
    struct cs_fill fill;
    CS_TRY(cs_load_part_view(call, part, &fill.view));
    bool is_scale = call->param->spec && call->param->spec->is_scale;
    CS_TRY(cs_dtype_encode(fill.view.dtype, is_scale ? 1.0 : 0.0, &fill.bits));
    CS_TRY(cs_device_fill(rank->device, &fill, 1));
    if (fill.view.storage->kind == CS_STORAGE_MEMORY)
        cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_FILL,
                                                      .who = "block-aligned loader",
                                                      .what = call->param->name,
                                                      .destination = fill.view});
    return CS_OK;
}

static enum cs_status load_whole_blocks(struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    struct cs_load_part part = cs_load_part_of(call, call->expert, call->row->shard);
    int dim = call->row->shard_dim + 1;
    int64_t share = dim == 1 ? part.rows : part.columns,
            expected = rank->sizes.intermediate_full * share / rank->sizes.intermediate;
    CS_REQUIRE(source->shape[dim] == expected, CS_BAD_VALUE,
               "%s: expected %" PRId64 " along the sharded dimension, it has %" PRId64, call->tensor, expected,
               source->shape[dim]);
    int64_t start = rank->tp_rank * share < expected ? rank->tp_rank * share : expected;
    CS_TRY(cs_view_narrow(source, dim, start, share < expected - start ? share : expected - start));
    if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_BLOCK_LOADER_FILLS))
        return cs_load_prefix(call, &part, source);
    CS_TRY(fill_first(call, &part));
    struct cs_load_part written = part;
    written.rows = source->shape[1], written.columns = source->shape[2];
    return written.rows && written.columns ? cs_load_prefix(call, &written, source) : CS_OK;
}

/* ---- a finer grid: every scale of the checkpoint stands for several ---- */

/* One run of equal scales along the split dimension: `n` of the parameter, all from the checkpoint's `index`. Across:
 * `scales` of the checkpoint from `first` on, each `factor` times, with nothing between the repetitions. */
struct run {
    int64_t at, n, index;
    int64_t first, scales, factor, across; /* across: where they go */
};

static enum cs_status copy_piece(struct cs_load_call *call, const struct cs_load_part *part,
                                 const struct cs_view *source, const struct run *run) {
    int dim = call->row->shard_dim + 1, other = 3 - dim;
    int64_t factor = run->factor, n = run->scales;
    struct cs_load_part piece = *part;
    if (n == 0) return CS_OK;
    if (dim == 1)
        piece.row += run->at, piece.rows = run->n, piece.column += run->across, piece.columns = n * factor;
    else
        piece.column += run->at, piece.columns = run->n, piece.row += run->across, piece.rows = n * factor;
    struct cs_view to, from = *source;
    CS_TRY(cs_load_part_view(call, &piece, &to));
    CS_TRY(cs_view_narrow(&from, dim, run->index, 1));
    CS_TRY(cs_view_narrow(&from, other, run->first, n));
    const int64_t shape[] = {run->n, n, factor};
    const int64_t to_stride[] = {to.stride[dim], to.stride[other] * factor, to.stride[other]},
                  from_stride[] = {0, from.stride[other], 0};
    to.ndim = from.ndim = 3;
    memcpy(to.shape, shape, sizeof shape), memcpy(from.shape, shape, sizeof shape);
    memcpy(to.stride, to_stride, sizeof to_stride), memcpy(from.stride, from_stride, sizeof from_stride);
    return cs_load_copy(call, &to, &from);
}

/* `extent`: of the parameter across. The last scale of the checkpoint may stand for fewer than the others. */
static enum cs_status copy_run(struct cs_load_call *call, const struct cs_load_part *part, const struct cs_view *source,
                               struct run run, int64_t extent) {
    int other = 2 - call->row->shard_dim;
    int64_t factor = call->module->rank->spec->sizes.refine[other - 1], whole = extent / factor;
    run.first = run.across = 0, run.scales = whole, run.factor = factor;
    CS_TRY(copy_piece(call, part, source, &run));
    run.first = whole, run.across = whole * factor, run.factor = extent % factor, run.scales = run.factor > 0;
    return copy_piece(call, part, source, &run);
}

/* What the sizes have of the finer grid, `dim` 0 or 1: as released, whole blocks of the checkpoint's (found: F20). */
static int64_t refined_extent(const struct cs_load_call *call, const struct cs_view *source, int dim) {
    const struct cs_sizes *sizes = &call->module->rank->spec->sizes;
    int64_t whole = source->shape[dim + 1] * sizes->refine[dim], block = sizes->block[dim] / sizes->refine[dim],
            size = dim == call->row->shard_dim ? sizes->intermediate_full : sizes->hidden_u,
            extent = (size + block - 1) / block;
    bool is_partial = extent < whole && !cs_rank_has_defect(call->module->rank, CS_DEFECT_PARTIAL_BLOCK_REFINED);
    return is_partial ? extent : whole;
}

static enum cs_status load_refined(struct cs_load_call *call, const struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    struct cs_load_part part = cs_load_part_of(call, call->expert, call->row->shard);
    int dim = call->row->shard_dim + 1;
    const int64_t *refine = rank->sizes.refine;
    int64_t shape[] = {refined_extent(call, source, 0), refined_extent(call, source, 1)}, factor = refine[dim - 1];
    int64_t per = shape[dim - 1] / rank->sizes.tp, start = per * rank->tp_rank;
    shape[dim - 1] = per;
    CS_TRY(cs_load_check_part(call, &part, shape));
    for (struct run run = {0}; run.at < per; run.at += run.n) {
        run.index = (start + run.at) / factor;
        int64_t left = factor - (start + run.at) % factor;
        run.n = left < per - run.at ? left : per - run.at;
        CS_TRY(copy_run(call, &part, source, run, shape[2 - dim]));
    }
    return cs_load_narrow_part(call, &part, shape);
}

static enum cs_status load(struct cs_load_call *call) {
    const struct cs_sizes *sizes = &call->module->rank->spec->sizes;
    bool is_scale = cs_text_equal(call->param->name, "w13_weight_scale_inv") ||
                    cs_text_equal(call->param->name, "w2_weight_scale_inv");
    bool is_refined = is_scale && sizes->refine[0];
    if (call->source.ndim != 2 || !(sizes->shards_whole_blocks || is_refined)) return cs_load_standard(call);
    struct cs_view source = call->source;
    CS_TRY(cs_load_one_expert(&source));
    return sizes->shards_whole_blocks ? load_whole_blocks(call, &source) : load_refined(call, &source);
}

const struct cs_loader cs_loader_per_expert_fp8_block = {
    .name = "per_expert_fp8_block",
    .text = "FP8, a scale for each block; ranks may take whole blocks, or a finer grid",
    .rows = rows,
    .n_rows = CS_COUNT(rows),
    .load = load,
};
