/* Back ends of each method: what they round I and H to, and their post-load. The multiples are those of CUDA, without
 * an activation, as gpt-oss asks for them. Source: vllm fused_moe/oracle/mxfp4.py. */
#include "sim/method/methods.h"
#include "sim/method/rounding.h"

#include <string.h>
#include <strings.h>

#define UNROUNDED                                                                                                      \
    { 0, 0 }
#define SAME                                                                                                           \
    { 0, 0 }
#define STEPS(name) cs_##name##_steps, &cs_n_##name##_steps, NULL, 0, NULL, false
/* With a rounding rule, and options that it brings about. */
#define STEPS_AND(name, rule, options) cs_##name##_steps, &cs_n_##name##_steps, rule, options, NULL, false
/* Why there is no post-load: out of our reach, or refused by upstream too. */
#define NO_STEPS(why)          NULL, NULL, NULL, 0, why, false
#define REFUSED(why)           NULL, NULL, NULL, 0, why, true
#define REFUSED_AND(rule, why) NULL, NULL, rule, 0, why, true

/* clang-format off */
#define NO_CUTLASS "vLLM's CUTLASS FP8 kernels are disabled for this method"
#define NO_B12X    "b12x packs weights in its own library, in a layout that is not described"
#define NO_AITER_TRITON "layouts of AITER's Triton kernels were not captured"
#define NO_CPU     "layouts of CPU kernels are not described"
/* method           name                  upstream names                                                    I, H     reference */
const struct cs_backend cs_backends[] = {
    {"gpt_oss_mxfp4", "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",   {128, 256}, {256, 256}, STEPS(gpt_oss_trtllm)},
    {"gpt_oss_mxfp4", "emulation",          "EMULATION",                                                    {32, 32},   SAME, STEPS(gpt_oss_emulation)},
    {"gpt_oss_mxfp4", "aiter",              "AITER_MXFP4_MXFP4", {64, 0}, SAME, STEPS(mxfp4_aiter)},
    {"gpt_oss_mxfp4", "aiter_bf16", "AITER_MXFP4_BF16", {64, 0}, SAME, STEPS(gpt_oss_aiter_bf16)},
    {"gpt_oss_mxfp4", "aiter_triton", "AITER_TRITON_MXFP4_BF16 AITER_MXFP4_FP8 AITER_TRITON_MXFP4_MXFP4", {64, 0}, SAME, NO_STEPS(NO_AITER_TRITON)},
    {"gpt_oss_mxfp4", "b12x",               "B12X_MXFP4_BF16 B12X_MXFP4_MXFP8",                             UNROUNDED,  SAME, NO_STEPS(NO_B12X)},
    {"gpt_oss_mxfp4", "cpu",                "CPU",                                                          {32, 32},   SAME, NO_STEPS(NO_CPU)},
    {"gpt_oss_mxfp4", "cutlass",            "CUTLASS_MXFP4_MXFP4",                                          {128, 128}, SAME, REFUSED("gpt-oss checkpoints are not converted for vLLM's CUTLASS MXFP4 kernels")},
    {"gpt_oss_mxfp4", "deepgemm",           "DEEPGEMM_MXFP4",                                               {128, 128}, SAME, STEPS(mxfp4_deepgemm)},
    {"gpt_oss_mxfp4", "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16", {128, 128}, SAME, STEPS(gpt_oss_cutlass_bf16)},
    {"gpt_oss_mxfp4", "flashinfer_cutlass_mxfp8", "FLASHINFER_CUTLASS_MXFP4_MXFP8", {128, 128}, SAME, STEPS(gpt_oss_cutlass_mxfp8)},
    {"gpt_oss_mxfp4", "flashinfer_moe_ep",  "FLASHINFER_MOE_EP_CUTEDSL FLASHINFER_MOE_EP_DEEP_GEMM",        UNROUNDED,  SAME, NO_STEPS("its kernel packs weights in its own buffers, in a layout that is not described")},
    {"gpt_oss_mxfp4", "humming",            "HUMMING",                                                      {64, 0},    SAME, NO_STEPS("Humming's layouts are not described")},
    {"gpt_oss_mxfp4", "marlin",             "MARLIN BATCHED_MARLIN",                                        {128, 256}, SAME, STEPS(mxfp4_marlin)},
    {"gpt_oss_mxfp4", "no_backend",         "NONE",                                                         {64, 0},    SAME, NO_STEPS("it stands for no kernel: post-load does nothing and nothing can run")},
    {"gpt_oss_mxfp4", "triton",             "TRITON TRITON_UNFUSED",                                        {64, 0},    SAME, STEPS(gpt_oss_triton)},
    {"gpt_oss_mxfp4", "triton_blackwell", "TRITON TRITON_UNFUSED", {64, 0}, SAME, STEPS(gpt_oss_triton_blackwell)},
    {"gpt_oss_mxfp4", "xpu",                "XPU",                                                          {64, 0},    SAME, NO_STEPS("Intel GPUs are out of reach")},
    {"mxfp4",         "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",   {128, 256}, {256, 256}, STEPS(mxfp4_trtllm)},
    {"awq",             "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(awq_marlin)},
    {"ct_wna16",        "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS_AND(ct_wna16_trtllm, cs_round_by_group_only, 0)},
    {"ct_wna16",        "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS_AND(ct_wna16_marlin, cs_round_by_group, 0)},
    {"fp8_block",       "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS_AND(fp8_block_aiter, cs_round_fp8_block, 0)},
    {"fp8_block",       "deepgemm",           "DEEPGEMM BATCHED_DEEPGEMM",                                     UNROUNDED,  SAME, STEPS_AND(fp8_block_deepgemm, cs_round_fp8_block, 0)},
    {"fp8_block",       "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS_AND(fp8_block_flashinfer_cutlass, cs_round_fp8_block, 0)},
    {"fp8_block",       "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS_AND(fp8_block_trtllm, cs_round_fp8_block, 0)},
    {"fp8_block",       "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS_AND(fp8_block_marlin, cs_round_fp8_block, 0)},
    {"fp8_block",       "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS_AND(fp8_block_triton, cs_round_fp8_block_refined, 0)},
    {"fp8_block",       "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED_AND(cs_round_fp8_block, NO_CUTLASS)},
    {"fp8_channel",     "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(fp8_channel_aiter)},
    {"fp8_channel",     "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(fp8_channel_marlin)},
    {"fp8_channel",     "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(fp8_channel_triton)},
    {"fp8_channel",     "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, STEPS(fp8_channel_cutlass)},
    {"fp8_tensor",      "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(fp8_tensor_aiter)},
    {"fp8_tensor",      "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS(fp8_tensor_flashinfer_cutlass)},
    {"fp8_tensor",      "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS(fp8_tensor_trtllm)},
    {"fp8_tensor",      "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(fp8_tensor_marlin)},
    {"fp8_tensor",      "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(fp8_tensor_triton)},
    {"fp8_tensor",      "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"fp8_tensor_ct",   "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(fp8_tensor_aiter)},
    {"fp8_tensor_ct",   "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS(fp8_tensor_flashinfer_cutlass)},
    {"fp8_tensor_ct",   "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS(fp8_tensor_trtllm)},
    {"fp8_tensor_ct",   "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(fp8_tensor_marlin)},
    {"fp8_tensor_ct",   "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(fp8_tensor_triton)},
    {"fp8_tensor_ct",   "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, STEPS(fp8_tensor_cutlass)},
    {"fp8_tensor_modelopt", "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(fp8_tensor_aiter)},
    {"fp8_tensor_modelopt", "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS(fp8_tensor_flashinfer_cutlass)},
    {"fp8_tensor_modelopt", "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS(fp8_tensor_trtllm)},
    {"fp8_tensor_modelopt", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(fp8_tensor_marlin)},
    {"fp8_tensor_modelopt", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(fp8_tensor_triton)},
    {"fp8_tensor_modelopt", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"gptq",            "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS_AND(gptq_marlin, cs_round_gptq, 0)},
    {"mxfp4",           "aiter",              "AITER_MXFP4_MXFP4", {64, 0},    SAME, STEPS(mxfp4_aiter)},
    {"mxfp4", "aiter_bf16", "AITER_MXFP4_BF16", {64, 0}, SAME, STEPS(mxfp4_aiter_bf16)},
    {"mxfp4", "aiter_triton", "AITER_TRITON_MXFP4_BF16 AITER_MXFP4_FP8 AITER_TRITON_MXFP4_MXFP4", {64, 0}, SAME, NO_STEPS(NO_AITER_TRITON)},
    {"mxfp4",           "b12x",               "B12X_MXFP4_BF16 B12X_MXFP4_MXFP8",                              UNROUNDED,  SAME, NO_STEPS(NO_B12X)},
    {"mxfp4",           "cpu",                "CPU",                                                           {32, 32},   SAME, NO_STEPS(NO_CPU)},
    {"mxfp4",           "cutlass",            "CUTLASS_MXFP4_MXFP4",                                           {128, 128}, SAME, STEPS(mxfp4_cutlass)},
    {"mxfp4",           "deepgemm",           "DEEPGEMM_MXFP4",                                                {128, 128}, SAME, STEPS(mxfp4_deepgemm)},
    {"mxfp4",           "emulation",          "EMULATION",                                                     {32, 32},   SAME, STEPS(mxfp4_emulation)},
    {"mxfp4",           "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16",  {128, 128}, SAME, STEPS(mxfp4_cutlass_bf16)},
    {"mxfp4", "flashinfer_cutlass_mxfp8", "FLASHINFER_CUTLASS_MXFP4_MXFP8", {128, 128}, SAME, STEPS(mxfp4_cutlass_mxfp8)},
    {"mxfp4",           "marlin",             "MARLIN BATCHED_MARLIN",                                         {128, 256}, SAME, STEPS(mxfp4_marlin)},
    {"mxfp4",           "triton",             "TRITON",                                         {64, 0},    SAME, STEPS(mxfp4_triton)},
    {"mxfp4", "triton_blackwell", "TRITON", {64, 0}, SAME, STEPS(mxfp4_triton_blackwell)},
    {"mxfp4", "triton_unfused", "TRITON_UNFUSED", {64, 0}, SAME, STEPS(gpt_oss_triton)},
    {"mxfp4", "triton_unfused_blackwell", "TRITON_UNFUSED", {64, 0}, SAME, STEPS(gpt_oss_triton_blackwell)},
    {"mxfp4_ct",        "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(mxfp4_ct_marlin)},
    {"mxfp8_modelopt",  "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS_AND(mxfp8_trtllm, cs_round_by_32, 0)},
    {"mxfp8_modelopt", "emulation", "EMULATION", UNROUNDED, SAME, STEPS_AND(mxfp8_emulation, cs_round_by_32, 0)},
    {"mxfp8_modelopt",  "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS_AND(mxfp8_marlin, cs_round_by_32, 0)},
    {"mxfp8_modelopt",  "triton",             "TRITON",                                                        UNROUNDED,  SAME, STEPS_AND(mxfp8_triton, cs_round_by_32, 0)},
    {"nvfp4_ct",        "b12x",               "B12X",                                                          UNROUNDED,  SAME, NO_STEPS(NO_B12X)},
    {"nvfp4_ct",        "cutedsl",            "FLASHINFER_CUTEDSL CUTEDSL",                                    UNROUNDED,  SAME, STEPS(nvfp4_ct_cutedsl)},
    {"nvfp4_ct", "cutedsl_batched", "FLASHINFER_CUTEDSL_BATCHED", UNROUNDED, SAME, STEPS_AND(nvfp4_ct_cutedsl_batched, NULL, 0)},
    {"nvfp4_ct",        "emulation",          "EMULATION",                                                     UNROUNDED,  SAME, STEPS(nvfp4_ct_emulation)},
    {"nvfp4_ct",        "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS(nvfp4_ct_flashinfer_cutlass)},
    {"nvfp4_ct", "flashinfer_b12x", "FLASHINFER_B12X", UNROUNDED, SAME, STEPS_AND(nvfp4_ct_flashinfer_b12x, NULL, 0)},
    {"nvfp4_ct",        "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS(nvfp4_ct_trtllm)},
    {"nvfp4_ct",        "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(nvfp4_ct_marlin)},
    {"nvfp4_ct",        "vllm_cutlass",       "VLLM_CUTLASS",                                                  UNROUNDED,  SAME, STEPS(nvfp4_ct_cutlass)},
    {"nvfp4_modelopt",  "b12x",               "B12X",                                                          UNROUNDED,  SAME, NO_STEPS(NO_B12X)},
    {"nvfp4_modelopt",  "cutedsl",            "FLASHINFER_CUTEDSL CUTEDSL",                                    UNROUNDED,  SAME, STEPS_AND(nvfp4_modelopt_cutedsl, NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt", "cutedsl_batched", "FLASHINFER_CUTEDSL_BATCHED", UNROUNDED, SAME, STEPS_AND(nvfp4_modelopt_cutedsl_batched, NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt",  "emulation",          "EMULATION",                                                     UNROUNDED,  SAME, STEPS(nvfp4_modelopt_emulation)},
    {"nvfp4_modelopt",  "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS_AND(nvfp4_modelopt_flashinfer_cutlass, NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt", "flashinfer_b12x", "FLASHINFER_B12X", UNROUNDED, SAME, STEPS_AND(nvfp4_modelopt_flashinfer_b12x, NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt",  "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS_AND(nvfp4_modelopt_trtllm, NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt",  "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(nvfp4_modelopt_marlin)},
    {"nvfp4_modelopt",  "vllm_cutlass",       "VLLM_CUTLASS",                                                  UNROUNDED,  SAME, STEPS(nvfp4_modelopt_cutlass)},
    {"online_fp8_block", "aiter",              "AITER",                                                         {128, 128}, SAME, STEPS(online_fp8_block_aiter)},
    {"online_fp8_block", "deepgemm",           "DEEPGEMM BATCHED_DEEPGEMM",                                     {128, 128}, SAME, STEPS(online_fp8_block_deepgemm)},
    {"online_fp8_block", "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            {128, 128}, SAME, STEPS(online_fp8_block_flashinfer_cutlass)},
    {"online_fp8_block", "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             {128, 128}, SAME, STEPS(online_fp8_block_trtllm)},
    {"online_fp8_block", "marlin",             "MARLIN",                                                        {128, 128}, SAME, STEPS(online_fp8_block_marlin)},
    {"online_fp8_block", "triton",             "TRITON BATCHED_TRITON",                                         {128, 128}, SAME, STEPS(online_fp8_block_triton)},
    {"online_fp8_block", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             {128, 128}, SAME, REFUSED(NO_CUTLASS)},
    {"online_fp8_channel", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(online_fp8_channel_triton)},
    {"online_fp8_channel", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, STEPS(online_fp8_channel_cutlass)},
    {"online_fp8_tensor", "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, REFUSED("its activation scales are dynamic, and FlashInfer's FP8 kernels with one scale per tensor need static ones")},
    {"online_fp8_tensor", "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, REFUSED("its activation scales are dynamic, and FlashInfer's FP8 kernels with one scale per tensor need static ones")},
    {"online_fp8_tensor", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(online_fp8_tensor_marlin)},
    {"online_fp8_tensor", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(online_fp8_tensor_triton)},
    {"online_fp8_tensor", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"online_mxfp4",    "emulation",          "EMULATION",                                                     {32, 32},   SAME, STEPS(online_mxfp4_emulation)},
    {"online_mxfp4",    "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16",  {128, 128}, SAME, STEPS(online_mxfp4_cutlass_bf16)},
    {"online_mxfp4", "flashinfer_cutlass_mxfp8", "FLASHINFER_CUTLASS_MXFP4_MXFP8", {128, 128}, SAME, STEPS(online_mxfp4_cutlass_mxfp8)},
    {"online_mxfp4",    "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",    {128, 256}, SAME, REFUSED("upstream passes no cache of permutations, which its TRT-LLM conversion asserts")},
    {"online_mxfp4",    "marlin",             "MARLIN BATCHED_MARLIN",                                         {128, 256}, SAME, STEPS(online_mxfp4_marlin)},
    {"online_mxfp4",    "triton",             "TRITON TRITON_UNFUSED",                                         {64, 0},    SAME, REFUSED("upstream looks for scales that its Triton conversion deleted")},
    {"online_mxfp8",    "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS_AND(online_mxfp8_trtllm, cs_round_by_32, 0)},
    {"online_mxfp8",    "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS_AND(online_mxfp8_marlin, cs_round_by_32, 0)},
    {"online_mxfp8",    "triton",             "TRITON",                                                        UNROUNDED,  SAME, STEPS_AND(online_mxfp8_triton, cs_round_by_32, 0)},
    {"quark_fp8_block", "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS_AND(quark_fp8_block_aiter, cs_round_quark_block, 0)},
    {"quark_fp8_block", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS_AND(quark_fp8_block_marlin, cs_round_quark_block, 0)},
    {"quark_fp8_block", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS_AND(quark_fp8_block_triton, cs_round_quark_block, 0)},
    {"quark_fp8_block", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"quark_fp8_channel", "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(quark_fp8_channel_aiter)},
    {"quark_fp8_channel", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(quark_fp8_channel_marlin)},
    {"quark_fp8_channel", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(quark_fp8_channel_triton)},
    {"quark_fp8_channel", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"quark_fp8_gpt_oss", "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(fp8_tensor_aiter)},
    {"quark_fp8_gpt_oss", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(fp8_tensor_marlin)},
    {"quark_fp8_gpt_oss", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(fp8_tensor_triton)},
    {"quark_fp8_gpt_oss", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"quark_fp8_tensor", "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS(fp8_tensor_aiter)},
    {"quark_fp8_tensor", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, STEPS(fp8_tensor_marlin)},
    {"quark_fp8_tensor", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(fp8_tensor_triton)},
    {"quark_fp8_tensor", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, REFUSED(NO_CUTLASS)},
    {"quark_mx",        "aiter",              "AITER_MXFP4_MXFP4", {64, 0},    SAME, STEPS(mxfp4_aiter)},
    {"quark_mx", "aiter_bf16", "AITER_MXFP4_BF16", {64, 0}, SAME, STEPS(gpt_oss_aiter_bf16)},
    {"quark_mx", "aiter_triton", "AITER_TRITON_MXFP4_BF16 AITER_MXFP4_FP8 AITER_TRITON_MXFP4_MXFP4", {64, 0}, SAME, NO_STEPS(NO_AITER_TRITON)},
    {"quark_mx",        "deepgemm",           "DEEPGEMM_MXFP4",                                                {128, 128}, SAME, STEPS(mxfp4_deepgemm)},
    {"quark_mx",        "emulation",          "EMULATION",                                                     {32, 32},   SAME, STEPS(mxfp4_emulation)},
    {"quark_mx",        "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16",  {128, 128}, SAME, STEPS(gpt_oss_cutlass_bf16)},
    {"quark_mx", "flashinfer_cutlass_mxfp8", "FLASHINFER_CUTLASS_MXFP4_MXFP8", {128, 128}, SAME, STEPS(gpt_oss_cutlass_mxfp8)},
    {"quark_mx",        "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",    {128, 256}, SAME, REFUSED("upstream passes no cache of permutations, which its TRT-LLM conversion asserts")},
    {"quark_mx",        "marlin",             "MARLIN BATCHED_MARLIN",                                         {128, 256}, SAME, STEPS(mxfp4_marlin)},
    {"quark_mx",        "triton",             "TRITON TRITON_UNFUSED",                                         {64, 0},    SAME, STEPS(gpt_oss_triton)},
    {"quark_mx", "triton_blackwell", "TRITON TRITON_UNFUSED", {64, 0}, SAME, STEPS(gpt_oss_triton_blackwell)},
    {"unquantized",     "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS_AND(bf16_aiter, cs_round_unquantized_aiter, 0)},
    {"unquantized",     "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS(bf16_flashinfer_cutlass)},
    {"unquantized",     "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             {128, 0},   SAME, STEPS(bf16_trtllm)},
    {"unquantized",     "no_backend",         "CPU MOONEP OOT TPU XPU",                                        UNROUNDED,  SAME, NO_STEPS("CPU, TPU, Intel GPU and MoonEP layouts are not described")},
    {"unquantized",     "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS(bf16_triton)},
};
/* clang-format on */
const size_t cs_n_backends = CS_COUNT(cs_backends);

/* Sorted by name. */
/* clang-format off */
const struct cs_method *const cs_methods[] = {
    &cs_method_awq, &cs_method_ct_wna16, &cs_method_fp8_block, &cs_method_fp8_channel, &cs_method_fp8_tensor, &cs_method_fp8_tensor_ct,
    &cs_method_fp8_tensor_modelopt, &cs_method_gpt_oss_mxfp4, &cs_method_gptq, &cs_method_mxfp4, &cs_method_mxfp4_ct, &cs_method_mxfp8_modelopt,
    &cs_method_nvfp4_ct, &cs_method_nvfp4_modelopt, &cs_method_online_fp8_block, &cs_method_online_fp8_channel, &cs_method_online_fp8_tensor,
    &cs_method_online_mxfp4, &cs_method_online_mxfp8, &cs_method_quark_fp8_block, &cs_method_quark_fp8_channel, &cs_method_quark_fp8_gpt_oss,
    &cs_method_quark_fp8_tensor, &cs_method_quark_mx, &cs_method_unquantized,
};
/* clang-format on */
const size_t cs_n_methods = CS_COUNT(cs_methods);

const struct cs_method *cs_method_by_name(const char *name) {
    for (size_t i = 0; i < cs_n_methods; i++)
        if (cs_text_equal(cs_methods[i]->name, name)) return cs_methods[i];
    return NULL;
}

static bool is_one_of(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *w = words; length && *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        if (n == length && strncasecmp(w, word, n) == 0) return true;
        w += n;
    }
    return false;
}

const struct cs_backend *cs_backend_by_name(const struct cs_method *method, const char *name) {
    for (size_t i = 0; i < cs_n_backends; i++) {
        const struct cs_backend *backend = &cs_backends[i];
        if (!cs_text_equal(backend->method, method->name)) continue;
        if (cs_text_equal(backend->name, name) || is_one_of(backend->upstream, name)) return backend;
    }
    return NULL;
}

bool cs_method_supports_eplb(const struct cs_method *method, const struct cs_backend *backend) {
    return !method->eplb || is_one_of(method->eplb, backend->name);
}

static unsigned needs_of(const struct cs_step *steps, size_t n) {
    unsigned facts = 0;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].kind == CS_STEP_REQUIRE) facts |= steps[i].when;
        if (steps[i].kind == CS_STEP_CALL) facts |= needs_of(steps[i].table->steps, steps[i].table->n_steps);
    }
    return facts;
}

unsigned cs_backend_needs(const struct cs_backend *backend) {
    return backend->n_steps ? needs_of(backend->steps, *backend->n_steps) : 0;
}

unsigned cs_backend_needed_options(const struct cs_backend *backend) {
    unsigned facts = cs_backend_needs(backend);
    return (facts & CS_FACT_STATIC ? CS_STATIC_INPUT : 0) | (facts & CS_FACT_BIAS ? CS_WITH_BIAS : 0);
}

/* Only the facts that all-reduces depend on are looked at: a guard of other facts counts as if they held. */
static bool reduces(const struct cs_step *steps, size_t n, unsigned holds) {
    const unsigned known = CS_FACT_ONE_RANK | CS_FACT_BALANCED;
    for (size_t i = 0; i < n; i++) {
        const struct cs_step *guard = &steps[i];
        bool is_skipped = guard->kind == CS_STEP_GUARD && ((guard->when & known & ~holds) || (guard->unless & holds));
        if (is_skipped)
            i++;
        else if (steps[i].kind == CS_STEP_ALL_REDUCE)
            return true;
        else if (steps[i].kind == CS_STEP_CALL && reduces(steps[i].table->steps, steps[i].table->n_steps, holds))
            return true;
    }
    return false;
}

bool cs_backend_reduces(const struct cs_backend *backend, const struct cs_sizes *sizes) {
    if (!backend || !backend->steps || sizes->tp * sizes->ep == 1) return false;
    unsigned holds = (sizes->tp == 1 ? CS_FACT_ONE_RANK : 0) | (sizes->experts_redundant > 0 ? CS_FACT_BALANCED : 0);
    return reduces(backend->steps, *backend->n_steps, holds);
}

/* Tables that quantise again do so in place, to the value "w" (numerics.c). */
static bool updates_weights(const struct cs_step *steps, size_t n) {
    bool updates = false;
    for (size_t i = 0; i < n; i++) {
        updates = updates || (steps[i].kind == CS_STEP_UPDATE && cs_text_equal(steps[i].param, "w"));
        if (steps[i].kind == CS_STEP_CALL) updates = updates || updates_weights(steps[i].table->steps, steps[i].table->n_steps);
    }
    return updates;
}

bool cs_backend_quantises(const struct cs_backend *backend) {
    return cs_method_by_name(backend->method)->is_online || (backend->n_steps && updates_weights(backend->steps, *backend->n_steps));
}

/* Steps that show parameters to kernels, and change none. */
static bool only_shows(const struct cs_step *steps, size_t n) {
    static const enum cs_step_kind shows[] = {CS_STEP_GUARD, CS_STEP_REQUIRE, CS_STEP_SET, CS_STEP_CONFIG, CS_STEP_CALL};
    for (size_t i = 0; i < n; i++) {
        bool is_one = false;
        for (size_t k = 0; k < CS_COUNT(shows); k++) is_one = is_one || steps[i].kind == shows[k];
        if (!is_one) return false;
        if (steps[i].kind == CS_STEP_CALL && !only_shows(steps[i].table->steps, steps[i].table->n_steps)) return false;
    }
    return true;
}

bool cs_backend_keeps_layout(const struct cs_backend *backend) {
    return !cs_method_by_name(backend->method)->is_online && backend->steps && only_shows(backend->steps, *backend->n_steps);
}
