/* Who exists among the tables of steps that post-loads call; sorted by name. */
#ifndef CS_METHOD_TABLES_H
#define CS_METHOD_TABLES_H

#include "sim/method/method.h"
#include "sim/method/step_rows.h"

/* clang-format off */
#define CS_TABLES(X) \
    X(awq_marlin) X(awq_marlin_pad) X(awq_of_rows) X(bf16_aiter) X(bf16_block_layout) X(bf16_block_layout_w13) \
    X(bf16_block_layout_w2) X(bf16_flashinfer_cutlass) X(bf16_trtllm) X(bf16_trtllm_w13) X(bf16_trtllm_w2) \
    X(bf16_zero_intermediate) X(block_scale) X(block_to_fnuz) X(cast_all) X(cast_from_e4m3) X(cast_from_e8m0) \
    X(cast_to_e2m1) X(cast_to_e4m3) X(cast_to_e8m0) X(cutlass_strides) X(deep_gemm_scale) X(deep_gemm_token_fp4) \
    X(deep_gemm_token_fp8) X(empty_biases) X(fp8_aiter) X(fp8_align) X(fp8_block_deepgemm) \
    X(fp8_block_flashinfer_cutlass) X(fp8_block_trtllm) X(fp8_clamp_scales) X(fp8_marlin) X(fp8_marlin_spread) \
    X(fp8_marlin_spread_blocks) X(fp8_tensor_align) X(fp8_tensor_flashinfer_cutlass) X(fp8_tensor_hold_inputs) \
    X(fp8_tensor_inputs) X(fp8_tensor_retire_inputs) X(fp8_tensor_trtllm) X(gpt_oss_activation) X(gpt_oss_aiter_bf16) \
    X(gpt_oss_cutlass_bf16) X(gpt_oss_cutlass_mxfp8) X(gpt_oss_triton_blackwell) X(gpt_oss_triton_hopper) \
    X(gptq_marlin) X(gptq_marlin_and_zeros) X(gptq_marlin_scales) X(gptq_marlin_weights4) X(gptq_marlin_weights8) \
    X(gptq_marlin_zeros) X(gptq_of_rows) X(gptq_of_rows_and_zeros) X(hold_biases) X(hold_qzeros) X(hold_zero_points) \
    X(keep_unread_qzeros) X(marlin_biases) X(marlin_e8m0) X(marlin_e8m0_e4m3) X(marlin_e8m0_plain) \
    X(marlin_exponent_bias) X(marlin_int8_scales) X(marlin_pack4) X(marlin_pad_zeros4) X(marlin_pad_zeros8) \
    X(marlin_scales) X(marlin_weights4) X(marlin_weights8) X(marlin_zero_order) X(marlin_zero_plain) \
    X(marlin_zero_words) X(marlin_zeros) X(marlin_zeros_awq) X(marlin_zeros_pack4) X(marlin_zeros_packed) \
    X(merge_halves) X(merge_shard) X(mxfp4_aiter) X(mxfp4_aiter_bf16) X(mxfp4_aiter_rows) X(mxfp4_cutlass) \
    X(mxfp4_cutlass_bf16) X(mxfp4_cutlass_mxfp8) X(mxfp4_deepgemm) X(mxfp4_marlin) X(mxfp4_quantise) \
    X(mxfp4_replace_biases) X(mxfp4_triton_blackwell) X(mxfp4_triton_hopper) X(mxfp4_trtllm) X(mxfp4_trtllm_bias) \
    X(mxfp8_align) X(mxfp8_align_w13) X(mxfp8_align_w2) X(mxfp8_dequantise) X(mxfp8_marlin) X(mxfp8_quantise) \
    X(mxfp8_quantise_swizzled) X(mxfp8_trtllm) X(mxfp8_trtllm_w13) X(mxfp8_trtllm_w2) X(mxint4_signed) \
    X(mxint4_trtllm) X(mxint4_trtllm_w13) X(mxint4_trtllm_w2) X(nvfp4_align_hidden) X(nvfp4_align_intermediate) \
    X(nvfp4_alignments) X(nvfp4_b12x) X(nvfp4_b12x_bake) X(nvfp4_ct) X(nvfp4_ct_names) X(nvfp4_cutedsl) \
    X(nvfp4_cutedsl_batched) X(nvfp4_cutlass) X(nvfp4_dequantise) X(nvfp4_drop_inputs) X(nvfp4_emulation) \
    X(nvfp4_flashinfer_cutlass) X(nvfp4_hold) X(nvfp4_hold_weights) X(nvfp4_keep) X(nvfp4_keep_inputs) X(nvfp4_marlin) \
    X(nvfp4_marlin_bytes) X(nvfp4_marlin_ct) X(nvfp4_marlin_factor) X(nvfp4_marlin_finish) X(nvfp4_marlin_global) \
    X(nvfp4_marlin_layout) X(nvfp4_marlin_order) X(nvfp4_marlin_pad128) X(nvfp4_marlin_pad64) X(nvfp4_marlin_scales) \
    X(nvfp4_marlin_scales_given) X(nvfp4_modelopt) X(nvfp4_quantise) X(nvfp4_scales_global) X(nvfp4_scales_per_expert) \
    X(nvfp4_swap) X(nvfp4_swizzle_scales) X(nvfp4_trtllm) X(nvfp4_trtllm_scale_c) X(online_blocks) X(online_channel) \
    X(online_mxfp4) X(online_mxfp8) X(online_rows) X(online_tensor_amax) X(online_tensor_scale) X(online_tensors) \
    X(online_zero_padding) X(pack_exponents) X(pack_exponents_mn_major) X(pack_words) X(power_above) \
    X(power_above_bits) X(quantise_block) X(quantise_static) X(quantise_token) X(quark_rows) X(replace_biases) \
    X(requantise_ue8m0) X(take_zero_points) X(to_fnuz) X(triton_biases) X(triton_blackwell) X(triton_down_fp4) \
    X(triton_down_fp8) X(triton_hopper) X(triton_interleave) X(triton_swizzle_blackwell) X(triton_swizzle_hopper) \
    X(triton_swizzle_plain) X(triton_up) X(triton_up_fp4) X(unchanged) X(unpack_e2m1) X(upcast_e8m0) X(wna16_marlin) \
    X(wna16_marlin_biases) X(wna16_marlin_weights4) X(wna16_marlin_weights8) X(wna16_marlin_zeros)

#define X(id) extern const struct cs_step_table cs_table_##id;
CS_TABLES(X)
#undef X

/* Post-loads of back ends (post_backends.c). */
#define CS_BACKEND_STEPS(X) \
    X(awq_marlin) X(bf16_aiter) X(bf16_flashinfer_cutlass) X(bf16_triton) X(bf16_trtllm) X(ct_wna16_marlin) \
    X(ct_wna16_trtllm) X(fp8_block_aiter) X(fp8_block_deepgemm) X(fp8_block_flashinfer_cutlass) X(fp8_block_marlin) \
    X(fp8_block_triton) X(fp8_block_trtllm) X(fp8_channel_aiter) X(fp8_channel_cutlass) X(fp8_channel_marlin) \
    X(fp8_channel_triton) X(fp8_tensor_aiter) X(fp8_tensor_cutlass) X(fp8_tensor_flashinfer_cutlass) \
    X(fp8_tensor_marlin) X(fp8_tensor_triton) X(fp8_tensor_trtllm) X(gpt_oss_aiter_bf16) X(gpt_oss_cutlass_bf16) \
    X(gpt_oss_cutlass_mxfp8) X(gpt_oss_triton) X(gpt_oss_triton_blackwell) X(gptq_marlin) X(mxfp4_aiter) \
    X(mxfp4_aiter_bf16) X(mxfp4_ct_marlin) X(mxfp4_cutlass) X(mxfp4_cutlass_bf16) X(mxfp4_cutlass_mxfp8) \
    X(mxfp4_deepgemm) X(mxfp4_emulation) X(mxfp4_marlin) X(mxfp4_triton) X(mxfp4_triton_blackwell) \
    X(mxfp8_emulation) X(mxfp8_marlin) X(mxfp8_triton) X(mxfp8_trtllm) X(nvfp4_ct_cutedsl) \
    X(nvfp4_ct_cutedsl_batched) X(nvfp4_ct_cutlass) X(nvfp4_ct_emulation) X(nvfp4_ct_flashinfer_b12x) \
    X(nvfp4_ct_flashinfer_cutlass) X(nvfp4_ct_marlin) X(nvfp4_ct_trtllm) X(nvfp4_modelopt_cutedsl) \
    X(nvfp4_modelopt_cutedsl_batched) X(nvfp4_modelopt_cutlass) X(nvfp4_modelopt_emulation) \
    X(nvfp4_modelopt_flashinfer_b12x) X(nvfp4_modelopt_flashinfer_cutlass) X(nvfp4_modelopt_marlin) \
    X(nvfp4_modelopt_trtllm) X(online_fp8_block_aiter) X(online_fp8_block_deepgemm) \
    X(online_fp8_block_flashinfer_cutlass) X(online_fp8_block_marlin) X(online_fp8_block_triton) \
    X(online_fp8_block_trtllm) X(online_fp8_channel_aiter) X(online_fp8_channel_cutlass) \
    X(online_fp8_channel_marlin) X(online_fp8_channel_triton) X(online_fp8_tensor_marlin) \
    X(online_fp8_tensor_triton) X(online_mxfp4_cutlass_bf16) X(online_mxfp4_cutlass_mxfp8) X(online_mxfp4_emulation) \
    X(online_mxfp4_marlin) X(online_mxfp8_marlin) X(online_mxfp8_triton) X(online_mxfp8_trtllm) \
    X(quark_fp8_block_aiter) X(quark_fp8_block_cutlass) X(quark_fp8_block_marlin) X(quark_fp8_block_triton) \
    X(quark_fp8_channel_aiter) X(quark_fp8_channel_cutlass) X(quark_fp8_channel_marlin) X(quark_fp8_channel_triton)

#define X(id)                                   \
    extern const struct cs_step cs_##id##_steps[]; \
    extern const size_t cs_n_##id##_steps;
CS_BACKEND_STEPS(X)
#undef X
/* clang-format on */

#endif
