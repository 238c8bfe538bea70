/* Unquantized BF16. Parameters: vllm fused_moe/unquantized_fused_moe_method.py. They alone say how many elements a full
 * load writes. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_weight", "E S*I H", CS_BF16, CS_INIT_EMPTY, false, 0,            "E*S*Iu*Hu"},
    {"w13_bias",   "E S*I",   CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, "E*S*Iu"},
    {"w2_weight",  "E H I",   CS_BF16, CS_INIT_EMPTY, false, 0,            "E*Hu*Iu"},
    {"w2_bias",    "E H",     CS_BF16, CS_INIT_ZEROS, false, CS_WITH_BIAS, "E*Hu"},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert",
                                      "per_expert_gate_up",
                                      "fused_3d",
                                      "fused_3d_transposed",
                                      "llama4",
                                      "gpt_oss_bf16_combined",
                                      "gpt_oss_bf16_streamed",
                                      NULL};

const struct cs_method cs_method_unquantized = {
    .name = "unquantized",
    .text = "BF16 weights as they are",
    .builds_once = true,
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
};
