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
#define STEPS(name) cs_##name##_steps, &cs_n_##name##_steps, NULL, 0
#define NO_STEPS    NULL, NULL, NULL, 0
/* With a rounding rule, and options that it brings about. */
#define STEPS_AND(name, rule, options) cs_##name##_steps, &cs_n_##name##_steps, rule, options
#define NO_STEPS_AND(rule, options)    NULL, NULL, rule, options

/* clang-format off */
/* method           name                  upstream names                                                    I, H     reference */
const struct cs_backend cs_backends[] = {
    {"gpt_oss_mxfp4", "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",   {128, 256}, {256, 256}, STEPS(gpt_oss_trtllm)},
    {"gpt_oss_mxfp4", "emulation",          "EMULATION",                                                    {32, 32},   SAME, STEPS(gpt_oss_emulation)},
    {"gpt_oss_mxfp4", "aiter",              "AITER_MXFP4_BF16 AITER_TRITON_MXFP4_BF16 AITER_MXFP4_FP8 AITER_MXFP4_MXFP4 AITER_TRITON_MXFP4_MXFP4", {64, 0}, SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "b12x",               "B12X_MXFP4_BF16 B12X_MXFP4_MXFP8",                             UNROUNDED,  SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "cpu",                "CPU",                                                          {32, 32},   SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "cutlass",            "CUTLASS_MXFP4_MXFP4",                                          {128, 128}, SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "deepgemm",           "DEEPGEMM_MXFP4",                                               {128, 128}, SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16 FLASHINFER_CUTLASS_MXFP4_MXFP8", {128, 128}, SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "flashinfer_moe_ep",  "FLASHINFER_MOE_EP_CUTEDSL FLASHINFER_MOE_EP_DEEP_GEMM",        UNROUNDED,  SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "humming",            "HUMMING",                                                      {64, 0},    SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "marlin",             "MARLIN BATCHED_MARLIN",                                        {128, 256}, SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "no_backend",         "NONE",                                                         {64, 0},    SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "triton",             "TRITON TRITON_UNFUSED",                                        {64, 0},    SAME, NO_STEPS},
    {"gpt_oss_mxfp4", "xpu",                "XPU",                                                          {64, 0},    SAME, NO_STEPS},
    {"mxfp4",         "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",   {128, 256}, {256, 256}, STEPS(mxfp4_trtllm)},
    {"awq",             "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"ct_wna16",        "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_group, 0)},
    {"ct_wna16",        "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_group, 0)},
    {"fp8_block",       "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS_AND(cs_round_fp8_block, 0)},
    {"fp8_block",       "deepgemm",           "DEEPGEMM BATCHED_DEEPGEMM",                                     UNROUNDED,  SAME, NO_STEPS_AND(cs_round_fp8_block, 0)},
    {"fp8_block",       "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS_AND(fp8_block_flashinfer_cutlass, cs_round_fp8_block, 0)},
    {"fp8_block",       "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, STEPS_AND(fp8_block_trtllm, cs_round_fp8_block, 0)},
    {"fp8_block",       "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_fp8_block, 0)},
    {"fp8_block",       "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, STEPS_AND(fp8_block_triton, cs_round_fp8_block_refined, 0)},
    {"fp8_block",       "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS_AND(cs_round_fp8_block, 0)},
    {"fp8_channel",     "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_channel",     "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"fp8_channel",     "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_channel",     "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor",      "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor",      "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor",      "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor",      "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor",      "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor",      "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_ct",   "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_ct",   "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_ct",   "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_ct",   "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_ct",   "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_ct",   "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_modelopt", "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_modelopt", "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_modelopt", "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_modelopt", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_modelopt", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"fp8_tensor_modelopt", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"gptq",            "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_gptq, 0)},
    {"mxfp4",           "aiter",              "AITER_MXFP4_BF16 AITER_TRITON_MXFP4_BF16 AITER_MXFP4_FP8 AITER_MXFP4_MXFP4 AITER_TRITON_MXFP4_MXFP4", {64, 0},    SAME, NO_STEPS},
    {"mxfp4",           "b12x",               "B12X_MXFP4_BF16 B12X_MXFP4_MXFP8",                              UNROUNDED,  SAME, NO_STEPS},
    {"mxfp4",           "cpu",                "CPU",                                                           {32, 32},   SAME, NO_STEPS},
    {"mxfp4",           "cutlass",            "CUTLASS_MXFP4_MXFP4",                                           {128, 128}, SAME, NO_STEPS},
    {"mxfp4",           "deepgemm",           "DEEPGEMM_MXFP4",                                                {128, 128}, SAME, NO_STEPS},
    {"mxfp4",           "emulation",          "EMULATION",                                                     {32, 32},   SAME, STEPS(mxfp4_emulation)},
    {"mxfp4",           "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16 FLASHINFER_CUTLASS_MXFP4_MXFP8",  {128, 128}, SAME, NO_STEPS},
    {"mxfp4",           "marlin",             "MARLIN BATCHED_MARLIN",                                         {128, 256}, SAME, NO_STEPS},
    {"mxfp4",           "triton",             "TRITON TRITON_UNFUSED",                                         {64, 0},    SAME, NO_STEPS},
    {"mxfp4_ct",        "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"mxfp8_modelopt",  "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_32, 0)},
    {"mxfp8_modelopt",  "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_32, 0)},
    {"mxfp8_modelopt",  "triton",             "TRITON",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_32, 0)},
    {"nvfp4_ct",        "b12x",               "B12X",                                                          UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_ct",        "cutedsl",            "FLASHINFER_CUTEDSL CUTEDSL",                                    UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_ct",        "emulation",          "EMULATION",                                                     UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_ct",        "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_ct",        "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_ct",        "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_ct",        "vllm_cutlass",       "VLLM_CUTLASS",                                                  UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_modelopt",  "b12x",               "B12X",                                                          UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_modelopt",  "cutedsl",            "FLASHINFER_CUTEDSL CUTEDSL",                                    UNROUNDED,  SAME, NO_STEPS_AND(NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt",  "emulation",          "EMULATION",                                                     UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_modelopt",  "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, NO_STEPS_AND(NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt",  "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS_AND(NULL, CS_GLOBAL_INPUT)},
    {"nvfp4_modelopt",  "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"nvfp4_modelopt",  "vllm_cutlass",       "VLLM_CUTLASS",                                                  UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_block", "deepgemm",           "DEEPGEMM BATCHED_DEEPGEMM",                                     {128, 128}, SAME, NO_STEPS},
    {"online_fp8_block", "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             {128, 128}, SAME, STEPS(online_fp8_block_trtllm)},
    {"online_fp8_block", "marlin",             "MARLIN",                                                        {128, 128}, SAME, NO_STEPS},
    {"online_fp8_block", "triton",             "TRITON BATCHED_TRITON",                                         {128, 128}, SAME, STEPS(online_fp8_block_triton)},
    {"online_fp8_block", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             {128, 128}, SAME, NO_STEPS},
    {"online_fp8_channel", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_channel", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_tensor", "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_tensor", "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_tensor", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_tensor", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"online_fp8_tensor", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"online_mxfp4",    "emulation",          "EMULATION",                                                     {32, 32},   SAME, NO_STEPS},
    {"online_mxfp4",    "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16 FLASHINFER_CUTLASS_MXFP4_MXFP8",  {128, 128}, SAME, NO_STEPS},
    {"online_mxfp4",    "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",    {128, 256}, SAME, NO_STEPS},
    {"online_mxfp4",    "marlin",             "MARLIN BATCHED_MARLIN",                                         {128, 256}, SAME, NO_STEPS},
    {"online_mxfp4",    "triton",             "TRITON TRITON_UNFUSED",                                         {64, 0},    SAME, NO_STEPS},
    {"online_mxfp8",    "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_32, 0)},
    {"online_mxfp8",    "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_32, 0)},
    {"online_mxfp8",    "triton",             "TRITON",                                                        UNROUNDED,  SAME, NO_STEPS_AND(cs_round_by_32, 0)},
    {"quark_fp8_block", "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_block", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_block", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_block", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_channel", "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_channel", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_channel", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_channel", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_gpt_oss", "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_gpt_oss", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_gpt_oss", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_gpt_oss", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_tensor", "aiter",              "AITER",                                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_tensor", "marlin",             "MARLIN",                                                        UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_tensor", "triton",             "TRITON BATCHED_TRITON",                                         UNROUNDED,  SAME, NO_STEPS},
    {"quark_fp8_tensor", "vllm_cutlass",       "VLLM_CUTLASS BATCHED_VLLM_CUTLASS",                             UNROUNDED,  SAME, NO_STEPS},
    {"quark_mx",        "aiter",              "AITER_MXFP4_BF16 AITER_TRITON_MXFP4_BF16 AITER_MXFP4_FP8 AITER_MXFP4_MXFP4 AITER_TRITON_MXFP4_MXFP4", {64, 0},    SAME, NO_STEPS},
    {"quark_mx",        "deepgemm",           "DEEPGEMM_MXFP4",                                                {128, 128}, SAME, NO_STEPS},
    {"quark_mx",        "emulation",          "EMULATION",                                                     {32, 32},   SAME, NO_STEPS},
    {"quark_mx",        "flashinfer_cutlass", "FLASHINFER_CUTLASS_MXFP4_BF16 FLASHINFER_CUTLASS_MXFP4_MXFP8",  {128, 128}, SAME, NO_STEPS},
    {"quark_mx",        "flashinfer_trtllm",  "FLASHINFER_TRTLLM_MXFP4_BF16 FLASHINFER_TRTLLM_MXFP4_MXFP8",    {128, 256}, SAME, NO_STEPS},
    {"quark_mx",        "marlin",             "MARLIN BATCHED_MARLIN",                                         {128, 256}, SAME, NO_STEPS},
    {"quark_mx",        "triton",             "TRITON TRITON_UNFUSED",                                         {64, 0},    SAME, NO_STEPS},
    {"unquantized",     "aiter",              "AITER",                                                         UNROUNDED,  SAME, STEPS_AND(bf16_aiter, cs_round_unquantized_aiter, 0)},
    {"unquantized",     "flashinfer_cutlass", "FLASHINFER_CUTLASS",                                            UNROUNDED,  SAME, STEPS(bf16_flashinfer_cutlass)},
    {"unquantized",     "flashinfer_trtllm",  "FLASHINFER_TRTLLM",                                             {128, 0},   SAME, STEPS(bf16_trtllm)},
    {"unquantized",     "no_backend",         "CPU MOONEP OOT TPU XPU",                                        UNROUNDED,  SAME, NO_STEPS},
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
