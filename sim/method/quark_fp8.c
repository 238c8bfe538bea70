/* Quark FP8. Parameters: vllm quantization/quark/quark_moe.py; gpt-oss has one scale for both halves of w13. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_ZEROS, false, 0,               NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_ZEROS, false, 0,               NULL},
    {"w13_weight_scale", "E S",     CS_F32,  CS_INIT_ONES,  true,  0,               NULL},
    {"w2_weight_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  0,               NULL},
    {"w13_input_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
    {"w2_input_scale",   "E",       CS_F32,  CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_fp8_tensor", NULL};

const struct cs_method cs_method_quark_fp8_tensor = {
    .name = "quark_fp8_tensor",
    .text = "Quark FP8, one scale per projection",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .eplb = "",
};

/* clang-format off */
static const struct cs_param_row channel_params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_ZEROS, false, 0, NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_ZEROS, false, 0, NULL},
    {"w13_weight_scale", "E S*I",   CS_F32,  CS_INIT_ONES,  true,  0, NULL},
    {"w2_weight_scale",  "E H",     CS_F32,  CS_INIT_ONES,  true,  0, NULL},
};
/* clang-format on */
static const char *const channel_loaders[] = {"per_expert_quark_fp8_channel", NULL};

const struct cs_method cs_method_quark_fp8_channel = {
    .name = "quark_fp8_channel",
    .text = "Quark FP8, one scale per row",
    .params = channel_params,
    .n_params = CS_COUNT(channel_params),
    .loaders = channel_loaders,
    .eplb = "",
};

/* clang-format off */
static const struct cs_param_row block_params[] = {
    {"w13_weight",       "E S*I H",         CS_E4M3, CS_INIT_ZEROS, false, 0, NULL},
    {"w2_weight",        "E H I",           CS_E4M3, CS_INIT_ZEROS, false, 0, NULL},
    {"w13_weight_scale", "E I/+Bn*S H/+Bk", CS_F32,  CS_INIT_ONES,  true,  0, NULL},
    {"w2_weight_scale",  "E H/+Bn I/+Bk",   CS_F32,  CS_INIT_ONES,  true,  0, NULL},
};
/* clang-format on */
static const char *const block_loaders[] = {"per_expert_quark_fp8_block", NULL};

const struct cs_method cs_method_quark_fp8_block = {
    .name = "quark_fp8_block",
    .text = "Quark FP8, one scale per block of 128 x 128",
    .params = block_params,
    .n_params = CS_COUNT(block_params),
    .loaders = block_loaders,
    .eplb = "",
    .usual = {.block = 128},
};

/* clang-format off */
static const struct cs_param_row gpt_oss_params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_ZEROS, false, 0,            NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_ZEROS, false, 0,            NULL},
    {"w13_weight_scale", "E 1",     CS_F32,  CS_INIT_ONES,  true,  0,            NULL},
    {"w2_weight_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  0,            NULL},
    {"w13_input_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  0,            NULL},
    {"w2_input_scale",   "E",       CS_F32,  CS_INIT_ONES,  true,  0,            NULL},
    {"w13_bias",         "E S*I",   CS_F32,  CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
    {"w2_bias",          "E H",     CS_F32,  CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
};
/* clang-format on */
static const char *const gpt_oss_loaders[] = {"gpt_oss_quark_fp8", NULL};

/* clang-format off */
const struct cs_method cs_method_quark_fp8_gpt_oss = {
    .name = "quark_fp8_gpt_oss", .text = "gpt-oss in Quark FP8, gate and up rows interleaved",
    .params = gpt_oss_params, .n_params = CS_COUNT(gpt_oss_params), .loaders = gpt_oss_loaders, .eplb = "", .usual = {.options = CS_STATIC_INPUT | CS_WITH_BIAS},
};
/* clang-format on */
