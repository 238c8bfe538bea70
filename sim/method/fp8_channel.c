/* FP8 with one scale per output row. Parameters: vllm quantization/compressed_tensors/. */
#include "sim/method/methods.h"

/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E S*I H", CS_E4M3, CS_INIT_EMPTY, false, 0, NULL},
    {"w2_weight",        "E H I",   CS_E4M3, CS_INIT_EMPTY, false, 0, NULL},
    {"w13_weight_scale", "E S*I 1", CS_F32,  CS_INIT_ONES,  true,  0, NULL},
    {"w2_weight_scale",  "E H 1",   CS_F32,  CS_INIT_ONES,  true,  0, NULL},
};
static const char *const loaders[] = {"per_expert_fp8_channel", NULL};

const struct cs_method cs_method_fp8_channel = {
    .name = "fp8_channel", .text = "compressed-tensors FP8, one scale per row",
    .params = params, .n_params = CS_COUNT(params), .loaders = loaders,
};
