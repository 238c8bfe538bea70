/* NVFP4. Parameters: vllm quantization/modelopt.py and compressed_tensors/. Back ends that need one activation scale
 * keep every rank's (Ei). */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight",         "E S*I H//2",  CS_U8,   CS_INIT_EMPTY, false, 0, NULL},
    {"w2_weight",          "E H I//2",    CS_U8,   CS_INIT_EMPTY, false, 0, NULL},
    {"w13_weight_scale",   "E S*I H//16", CS_E4M3, CS_INIT_EMPTY, true,  0, NULL},
    {"w2_weight_scale",    "E H I//16",   CS_E4M3, CS_INIT_EMPTY, true,  0, NULL},
    {"w13_weight_scale_2", "E S",         CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w2_weight_scale_2",  "E",           CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w13_input_scale",    "Ei S",        CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w2_input_scale",     "Ei",          CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_nvfp4_modelopt", NULL};

const struct cs_method cs_method_nvfp4_modelopt = {
    .name = "nvfp4_modelopt",
    .text = "ModelOpt NVFP4",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
};

/* clang-format off */
static const struct cs_param_row ct_params[] = {
    {"w13_weight_packed",       "E S*I H//2",  CS_U8,   CS_INIT_EMPTY, false, 0, NULL},
    {"w2_weight_packed",        "E H I//2",    CS_U8,   CS_INIT_EMPTY, false, 0, NULL},
    {"w13_weight_scale",        "E S*I H//16", CS_E4M3, CS_INIT_EMPTY, true,  0, NULL},
    {"w2_weight_scale",         "E H I//16",   CS_E4M3, CS_INIT_EMPTY, true,  0, NULL},
    {"w13_weight_global_scale", "E S",         CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w2_weight_global_scale",  "E",           CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w13_input_global_scale",  "Ei S",        CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w2_input_global_scale",   "Ei",          CS_F32,  CS_INIT_EMPTY, true,  0, NULL},
};
/* clang-format on */
static const char *const ct_loaders[] = {"per_expert_nvfp4_ct", NULL};

const struct cs_method cs_method_nvfp4_ct = {
    .name = "nvfp4_ct",
    .text = "compressed-tensors NVFP4",
    .params = ct_params,
    .n_params = CS_COUNT(ct_params),
    .loaders = ct_loaders,
    .eplb = "cutedsl cutedsl_batched flashinfer_trtllm",
};
