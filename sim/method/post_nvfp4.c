/* NVFP4 experts. Source: vllm fused_moe/oracle/nvfp4.py, quantization/utils/flashinfer_fp4_moe.py. Weights are bytes of
 * two numbers: K in bytes is half of K, and a sixteenth in scales. */
#include "sim/method/methods.h"

/* ---- activation scales ---- */

static const struct cs_step nvfp4_scales_per_expert[] = {
    CS_DO_MAXIMUM("w13_input_scale", CS_F32, "w13_input_scale.0", "w13_input_scale"),
};
CS_TABLE(nvfp4_scales_per_expert);
/* One maximum for all experts, and those of other ranks where experts may move there; repeated. */
static const struct cs_step nvfp4_scales_global[] = {
    CS_DO_MAXIMUM("largest", CS_F32, "1", "w13_input_scale"),
    CS_DO_WHEN(CS_FACT_BALANCED),
    CS_DO_ALL_REDUCE("largest"),
    CS_DO_SPREAD("w13_input_scale", CS_F32, "w13_weight.0", "largest"),
    CS_DO_MAXIMUM("largest", CS_F32, "1", "w2_input_scale"),
    CS_DO_WHEN(CS_FACT_BALANCED),
    CS_DO_ALL_REDUCE("largest"),
    CS_DO_SPREAD("w2_input_scale", CS_F32, "w2_weight.0", "largest"),
};
CS_TABLE(nvfp4_scales_global);

/* ---- padding ---- */

static const struct cs_step nvfp4_align_hidden[] = {
    CS_DO_PAD("w13_weight", 0, CS_OF_H(2), 0),
    CS_DO_PAD("w13_weight_scale", 0, CS_OF_H(16), 0),
    CS_DO_PAD("w2_weight", CS_OF_H(1), 0, 0),
    CS_DO_PAD("w2_weight_scale", CS_OF_H(1), 0, 0),
};
CS_TABLE(nvfp4_align_hidden);
static const struct cs_step nvfp4_align_intermediate[] = {
    CS_DO_PAD_HALVES("w13_weight", CS_OF_I(1), 0, 0),
    CS_DO_PAD_HALVES("w13_weight_scale", CS_OF_I(1), 0, 0),
    CS_DO_PAD("w2_weight", 0, CS_OF_I(2), 0),
    CS_DO_PAD("w2_weight_scale", 0, CS_OF_I(16), 0),
};
CS_TABLE(nvfp4_align_intermediate);
/* Gated: 64, per half; else 128. */
static const struct cs_step nvfp4_alignments[] = {
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_ALIGN(64, 256),
    CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_ALIGN(128, 256),
};
CS_TABLE(nvfp4_alignments);

/* ---- back ends ---- */

static const struct cs_step nvfp4_swizzle_scales[] = {
    CS_DO_RELAYOUT("w13_weight_scale", "swizzle_128x4"),
    CS_DO_RELAYOUT("w2_weight_scale", "swizzle_128x4"),
};
CS_TABLE(nvfp4_swizzle_scales);
static const struct cs_step nvfp4_swap[] = {
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "swap_halves"),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_halves"),
};
CS_TABLE(nvfp4_swap);

/* Padding each half commutes with exchanging them, so the exchange is part of the shuffle. */
static const struct cs_step nvfp4_trtllm[] = {
    CS_DO_CALL(nvfp4_scales_global),
    CS_DO_CALL(nvfp4_alignments),
    CS_DO_CALL(nvfp4_align_hidden),
    CS_DO_CALL(nvfp4_align_intermediate),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "swap_gated_shuffle32"),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight_scale", "swap_gated_shuffle32", "swizzle_128x4"),
    CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "shuffle32"),
    CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight_scale", "shuffle32", "swizzle_128x4"),
    CS_DO_RELAYOUT("w2_weight", "shuffle32"),
    CS_DO_RELAYOUT("w2_weight_scale", "shuffle32", "swizzle_128x4"),
};
CS_TABLE(nvfp4_trtllm);

/* FLASHINFER_CUTLASS and FLASHINFER_B12X. */
static const struct cs_step nvfp4_flashinfer_cutlass[] = {
    CS_DO_CALL(nvfp4_scales_global),      CS_DO_CALL(nvfp4_alignments), CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_CALL(nvfp4_align_intermediate), CS_DO_CALL(nvfp4_swap),       CS_DO_CALL(nvfp4_swizzle_scales),
};
CS_TABLE(nvfp4_flashinfer_cutlass);

static const struct cs_step nvfp4_cutlass[] = {
    CS_DO_CALL(nvfp4_scales_per_expert),  CS_DO_CALL(nvfp4_alignments),     CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_CALL(nvfp4_align_intermediate), CS_DO_CALL(nvfp4_swizzle_scales),
};
CS_TABLE(nvfp4_cutlass);

static const struct cs_step nvfp4_cutedsl_batched[] = {
    CS_DO_CALL(nvfp4_scales_global),      CS_DO_CALL(nvfp4_alignments),     CS_DO_UNLESS(CS_FACT_GATED),
    CS_DO_CALL(nvfp4_align_intermediate), CS_DO_CALL(nvfp4_swizzle_scales),
};
CS_TABLE(nvfp4_cutedsl_batched);

static const struct cs_step nvfp4_cutedsl[] = {
    CS_DO_CALL(nvfp4_scales_global),
    CS_DO_CALL(nvfp4_swap),
    CS_DO_CALL(nvfp4_alignments),
    CS_DO_CALL(nvfp4_align_intermediate),
    CS_DO_CALL(nvfp4_align_hidden),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight", "interleave64"),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_RELAYOUT("w13_weight_scale", "interleave64"),
    CS_DO_CALL(nvfp4_swizzle_scales),
};
CS_TABLE(nvfp4_cutedsl);

/* Native B12X keeps gate before up. */
static const struct cs_step nvfp4_b12x[] = {
    CS_DO_CALL(nvfp4_scales_per_expert),
    CS_DO_CALL(nvfp4_alignments),
    CS_DO_CALL(nvfp4_align_intermediate),
    CS_DO_CALL(nvfp4_swizzle_scales),
};
CS_TABLE(nvfp4_b12x);
