/* The loaders of this folder, for its registry. */
#ifndef CS_LOADERS_H
#define CS_LOADERS_H

#include "sim/loader/loader.h"

extern const struct cs_loader cs_loader_fused_3d, cs_loader_fused_3d_transposed, cs_loader_gpt_oss_bf16_combined,
    cs_loader_gpt_oss_bf16_streamed, cs_loader_gpt_oss_combined, cs_loader_gpt_oss_quark_fp8,
    cs_loader_gpt_oss_quark_mx, cs_loader_gpt_oss_quark_mx_combined, cs_loader_gpt_oss_streamed, cs_loader_llama4,
    cs_loader_per_expert, cs_loader_per_expert_awq, cs_loader_per_expert_ct_wna16, cs_loader_per_expert_fp8_block,
    cs_loader_per_expert_fp8_channel, cs_loader_per_expert_fp8_tensor, cs_loader_per_expert_fp8_tensor_ct,
    cs_loader_per_expert_gate_up, cs_loader_per_expert_gptq, cs_loader_per_expert_mxfp4, cs_loader_per_expert_mxfp4_ct,
    cs_loader_per_expert_mxfp8, cs_loader_per_expert_nvfp4_ct, cs_loader_per_expert_nvfp4_modelopt,
    cs_loader_per_expert_quark_fp8_block, cs_loader_per_expert_quark_fp8_channel, cs_loader_per_expert_quark_mx;

#endif
