/* What the files of this folder share: how a step is written, and who exists. */
#ifndef CS_METHODS_H
#define CS_METHODS_H

#include "sim/method/method.h"

/* Objects that post-load rebuilds: the config is reachable from the quant method and from the kernel. */
#define CS_CONFIG_PATHS(field)                                                                                         \
    (const char *const[]) {                                                                                            \
        "quant_method.moe_quant_config." field, "quant_method.moe_kernel.fused_experts.quant_config." field, NULL      \
    }
#define CS_EXPERTS_PATHS(field)                                                                                        \
    (const char *const[]) { "quant_method.moe_kernel.fused_experts." field, NULL }

#define CS_DO_RELAYOUT(name, ...) {.kind = CS_STEP_RELAYOUT, .param = name, .chain = {__VA_ARGS__}}
#define CS_DO_CAST(name, to)      {.kind = CS_STEP_CAST, .param = name, .dtype = to}
#define CS_DO_VIEW(name, to)      {.kind = CS_STEP_VIEW, .param = name, .dtype = to}
#define CS_DO_REPLACE(name)       {.kind = CS_STEP_REPLACE, .param = name}
#define CS_DO_CONFIG(name, field) {.kind = CS_STEP_CONFIG, .param = name, .paths = CS_CONFIG_PATHS(field)}
#define CS_DO_CONSTANT(field, number)                                                                                  \
    {.kind = CS_STEP_CONSTANT, .param = field, .value = number, .paths = CS_EXPERTS_PATHS(field)}

extern const struct cs_method cs_method_gpt_oss_mxfp4, cs_method_mxfp4;

extern const struct cs_step cs_gpt_oss_trtllm_steps[], cs_gpt_oss_emulation_steps[], cs_mxfp4_trtllm_steps[];
extern const size_t cs_n_gpt_oss_trtllm_steps, cs_n_gpt_oss_emulation_steps, cs_n_mxfp4_trtllm_steps;

#endif
