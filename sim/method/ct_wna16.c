/* compressed-tensors WNA16, N first whatever the back end. Parameters: vllm quantization/compressed_tensors/. */
#include "sim/method/methods.h"

/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight_packed",     "E S*I H//P",    CS_I32,  CS_INIT_EMPTY, false, 0,                                         NULL},
    {"w2_weight_packed",      "E H I//P",      CS_I32,  CS_INIT_EMPTY, false, 0,                                         NULL},
    {"w13_bias",              "E S*I",         CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS,                              NULL},
    {"w2_bias",               "E H",           CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS,                              NULL},
    {"w13_weight_scale",      "E S*I H//G",    CS_BF16, CS_INIT_ONES,  true,  CS_UNLESS(CS_PER_CHANNEL),                 NULL},
    {"w13_weight_scale",      "E S*I 1",       CS_BF16, CS_INIT_ONES,  true,  CS_PER_CHANNEL,                            NULL},
    {"w2_weight_scale",       "E H I//G",      CS_BF16, CS_INIT_ONES,  true,  CS_UNLESS(CS_PER_CHANNEL),                 NULL},
    {"w2_weight_scale",       "E H 1",         CS_BF16, CS_INIT_ONES,  true,  CS_PER_CHANNEL,                            NULL},
    {"w13_weight_zero_point", "E S*I//P H//G", CS_I32,  CS_INIT_ZEROS, true,  CS_ASYMMETRIC | CS_UNLESS(CS_PER_CHANNEL), NULL},
    {"w2_weight_zero_point",  "E H//P I//G",   CS_I32,  CS_INIT_ZEROS, true,  CS_ASYMMETRIC | CS_UNLESS(CS_PER_CHANNEL), NULL},
    {"w13_weight_zero_point", "E S*I//P 1",    CS_I32,  CS_INIT_ZEROS, true,  CS_ASYMMETRIC | CS_PER_CHANNEL,            NULL},
    {"w2_weight_zero_point",  "E H//P 1",      CS_I32,  CS_INIT_ZEROS, true,  CS_ASYMMETRIC | CS_PER_CHANNEL,            NULL},
    {"w2_weight_shape",       "E 2",           CS_F32,  CS_INIT_EMPTY, false, 0,                                         NULL},
    {"w13_weight_shape",      "E 2",           CS_F32,  CS_INIT_EMPTY, false, 0,                                         NULL},
};
static const char *const loaders[] = {"per_expert_ct_wna16", NULL};

const struct cs_method cs_method_ct_wna16 = {
    .name = "ct_wna16", .text = "compressed-tensors integers of 4 or 8 bits in words along K",
    .params = params, .n_params = CS_COUNT(params), .loaders = loaders, .eplb = "triton", .usual = {.bits = 4, .group = 128},
};
