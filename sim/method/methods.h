/* What the files of this folder share: how a step is written, and who exists. */
#ifndef CS_METHODS_H
#define CS_METHODS_H

#include "sim/method/tables.h"

extern const struct cs_method cs_method_gpt_oss_mxfp4, cs_method_mxfp4;

extern const struct cs_step cs_gpt_oss_trtllm_steps[], cs_gpt_oss_emulation_steps[], cs_mxfp4_trtllm_steps[];
extern const size_t cs_n_gpt_oss_trtllm_steps, cs_n_gpt_oss_emulation_steps, cs_n_mxfp4_trtllm_steps;

#endif
