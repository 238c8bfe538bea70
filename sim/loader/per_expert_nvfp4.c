/* NVFP4 per-expert tensors. ModelOpt activation scales may be kept for the experts of every rank. */
#include "sim/loader/loaders.h"

/* clang-format off */
/*   tensor, shape, dtype, numbers of, parameter, split, shard, block, when */
static const struct cs_loader_row rows[] = {
    {"{expert}.gate_proj.weight",         "If Hu//2",  CS_U8,   CS_U8,   "w13_weight",         CS_ROWS,          CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight",           "If Hu//2",  CS_U8,   CS_U8,   "w13_weight",         CS_ROWS,          CS_UP,    0, 0},
    {"{expert}.down_proj.weight",         "Hu If//2",  CS_U8,   CS_U8,   "w2_weight",          CS_COLUMNS,       CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale",   "If Hu//16", CS_E4M3, CS_E4M3, "w13_weight_scale",   CS_ROWS,          CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",     "If Hu//16", CS_E4M3, CS_E4M3, "w13_weight_scale",   CS_ROWS,          CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale",   "Hu If//16", CS_E4M3, CS_E4M3, "w2_weight_scale",    CS_COLUMNS,       CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale_2", "",          CS_F32,  CS_F32,  "w13_weight_scale_2", CS_SCALAR,        CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale_2",   "",          CS_F32,  CS_F32,  "w13_weight_scale_2", CS_SCALAR,        CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale_2", "",          CS_F32,  CS_F32,  "w2_weight_scale_2",  CS_SCALAR,        CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.input_scale",    "",          CS_F32,  CS_F32,  "w13_input_scale",    CS_SCALAR_OF_ALL, CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.input_scale",      "",          CS_F32,  CS_F32,  "w13_input_scale",    CS_SCALAR_OF_ALL, CS_UP,    0, 0},
    {"{expert}.down_proj.input_scale",    "",          CS_F32,  CS_F32,  "w2_input_scale",     CS_SCALAR_OF_ALL, CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_nvfp4_modelopt = {
    .name = "per_expert_nvfp4_modelopt",
    .text = "ModelOpt NVFP4, gate, up and down of each expert apart",
    .rows = rows,
    .n_rows = CS_COUNT(rows),
    .load = cs_load_standard,
};

/* clang-format off */
static const struct cs_loader_row ct_rows[] = {
    {"{expert}.gate_proj.weight_packed",       "If Hu//2",  CS_U8,   CS_U8,   "w13_weight_packed",       CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_packed",         "If Hu//2",  CS_U8,   CS_U8,   "w13_weight_packed",       CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_packed",       "Hu If//2",  CS_U8,   CS_U8,   "w2_weight_packed",        CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_scale",        "If Hu//16", CS_E4M3, CS_E4M3, "w13_weight_scale",        CS_ROWS,    CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_scale",          "If Hu//16", CS_E4M3, CS_E4M3, "w13_weight_scale",        CS_ROWS,    CS_UP,    0, 0},
    {"{expert}.down_proj.weight_scale",        "Hu If//16", CS_E4M3, CS_E4M3, "w2_weight_scale",         CS_COLUMNS, CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.weight_global_scale", "1",         CS_F32,  CS_F32,  "w13_weight_global_scale", CS_SCALAR,  CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.weight_global_scale",   "1",         CS_F32,  CS_F32,  "w13_weight_global_scale", CS_SCALAR,  CS_UP,    0, 0},
    {"{expert}.down_proj.weight_global_scale", "1",         CS_F32,  CS_F32,  "w2_weight_global_scale",  CS_SCALAR,  CS_WHOLE, 0, 0},
    {"{expert}.gate_proj.input_global_scale",  "1",         CS_F32,  CS_F32,  "w13_input_global_scale",  CS_SCALAR,  CS_GATE,  0, CS_UNLESS(CS_NOT_GATED)},
    {"{expert}.up_proj.input_global_scale",    "1",         CS_F32,  CS_F32,  "w13_input_global_scale",  CS_SCALAR,  CS_UP,    0, 0},
    {"{expert}.down_proj.input_global_scale",  "1",         CS_F32,  CS_F32,  "w2_input_global_scale",   CS_SCALAR,  CS_WHOLE, 0, 0},
};
/* clang-format on */

const struct cs_loader cs_loader_per_expert_nvfp4_ct = {
    .name = "per_expert_nvfp4_ct",
    .text = "compressed-tensors NVFP4, gate, up and down of each expert apart",
    .rows = ct_rows,
    .n_rows = CS_COUNT(ct_rows),
    .load = cs_load_standard,
};
