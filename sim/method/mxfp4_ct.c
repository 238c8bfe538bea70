/* compressed-tensors MXFP4; nothing is rounded, and w2 loses a partial last block of scales. Parameters: vllm
 * quantization/compressed_tensors/. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight_packed", "E S*I H//2",  CS_U8, CS_INIT_EMPTY, false, 0, NULL},
    {"w2_weight_packed",  "E H I//2",    CS_U8, CS_INIT_EMPTY, false, 0, NULL},
    {"w13_weight_scale",  "E S*I H//32", CS_U8, CS_INIT_EMPTY, true,  0, NULL},
    {"w2_weight_scale",   "E H I//32",   CS_U8, CS_INIT_EMPTY, true,  0, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_mxfp4_ct", NULL};

const struct cs_method cs_method_mxfp4_ct = {
    .name = "mxfp4_ct",
    .text = "compressed-tensors MXFP4",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .eplb = "",
};
