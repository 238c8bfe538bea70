/* What ends in parameters: the post-loads of back ends, made of the tables beside this file. Held tensors are those
 * that a quant config reaches. */
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

/* ---- FP8 blocks: the config holds the scales ---- */

#define HOLD_BLOCK_SCALES                                                                                              \
    CS_DO_CONFIG("w13_weight_scale_inv", "_w1.scale"), CS_DO_CONFIG("w2_weight_scale_inv", "_w2.scale")
/* Tables of every FP8 method call scales by their other name. */
/* clang-format off */
#define TAKE_BLOCK_SCALES                                                                                              \
    CS_DO_TAKE("w13_weight_scale", "w13_weight_scale_inv"), CS_DO_TAKE("w2_weight_scale", "w2_weight_scale_inv")
#define REPLACE_BLOCKS                                                                                                 \
    CS_DO_TAKE("w13_weight_scale_inv", "w13_weight_scale"), CS_DO_TAKE("w2_weight_scale_inv", "w2_weight_scale"),      \
        CS_DO_REPLACE("w13_weight"), CS_DO_REPLACE("w2_weight"), CS_DO_REPLACE("w13_weight_scale_inv"),                \
        CS_DO_REPLACE("w2_weight_scale_inv")
/* clang-format on */

const struct cs_step cs_fp8_block_triton_steps[] = {HOLD_BLOCK_SCALES};
STEPS(fp8_block_triton);
const struct cs_step cs_fp8_block_trtllm_steps[] = {TAKE_BLOCK_SCALES, CS_DO_CALL(fp8_block_trtllm), REPLACE_BLOCKS,
                                                    HOLD_BLOCK_SCALES};
STEPS(fp8_block_trtllm);
const struct cs_step cs_fp8_block_flashinfer_cutlass_steps[] = {
    TAKE_BLOCK_SCALES, CS_DO_CALL(fp8_block_flashinfer_cutlass), REPLACE_BLOCKS, HOLD_BLOCK_SCALES};
STEPS(fp8_block_flashinfer_cutlass);

/* ---- BF16 quantised per block as soon as it is complete ---- */

/* clang-format off */
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

const struct cs_step cs_online_fp8_block_triton_steps[] = {CS_DO_CALL(online_blocks), REPLACE_BLOCKS,
                                                           HOLD_BLOCK_SCALES};
STEPS(online_fp8_block_triton);
const struct cs_step cs_online_fp8_block_trtllm_steps[] = {CS_DO_CALL(online_blocks), CS_DO_CALL(fp8_block_trtllm),
                                                           REPLACE_BLOCKS, HOLD_BLOCK_SCALES};
STEPS(online_fp8_block_trtllm);

/* ---- generic MXFP4, emulation: bytes stay, the config is rebuilt ---- */

const struct cs_step cs_mxfp4_emulation_steps[] = {
    CS_DO_CONFIG("w13_weight_scale", "_w1.scale"),
    CS_DO_CONFIG("w2_weight_scale", "_w2.scale"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CONFIG("w13_bias", "_w1.bias"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CONFIG("w2_bias", "_w2.bias"),
};
STEPS(mxfp4_emulation);
