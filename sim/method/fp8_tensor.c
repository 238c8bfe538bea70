/* FP8 with one scale per projection. Parameters: vllm quantization/fp8.py, modelopt.py and compressed_tensors/; the
 * checkpoint and the check of activation scales differ. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_EMPTY, false, 0,               NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_EMPTY, false, 0,               NULL},
    {"w13_bias",         "E S*I",   CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS,    NULL},
    {"w2_bias",          "E H",     CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS,    NULL},
    {"w13_weight_scale", "E S",     CS_F32,  CS_INIT_ONES,  true,  0,               NULL},
    {"w2_weight_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  0,               NULL},
    {"w13_input_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
    {"w2_input_scale",   "E",       CS_F32,  CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_fp8_tensor", NULL};

const struct cs_method cs_method_fp8_tensor = {
    .name = "fp8_tensor",
    .text = "FP8, one scale per projection",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
};

/* clang-format off */
static const struct cs_param_row modelopt_params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_EMPTY, false, 0, NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_EMPTY, false, 0, NULL},
    {"w13_weight_scale", "E S",     CS_F32,  CS_INIT_VALUE, true,  0, NULL},
    {"w2_weight_scale",  "E",       CS_F32,  CS_INIT_VALUE, true,  0, NULL},
    {"w13_input_scale",  "E",       CS_F32,  CS_INIT_VALUE, true,  0, NULL},
    {"w2_input_scale",   "E",       CS_F32,  CS_INIT_VALUE, true,  0, NULL},
};
/* clang-format on */

/* clang-format off */
const struct cs_method cs_method_fp8_tensor_modelopt = {
    .name = "fp8_tensor_modelopt", .text = "ModelOpt FP8, one scale per projection and activation scales",
    .params = modelopt_params, .n_params = CS_COUNT(modelopt_params), .loaders = loaders, .eplb = "", .usual = {.options = CS_STATIC_INPUT},
};
/* clang-format on */

/* clang-format off */
static const struct cs_param_row ct_params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_EMPTY, false, 0,               NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_EMPTY, false, 0,               NULL},
    {"w13_weight_scale", "E S",     CS_F32,  CS_INIT_ONES,  true,  0,               NULL},
    {"w2_weight_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  0,               NULL},
    {"w13_input_scale",  "E",       CS_F32,  CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
    {"w2_input_scale",   "E",       CS_F32,  CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
};
/* clang-format on */
static const char *const ct_loaders[] = {"per_expert_fp8_tensor_ct", NULL};

/* clang-format off */
const struct cs_method cs_method_fp8_tensor_ct = {
    .name = "fp8_tensor_ct", .text = "compressed-tensors FP8, one scale per projection; gate and up must agree on activation scales",
    .params = ct_params, .n_params = CS_COUNT(ct_params), .loaders = ct_loaders,
};
/* clang-format on */
