/* FP8 experts: per tensor, per block, MXFP8. Source: vllm fused_moe/oracle/fp8.py,
 * quantization/utils/flashinfer_utils.py. */
#include "sim/method/methods.h"

static const struct cs_step fp8_align[] = {
    CS_DO_PAD_HALVES("w13_weight", CS_OF_I(1), 0, 0),
    CS_DO_PAD("w2_weight", 0, CS_OF_I(1), 0),
};
CS_TABLE(fp8_align);
/* I to multiples of 16, or 128 where nothing gates. */
/* clang-format off */
static const struct cs_step fp8_tensor_align[] = {
    CS_DO_WHEN(CS_FACT_GATED), CS_DO_ALIGN(16, 0), CS_DO_UNLESS(CS_FACT_GATED), CS_DO_ALIGN(128, 0), CS_DO_CALL(fp8_align),
};
/* clang-format on */
CS_TABLE(fp8_tensor_align);

static const struct cs_step fp8_tensor_trtllm[] = {
    CS_DO_CALL(fp8_tensor_align),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32"),
    CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "shuffle32"),
    CS_DO_RELAYOUT("w2_weight", "shuffle32"),
};
CS_TABLE(fp8_tensor_trtllm);

static const struct cs_step fp8_tensor_flashinfer_cutlass[] = {
    CS_DO_CALL(fp8_tensor_align),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "swap_halves"),
};
CS_TABLE(fp8_tensor_flashinfer_cutlass);

/* A scale of 0 would divide by zero in the kernel. NaN stays. */
static const struct cs_step fp8_clamp_scales[] = {
    CS_DO_UPDATE("w13_weight_scale", "w13_weight_scale max 1e-10"),
    CS_DO_UPDATE("w2_weight_scale", "w2_weight_scale max 1e-10"),
};
CS_TABLE(fp8_clamp_scales);

static const struct cs_step fp8_block_trtllm[] = {
    CS_DO_CALL(fp8_clamp_scales),
    CS_DO_RELAYOUT("w13_weight", "swap_shuffle16", "block_major_k"),
    CS_DO_RESHAPE("w13_weight", "w13_weight.0 w13_weight.2/128 w13_weight.1 128"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_halves"),
    CS_DO_RELAYOUT("w2_weight", "shuffle16", "block_major_k"),
    CS_DO_RESHAPE("w2_weight", "w2_weight.0 w2_weight.2/128 w2_weight.1 128"),
};
CS_TABLE(fp8_block_trtllm);

static const struct cs_step fp8_block_flashinfer_cutlass[] = {
    CS_DO_CALL(fp8_clamp_scales),
    CS_DO_RELAYOUT("w13_weight", "swap_halves"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_halves"),
};
CS_TABLE(fp8_block_flashinfer_cutlass);

/* Nothing changes. */
static const struct cs_step unchanged[] = {CS_DO_UNLESS(0)};
CS_TABLE(unchanged);

/* MXFP8 for TRT-LLM: padded scales are 127, the e8m0 number 1. Scales that came flat stay flat. */
static const struct cs_step mxfp8_align_w13[] = {
    CS_DO_WHEN(CS_FACT_FLAT),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight.0 w13_weight.1 -1"),
    CS_DO_PAD_HALVES("w13_weight", CS_OF_I(1), CS_OF_H(1), 0),
    CS_DO_PAD_HALVES("w13_weight_scale", CS_OF_I(1), CS_OF_H(32), 127),
    CS_DO_WHEN(CS_FACT_FLAT),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight.0 -1"),
};
CS_TABLE(mxfp8_align_w13);
static const struct cs_step mxfp8_align_w2[] = {
    CS_DO_WHEN(CS_FACT_FLAT),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight.0 w2_weight.1 -1"),
    CS_DO_PAD("w2_weight", CS_OF_H(1), CS_OF_I(1), 0),
    CS_DO_PAD("w2_weight_scale", CS_OF_H(1), CS_OF_I(32), 127),
    CS_DO_WHEN(CS_FACT_FLAT),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight.0 -1"),
};
CS_TABLE(mxfp8_align_w2);
static const struct cs_step mxfp8_align[] = {CS_DO_CALL(mxfp8_align_w13), CS_DO_CALL(mxfp8_align_w2)};
CS_TABLE(mxfp8_align);
static const struct cs_step mxfp8_trtllm_w13[] = {
    CS_DO_ALIGN(128, 256),       CS_DO_CALL(mxfp8_align_w13),
    CS_DO_WHEN(CS_FACT_GATED),   CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32"),
    CS_DO_WHEN(CS_FACT_GATED),   CS_DO_RELAYOUT("w13_weight_scale", "swap_gated_shuffle32", "swizzle_128x4"),
    CS_DO_UNLESS(CS_FACT_GATED), CS_DO_RELAYOUT("w13_weight", "shuffle32"),
    CS_DO_UNLESS(CS_FACT_GATED), CS_DO_RELAYOUT("w13_weight_scale", "shuffle32", "swizzle_128x4"),
};
CS_TABLE(mxfp8_trtllm_w13);
static const struct cs_step mxfp8_trtllm_w2[] = {
    CS_DO_ALIGN(128, 256),
    CS_DO_CALL(mxfp8_align_w2),
    CS_DO_RELAYOUT("w2_weight", "shuffle32"),
    CS_DO_RELAYOUT("w2_weight_scale", "shuffle32", "swizzle_128x4"),
};
CS_TABLE(mxfp8_trtllm_w2);
static const struct cs_step mxfp8_trtllm[] = {CS_DO_CALL(mxfp8_trtllm_w13), CS_DO_CALL(mxfp8_trtllm_w2)};
CS_TABLE(mxfp8_trtllm);
