/* Online quantisation: BF16 parameters that are quantised as soon as they are complete. Parameters: vllm
 * quantization/online/moe_base.py. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight", "E S*I H", CS_BF16, CS_INIT_EMPTY, false, 0,            NULL},
    {"w2_weight",  "E H I",   CS_BF16, CS_INIT_EMPTY, false, 0,            NULL},
    {"w13_bias",   "E S*I",   CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
    {"w2_bias",    "E H",     CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert", "fused_3d", "fused_3d_transposed", NULL};

const struct cs_method cs_method_online_fp8_tensor = {
    .name = "online_fp8_tensor",
    .text = "BF16 checkpoint, quantised to FP8 with one scale per projection",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .is_online = true,
};

const struct cs_method cs_method_online_fp8_channel = {
    .name = "online_fp8_channel",
    .text = "BF16 checkpoint, quantised to FP8 with one scale per row (ptpc)",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .is_online = true,
};

const struct cs_method cs_method_online_fp8_block = {
    .name = "online_fp8_block",
    .text = "BF16 checkpoint, quantised to FP8 with one scale per block of 128 x 128",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .is_online = true,
    .usual = {.block = 128},
};

const struct cs_method cs_method_online_mxfp8 = {
    .name = "online_mxfp8",
    .text = "BF16 checkpoint, quantised to MXFP8",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .is_online = true,
    .requantises = true,
};

const struct cs_method cs_method_online_mxfp4 = {
    .name = "online_mxfp4",
    .text = "BF16 checkpoint, quantised to MXFP4",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .is_online = true,
};
