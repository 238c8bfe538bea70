/* MXFP4 experts, gpt-oss (pairs of rows) and generic (halves), beside TRT-LLM. Source: vllm fused_moe/oracle/mxfp4.py,
 * quantization/utils/mxfp4_utils.py; triton_kernels tensor_details/layout_details; flashinfer fused_moe/prepare.py. */
#include "sim/method/methods.h"

/* ---- FlashInfer CUTLASS ---- */

static const struct cs_step gpt_oss_cutlass_bf16[] = {
    CS_DO_RELAYOUT("w13_weight", "deinterleave_up_first", "sm90_fp4"),
    CS_DO_RELAYOUT("w13_weight_scale", "deinterleave_up_first", "sm90_scale_fold"),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight_scale.0 w13_weight_scale.1/64 w13_weight_scale.2/4 16 16"),
    CS_DO_RELAYOUT("w13_bias", "deinterleave_up_first"),
    CS_DO_RELAYOUT("w2_weight", "sm90_fp4"),
    CS_DO_RELAYOUT("w2_weight_scale", "sm90_scale_fold"),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight_scale.0 w2_weight_scale.1/64 w2_weight_scale.2/4 16 16"),
};
CS_TABLE(gpt_oss_cutlass_bf16);
static const struct cs_step mxfp4_cutlass_bf16[] = {
    CS_DO_RELAYOUT("w13_weight", "swap_halves", "sm90_fp4"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_halves", "sm90_scale_fold"),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight_scale.0 w13_weight_scale.1/64 w13_weight_scale.2/4 16 16"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_RELAYOUT("w13_bias", "swap_halves"),
    CS_DO_RELAYOUT("w2_weight", "sm90_fp4"),
    CS_DO_RELAYOUT("w2_weight_scale", "sm90_scale_fold"),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight_scale.0 w2_weight_scale.1/64 w2_weight_scale.2/4 16 16"),
};
CS_TABLE(mxfp4_cutlass_bf16);
static const struct cs_step gpt_oss_cutlass_mxfp8[] = {
    CS_DO_RELAYOUT("w13_weight", "deinterleave_up_first"),
    CS_DO_RELAYOUT("w13_weight_scale", "deinterleave_up_first", "swizzle_128x4"),
    CS_DO_RELAYOUT("w13_bias", "deinterleave_up_first"),
    CS_DO_RELAYOUT("w2_weight_scale", "swizzle_128x4"),
};
CS_TABLE(gpt_oss_cutlass_mxfp8);
static const struct cs_step mxfp4_cutlass_mxfp8[] = {
    CS_DO_RELAYOUT("w13_weight", "swap_halves"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_halves", "swizzle_128x4"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_RELAYOUT("w13_bias", "swap_halves"),
    CS_DO_RELAYOUT("w2_weight_scale", "swizzle_128x4"),
};
CS_TABLE(mxfp4_cutlass_mxfp8);
/* vLLM's own CUTLASS kernels. */
static const struct cs_step mxfp4_cutlass[] = {
    CS_DO_RELAYOUT("w13_weight_scale", "swizzle_128x4"),
    CS_DO_RELAYOUT("w2_weight_scale", "swizzle_128x4"),
};
CS_TABLE(mxfp4_cutlass);

/* TRT-LLM with biases. */
static const struct cs_step mxfp4_trtllm_bias[] = {
    CS_DO_CAST("w13_bias", CS_F32),
    CS_DO_RELAYOUT("w13_bias", "swap_gated_shuffle32"),
    CS_DO_CAST("w2_bias", CS_F32),
    CS_DO_RELAYOUT("w2_bias", "shuffle32"),
};
CS_TABLE(mxfp4_trtllm_bias);
static const struct cs_step mxfp4_trtllm[] = {
    CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_gated_shuffle32", "swizzle_128x4"),
    CS_DO_VIEW("w13_weight_scale", CS_E4M3),
    CS_DO_RELAYOUT("w2_weight", "shuffle32"),
    CS_DO_RELAYOUT("w2_weight_scale", "shuffle32", "swizzle_128x4"),
    CS_DO_VIEW("w2_weight_scale", CS_E4M3),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CALL(mxfp4_trtllm_bias),
};
CS_TABLE(mxfp4_trtllm);

/* ---- Triton ---- */

/* All but the gate and up weights. */
/* clang-format off */
static const struct cs_step triton_hopper[] = {
    CS_DO_RESHAPE("w13_weight", "w13_weight.0 w13_weight.1/4 w13_weight.2*4"),
    CS_DO_PAD("w13_weight_scale", 0, 4, 0),       CS_DO_RELAYOUT("w13_weight_scale", "hopper_scale"),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight_scale.0 w13_weight_scale.1/32 w13_weight_scale.2*32"),
    CS_DO_RELAYOUT("w2_weight", "hopper_value"),  CS_DO_RESHAPE("w2_weight", "w2_weight.0 w2_weight.1/4 w2_weight.2*4"),
    CS_DO_PAD("w2_weight_scale", 0, 4, 0),        CS_DO_RELAYOUT("w2_weight_scale", "hopper_scale"),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight_scale.0 w2_weight_scale.1/32 w2_weight_scale.2*32"),
};
/* clang-format on */
CS_TABLE(triton_hopper);
static const struct cs_step triton_blackwell[] = {
    CS_DO_RELAYOUT("w13_weight_scale", "blackwell_scale"),
    CS_DO_RESHAPE("w13_weight_scale", "1 w13_weight_scale.0*w13_weight_scale.1/128 w13_weight_scale.2/4 2 256"),
    CS_DO_RELAYOUT("w2_weight", "blackwell_value"),
    CS_DO_RELAYOUT("w2_weight_scale", "blackwell_scale"),
    CS_DO_RESHAPE("w2_weight_scale", "1 w2_weight_scale.0*w2_weight_scale.1/128 w2_weight_scale.2/4 2 256"),
};
CS_TABLE(triton_blackwell);
static const struct cs_step triton_biases[] = {
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CAST("w13_bias", CS_F32),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CAST("w2_bias", CS_F32),
};
CS_TABLE(triton_biases);
/* Generic checkpoints: upstream interleaves the last dimension of w13, which is K; weights in the pass that swizzles. */
static const struct cs_step triton_interleave[] = {
    CS_DO_RELAYOUT("w13_weight_scale", "interleave_last"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_RELAYOUT("w13_bias", "gated_reorder"), /* of one column: the same */
};
CS_TABLE(triton_interleave);
static const struct cs_step mxfp4_triton_hopper[] = {CS_DO_CALL(triton_biases), CS_DO_CALL(triton_interleave),
                                                     CS_DO_RELAYOUT("w13_weight", "interleave_last", "hopper_value"),
                                                     CS_DO_CALL(triton_hopper)};
CS_TABLE(mxfp4_triton_hopper);
static const struct cs_step mxfp4_triton_blackwell[] = {CS_DO_CALL(triton_biases), CS_DO_CALL(triton_interleave),
                                                        CS_DO_RELAYOUT("w13_weight", "interleave_last", "blackwell_value"),
                                                        CS_DO_CALL(triton_blackwell)};
CS_TABLE(mxfp4_triton_blackwell);
static const struct cs_step gpt_oss_triton_hopper[] = {CS_DO_CALL(triton_biases), CS_DO_RELAYOUT("w13_weight", "hopper_value"),
                                                       CS_DO_CALL(triton_hopper)};
CS_TABLE(gpt_oss_triton_hopper);
static const struct cs_step gpt_oss_triton_blackwell[] = {CS_DO_CALL(triton_biases), CS_DO_RELAYOUT("w13_weight", "blackwell_value"),
                                                          CS_DO_CALL(triton_blackwell)};
CS_TABLE(gpt_oss_triton_blackwell);

/* The function alone, on one matrix of each kind; sm80 keeps plain strides. */
/* clang-format off */
static const struct cs_step triton_swizzle_hopper[] = {
    CS_DO_TAKE("value", "w_NK"),     CS_DO_RELAYOUT("value", "hopper_value"), CS_DO_RESHAPE("value", "value.0 value.1/4 value.2*4"),
    CS_DO_TAKE("scale", "scale_NG"), CS_DO_PAD("scale", 0, 4, 0), CS_DO_RELAYOUT("scale", "hopper_scale"),
    CS_DO_RESHAPE("scale", "scale.0 scale.1/32 scale.2*32"),
};
/* clang-format on */
CS_TABLE(triton_swizzle_hopper);
static const struct cs_step triton_swizzle_blackwell[] = {
    CS_DO_TAKE("value", "w_NK"),
    CS_DO_RELAYOUT("value", "blackwell_value"),
    CS_DO_TAKE("scale", "scale_NG"),
    CS_DO_RELAYOUT("scale", "blackwell_scale"),
    CS_DO_RESHAPE("scale", "1 scale.0*scale.1/128 scale.2/4 2 256"),
};
CS_TABLE(triton_swizzle_blackwell);
static const struct cs_step triton_swizzle_plain[] = {CS_DO_TAKE("value", "w_NK"), CS_DO_TAKE("scale", "scale_NG")};
CS_TABLE(triton_swizzle_plain);
