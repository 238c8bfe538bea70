/* DeepGEMM on SM100, and AITER's MXFP4. Source: vllm quantization/utils/fp8_utils.py, utils/deep_gemm.py,
 * fused_moe/oracle/mxfp4.py; deep_gemm impls/smxx_layout.cuh; aiter ops/shuffle.py. Captured as wholes; but which rows
 * and recipe DeepGEMM's C++ hands to its kernel is as read. */
#include "sim/method/methods.h"

/* Exponent bytes [E, mn, groups] in words of four groups, MN-major: [E, mn, groups / 4] with stride 1 along mn. */
/* clang-format off */
#define PACK(name)                                                                                                     \
    CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "mn_major_pack"), CS_DO_RESHAPE(name, "plain.0 plain.2/4 -1 4"),   \
        CS_DO_VIEW(name, CS_I32), CS_DO_RESHAPE(name, "plain.0 plain.2/4 -1"), CS_DO_TRANSPOSE(name)
/* clang-format on */

/* Each weight is requantised in place by powers of two; a row's scale is its block's: four exponents, which will be a
 * word, are repeated at once. */
/* clang-format off */
#define DEEPGEMM_BLOCKS(weight, name)                                                                                  \
    CS_DO_TAKE("w", weight), CS_DO_TAKE("scale", name), CS_DO_CALL(requantise_ue8m0),                                  \
        CS_DO_MAP(name, CS_U8, "scale right 23"), CS_DO_PAD(name, 0, 4, 0), CS_DO_VIEW(name, CS_I32),                  \
        CS_DO_SPREAD(name, CS_I32, weight ".0 " weight ".1 " name ".2", name), CS_DO_VIEW(name, CS_U8), PACK(name)
/* clang-format on */
static const struct cs_step fp8_block_deepgemm[] = {
    DEEPGEMM_BLOCKS("w13_weight", "w13_weight_scale"),
    DEEPGEMM_BLOCKS("w2_weight", "w2_weight_scale"),
};
CS_TABLE(fp8_block_deepgemm);

static const struct cs_step mxfp4_deepgemm[] = {PACK("w13_weight_scale"), PACK("w2_weight_scale")};
CS_TABLE(mxfp4_deepgemm);

/* AITER MXFP4 x MXFP4: scales are shuffled over the rows of all experts at once. */
#define AITER_SCALE(name)                                                                                              \
    CS_DO_RESHAPE(name, "1 " name ".0*" name ".1 " name ".2"), CS_DO_RELAYOUT(name, "e8m0_shuffle")
static const struct cs_step mxfp4_aiter[] = {
    CS_DO_RELAYOUT("w13_weight", "aiter_16x16"),
    AITER_SCALE("w13_weight_scale"),
    CS_DO_RELAYOUT("w2_weight", "aiter_16x16"),
    AITER_SCALE("w2_weight_scale"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CAST("w13_bias", CS_F32),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CAST("w2_bias", CS_F32),
};
CS_TABLE(mxfp4_aiter);
