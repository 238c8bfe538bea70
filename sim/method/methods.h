/* What the files of this folder share: how a step is written, and who exists. */
#ifndef CS_METHODS_H
#define CS_METHODS_H

#include "sim/method/tables.h"

extern const struct cs_method cs_method_awq, cs_method_ct_wna16, cs_method_fp8_block, cs_method_fp8_channel,
    cs_method_fp8_tensor, cs_method_fp8_tensor_ct, cs_method_fp8_tensor_modelopt, cs_method_gpt_oss_mxfp4,
    cs_method_gptq, cs_method_mxfp4, cs_method_mxfp4_ct, cs_method_mxfp8_modelopt, cs_method_nvfp4_ct,
    cs_method_nvfp4_modelopt, cs_method_online_fp8_block, cs_method_online_fp8_channel, cs_method_online_fp8_tensor,
    cs_method_online_mxfp4, cs_method_online_mxfp8, cs_method_quark_fp8_block, cs_method_quark_fp8_channel,
    cs_method_quark_fp8_gpt_oss, cs_method_quark_fp8_tensor, cs_method_quark_mx, cs_method_unquantized;

extern const struct cs_step cs_gpt_oss_trtllm_steps[], cs_gpt_oss_emulation_steps[], cs_mxfp4_trtllm_steps[];
extern const size_t cs_n_gpt_oss_trtllm_steps, cs_n_gpt_oss_emulation_steps, cs_n_mxfp4_trtllm_steps;

#endif
