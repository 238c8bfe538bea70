/* Generic MXFP4 without biases, as per-expert checkpoints have it: [gate; up] halves. Same upstream files as
 * gpt_oss_mxfp4.c. */
#include "sim/method/methods.h"

/* clang-format off */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E S*I H//2",  CS_U8,   CS_INIT_ZEROS, false, 0,            NULL},
    {"w13_weight_scale", "E S*I H//32", CS_U8,   CS_INIT_ZEROS, true,  0,            NULL},
    {"w2_weight",        "E H I//2",    CS_U8,   CS_INIT_ZEROS, false, 0,            NULL},
    {"w2_weight_scale",  "E H I//32",   CS_U8,   CS_INIT_ZEROS, true,  0,            NULL},
    {"w13_bias",         "E S*I",       CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
    {"w2_bias",          "E H",         CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_mxfp4", NULL};

const struct cs_method cs_method_mxfp4 = {
    .name = "mxfp4",
    .text = "generic MXFP4 without biases, [gate; up] halves",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
};

const struct cs_step cs_mxfp4_trtllm_steps[] = {
    CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_gated_shuffle32", "swizzle_128x4"),
    CS_DO_VIEW("w13_weight_scale", CS_E4M3),
    CS_DO_RELAYOUT("w2_weight", "shuffle32"),
    CS_DO_RELAYOUT("w2_weight_scale", "shuffle32", "swizzle_128x4"),
    CS_DO_VIEW("w2_weight_scale", CS_E4M3),
    CS_DO_REPLACE("w13_weight"),
    CS_DO_REPLACE("w13_weight_scale"),
    CS_DO_REPLACE("w2_weight"),
    CS_DO_REPLACE("w2_weight_scale"),
    CS_DO_CONFIG("w13_weight_scale", "_w1.scale"),
    CS_DO_CONFIG("w2_weight_scale", "_w2.scale"),
};
const size_t cs_n_mxfp4_trtllm_steps = CS_COUNT(cs_mxfp4_trtllm_steps);
