/* Per-expert loader of generic MXFP4: gate and up are the halves of w13. Source: vllm fused_moe/routed_experts.py. Weights are split by
 * I_full / tp elements and scales by whole blocks, each on its own (found: F16). */
#include "sim/loader/loaders.h"

/*   tensor                            shape      dtype  as       parameter           dim shard block */
static const struct cs_loader_row rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu/2",  CS_U8, CS_U8,   "w13_weight",       0,  0, 0},
    {"{expert}.gate_proj.weight_scale", "If Hu/32", CS_U8, CS_E8M0, "w13_weight_scale", 0,  0, 0},
    {"{expert}.up_proj.weight",         "If Hu/2",  CS_U8, CS_U8,   "w13_weight",       0,  1, 0},
    {"{expert}.up_proj.weight_scale",   "If Hu/32", CS_U8, CS_E8M0, "w13_weight_scale", 0,  1, 0},
    {"{expert}.down_proj.weight",       "Hu If/2",  CS_U8, CS_U8,   "w2_weight",        1, -1, 0},
    {"{expert}.down_proj.weight_scale", "Hu If/32", CS_U8, CS_E8M0, "w2_weight_scale",  1, -1, 0},
};

static enum cs_status load(struct cs_load_call *call) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    struct cs_view source = call->source;
    CS_TRY(cs_view_reshape(&source, 3, (int64_t[]){1, source.shape[0], source.shape[1]}));
    int dim = call->row->shard_dim + 1;
    int64_t per = source.shape[dim] / rank->sizes.tp, start = per * rank->tp_rank;
    CS_TRY(cs_view_narrow(&source, dim, start, per));
    int64_t rows_of_part = call->param->view.shape[1] / (call->row->shard < 0 ? 1 : 2);
    struct cs_load_part part = {call->expert, 1, call->row->shard > 0 ? rows_of_part : 0, rows_of_part};
    return cs_load_prefix(call, &part, &source);
}

const struct cs_loader cs_loader_per_expert_mxfp4 = {
    .name = "per_expert_mxfp4", .text = "generic MXFP4, gate, up and down of each expert apart", .rows = rows, .n_rows = CS_COUNT(rows), .load = load,
};
