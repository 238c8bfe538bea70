/* ModelOpt MXFP8. Parameters: vllm quantization/modelopt.py. */
#include "sim/method/methods.h"

/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",       "E S*I H",    CS_E4M3, CS_INIT_EMPTY, false, 0, NULL},
    {"w2_weight",        "E H I",      CS_E4M3, CS_INIT_EMPTY, false, 0, NULL},
    {"w13_weight_scale", "E S*I H/32", CS_U8,   CS_INIT_EMPTY, true,  0, NULL},
    {"w2_weight_scale",  "E H I/32",   CS_U8,   CS_INIT_EMPTY, true,  0, NULL},
};
static const char *const loaders[] = {"per_expert_mxfp8", NULL};

const struct cs_method cs_method_mxfp8_modelopt = {
    .name = "mxfp8_modelopt", .text = "ModelOpt MXFP8",
    .params = params, .n_params = CS_COUNT(params), .loaders = loaders, .eplb = "",
};
