/* What ends in parameters: the post-loads of BF16 and FP8 back ends, made of the tables beside this file. Held tensors
 * are those that a quant config or an experts object reaches. Source: process_weights_after_loading of each method in
 * vllm quantization/, make_fp8_moe_quant_config in fused_moe/oracle/fp8.py, constructors in fused_moe/experts/. */
#include "sim/method/methods.h"

#define STEPS(id) const size_t cs_n_##id##_steps = CS_COUNT(cs_##id##_steps)

/* ---- BF16: the config holds biases, and the first one stays. FlashInfer TRT-LLM permutes in the parameter's own
 * storage, which is what replacing does to equal layouts ---- */

/* clang-format off */
#define HOLD_BIASES_ONCE                                                                                               \
    CS_DO_WHEN(CS_FACT_FIRST | CS_FACT_BIAS), CS_DO_CALL(hold_biases)
/* clang-format on */

static const struct cs_step hold_biases[] = {CS_DO_CONFIG("w13_bias", "_w1.bias"), CS_DO_CONFIG("w2_bias", "_w2.bias")};
CS_TABLE(hold_biases);

const struct cs_step cs_bf16_trtllm_steps[] = {CS_DO_CALL(bf16_trtllm), CS_DO_REPLACE("w13_weight"),
                                               CS_DO_REPLACE("w2_weight"), HOLD_BIASES_ONCE};
STEPS(bf16_trtllm);
const struct cs_step cs_bf16_flashinfer_cutlass_steps[] = {CS_DO_CALL(bf16_flashinfer_cutlass),
                                                           CS_DO_REPLACE("w13_weight"), HOLD_BIASES_ONCE};
STEPS(bf16_flashinfer_cutlass);
const struct cs_step cs_bf16_aiter_steps[] = {CS_DO_CALL(bf16_aiter), CS_DO_REPLACE("w13_weight"),
                                              CS_DO_REPLACE("w2_weight"), HOLD_BIASES_ONCE};
STEPS(bf16_aiter);
const struct cs_step cs_bf16_triton_steps[] = {HOLD_BIASES_ONCE};
STEPS(bf16_triton);

/* ---- FP8 ---- */

/* clang-format off */
#define REPLACE_WEIGHTS CS_DO_REPLACE("w13_weight"), CS_DO_REPLACE("w2_weight")
#define REPLACE_ALL     REPLACE_WEIGHTS, CS_DO_REPLACE("w13_weight_scale"), CS_DO_REPLACE("w2_weight_scale")
#define HOLD_SCALES                                                                                                    \
    CS_DO_CONFIG("w13_weight_scale", "_w1.scale"), CS_DO_CONFIG("w2_weight_scale", "_w2.scale"),                       \
        CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(hold_biases)
/* clang-format on */

/* AITER keeps scales as they are. */
static const struct cs_step fp8_aiter[] = {CS_DO_RELAYOUT("w13_weight", "aiter_16x16"),
                                           CS_DO_RELAYOUT("w2_weight", "aiter_16x16")};
CS_TABLE(fp8_aiter);

/* vLLM's CUTLASS kernels get strides, one for each expert. */
static const struct cs_step cutlass_strides[] = {
    CS_DO_EXTENT("ab_strides1", "w13_weight.2"), CS_DO_OWN("ab_strides1", "ab_strides1"),
    CS_DO_EXTENT("ab_strides2", "w2_weight.2"),  CS_DO_OWN("ab_strides2", "ab_strides2"),
    CS_DO_EXTENT("c_strides1", "2*w2_weight.2"), CS_DO_OWN("c_strides1", "c_strides1"),
};
CS_TABLE(cutlass_strides);

/* ---- FP8 per block: the config holds the scales ---- */

/* Tables of every FP8 method call scales by their other name. */
/* clang-format off */
#define TAKE_BLOCK_SCALES                                                                                              \
    CS_DO_TAKE("w13_weight_scale", "w13_weight_scale_inv"), CS_DO_TAKE("w2_weight_scale", "w2_weight_scale_inv")
#define KEEP_BLOCKS                                                                                                    \
    CS_DO_TAKE("w13_weight_scale_inv", "w13_weight_scale"), CS_DO_TAKE("w2_weight_scale_inv", "w2_weight_scale"),      \
        REPLACE_WEIGHTS, CS_DO_REPLACE("w13_weight_scale_inv"), CS_DO_REPLACE("w2_weight_scale_inv"),                  \
        CS_DO_CONFIG("w13_weight_scale_inv", "_w1.scale"), CS_DO_CONFIG("w2_weight_scale_inv", "_w2.scale"),           \
        CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(hold_biases)
/* A checkpoint's blocks, or those of weights that are quantised when they are complete. */
#define BLOCK_BACKEND(id, table)                                                                                       \
    const struct cs_step cs_fp8_block_##id##_steps[] = {TAKE_BLOCK_SCALES, CS_DO_CALL(table), KEEP_BLOCKS};            \
    STEPS(fp8_block_##id);                                                                                             \
    const struct cs_step cs_online_fp8_block_##id##_steps[] = {CS_DO_CALL(online_blocks), CS_DO_CALL(table),           \
                                                               KEEP_BLOCKS};                                           \
    STEPS(online_fp8_block_##id)
#define QUANTISE_BLOCKS(weight, scale)                                                                                 \
    CS_DO_MAXIMUM("amax", CS_F32, weight ".0 " weight ".1/bn " weight ".2/bk", weight " abs"),                         \
        CS_DO_CALL(block_scale), CS_DO_TAKE(scale, "sf"), CS_DO_MAP(weight, CS_E4M3, weight " * inverse")
/* clang-format on */

static const struct cs_step online_blocks[] = {
    CS_DO_CALL(online_zero_padding),
    QUANTISE_BLOCKS("w13_weight", "w13_weight_scale"),
    QUANTISE_BLOCKS("w2_weight", "w2_weight_scale"),
};
CS_TABLE(online_blocks);

BLOCK_BACKEND(aiter, fp8_aiter);
BLOCK_BACKEND(deepgemm, fp8_block_deepgemm);
BLOCK_BACKEND(flashinfer_cutlass, fp8_block_flashinfer_cutlass);
BLOCK_BACKEND(marlin, fp8_marlin);
BLOCK_BACKEND(triton, unchanged);
BLOCK_BACKEND(trtllm, fp8_block_trtllm);

/* ---- FP8 per tensor: one scale for both halves of w13, the larger one; one activation scale for all experts, and for
 * those of other ranks where an expert may move there (amax_for_moe_activation_quant) ---- */

static const struct cs_step fp8_tensor_inputs[] = {
    CS_DO_MAXIMUM("w13_input_scale", CS_F32, "", "w13_input_scale"),
    CS_DO_WHEN(CS_FACT_BALANCED),
    CS_DO_ALL_REDUCE("w13_input_scale"),
    CS_DO_MAXIMUM("w2_input_scale", CS_F32, "", "w2_input_scale"),
    CS_DO_WHEN(CS_FACT_BALANCED),
    CS_DO_ALL_REDUCE("w2_input_scale"),
    CS_DO_REPLACE("w13_input_scale"),
    CS_DO_REPLACE("w2_input_scale"),
};
CS_TABLE(fp8_tensor_inputs);
static const struct cs_step fp8_tensor_hold_inputs[] = {CS_DO_CONFIG("w13_input_scale", "_a1.scale"),
                                                        CS_DO_CONFIG("w2_input_scale", "_a2.scale")};
CS_TABLE(fp8_tensor_hold_inputs);
static const struct cs_step fp8_tensor_retire_inputs[] = {CS_DO_RETIRE("w13_input_scale"),
                                                          CS_DO_RETIRE("w2_input_scale")};
CS_TABLE(fp8_tensor_retire_inputs);

/* clang-format off */
#define MERGE_TENSORS                                                                                                  \
    CS_DO_WHEN(CS_FACT_STATIC), CS_DO_CALL(fp8_tensor_inputs),                                                         \
        CS_DO_TAKE("w", "w13_weight"), CS_DO_TAKE("scales", "w13_weight_scale"), CS_DO_CALL(merge_halves),             \
        CS_DO_TAKE("w13_weight_scale", "scale")
#define HOLD_TENSORS                                                                                                   \
    HOLD_SCALES, CS_DO_WHEN(CS_FACT_STATIC), CS_DO_CALL(fp8_tensor_hold_inputs)
#define NEEDS_INPUTS                                                                                                   \
    CS_DO_REQUIRE(CS_FACT_STATIC, "FlashInfer's FP8 kernels with one scale per tensor need static activation scales")
#define ALPHAS(name, weight, input)                                                                                    \
    CS_DO_MAP(name, CS_F32, weight " * " input)
/* clang-format on */

const struct cs_step cs_fp8_tensor_triton_steps[] = {MERGE_TENSORS, REPLACE_ALL, HOLD_TENSORS};
STEPS(fp8_tensor_triton);
const struct cs_step cs_fp8_tensor_cutlass_steps[] = {MERGE_TENSORS, REPLACE_ALL, HOLD_TENSORS,
                                                      CS_DO_CALL(cutlass_strides)};
STEPS(fp8_tensor_cutlass);
const struct cs_step cs_fp8_tensor_aiter_steps[] = {MERGE_TENSORS, CS_DO_CALL(fp8_aiter), REPLACE_ALL, HOLD_TENSORS};
STEPS(fp8_tensor_aiter);
/* Marlin takes activations as they are. */
/* clang-format off */
const struct cs_step cs_fp8_tensor_marlin_steps[] = {
    MERGE_TENSORS, CS_DO_CALL(fp8_marlin), REPLACE_ALL, HOLD_SCALES, CS_DO_WHEN(CS_FACT_STATIC), CS_DO_CALL(fp8_tensor_retire_inputs),
};
/* clang-format on */
STEPS(fp8_tensor_marlin);
const struct cs_step cs_fp8_tensor_trtllm_steps[] = {
    NEEDS_INPUTS,
    MERGE_TENSORS,
    CS_DO_CALL(fp8_tensor_trtllm),
    REPLACE_ALL,
    HOLD_TENSORS,
    ALPHAS("_g1_alphas", "w13_weight_scale", "w13_input_scale"),
    ALPHAS("_g2_alphas", "w2_weight_scale", "w2_input_scale"),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_MAP("_g1_scale_c", CS_F32, "_g1_alphas / w2_input_scale"),
    CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_SPREAD("_g1_scale_c", CS_F32, "_g1_alphas.0", "w2_input_scale into 1"),
    CS_DO_OWN("_g1_alphas", "_g1_alphas"),
    CS_DO_OWN("_g2_alphas", "_g2_alphas"),
    CS_DO_OWN("_g1_scale_c", "_g1_scale_c"),
};
STEPS(fp8_tensor_trtllm);
const struct cs_step cs_fp8_tensor_flashinfer_cutlass_steps[] = {
    NEEDS_INPUTS,
    MERGE_TENSORS,
    CS_DO_CALL(fp8_tensor_flashinfer_cutlass),
    REPLACE_ALL,
    HOLD_TENSORS,
    ALPHAS("g1_alphas", "w13_weight_scale", "w13_input_scale"),
    ALPHAS("g2_alphas", "w2_weight_scale", "w2_input_scale"),
    CS_DO_REGISTER("g1_alphas"),
    CS_DO_REGISTER("g2_alphas"),
    CS_DO_CONFIG("g1_alphas", "_w1.alpha_or_gscale"),
    CS_DO_CONFIG("g2_alphas", "_w2.alpha_or_gscale"),
    CS_DO_MAP("a1_gscale", CS_F32, "w13_input_scale into 1"),
    CS_DO_MAP("a2_gscale", CS_F32, "w2_input_scale into 1"),
    CS_DO_HOLD("a1_gscale", "_a1.alpha_or_gscale"),
    CS_DO_HOLD("a2_gscale", "_a2.alpha_or_gscale"),
};
STEPS(fp8_tensor_flashinfer_cutlass);

/* BF16 whose largest number decides the scale: of all ranks, where several have a part of what it is taken over. So
 * each derives the scale that the whole weight has; and padding of one rank reaches all. Rows of w13 are whole on each
 * rank. Source: quantization/online/fp8.py; quant_utils.py, amax_for_moe_weight_quant. */
/* clang-format off */
#define OVER_RANKS(value)                                                                                              \
    CS_DO_UNLESS(CS_FACT_ONE_RANK), CS_DO_ALL_REDUCE(value)
#define QUANTISE_TENSOR(weight, name)                                                                                  \
    CS_DO_MAXIMUM("amax", CS_BF16, weight ".0", weight " abs"), OVER_RANKS("amax"), CS_DO_CALL(online_tensor_scale),   \
        CS_DO_TAKE(name, "scale"), CS_DO_MAP("inverse", CS_F32, "scale into 1"),                                       \
        CS_DO_MAP(weight, CS_E4M3, weight " * inverse max -448 min 448")
#define QUANTISE_ROWS(weight, name, ...)                                                                               \
    CS_DO_MAXIMUM("amax", CS_BF16, weight ".0 " weight ".1 1", weight " abs"), __VA_ARGS__                             \
        CS_DO_MAP(name, CS_F32, "amax / 448 max 0x1.24924ap-18"),                                                      \
        CS_DO_MAP(weight, CS_E4M3, weight " / " name " max -448 min 448")
/* clang-format on */
static const struct cs_step online_tensors[] = {QUANTISE_TENSOR("w13_weight", "w13_weight_scale"),
                                                QUANTISE_TENSOR("w2_weight", "w2_weight_scale")};
CS_TABLE(online_tensors);
static const struct cs_step online_rows[] = {QUANTISE_ROWS("w13_weight", "w13_weight_scale", ),
                                             QUANTISE_ROWS("w2_weight", "w2_weight_scale", OVER_RANKS("amax"), )};
CS_TABLE(online_rows);
const struct cs_step cs_online_fp8_tensor_triton_steps[] = {CS_DO_CALL(online_tensors), REPLACE_ALL, HOLD_SCALES};
STEPS(online_fp8_tensor_triton);
const struct cs_step cs_online_fp8_tensor_marlin_steps[] = {CS_DO_CALL(online_tensors), CS_DO_CALL(fp8_marlin),
                                                            REPLACE_ALL, HOLD_SCALES};
STEPS(online_fp8_tensor_marlin);

/* ---- FP8 per row ---- */

/* clang-format off */
#define ROW_BACKEND(id, prepare)                                                                                       \
    const struct cs_step cs_##id##_triton_steps[] = {prepare, REPLACE_ALL, HOLD_SCALES};                               \
    STEPS(id##_triton);                                                                                                \
    const struct cs_step cs_##id##_aiter_steps[] = {prepare, CS_DO_CALL(fp8_aiter), REPLACE_ALL, HOLD_SCALES};         \
    STEPS(id##_aiter);                                                                                                 \
    const struct cs_step cs_##id##_marlin_steps[] = {prepare, CS_DO_CALL(fp8_marlin), REPLACE_ALL, HOLD_SCALES};       \
    STEPS(id##_marlin);                                                                                                \
    const struct cs_step cs_##id##_cutlass_steps[] = {prepare, REPLACE_ALL, HOLD_SCALES, CS_DO_CALL(cutlass_strides)}; \
    STEPS(id##_cutlass)
/* clang-format on */
ROW_BACKEND(fp8_channel, CS_DO_CALL(unchanged));
ROW_BACKEND(online_fp8_channel, CS_DO_CALL(online_rows));
/* Quark's scales have one dimension less: the result is the parameter's own storage in another shape. */
static const struct cs_step quark_rows[] = {
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight_scale.0 w13_weight_scale.1 1"),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight_scale.0 w2_weight_scale.1 1"),
    CS_DO_REPLACE("w13_weight_scale"),
    CS_DO_REPLACE("w2_weight_scale"),
};
CS_TABLE(quark_rows);
ROW_BACKEND(quark_fp8_channel, CS_DO_CALL(quark_rows));
/* Quark's blocks have the name of other scales. */
ROW_BACKEND(quark_fp8_block, CS_DO_CALL(unchanged));

/* ---- MXFP8 ---- */

/* clang-format off */
#define QUANTISE_MXFP8(weight, name)                                                                                   \
    CS_DO_TAKE("x", weight), CS_DO_CALL(mxfp8_quantise), CS_DO_TAKE(weight, "y"), CS_DO_TAKE(name, "s")
#define DEQUANTISE_MXFP8(weight, name)                                                                                 \
    CS_DO_TAKE("x", weight), CS_DO_TAKE("s", name), CS_DO_CALL(mxfp8_dequantise), CS_DO_TAKE(weight, "y")
#define MXFP8_BACKEND(id, prepare)                                                                                     \
    const struct cs_step cs_##id##_trtllm_steps[] = {prepare, CS_DO_CALL(mxfp8_trtllm), REPLACE_ALL, HOLD_SCALES};     \
    STEPS(id##_trtllm);                                                                                                \
    const struct cs_step cs_##id##_marlin_steps[] = {prepare, CS_DO_CALL(mxfp8_marlin), REPLACE_ALL, HOLD_SCALES};     \
    STEPS(id##_marlin);                                                                                                \
    const struct cs_step cs_##id##_triton_steps[] = {prepare, REPLACE_ALL, HOLD_SCALES};                               \
    STEPS(id##_triton)
/* clang-format on */
static const struct cs_step online_mxfp8[] = {QUANTISE_MXFP8("w13_weight", "w13_weight_scale"),
                                              QUANTISE_MXFP8("w2_weight", "w2_weight_scale")};
CS_TABLE(online_mxfp8);
MXFP8_BACKEND(mxfp8, CS_DO_CALL(unchanged));
MXFP8_BACKEND(online_mxfp8, CS_DO_CALL(online_mxfp8));
/* Without MXFP8 kernels weights become BF16 once, twice as large. */
const struct cs_step cs_mxfp8_emulation_steps[] = {
    REPLACE_ALL,
    HOLD_SCALES,
    DEQUANTISE_MXFP8("w13_weight", "w13_weight_scale"),
    DEQUANTISE_MXFP8("w2_weight", "w2_weight_scale"),
    REPLACE_WEIGHTS,
};
STEPS(mxfp8_emulation);
