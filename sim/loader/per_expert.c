/* Per-expert tensors without quantisation, and of generic MXFP4, whose weights are split by I_full / tp elements and
 * scales by whole blocks, each on its own (found: F16). */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor, shape, dtype, numbers of, parameter, split, shard, block, when */
static const struct cs_loader_row rows[] = {
    {"{expert}.gate_proj.weight", "If Hu", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",   "If Hu", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight", "Hu If", CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",   "If",    CS_BF16, CS_BF16, "w13_bias",   CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",     "If",    CS_BF16, CS_BF16, "w13_bias",   CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",   "Hu",    CS_BF16, CS_BF16, "w2_bias",    CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert = {
    .name = "per_expert",
    .text = "BF16, gate, up and down of each expert apart",
    .rows = rows,
    .n_rows = CS_COUNT(rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row gate_up_rows[] = {
    {"{expert}.gate_up_proj.weight", "2*If Hu", CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_GATE_UP, 0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",      "If Hu",   CS_BF16, CS_BF16, "w13_weight", CS_ROWS,    CS_UP,      0, CS_NOT_GATED},
    {"{expert}.down_proj.weight",    "Hu If",   CS_BF16, CS_BF16, "w2_weight",  CS_COLUMNS, CS_WHOLE,   0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_gate_up = {
    .name = "per_expert_gate_up",
    .text = "BF16, gate and up of each expert in one tensor",
    .rows = gate_up_rows,
    .n_rows = CS_COUNT(gate_up_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row mxfp4_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu//2",  CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu//2",  CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If//2",  CS_U8,   CS_U8,   "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "If Hu//32", CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "If Hu//32", CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "Hu If//32", CS_U8,   CS_E8M0, "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",         "If",        CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",           "If",        CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",         "Hu",        CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_mxfp4 = {
    .name = "per_expert_mxfp4",
    .text = "generic MXFP4, gate, up and down of each expert apart",
    .rows = mxfp4_rows,
    .n_rows = CS_COUNT(mxfp4_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row mxfp4_ct_rows[] = {
    {"{expert}.gate_proj.weight_packed", "If Hu//2",  CS_U8, CS_U8,   "w13_weight_packed", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_packed",   "If Hu//2",  CS_U8, CS_U8,   "w13_weight_packed", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_packed", "Hu If//2",  CS_U8, CS_U8,   "w2_weight_packed",  CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale",  "If Hu//32", CS_U8, CS_E8M0, "w13_weight_scale",  CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",    "If Hu//32", CS_U8, CS_E8M0, "w13_weight_scale",  CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale",  "Hu If//32", CS_U8, CS_E8M0, "w2_weight_scale",   CS_COLUMNS, CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_mxfp4_ct = {
    .name = "per_expert_mxfp4_ct",
    .text = "compressed-tensors MXFP4, gate, up and down of each expert apart",
    .rows = mxfp4_ct_rows,
    .n_rows = CS_COUNT(mxfp4_ct_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row quark_mx_rows[] = {
    {"{expert}.gate_proj.weight",       "If Hu*B//8", CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",         "If Hu*B//8", CS_U8,   CS_U8,   "w13_weight",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight",       "Hu If*B//8", CS_U8,   CS_U8,   "w2_weight",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale", "If Hu//32",  CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",   "If Hu//32",  CS_U8,   CS_E8M0, "w13_weight_scale", CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale", "Hu If//32",  CS_U8,   CS_E8M0, "w2_weight_scale",  CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",         "If",         CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",           "If",         CS_BF16, CS_BF16, "w13_bias",         CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",         "Hu",         CS_BF16, CS_BF16, "w2_bias",          CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
    {"{expert}.gate_proj.input_scale",  "",           CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.input_scale",    "",           CS_F32,  CS_F32,  "w13_input_scale",  CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT},
    {"{expert}.down_proj.input_scale",  "",           CS_F32,  CS_F32,  "w2_input_scale",   CS_SCALAR,  CS_WHOLE, 0, CS_STATIC_INPUT},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_quark_mx = {
    .name = "per_expert_quark_mx",
    .text = "Quark OCP MX, gate, up and down of each expert apart",
    .rows = quark_mx_rows,
    .n_rows = CS_COUNT(quark_mx_rows),
    .load = cs_load_standard,
};
