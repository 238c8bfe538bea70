/* Back ends of each method: what they round I and H to, and their post-load. The multiples are those of CUDA, without an
 * activation, as gpt-oss asks for them. Source: vllm fused_moe/oracle/mxfp4.py. */
#include "sim/method/methods.h"

#include <strings.h>
#include <string.h>

#define UNROUNDED {0, 0}
#define SAME      {0, 0}
#define STEPS(name) cs_##name##_steps, &cs_n_##name##_steps
#define NO_STEPS    NULL, NULL

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
};
const size_t cs_n_backends = CS_COUNT(cs_backends);

/* Sorted by name. */
const struct cs_method *const cs_methods[] = {&cs_method_gpt_oss_mxfp4, &cs_method_mxfp4};
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
