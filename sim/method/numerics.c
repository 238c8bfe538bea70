/* What quantisation computes, outside of any back end's pipeline. Each table is a function of upstream: x or w goes in,
 * y comes out. */
#include "sim/method/methods.h"

/* ---- casts ---- */

static const struct cs_step cast_to_e4m3[] = {CS_DO_TAKE("y", "x"), CS_DO_CAST("y", CS_E4M3)};
CS_TABLE(cast_to_e4m3);
static const struct cs_step cast_to_e8m0[] = {CS_DO_TAKE("y", "x"), CS_DO_CAST("y", CS_E8M0)};
CS_TABLE(cast_to_e8m0);
static const struct cs_step cast_all[] = {
    CS_DO_TAKE("f32", "x"),      CS_DO_CAST("f32", CS_F32), CS_DO_TAKE("bf16", "x"),
    CS_DO_CAST("bf16", CS_BF16), CS_DO_TAKE("f16", "x"),    CS_DO_CAST("f16", CS_F16),
};
CS_TABLE(cast_all);
static const struct cs_step cast_from_e4m3[] = {CS_DO_VIEW("x", CS_E4M3), CS_DO_CALL(cast_all)};
CS_TABLE(cast_from_e4m3);
static const struct cs_step cast_from_e8m0[] = {
    CS_DO_VIEW("x", CS_E8M0),
    CS_DO_CALL(cast_all),
    CS_DO_TAKE("back_via_bf16", "bf16"),
    CS_DO_CAST("back_via_bf16", CS_E8M0),
    CS_DO_TAKE("back_via_f16", "f16"),
    CS_DO_CAST("back_via_f16", CS_E8M0),
};
CS_TABLE(cast_from_e8m0);
/* By bits: 0 becomes +0 and 255 infinity. */
static const struct cs_step upcast_e8m0[] = {CS_DO_MAP("y", CS_F32, "x left 23")};
CS_TABLE(upcast_e8m0);
static const struct cs_step cast_to_e2m1[] = {CS_DO_MAP("y", CS_F32, "x + 0 as e2m1")};
CS_TABLE(cast_to_e2m1);
static const struct cs_step unpack_e2m1[] = {CS_DO_VIEW("x", CS_E2M1), CS_DO_MAP("y", CS_F32, "x")};
CS_TABLE(unpack_e2m1);

/* ---- powers of two ---- */

static const struct cs_step power_above[] = {CS_DO_MAP("y", CS_F32, "x abs log2 ceil exp2")};
CS_TABLE(power_above);
/* DeepGEMM's: the exponent, one more for any mantissa, within 1 … 254. */
static const struct cs_step power_above_bits[] = {
    CS_DO_MAP("y", CS_F32, "x abs plus 0x7fffff right 23 most 1 least 254 left 23")};
CS_TABLE(power_above_bits);
static const struct cs_step pack_exponents[] = {CS_DO_MAP("y", CS_U8, "x right 23"), CS_DO_VIEW("y", CS_I32)};
CS_TABLE(pack_exponents);
/* MN-major words of four exponents each. */
static const struct cs_step pack_exponents_mn_major[] = {
    CS_DO_MAP("words", CS_U8, "sf right 23"),
    CS_DO_RESHAPE("words", "E sf.0/E sf.1"),
    CS_DO_RELAYOUT("words", "mn_major_pack"),
    CS_DO_RESHAPE("words", "E sf.1/4 -1 4"),
    CS_DO_VIEW("words", CS_I32),
    CS_DO_RESHAPE("words", "E sf.1/4 -1"),
};
CS_TABLE(pack_exponents_mn_major);

/* ---- e4m3 ---- */

/* One reciprocal, then products. CUDA's kernel clamps NaN to 448; this is what torch does. */
static const struct cs_step quantise_static[] = {
    CS_DO_MAP("inverse", CS_F32, "scale into 1"),
    CS_DO_MAP("y", CS_E4M3, "x * inverse max -448 min 448"),
};
CS_TABLE(quantise_static);
static const struct cs_step quantise_token[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "x.0 1", "x abs"),
    CS_DO_MAP("scale", CS_F32, "amax / 448 max 0x1.24924ap-18"),
    CS_DO_MAP("y", CS_E4M3, "x / scale max -448 min 448"),
};
CS_TABLE(quantise_token);
static const struct cs_step online_tensor_amax[] = {
    CS_DO_MAXIMUM("amax", CS_SAME_DTYPE, "w.0", "w abs"),
    CS_DO_MAP("scale", CS_F32, "amax / 448"),
};
CS_TABLE(online_tensor_amax);
static const struct cs_step online_tensor_scale[] = {CS_DO_MAP("scale", CS_F32, "amax / 448")};
CS_TABLE(online_tensor_scale);
/* 1 / (448 * 512) is the smallest scale. */
static const struct cs_step online_channel[] = {
    CS_DO_MAXIMUM("amax", CS_SAME_DTYPE, "w.0 1", "w abs"),
    CS_DO_MAP("scale", CS_F32, "amax / 448 max 0x1.24924ap-18"),
    CS_DO_MAP("y", CS_E4M3, "w / scale max -448 min 448"),
};
CS_TABLE(online_channel);

/* Blocks of bn x bk. `amax / 448` is a true division on a CPU; CUDA multiplies by the reciprocal. */
static const struct cs_step block_scale[] = {
    CS_DO_WHEN(CS_FACT_CPU),
    CS_DO_MAP("sf", CS_F32, "amax max 1e-4 / 448"),
    CS_DO_UNLESS(CS_FACT_CPU),
    CS_DO_MAP("sf", CS_F32, "amax max 1e-4 * 0x1.24924ap-9"),
    CS_DO_WHEN(CS_FACT_UE8M0),
    CS_DO_MAP("sf", CS_F32, "sf log2 ceil exp2"),
    CS_DO_MAP("inverse", CS_F32, "sf into 1"),
};
CS_TABLE(block_scale);
static const struct cs_step quantise_block[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "x.0/bn x.1/bk", "x abs"),
    CS_DO_CALL(block_scale),
    CS_DO_MAP("y", CS_E4M3, "x * inverse"),
};
CS_TABLE(quantise_block);
/* Each expert and block anew, with a power of two for a scale. */
static const struct cs_step requantise_ue8m0[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "scale", "w * scale abs"),
    CS_DO_MAP("inverse", CS_F32, "amax max 1e-4 / 448 log2 ceil exp2 into 1"),
    CS_DO_UPDATE("w", "w * scale * inverse"),
    CS_DO_UPDATE("scale", "amax max 1e-4 / 448 log2 ceil exp2"),
};
CS_TABLE(requantise_ue8m0);
static const struct cs_step deep_gemm_scale[] = {
    CS_DO_WHEN(CS_FACT_UE8M0),
    CS_DO_MAP("sf", CS_F32, "sf abs plus 0x7fffff right 23 most 1 least 254 left 23"),
    CS_DO_MAP("inverse", CS_F32, "sf into 1"),
};
CS_TABLE(deep_gemm_scale);
static const struct cs_step deep_gemm_token_fp8[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "x/bk", "x abs"),
    CS_DO_MAP("sf", CS_F32, "amax max 1e-4 / 448"),
    CS_DO_CALL(deep_gemm_scale),
    CS_DO_MAP("y", CS_E4M3, "x * inverse"),
};
CS_TABLE(deep_gemm_token_fp8);
static const struct cs_step deep_gemm_token_fp4[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "x/bk", "x abs"),
    CS_DO_MAP("sf", CS_F32, "amax max 1e-4 / 6"),
    CS_DO_CALL(deep_gemm_scale),
    CS_DO_MAP("y", CS_E2M1, "x * inverse as e2m1 + 0"), /* no -0 */
    CS_DO_VIEW("y", CS_U8),
};
CS_TABLE(deep_gemm_token_fp4);

/* ---- MXFP8, MXFP4, NVFP4 ---- */

static const struct cs_step mxfp8_quantise[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "x/32", "x abs"),
    CS_DO_MAP("s", CS_U8, "amax max 0x1p-126 / 448 log2 ceil + 127 max 0 min 254 int"),
    CS_DO_MAP("power", CS_F32, "s float + -127 exp2"),
    CS_DO_MAP("y", CS_E4M3, "x / power"),
};
CS_TABLE(mxfp8_quantise);
/* Scales in the order of the matrix instruction, flat. */
static const struct cs_step mxfp8_quantise_swizzled[] = {
    CS_DO_CALL(mxfp8_quantise),
    CS_DO_RESHAPE("s", "1 s"),
    CS_DO_RELAYOUT("s", "swizzle_128x4"),
    CS_DO_RESHAPE("s", "-1"),
};
CS_TABLE(mxfp8_quantise_swizzled);
static const struct cs_step mxfp8_dequantise[] = {
    CS_DO_MAP("power", CS_F32, "s float + -127 exp2"),
    CS_DO_MAP("y", CS_BF16, "x * power"),
};
CS_TABLE(mxfp8_dequantise);
static const struct cs_step nvfp4_dequantise[] = {
    CS_DO_VIEW("w", CS_E2M1),
    CS_DO_VIEW("s", CS_E4M3),
    CS_DO_MAP("factor", CS_F32, "s * g"),
    CS_DO_MAP("y", CS_BF16, "w * factor"),
};
CS_TABLE(nvfp4_dequantise);
/* Upstream's reciprocal of 0 is 0. */
static const struct cs_step nvfp4_quantise[] = {
    CS_DO_MAXIMUM("amax", CS_F32, "x/16", "x abs"),
    CS_DO_MAP("s", CS_F32, "amax * 0x1.555556p-3 * global_scale max -448 min 448 as e4m3"),
    CS_DO_MAP("inverse", CS_F32, "global_scale into 1 drop 0x7f800000"),
    CS_DO_MAP("factor", CS_F32, "s * inverse into 1 drop 0x7f800000"),
    CS_DO_MAP("y", CS_F32, "x * factor max -6 min 6 as e2m1"),
};
CS_TABLE(nvfp4_quantise);

/* ---- e4m3fnuz (MI300): its NaN is our −0, and its numbers are half of ours ---- */

static const struct cs_step to_fnuz[] = {
    CS_DO_VIEW("w", CS_U8),
    CS_DO_UPDATE("w", "w drop 0x80"),
    CS_DO_TAKE("w_storage_after", "w"),
    CS_DO_MAP("scale", CS_F32, "scale * 2"),
    CS_DO_WHEN(CS_FACT_INPUT_SCALE),
    CS_DO_MAP("input_scale", CS_F32, "input_scale * 2"),
};
CS_TABLE(to_fnuz);
static const struct cs_step block_to_fnuz[] = {
    CS_DO_VIEW("w", CS_U8),     CS_DO_UPDATE("w", "w drop 0x80"),
    CS_DO_UNLESS(CS_FACT_E8M0), CS_DO_MAP("scale", CS_F32, "scale * 2"),
    CS_DO_WHEN(CS_FACT_E8M0),   CS_DO_VIEW("scale", CS_U8),
    CS_DO_WHEN(CS_FACT_E8M0),   CS_DO_MAP("scale", CS_U8, "scale plus 1 least 254"),
    CS_DO_WHEN(CS_FACT_E8M0),   CS_DO_VIEW("scale", CS_E8M0),
};
CS_TABLE(block_to_fnuz);

/* ---- merging the scales of w1 and w3 ---- */

/* Halves of w by their own scales, quantised anew by the larger one. The product is one of f16 numbers on CUDA; torch
 * on a CPU multiplies by the f32 scale. */
static const struct cs_step merge_halves[] = {
    CS_DO_MAXIMUM("scale", CS_F32, "scales.0", "scales"),
    CS_DO_MAP("inverse", CS_F32, "scale into 1"),
    CS_DO_UNLESS(CS_FACT_CPU),
    CS_DO_MAP("scales", CS_F32, "scales as f16"),
    CS_DO_WHEN(CS_FACT_GATED),
    CS_DO_UPDATE("w", "w as f16 * scales as f16 * inverse max -448 min 448"),
};
CS_TABLE(merge_halves);
/* Triton's reference: 32 numbers share a scale; ROUND_DOWN takes the power of two below what would just fit, the
 * other mode the one above. Halfway e2m1 numbers go away from zero. */
static const struct cs_step triton_down_fp8[] = {
    CS_DO_BLOCK(1, 32),
    CS_DO_MAXIMUM("amax", CS_F32, "x/32", "x abs"),
    CS_DO_UNLESS(CS_FACT_DOWN),
    CS_DO_MAP("s", CS_U8, "amax / 448 plus 0x7fffff right 23"),
    CS_DO_WHEN(CS_FACT_DOWN),
    CS_DO_MAP("s", CS_U8, "amax / 448 right 23"),
    CS_DO_MAP("inverse", CS_F32, "s left 23 into 1 drop 0x7f800000"),
    CS_DO_MAP("y", CS_E4M3, "x * inverse"),
};
CS_TABLE(triton_down_fp8);
static const struct cs_step triton_down_fp4[] = {
    CS_DO_BLOCK(1, 32),
    CS_DO_MAXIMUM("amax", CS_F32, "x/32", "x abs"),
    CS_DO_UNLESS(CS_FACT_DOWN),
    CS_DO_MAP("s", CS_U8, "amax / 6 plus 0x7fffff right 23"),
    CS_DO_WHEN(CS_FACT_DOWN),
    CS_DO_MAP("s", CS_U8, "amax / 6 right 23"),
    CS_DO_MAP("inverse", CS_F32, "s left 23 into 1 drop 0x7f800000"),
    CS_DO_MAP("y", CS_E2M1, "x * inverse and 0xffff0000 plus 1"),
    CS_DO_VIEW("y", CS_U8),
};
CS_TABLE(triton_down_fp4);
static const struct cs_step triton_up[] = {
    CS_DO_BLOCK(1, 32),
    CS_DO_MAP("power", CS_F32, "s left 23"),
    CS_DO_MAP("y", CS_BF16, "x * power"),
};
CS_TABLE(triton_up);
static const struct cs_step triton_up_fp4[] = {CS_DO_VIEW("x", CS_E2M1), CS_DO_CALL(triton_up)};
CS_TABLE(triton_up_fp4);

/* One shard of a linear layer: `w` its rows, `old` its scale, `scale` the largest of all. */
static const struct cs_step merge_shard[] = {
    CS_DO_MAP("inverse", CS_F32, "scale into 1"),
    CS_DO_UNLESS(CS_FACT_CPU),
    CS_DO_MAP("old", CS_F32, "old as f16"),
    CS_DO_UPDATE("w", "w as f16 * old as f16 * inverse max -448 min 448"),
};
CS_TABLE(merge_shard);
