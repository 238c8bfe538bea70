/* What ends in parameters, of FP4 and integer back ends. As post_backends.c. */
#include "sim/method/methods.h"

#define STEPS(id) const size_t cs_n_##id##_steps = CS_COUNT(cs_##id##_steps)

/* clang-format off */
#define REPLACE_ALL                                                                                                    \
    CS_DO_REPLACE("w13_weight"), CS_DO_REPLACE("w13_weight_scale"), CS_DO_REPLACE("w2_weight"),                        \
        CS_DO_REPLACE("w2_weight_scale")
#define HOLD_SCALES                                                                                                    \
    CS_DO_CONFIG("w13_weight_scale", "_w1.scale"), CS_DO_CONFIG("w2_weight_scale", "_w2.scale")
/* clang-format on */

/* ---- NVFP4: one second-level scale per expert, that of gate ---- */

static const struct cs_step nvfp4_modelopt[] = {
    CS_DO_SELECT("column", "w13_weight_scale_2", 1, 0),
    CS_DO_MAP("w13_weight_scale_2", CS_F32, "column"),
};
CS_TABLE(nvfp4_modelopt);
/* compressed-tensors has other names, and stores what scales divide by. */
static const struct cs_step nvfp4_ct_names[] = {
    CS_DO_RENAME("w13_weight", "w13_weight_packed"),
    CS_DO_RENAME("w2_weight", "w2_weight_packed"),
    CS_DO_SELECT("w13_divisor", "w13_weight_global_scale", 1, 0),
    CS_DO_TAKE("w2_divisor", "w2_weight_global_scale"),
    CS_DO_RETIRE("w13_weight_global_scale"),
    CS_DO_RETIRE("w2_weight_global_scale"),
    CS_DO_RETIRE("w13_input_global_scale"),
    CS_DO_RETIRE("w2_input_global_scale"),
};
CS_TABLE(nvfp4_ct_names);
/* Activation scales become attributes that nothing else reaches. */
static const struct cs_step nvfp4_ct[] = {
    CS_DO_CALL(nvfp4_ct_names),
    CS_DO_MAP("w13_weight_scale_2", CS_F32, "w13_divisor into 1"),
    CS_DO_MAP("w2_weight_scale_2", CS_F32, "w2_divisor into 1"),
    CS_DO_MAP("w13_input_scale", CS_F32, "w13_input_global_scale into 1"),
    CS_DO_MAP("w2_input_scale", CS_F32, "w2_input_global_scale into 1"),
};
CS_TABLE(nvfp4_ct);

static const struct cs_step nvfp4_keep[] = {REPLACE_ALL, CS_DO_REPLACE("w13_weight_scale_2"),
                                            CS_DO_REPLACE("w2_weight_scale_2")};
CS_TABLE(nvfp4_keep);
/* Kernels read reciprocals. */
static const struct cs_step nvfp4_keep_inputs[] = {
    CS_DO_REPLACE("w13_input_scale"),
    CS_DO_REPLACE("w2_input_scale"),
    CS_DO_RETIRE("w13_input_scale"),
    CS_DO_RETIRE("w2_input_scale"),
};
CS_TABLE(nvfp4_keep_inputs);
static const struct cs_step nvfp4_drop_inputs[] = {CS_DO_DROP("w13_input_scale"), CS_DO_DROP("w2_input_scale")};
CS_TABLE(nvfp4_drop_inputs);

static const struct cs_step nvfp4_hold_weights[] = {
    HOLD_SCALES,
    CS_DO_CONFIG("w13_weight_scale_2", "_w1.alpha_or_gscale"),
    CS_DO_CONFIG("w2_weight_scale_2", "_w2.alpha_or_gscale"),
};
CS_TABLE(nvfp4_hold_weights);
/* The config owns the reciprocals of activation scales. The experts object multiplies second-level scales by
 * activation scales in place, so that config and parameter stay one. */
static const struct cs_step nvfp4_hold[] = {
    CS_DO_MAP("a1_gscale", CS_F32, "w13_input_scale into 1"),
    CS_DO_MAP("a2_gscale", CS_F32, "w2_input_scale into 1"),
    CS_DO_CALL(nvfp4_hold_weights),
    CS_DO_HOLD("a1_gscale", "_a1.alpha_or_gscale"),
    CS_DO_HOLD("a2_gscale", "_a2.alpha_or_gscale"),
    CS_DO_UPDATE("w13_weight_scale_2", "w13_weight_scale_2 * w13_input_scale"),
    CS_DO_UPDATE("w2_weight_scale_2", "w2_weight_scale_2 * w2_input_scale"),
};
CS_TABLE(nvfp4_hold);
static const struct cs_step nvfp4_trtllm_scale_c[] = {
    CS_DO_WHEN(CS_FACT_GATED),    CS_DO_MAP("g1_scale_c", CS_F32, "w13_weight_scale_2 * a2_gscale"),
    CS_DO_UNLESS(CS_FACT_GATED),  CS_DO_MAP("g1_scale_c", CS_F32, "a2_gscale"),
    CS_DO_REGISTER("g1_scale_c"), CS_DO_EXPERTS("g1_scale_c", "g1_scale_c"),
};
CS_TABLE(nvfp4_trtllm_scale_c);
/* FlashInfer's B12X wants block scales that need no second one, and quantises what w2 reads on the fly. */
static const struct cs_step nvfp4_b12x_bake[] = {
    CS_DO_MAP("w13_weight_scale", CS_E4M3, "w13_weight_scale * w13_weight_scale_2"),
    CS_DO_MAP("w2_weight_scale", CS_E4M3, "w2_weight_scale * w2_weight_scale_2"),
    CS_DO_REPLACE("w13_weight_scale"),
    CS_DO_REPLACE("w2_weight_scale"),
    CS_DO_UPDATE("w13_weight_scale_2", "w13_weight_scale_2 load 1"),
    CS_DO_UPDATE("w2_weight_scale_2", "w2_weight_scale_2 load 1"),
    CS_DO_MAP("a1_gscale", CS_F32, "w13_input_scale into 1"),
    CS_DO_SPREAD("a2_gscale", CS_F32, "w2_input_scale.0", "1"),
    CS_DO_CALL(nvfp4_hold_weights),
    CS_DO_HOLD("a1_gscale", "_a1.alpha_or_gscale"),
    CS_DO_HOLD("a2_gscale", "_a2.alpha_or_gscale"),
};
CS_TABLE(nvfp4_b12x_bake);
/* Emulation divides by one scale for all experts. */
static const struct cs_step nvfp4_emulation[] = {
    CS_DO_MAXIMUM("w13_input_scale", CS_F32, "", "w13_input_scale"),
    CS_DO_MAP("w13_input_scale", CS_F32, "w13_input_scale into 1"),
    CS_DO_MAXIMUM("w2_input_scale", CS_F32, "", "w2_input_scale"),
    CS_DO_MAP("w2_input_scale", CS_F32, "w2_input_scale into 1"),
};
CS_TABLE(nvfp4_emulation);

/* clang-format off */
/* The two methods differ in what they begin with, and in who keeps activation scales. */
#define NVFP4_BACKEND(id, layout, ...)                                                                                 \
    const struct cs_step cs_nvfp4_modelopt_##id##_steps[] = {                                                          \
        CS_DO_CALL(nvfp4_modelopt), CS_DO_CALL(layout), CS_DO_CALL(nvfp4_keep), CS_DO_CALL(nvfp4_keep_inputs), __VA_ARGS__}; \
    STEPS(nvfp4_modelopt_##id);                                                                                        \
    const struct cs_step cs_nvfp4_ct_##id##_steps[] = {CS_DO_CALL(nvfp4_ct), CS_DO_CALL(layout), CS_DO_CALL(nvfp4_keep), __VA_ARGS__}; \
    STEPS(nvfp4_ct_##id)
NVFP4_BACKEND(trtllm, nvfp4_trtllm, CS_DO_CALL(nvfp4_hold), CS_DO_CALL(nvfp4_trtllm_scale_c));
NVFP4_BACKEND(flashinfer_cutlass, nvfp4_flashinfer_cutlass, CS_DO_CALL(nvfp4_hold));
NVFP4_BACKEND(cutlass, nvfp4_cutlass, CS_DO_CALL(nvfp4_hold));
NVFP4_BACKEND(cutedsl, nvfp4_cutedsl, CS_DO_CALL(nvfp4_hold));
NVFP4_BACKEND(cutedsl_batched, nvfp4_cutedsl_batched, CS_DO_CALL(nvfp4_hold));
NVFP4_BACKEND(flashinfer_b12x, nvfp4_flashinfer_cutlass, CS_DO_CALL(nvfp4_b12x_bake));
/* clang-format on */
/* Marlin has no activation scales, and computes new second-level ones anyway. */
const struct cs_step cs_nvfp4_modelopt_marlin_steps[] = {
    CS_DO_SELECT("w13_weight_scale_2", "w13_weight_scale_2", 1, 0),
    CS_DO_CALL(nvfp4_marlin),
    CS_DO_CALL(nvfp4_keep),
    CS_DO_CALL(nvfp4_drop_inputs),
    CS_DO_CALL(nvfp4_hold_weights),
};
STEPS(nvfp4_modelopt_marlin);
const struct cs_step cs_nvfp4_ct_marlin_steps[] = {CS_DO_CALL(nvfp4_ct_names), CS_DO_CALL(nvfp4_marlin_ct),
                                                   CS_DO_CALL(nvfp4_keep), CS_DO_CALL(nvfp4_hold_weights)};
STEPS(nvfp4_ct_marlin);
const struct cs_step cs_nvfp4_modelopt_emulation_steps[] = {
    CS_DO_CALL(nvfp4_modelopt),
    CS_DO_CALL(nvfp4_emulation),
    CS_DO_CALL(nvfp4_keep),
    CS_DO_REPLACE("w13_input_scale"),
    CS_DO_REPLACE("w2_input_scale"),
    CS_DO_CALL(nvfp4_hold_weights),
    CS_DO_CONFIG("w13_input_scale", "_a1.alpha_or_gscale"),
    CS_DO_CONFIG("w2_input_scale", "_a2.alpha_or_gscale"),
};
STEPS(nvfp4_modelopt_emulation);
const struct cs_step cs_nvfp4_ct_emulation_steps[] = {
    CS_DO_CALL(nvfp4_ct),
    CS_DO_CALL(nvfp4_emulation),
    CS_DO_CALL(nvfp4_keep),
    CS_DO_CALL(nvfp4_hold_weights),
    CS_DO_HOLD("w13_input_scale", "_a1.alpha_or_gscale"),
    CS_DO_HOLD("w2_input_scale", "_a2.alpha_or_gscale"),
};
STEPS(nvfp4_ct_emulation);

/* ---- MXFP4 ---- */

static const struct cs_step mxfp4_replace_biases[] = {CS_DO_REPLACE("w13_bias"), CS_DO_REPLACE("w2_bias")};
CS_TABLE(mxfp4_replace_biases);
/* clang-format off */
#define KEEP_MXFP4                                                                                                     \
    REPLACE_ALL, CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(mxfp4_replace_biases), HOLD_SCALES,                              \
        CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(hold_biases)
/* clang-format on */

const struct cs_step cs_mxfp4_emulation_steps[] = {HOLD_SCALES, CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(hold_biases)};
STEPS(mxfp4_emulation);
/* In the experts object of FlashInfer's CUTLASS kernels: gpt-oss' activation, and scales of 1 where they ask for one.
 */
static const struct cs_step gpt_oss_activation[] = {
    CS_DO_CONSTANT("gemm1_clamp_limit", 7.0f),
    CS_DO_CONSTANT("gemm1_alpha", 1.702f),
    CS_DO_CONSTANT("gemm1_beta", 1.0f),
};
CS_TABLE(gpt_oss_activation);
/* clang-format off */
#define NEEDS_BIASES                                                                                                   \
    CS_DO_REQUIRE(CS_FACT_BIAS, "FlashInfer's CUTLASS kernels take gpt-oss checkpoints only with both biases")
#define BF16_BIAS CS_DO_CAST("w13_bias", CS_BF16)
const struct cs_step cs_gpt_oss_cutlass_bf16_steps[] = {
    NEEDS_BIASES, CS_DO_CALL(gpt_oss_cutlass_bf16), BF16_BIAS, KEEP_MXFP4, CS_DO_CALL(gpt_oss_activation),
};
STEPS(gpt_oss_cutlass_bf16);
const struct cs_step cs_gpt_oss_cutlass_mxfp8_steps[] = {
    NEEDS_BIASES, CS_DO_CALL(gpt_oss_cutlass_mxfp8), BF16_BIAS, KEEP_MXFP4, CS_DO_CALL(gpt_oss_activation),
    CS_DO_CONSTANT("fake_input_scale", 1.0f),
};
STEPS(gpt_oss_cutlass_mxfp8);
/* clang-format on */

/* Wrappers of Triton's kernels show weights and scales K first, without moving them. */
/* clang-format off */
#define TRITON_WEIGHT(name)                                                                                            \
    CS_DO_TRANSPOSE(name), {.kind = CS_STEP_WRAP, .param = name, .paths = (const char *const[]){name ".storage.data", NULL}}
#define KEEP_TRITON                                                                                                    \
    TRITON_WEIGHT("w13_weight"), TRITON_WEIGHT("w2_weight"),                                                           \
        CS_DO_WRAP("w13_weight_scale", "_w1.scale.b_mx_scale.storage.data"),                                           \
        CS_DO_WRAP("w2_weight_scale", "_w2.scale.b_mx_scale.storage.data"),                                            \
        CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(mxfp4_replace_biases), CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(hold_biases)
#define MXFP4_BACKEND(id, table)                                                                                       \
    const struct cs_step cs_##id##_steps[] = {CS_DO_CALL(table), KEEP_MXFP4};                                          \
    STEPS(id)
#define TRITON_BACKEND(id, table)                                                                                      \
    const struct cs_step cs_##id##_steps[] = {CS_DO_CALL(table), KEEP_TRITON};                                         \
    STEPS(id)
/* clang-format on */
TRITON_BACKEND(gpt_oss_triton, gpt_oss_triton_hopper);
TRITON_BACKEND(gpt_oss_triton_blackwell, gpt_oss_triton_blackwell);
TRITON_BACKEND(mxfp4_triton, mxfp4_triton_hopper);
TRITON_BACKEND(mxfp4_triton_blackwell, mxfp4_triton_blackwell);

MXFP4_BACKEND(mxfp4_cutlass, mxfp4_cutlass);
MXFP4_BACKEND(mxfp4_cutlass_bf16, mxfp4_cutlass_bf16);
MXFP4_BACKEND(mxfp4_deepgemm, mxfp4_deepgemm);
MXFP4_BACKEND(mxfp4_marlin, mxfp4_marlin);
const struct cs_step cs_mxfp4_cutlass_mxfp8_steps[] = {CS_DO_CALL(mxfp4_cutlass_mxfp8), KEEP_MXFP4,
                                                       CS_DO_CONSTANT("fake_input_scale", 1.0f)};
STEPS(mxfp4_cutlass_mxfp8);

/* AITER's weights are numbers of 4 bits, no longer bytes; scales are returned as rows of each expert again. */
/* clang-format off */
#define AITER_FP4 CS_DO_VIEW("w13_weight", CS_E2M1), CS_DO_VIEW("w2_weight", CS_E2M1)
static const struct cs_step mxfp4_aiter_rows[] = {
    CS_DO_CALL(mxfp4_aiter),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight.0 w13_weight.1 -1"), CS_DO_RESHAPE("w2_weight_scale", "w2_weight.0 w2_weight.1 -1"),
    AITER_FP4,
};
/* clang-format on */
CS_TABLE(mxfp4_aiter_rows);
MXFP4_BACKEND(mxfp4_aiter, mxfp4_aiter_rows);

/* BF16 activations: gate and up beside each other, scales without padding, as rows of all experts; gpt-oss' pairs of rows
 * become halves first. */
/* clang-format off */
#define AITER_FLAT(name) CS_DO_RESHAPE(name, name ".0*" name ".1 " name ".2")
#define AITER_BF16_REST                                                                                                \
    CS_DO_RELAYOUT("w2_weight", "aiter_16x16"), CS_DO_RELAYOUT("w2_weight_scale", "e8m0_rows"),                        \
        AITER_FLAT("w13_weight_scale"), AITER_FLAT("w2_weight_scale"), CS_DO_CALL(triton_biases), AITER_FP4
static const struct cs_step mxfp4_aiter_bf16[] = {
    CS_DO_RELAYOUT("w13_weight", "aiter_gu"), CS_DO_RELAYOUT("w13_weight_scale", "e8m0_gu"), AITER_BF16_REST,
};
CS_TABLE(mxfp4_aiter_bf16);
static const struct cs_step gpt_oss_aiter_bf16[] = {
    CS_DO_RELAYOUT("w13_weight", "deinterleave", "aiter_gu"), CS_DO_RELAYOUT("w13_weight_scale", "deinterleave", "e8m0_gu"),
    CS_DO_WHEN(CS_FACT_BIAS), CS_DO_RELAYOUT("w13_bias", "deinterleave"), AITER_BF16_REST,
};
/* clang-format on */
CS_TABLE(gpt_oss_aiter_bf16);
MXFP4_BACKEND(mxfp4_aiter_bf16, mxfp4_aiter_bf16);
MXFP4_BACKEND(gpt_oss_aiter_bf16, gpt_oss_aiter_bf16);

/* compressed-tensors: another name for weights. */
const struct cs_step cs_mxfp4_ct_marlin_steps[] = {CS_DO_RENAME("w13_weight", "w13_weight_packed"),
                                                   CS_DO_RENAME("w2_weight", "w2_weight_packed"),
                                                   CS_DO_CALL(mxfp4_marlin), REPLACE_ALL, HOLD_SCALES};
STEPS(mxfp4_ct_marlin);

/* BF16 quantised when it is complete: the power of two below the largest number of 32, which rounds to nearest even at
 * two bits of mantissa; then a quarter of it: 2^-127 at least, whose byte is 0, and 2^127 where rounding leaves the
 * numbers. Source: vllm quantization/utils/mxfp4_utils.py, downcast_to_mxfp. */
static const struct cs_step mxfp4_quantise[] = {
    CS_DO_BLOCK(1, 32),
    CS_DO_MAXIMUM("amax", CS_F32, "x/32", "x abs"),
    CS_DO_MAP("t", CS_U8, "amax plus 0x200000 right 23 most 2 plus 0xfffffffe"),
    CS_DO_MAP("s", CS_U8, "t plus 3 right 8 plus t"),
    CS_DO_MAP("inverse", CS_F32, "s left 23 most 0x400000 into 1"),
    CS_DO_MAP("y", CS_E2M1, "x * inverse"),
    CS_DO_VIEW("y", CS_U8),
};
CS_TABLE(mxfp4_quantise);
/* clang-format off */
#define QUANTISE_MXFP4(weight, name)                                                                                   \
    CS_DO_TAKE("x", weight), CS_DO_CALL(mxfp4_quantise), CS_DO_TAKE(weight, "y"), CS_DO_TAKE(name, "s")
/* clang-format on */
static const struct cs_step online_mxfp4[] = {
    CS_DO_CALL(online_zero_padding),
    QUANTISE_MXFP4("w13_weight", "w13_weight_scale"),
    QUANTISE_MXFP4("w2_weight", "w2_weight_scale"),
};
CS_TABLE(online_mxfp4);
const struct cs_step cs_online_mxfp4_emulation_steps[] = {CS_DO_CALL(online_mxfp4), KEEP_MXFP4};
STEPS(online_mxfp4_emulation);
const struct cs_step cs_online_mxfp4_marlin_steps[] = {CS_DO_CALL(online_mxfp4), CS_DO_CALL(mxfp4_marlin), KEEP_MXFP4};
STEPS(online_mxfp4_marlin);
const struct cs_step cs_online_mxfp4_cutlass_bf16_steps[] = {CS_DO_CALL(online_mxfp4), CS_DO_CALL(mxfp4_cutlass_bf16),
                                                             KEEP_MXFP4};
STEPS(online_mxfp4_cutlass_bf16);
const struct cs_step cs_online_mxfp4_cutlass_mxfp8_steps[] = {CS_DO_CALL(online_mxfp4), CS_DO_CALL(mxfp4_cutlass_mxfp8),
                                                              KEEP_MXFP4, CS_DO_CONSTANT("fake_input_scale", 1.0f)};
STEPS(online_mxfp4_cutlass_mxfp8);
