/* Quark OCP MX: e2m1, e3m2 or e2m3 elements, e8m0 scales that are created as integer ones. Parameters: vllm
 * quantization/quark/quark_moe.py. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E S*I H*B/8", CS_U8,  CS_INIT_ZEROS, false, 0,               NULL},
    {"w2_weight",        "E H I*B/8",   CS_U8,  CS_INIT_ZEROS, false, 0,               NULL},
    {"w13_weight_scale", "E S*I H//32", CS_U8,  CS_INIT_ONES,  true,  0,               NULL},
    {"w2_weight_scale",  "E H I//32",   CS_U8,  CS_INIT_ONES,  true,  0,               NULL},
    {"w13_bias",         "E S*I",       CS_F32, CS_INIT_ZEROS, false, CS_WITH_BIAS,    NULL},
    {"w2_bias",          "E H",         CS_F32, CS_INIT_ZEROS, false, CS_WITH_BIAS,    NULL},
    {"w13_input_scale",  "E",           CS_F32, CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
    {"w2_input_scale",   "E",           CS_F32, CS_INIT_ONES,  true,  CS_STATIC_INPUT, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_quark_mx", "gpt_oss_quark_mx", "gpt_oss_quark_mx_combined", NULL};

const struct cs_method cs_method_quark_mx = {
    .name = "quark_mx",
    .text = "Quark OCP MX weights of 4 or 6 bits",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .usual = {.bits = 4},
};
