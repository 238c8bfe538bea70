/* AWQ, K first. Parameters: vllm quantization/auto_awq.py. */
#include "sim/method/methods.h"

/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_qweight", "E H S*I//P",    CS_I32,  CS_INIT_EMPTY, false, 0, NULL},
    {"w2_qweight",  "E I H//P",      CS_I32,  CS_INIT_EMPTY, false, 0, NULL},
    {"w13_scales",  "E H//G S*I",    CS_BF16, CS_INIT_EMPTY, true,  0, NULL},
    {"w2_scales",   "E I//G H",      CS_BF16, CS_INIT_EMPTY, true,  0, NULL},
    {"w13_qzeros",  "E H//G S*I//P", CS_I32,  CS_INIT_EMPTY, true,  0, NULL},
    {"w2_qzeros",   "E I//G H//P",   CS_I32,  CS_INIT_EMPTY, true,  0, NULL},
};
static const char *const loaders[] = {"per_expert_awq", NULL};

const struct cs_method cs_method_awq = {
    .name = "awq", .text = "AWQ, integers of 4 bits in words along N",
    .params = params, .n_params = CS_COUNT(params), .loaders = loaders, .needs_whole_groups = true, .only_bits = 4, .eplb = "", .usual = {.options = CS_ASYMMETRIC, .bits = 4, .group = 128},
};
