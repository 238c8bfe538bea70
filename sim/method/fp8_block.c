/* FP8 with one scale per block. Parameters: vllm quantization/fp8.py; the scale grid may be finer than the checkpoint's
 * (rounding.c). */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",           "E S*I H",         CS_E4M3, CS_INIT_EMPTY, false, 0,            NULL},
    {"w2_weight",            "E H I",           CS_E4M3, CS_INIT_EMPTY, false, 0,            NULL},
    {"w13_bias",             "E S*I",           CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
    {"w2_bias",              "E H",             CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
    {"w13_weight_scale_inv", "E I/+bn*S H/+bk", CS_F32,  CS_INIT_ONES,  true,  0,            NULL},
    {"w2_weight_scale_inv",  "E H/+bn I/+bk",   CS_F32,  CS_INIT_ONES,  true,  0,            NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_fp8_block", NULL};

const struct cs_method cs_method_fp8_block = {
    .name = "fp8_block",
    .text = "FP8, one scale per block of 128 x 128",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .usual = {.block = 128},
};
