/* BF16 experts. Source: vllm fused_moe/oracle/unquantized.py, fused_moe/unquantized_fused_moe_method.py. */
#include "sim/method/methods.h"

/* Rows of each half of w13 and columns of w2 beyond the unpadded I; neither H padding nor biases. */
static const struct cs_step bf16_zero_intermediate[] = {
    CS_DO_ZERO_HALVES("w13_weight", 'I', 0),
    CS_DO_ZERO("w2_weight", 0, 'I'),
};
CS_TABLE(bf16_zero_intermediate);

/* FlashInfer TRT-LLM: K in blocks of 128 bytes. Shapes stay; the blocks' view is made at dispatch. */
static const struct cs_step bf16_block_layout_w13[] = {
    CS_DO_VIEW("w13_weight", CS_U8),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32", "block_major_k"),
    CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "shuffle32", "block_major_k"),
    CS_DO_VIEW("w13_weight", CS_BF16),
};
CS_TABLE(bf16_block_layout_w13);
static const struct cs_step bf16_block_layout_w2[] = {
    CS_DO_VIEW("w2_weight", CS_U8),
    CS_DO_RELAYOUT("w2_weight", "shuffle32", "block_major_k"),
    CS_DO_VIEW("w2_weight", CS_BF16),
};
CS_TABLE(bf16_block_layout_w2);
/* As the function returns them, with the blocks as a dimension. */
static const struct cs_step bf16_block_layout[] = {
    CS_DO_CALL(bf16_block_layout_w13),
    CS_DO_RESHAPE("w13_weight", "w13_weight.0 w13_weight.2/64 w13_weight.1 64"),
    CS_DO_CALL(bf16_block_layout_w2),
    CS_DO_RESHAPE("w2_weight", "w2_weight.0 w2_weight.2/64 w2_weight.1 64"),
};
CS_TABLE(bf16_block_layout);

static const struct cs_step bf16_trtllm_w13[] = {
    CS_DO_PAD_HALVES("w13_weight", 128, 0, 0),
    CS_DO_ZERO_HALVES("w13_weight", 'I', 0),
    CS_DO_CALL(bf16_block_layout_w13),
};
CS_TABLE(bf16_trtllm_w13);
static const struct cs_step bf16_trtllm_w2[] = {
    CS_DO_PAD("w2_weight", 0, 128, 0),
    CS_DO_ZERO("w2_weight", 0, 'I'),
    CS_DO_CALL(bf16_block_layout_w2),
};
CS_TABLE(bf16_trtllm_w2);
static const struct cs_step bf16_trtllm[] = {CS_DO_CALL(bf16_trtllm_w13), CS_DO_CALL(bf16_trtllm_w2)};
CS_TABLE(bf16_trtllm);

static const struct cs_step bf16_flashinfer_cutlass[] = {
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "swap_halves"),
};
CS_TABLE(bf16_flashinfer_cutlass);

/* AITER: bytes in tiles of 16 x 16, after the same zeroing. */
static const struct cs_step bf16_aiter[] = {
    CS_DO_CALL(bf16_zero_intermediate), CS_DO_VIEW("w13_weight", CS_U8), CS_DO_RELAYOUT("w13_weight", "aiter_16x16"),
    CS_DO_VIEW("w13_weight", CS_BF16),  CS_DO_VIEW("w2_weight", CS_U8),  CS_DO_RELAYOUT("w2_weight", "aiter_16x16"),
    CS_DO_VIEW("w2_weight", CS_BF16),
};
CS_TABLE(bf16_aiter);

/* Online quantisation zeroes everything beyond the unpadded sizes first. Source: quantization/online/moe_base.py. */
static const struct cs_step online_zero_padding[] = {
    CS_DO_ZERO_HALVES("w13_weight", 'I', 'H'),
    CS_DO_ZERO("w2_weight", 'H', 'I'),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_ZERO_HALVES("w13_bias", 'I', 0),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_ZERO("w2_bias", 'H', 0),
};
CS_TABLE(online_zero_padding);

/* Group-quantised 4-bit integers for TRT-LLM. Upstream makes them signed in place first, which no move of bytes notices.
 * Source: quantization/utils/flashinfer_mxint4_moe.py. */
static const struct cs_step mxint4_signed[] = {CS_DO_TAKE("y", "x"), CS_DO_RESHAPE("y", "1 1 x"), CS_DO_RELAYOUT("y", "int4_signed"), CS_DO_RESHAPE("y", "x")};
CS_TABLE(mxint4_signed);
static const struct cs_step mxint4_trtllm_w13[] = {
    CS_DO_VIEW("w13_weight", CS_U8),
    CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32", "block_major_k", "int4_signed"),
    CS_DO_RESHAPE("w13_weight", "w13_weight.0 w13_weight.2/128 w13_weight.1 128"),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_gated_shuffle32", "swizzle_128x4"),
    CS_DO_RESHAPE("w13_weight_scale", "w13_weight_scale.0 -1"),
};
CS_TABLE(mxint4_trtllm_w13);
static const struct cs_step mxint4_trtllm_w2[] = {
    CS_DO_VIEW("w2_weight", CS_U8),
    CS_DO_RELAYOUT("w2_weight", "shuffle32", "block_major_k", "int4_signed"),
    CS_DO_RESHAPE("w2_weight", "w2_weight.0 w2_weight.2/128 w2_weight.1 128"),
    CS_DO_RELAYOUT("w2_weight_scale", "shuffle32", "swizzle_128x4"),
    CS_DO_RESHAPE("w2_weight_scale", "w2_weight_scale.0 -1"),
};
CS_TABLE(mxint4_trtllm_w2);
static const struct cs_step mxint4_trtllm[] = {CS_DO_CALL(mxint4_trtllm_w13), CS_DO_CALL(mxint4_trtllm_w2)};
CS_TABLE(mxint4_trtllm);
