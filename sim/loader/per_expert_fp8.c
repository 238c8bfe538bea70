/* FP8 per-expert tensors with scales of projections and rows. Activation scales of gate and up share a slot: the later
 * one wins. */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor, shape, dtype, numbers of, parameter, split, shard, block, when */
static const struct cs_loader_row rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If", CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",         "If",    CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",           "If",    CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",         "Hu",    CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
    {"{expert}.gate_proj.weight_scale", "",      CS_F32,  CS_F32,  "w13_weight_scale", CS_SCALAR,  CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "",      CS_F32,  CS_F32,  "w13_weight_scale", CS_SCALAR,  CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "",      CS_F32,  CS_F32,  "w2_weight_scale",  CS_SCALAR,  CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.input_scale",  "",      CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.input_scale",    "",      CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT},
    {"{expert}.down_proj.input_scale",  "",      CS_F32,  CS_F32,  "w2_input_scale",   CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_fp8_tensor = {
    .name = "per_expert_fp8_tensor",
    .text = "FP8, a scale for each projection",
    .rows = rows,
    .n_rows = CS_COUNT(rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row ct_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,          CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,          CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If", CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS,       CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "1",     CS_F32,  CS_F32,  "w13_weight_scale", CS_SCALAR,        CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "1",     CS_F32,  CS_F32,  "w13_weight_scale", CS_SCALAR,        CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "1",     CS_F32,  CS_F32,  "w2_weight_scale",  CS_SCALAR,        CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.input_scale",  "1",     CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR_AGREED, CS_WHOLE, 0, CS_STATIC_INPUT | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.input_scale",    "1",     CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR_AGREED, CS_WHOLE, 0, CS_STATIC_INPUT},
    {"{expert}.down_proj.input_scale",  "1",     CS_F32,  CS_F32,  "w2_input_scale",   CS_SCALAR_AGREED, CS_WHOLE, 0, CS_STATIC_INPUT},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_fp8_tensor_ct = {
    .name = "per_expert_fp8_tensor_ct",
    .text = "compressed-tensors FP8, a scale for each projection",
    .rows = ct_rows,
    .n_rows = CS_COUNT(ct_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row channel_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If", CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "If 1",  CS_BF16, CS_BF16, "w13_weight_scale", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "If 1",  CS_BF16, CS_BF16, "w13_weight_scale", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "Hu 1",  CS_BF16, CS_BF16, "w2_weight_scale",  CS_UNSPLIT, CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_fp8_channel = {
    .name = "per_expert_fp8_channel",
    .text = "compressed-tensors FP8, a scale for each row",
    .rows = channel_rows,
    .n_rows = CS_COUNT(channel_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row quark_channel_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu", CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If", CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "If",    CS_F32,  CS_F32,  "w13_weight_scale", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "If",    CS_F32,  CS_F32,  "w13_weight_scale", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "Hu",    CS_F32,  CS_F32,  "w2_weight_scale",  CS_UNSPLIT, CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_quark_fp8_channel = {
    .name = "per_expert_quark_fp8_channel",
    .text = "Quark FP8, a scale for each row",
    .rows = quark_channel_rows,
    .n_rows = CS_COUNT(quark_channel_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row quark_block_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu",         CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu",         CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If",         CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "If/+Bn Hu/+Bk", CS_F32,  CS_F32,  "w13_weight_scale", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "If/+Bn Hu/+Bk", CS_F32,  CS_F32,  "w13_weight_scale", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "Hu/+Bn If/+Bk", CS_F32,  CS_F32,  "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_quark_fp8_block = {
    .name = "per_expert_quark_fp8_block",
    .text = "Quark FP8, a scale for each block",
    .rows = quark_block_rows,
    .n_rows = CS_COUNT(quark_block_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row mxfp8_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu",    CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu",    CS_E4M3, CS_E4M3, "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If",    CS_E4M3, CS_E4M3, "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "If Hu/32", CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "If Hu/32", CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "Hu If/32", CS_U8,   CS_E8M0, "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_mxfp8 = {
    .name = "per_expert_mxfp8",
    .text = "MXFP8, gate, up and down of each expert apart",
    .rows = mxfp8_rows,
    .n_rows = CS_COUNT(mxfp8_rows),
    .load = cs_load_standard,
};
