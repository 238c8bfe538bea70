/* gpt-oss in MXFP4. Parameters: vllm quantization/mxfp4.py create_weights; post-load: fused_moe/oracle/mxfp4.py.
 * The checkpoint interleaves gate and up rows; padding is one tail behind them. */
#include "sim/method/methods.h"

/* clang-format off */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E 2*I H//2", CS_U8,   CS_INIT_ZEROS, false, 0, NULL},
    {"w13_weight_scale", "E 2*I H//32", CS_U8,  CS_INIT_ZEROS, true, 0, NULL},
    {"w2_weight",        "E H I//2",   CS_U8,   CS_INIT_ZEROS, false, 0, NULL},
    {"w2_weight_scale",  "E H I//32",   CS_U8,  CS_INIT_ZEROS, true, 0, NULL},
    {"w13_bias",         "E 2*I",      CS_BF16, CS_INIT_ZEROS, false, 0, NULL},
    {"w2_bias",          "E H",        CS_BF16, CS_INIT_ZEROS, false, 0, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"gpt_oss_combined", "gpt_oss_streamed", NULL};

const struct cs_method cs_method_gpt_oss_mxfp4 = {
    .name = "gpt_oss_mxfp4",
    .text = "gpt-oss, MXFP4 weights with biases, gate and up rows interleaved",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .eplb = "",
    .usual = {.options = CS_WITH_BIAS},
};

/* FlashInfer TRT-LLM: up before gate, rows shuffled for its tiles, scales swizzled. */
/* clang-format off */
const struct cs_step cs_gpt_oss_trtllm_steps[] = {
    CS_DO_RELAYOUT("w13_weight",       "pairs_shuffle32"),
    CS_DO_RELAYOUT("w13_weight_scale", "pairs_shuffle32", "swizzle_128x4"),
    CS_DO_VIEW    ("w13_weight_scale", CS_E4M3),
    CS_DO_CAST    ("w13_bias",         CS_F32),
    CS_DO_RELAYOUT("w13_bias",         "pairs_shuffle32"),
    CS_DO_RELAYOUT("w2_weight",        "shuffle32"),
    CS_DO_RELAYOUT("w2_weight_scale",  "shuffle32", "swizzle_128x4"),
    CS_DO_VIEW    ("w2_weight_scale",  CS_E4M3),
    CS_DO_CAST    ("w2_bias",          CS_F32),
    CS_DO_RELAYOUT("w2_bias",          "shuffle32"),
    CS_DO_REPLACE ("w13_weight"), CS_DO_REPLACE("w13_weight_scale"), CS_DO_REPLACE("w13_bias"),
    CS_DO_REPLACE ("w2_weight"),  CS_DO_REPLACE("w2_weight_scale"),  CS_DO_REPLACE("w2_bias"),
    CS_DO_CONFIG  ("w13_weight_scale", "_w1.scale"),
    CS_DO_CONFIG  ("w13_bias",         "_w1.bias"),
    CS_DO_CONFIG  ("w2_weight_scale",  "_w2.scale"),
    CS_DO_CONFIG  ("w2_bias",          "_w2.bias"),
    CS_DO_CONSTANT("gemm1_alpha",      1.702f), /* created by the experts object's constructor: new memory at each post-load */
    CS_DO_CONSTANT("gemm1_beta",       1.0f),
    CS_DO_CONSTANT("gemm1_clamp_limit", 7.0f),
};
/* clang-format on */
const size_t cs_n_gpt_oss_trtllm_steps = CS_COUNT(cs_gpt_oss_trtllm_steps);

/* Emulation: no relayout, no dtype change, no constants; the quant config is rebuilt all the same. */
const struct cs_step cs_gpt_oss_emulation_steps[] = {
    CS_DO_CONFIG("w13_weight_scale", "_w1.scale"),
    CS_DO_CONFIG("w13_bias", "_w1.bias"),
    CS_DO_CONFIG("w2_weight_scale", "_w2.scale"),
    CS_DO_CONFIG("w2_bias", "_w2.bias"),
};
const size_t cs_n_gpt_oss_emulation_steps = CS_COUNT(cs_gpt_oss_emulation_steps);
