/* Integers packed into 32-bit words: GPTQ and AWQ with K first, so that rows and columns change places, and
 * compressed-tensors with N first. */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor, shape, dtype, numbers of, parameter, split, shard, block, when */
static const struct cs_loader_row rows[] = {
    {"{expert}.gate_proj.scales",  "Hu//G If",    CS_BF16, CS_BF16, "w13_scales",  CS_COLUMNS, CS_GATE,  0, CS_UNLESS(CS_PER_CHANNEL) | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.scales",    "Hu//G If",    CS_BF16, CS_BF16, "w13_scales",  CS_COLUMNS, CS_UP,    0, CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.down_proj.scales",  "If//G Hu",    CS_BF16, CS_BF16, "w2_scales",   CS_ROWS,    CS_WHOLE, 0, CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.gate_proj.scales",  "1 If",        CS_BF16, CS_BF16, "w13_scales",  CS_COLUMNS, CS_GATE,  0, CS_PER_CHANNEL | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.scales",    "1 If",        CS_BF16, CS_BF16, "w13_scales",  CS_COLUMNS, CS_UP,    0, CS_PER_CHANNEL},
    {"{expert}.down_proj.scales",  "1 Hu",        CS_BF16, CS_BF16, "w2_scales",   CS_UNSPLIT, CS_WHOLE, 0, CS_PER_CHANNEL},
    {"{expert}.gate_proj.qzeros",  "Hu//G If//P", CS_I32,  CS_I32,  "w13_qzeros",  CS_COLUMNS, CS_GATE,  0, CS_UNLESS(CS_PER_CHANNEL) | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.qzeros",    "Hu//G If//P", CS_I32,  CS_I32,  "w13_qzeros",  CS_COLUMNS, CS_UP,    0, CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.down_proj.qzeros",  "If//G Hu//P", CS_I32,  CS_I32,  "w2_qzeros",   CS_ROWS,    CS_WHOLE, 0, CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.gate_proj.qzeros",  "1 If//P",     CS_I32,  CS_I32,  "w13_qzeros",  CS_COLUMNS, CS_GATE,  0, CS_PER_CHANNEL | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.qzeros",    "1 If//P",     CS_I32,  CS_I32,  "w13_qzeros",  CS_COLUMNS, CS_UP,    0, CS_PER_CHANNEL},
    {"{expert}.down_proj.qzeros",  "1 Hu//P",     CS_I32,  CS_I32,  "w2_qzeros",   CS_UNSPLIT, CS_WHOLE, 0, CS_PER_CHANNEL},
    {"{expert}.gate_proj.qweight", "Hu//P If",    CS_I32,  CS_I32,  "w13_qweight", CS_COLUMNS, CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.qweight",   "Hu//P If",    CS_I32,  CS_I32,  "w13_qweight", CS_COLUMNS, CS_UP,    0, 0},
    {"{expert}.down_proj.qweight", "If//P Hu",    CS_I32,  CS_I32,  "w2_qweight",  CS_ROWS,    CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",    "If",          CS_BF16, CS_BF16, "w13_bias",    CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",      "If",          CS_BF16, CS_BF16, "w13_bias",    CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",    "Hu",          CS_BF16, CS_BF16, "w2_bias",     CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_gptq = {
    .name = "per_expert_gptq",
    .text = "GPTQ, gate, up and down of each expert apart",
    .rows = rows,
    .n_rows = CS_COUNT(rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row awq_rows[] = {
    {"{expert}.gate_proj.qweight", "Hu If//P",    CS_I32,  CS_I32,  "w13_qweight", CS_COLUMNS, CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.qweight",   "Hu If//P",    CS_I32,  CS_I32,  "w13_qweight", CS_COLUMNS, CS_UP,    0, 0},
    {"{expert}.down_proj.qweight", "If Hu//P",    CS_I32,  CS_I32,  "w2_qweight",  CS_ROWS,    CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.scales",  "Hu//G If",    CS_BF16, CS_BF16, "w13_scales",  CS_COLUMNS, CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.scales",    "Hu//G If",    CS_BF16, CS_BF16, "w13_scales",  CS_COLUMNS, CS_UP,    0, 0},
    {"{expert}.down_proj.scales",  "If//G Hu",    CS_BF16, CS_BF16, "w2_scales",   CS_ROWS,    CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.qzeros",  "Hu//G If//P", CS_I32,  CS_I32,  "w13_qzeros",  CS_COLUMNS, CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.qzeros",    "Hu//G If//P", CS_I32,  CS_I32,  "w13_qzeros",  CS_COLUMNS, CS_UP,    0, 0},
    {"{expert}.down_proj.qzeros",  "If//G Hu//P", CS_I32,  CS_I32,  "w2_qzeros",   CS_ROWS,    CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_awq = {
    .name = "per_expert_awq",
    .text = "AWQ, gate, up and down of each expert apart",
    .rows = awq_rows,
    .n_rows = CS_COUNT(awq_rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row ct_rows[] = {
    {"{expert}.gate_proj.weight_packed",     "If Hu//P",    CS_I32,  CS_I32,  "w13_weight_packed",     CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_packed",       "If Hu//P",    CS_I32,  CS_I32,  "w13_weight_packed",     CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_packed",     "Hu If//P",    CS_I32,  CS_I32,  "w2_weight_packed",      CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale",      "If Hu//G",    CS_BF16, CS_BF16, "w13_weight_scale",      CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_PER_CHANNEL) | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",        "If Hu//G",    CS_BF16, CS_BF16, "w13_weight_scale",      CS_ROWS,    CS_UP,    0, CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.down_proj.weight_scale",      "Hu If//G",    CS_BF16, CS_BF16, "w2_weight_scale",       CS_COLUMNS, CS_WHOLE, 0, CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.gate_proj.weight_scale",      "If 1",        CS_BF16, CS_BF16, "w13_weight_scale",      CS_ROWS,    CS_GATE,  0, CS_PER_CHANNEL | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",        "If 1",        CS_BF16, CS_BF16, "w13_weight_scale",      CS_ROWS,    CS_UP,    0, CS_PER_CHANNEL},
    {"{expert}.down_proj.weight_scale",      "Hu 1",        CS_BF16, CS_BF16, "w2_weight_scale",       CS_UNSPLIT, CS_WHOLE, 0, CS_PER_CHANNEL},
    {"{expert}.gate_proj.weight_zero_point", "If//P Hu//G", CS_I32,  CS_I32,  "w13_weight_zero_point", CS_ROWS,    CS_GATE,  0, CS_ASYMMETRIC | CS_UNLESS(CS_PER_CHANNEL) | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_zero_point",   "If//P Hu//G", CS_I32,  CS_I32,  "w13_weight_zero_point", CS_ROWS,    CS_UP,    0, CS_ASYMMETRIC | CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.down_proj.weight_zero_point", "Hu//P If//G", CS_I32,  CS_I32,  "w2_weight_zero_point",  CS_COLUMNS, CS_WHOLE, 0, CS_ASYMMETRIC | CS_UNLESS(CS_PER_CHANNEL)},
    {"{expert}.gate_proj.weight_zero_point", "If//P 1",     CS_I32,  CS_I32,  "w13_weight_zero_point", CS_ROWS,    CS_GATE,  0, CS_ASYMMETRIC | CS_PER_CHANNEL | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_zero_point",   "If//P 1",     CS_I32,  CS_I32,  "w13_weight_zero_point", CS_ROWS,    CS_UP,    0, CS_ASYMMETRIC | CS_PER_CHANNEL},
    {"{expert}.down_proj.weight_zero_point", "Hu//P 1",     CS_I32,  CS_I32,  "w2_weight_zero_point",  CS_UNSPLIT, CS_WHOLE, 0, CS_ASYMMETRIC | CS_PER_CHANNEL},
    {"{expert}.gate_proj.weight_shape",      "2",           CS_I64,  CS_I64,  "w13_weight_shape",      CS_UNSPLIT, CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_shape",        "2",           CS_I64,  CS_I64,  "w13_weight_shape",      CS_UNSPLIT, CS_UP,    0, 0},
    {"{expert}.down_proj.weight_shape",      "2",           CS_I64,  CS_I64,  "w2_weight_shape",       CS_UNSPLIT, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.bias",              "If",          CS_BF16, CS_BF16, "w13_bias",              CS_ROWS,    CS_GATE,  0, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.bias",                "If",          CS_BF16, CS_BF16, "w13_bias",              CS_ROWS,    CS_UP,    0, CS_WITH_BIAS},
    {"{expert}.down_proj.bias",              "Hu",          CS_BF16, CS_BF16, "w2_bias",               CS_UNSPLIT, CS_WHOLE, 0, CS_WITH_BIAS},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_ct_wna16 = {
    .name = "per_expert_ct_wna16",
    .text = "compressed-tensors WNA16; both shapes of gate and up go into one slot",
    .rows = ct_rows,
    .n_rows = CS_COUNT(ct_rows),
    .load = cs_load_standard,
};
