/* GPTQ, K first. Parameters: vllm quantization/auto_gptq.py. Biases are always created (found: F25), and a partial last
 * group is lost. */
#include "sim/method/methods.h"

/* clang-format off */
/*   parameter, shape, dtype, created, is it a scale, when, weight_loader_numel */
static const struct cs_param_row params[] = {
    {"w13_qweight", "E H//P S*I",    CS_I32,  CS_INIT_EMPTY, false, 0,                         NULL},
    {"w2_qweight",  "E I//P H",      CS_I32,  CS_INIT_EMPTY, false, 0,                         NULL},
    {"w13_scales",  "E H//G S*I",    CS_BF16, CS_INIT_EMPTY, true,  CS_UNLESS(CS_PER_CHANNEL), NULL},
    {"w13_scales",  "E 1 S*I",       CS_BF16, CS_INIT_EMPTY, true,  CS_PER_CHANNEL,            NULL},
    {"w2_scales",   "E I//G H",      CS_BF16, CS_INIT_EMPTY, true,  CS_UNLESS(CS_PER_CHANNEL), NULL},
    {"w2_scales",   "E 1 H",         CS_BF16, CS_INIT_EMPTY, true,  CS_PER_CHANNEL,            NULL},
    {"w13_qzeros",  "E H//G S*I//P", CS_I32,  CS_INIT_EMPTY, true,  CS_UNLESS(CS_PER_CHANNEL), NULL},
    {"w13_qzeros",  "E 1 S*I//P",    CS_I32,  CS_INIT_EMPTY, true,  CS_PER_CHANNEL,            NULL},
    {"w2_qzeros",   "E I//G H//P",   CS_I32,  CS_INIT_EMPTY, true,  CS_UNLESS(CS_PER_CHANNEL), NULL},
    {"w2_qzeros",   "E 1 H//P",      CS_I32,  CS_INIT_EMPTY, true,  CS_PER_CHANNEL,            NULL},
    {"w13_bias",    "E S*I",         CS_BF16, CS_INIT_ZEROS, false, 0,                         NULL},
    {"w2_bias",     "E H",           CS_BF16, CS_INIT_ZEROS, false, 0,                         NULL},
};
/* clang-format on */
static const char *const loaders[] = {"per_expert_gptq", NULL};

const struct cs_method cs_method_gptq = {
    .name = "gptq",
    .text = "GPTQ, integers of 4 or 8 bits in words along K",
    .params = params,
    .n_params = CS_COUNT(params),
    .loaders = loaders,
    .eplb = "",
    .usual = {.bits = 4, .group = 128},
};
