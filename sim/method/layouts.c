#include "sim/method/layouts.h"

#include <stdlib.h>
#include <string.h>

/* Where each bit of a little-endian 32-bit word goes. The Hopper value layouts twiddle signs, exponents and mantissas
 * of eight e2m1 numbers so that kernels widen them to bf16 with few instructions. */
static const uint8_t twiddle[32] = {6, 7, 8, 15, 22, 23, 24, 31, 3,  4,  5,  12, 19, 20, 21, 28,
                                    0, 1, 2, 9,  16, 17, 18, 25, 13, 10, 11, 14, 29, 26, 27, 30};
static const uint8_t nibbles[32] = {0,  1,  2,  7, 4,  5,  6,  15, 8,  9,  10, 23, 12, 13, 14, 31,
                                    16, 17, 18, 3, 20, 21, 22, 11, 24, 25, 26, 19, 28, 29, 30, 27};

/* A nibble's highest bit turns integers with bias 8 into signed ones. */
static const uint8_t signed4[32] = {0,  1,  2,  3 + CS_INVERTED,  4,  5,  6,  7 + CS_INVERTED,  8,  9,  10, 11 + CS_INVERTED, 12, 13, 14, 15 + CS_INVERTED,
                                    16, 17, 18, 19 + CS_INVERTED, 20, 21, 22, 23 + CS_INVERTED, 24, 25, 26, 27 + CS_INVERTED, 28, 29, 30, 31 + CS_INVERTED};

/* M rows of K elements of `bits` bits; 0: of any width. Weights of 4-bit numbers count K in bytes, except for Marlin,
 * whose layouts move nibbles. Marlin scales and zero points are [groups, N], so their K is N. In names: gated and
 * halves mean [gate; up] rows, pairs means gate and up rows in turn. */
/* clang-format off */
const struct cs_layout cs_layouts[] = {
    /*name                   bits pad      view                         flip order                  word     golden operation that proves it */
    {"aiter_16x16",            8, "",      "M/16 16 K/16 16",           "",  "0 2 1 3",             NULL,    "aiter.shuffle_weight"},
    {"aiter_gu",               8, "",      "2 M/32 16 K/16 16",         "",  "1 0 3 2 4",           NULL,    "aiter.shuffle_weight_a16w4"},
    {"awq_columns4",           4, "",      "M K/8 2 2 2",               "",  "0 1 3 4 2",           NULL,    "vllm.awq_to_marlin_zero_points"},
    {"awq_columns8",           8, "",      "M K/4 2 2",                 "",  "0 1 3 2",             NULL,    "vllm.awq_to_marlin_zero_points"},
    {"awq_to_marlin4",         4, "",      "M/16 2 4 2 K/64 4 2 2 2 2", "",  "0 4 8 9 7 2 5 3 6 1", NULL,    "vllm.marlin_weights.4bit, repacked"},
    {"awq_to_marlin8",         8, "",      "M/16 2 4 2 K/64 4 2 2 2 2", "",  "0 4 7 9 8 2 5 6 3 1", NULL,    "vllm.marlin_weights.8bit, repacked"},
    {"blackwell_scale",        8, "128 8", "M/128 4 32 K/4 4",          "",  "0 3 2 1 4",           NULL,    "triton.BlackwellMXScaleLayout"},
    {"blackwell_value",        8, "1 128", "M K",                       "",  "",                    NULL,    "triton.BlackwellMXValueLayout"},
    {"block_major_k",          8, "",      "M K/128 128",               "",  "1 0 2",               NULL,    "fi.convert_to_block_layout"},
    {"deinterleave",           0, "",      "M/2 2 K",                   "",  "1 0 2",               NULL,    "vllm._interleave_gate_up_rows, inverse"},
    {"deinterleave_up_first",  0, "",      "M/2 2 K",                   "1", "1 0 2",               NULL,    "vllm.gptoss_mxfp4.FLASHINFER_CUTLASS_MXFP4_BF16"},
    {"e8m0_gu",                8, "",      "2 M/32 16 K/8 2 4",         "",  "1 3 5 2 4 0",         NULL,    "aiter.shuffle_scale_a16w4"},
    {"e8m0_rows",              8, "",      "M/32 2 16 K/8 2 4",         "",  "0 3 5 2 4 1",         NULL,    "triton.CDNA4MXScaleLayout"},
    {"e8m0_shuffle",           8, "256 8", "M/32 2 16 K/8 2 4",         "",  "0 3 5 2 4 1",         NULL,    "aiter.e8m0_shuffle"},
    {"fp4_columns",            8, "",      "M K/4 2 2",                 "",  "0 1 3 2",             NULL,    "vllm.mxfp4_marlin_process_scales"},
    {"gated_reorder",          0, "",      "2 M/2 K",                   "",  "1 0 2",               NULL,    "fi.reorder_rows_for_gated_act_gemm"},
    {"gated_shuffle32",        0, "",      "2 M/32 8 2 K",              "",  "1 3 0 2 4",           NULL,    "fi._maybe_get_cached_w3_w1_permute_indices"},
    {"gptq_to_marlin4",        4, "",      "M/2 2 K/512 4 2 8 4 2",     "",  "0 2 5 6 3 7 4 1",     NULL,    "vllm.marlin_weights.4bit, repacked"},
    {"gptq_to_marlin8",        8, "",      "M/4 2 2 K/256 4 2 8 2 2",   "",  "0 3 6 2 7 4 5 8 1",   NULL,    "vllm.marlin_weights.8bit, repacked"},
    {"hopper_scale",           8, "256 2", "M/256 2 8 2 8 K/2 2",       "",  "0 2 5 1 4 6 3",       NULL,    "triton.HopperMXScaleLayout"},
    {"hopper_value",           8, "16 32", "M/16 2 4 2 K/32 4 2 4",     "",  "0 2 4 3 7 5 6 1",     twiddle, "triton.HopperMXValueLayout"},
    {"int4_signed",            0, "",      "M K",                       "",  "",                    signed4, "vllm.convert_packed_uint4b8_to_signed_int4_inplace"},
    {"interleave64",           0, "",      "2 M/128 64 K",              "",  "1 0 2 3",             NULL,    "vllm.interleave_linear_and_gate"},
    {"interleave_last",        0, "",      "M 2 K/2",                   "",  "0 2 1",               NULL,    "vllm.mxfp4.TRITON.sm90"},
    {"interleave_up_first",    0, "",      "2 M/2 K",                   "0", "1 0 2",               NULL,    "vllm.mxfp4_generic.TRTLLM, with shuffle32"},
    {"marlin4",                4, "",      "M/64 4 2 8 K/16 2 4 2",     "",  "4 0 3 6 1 7 2 5",     NULL,    "vllm.marlin_weights.4bit"},
    {"marlin4_a8",             4, "",      "M/32 4 8 K/32 2 4 4",       "",  "3 0 2 5 1 6 4",       NULL,    "vllm.marlin_weights.4bit_a8"},
    {"marlin8",                8, "",      "M/64 4 2 8 K/16 2 4 2",     "",  "4 0 3 6 1 2 7 5",     NULL,    "vllm.marlin_weights.8bit"},
    {"marlin8_a8",             8, "",      "M/32 4 8 K/32 2 4 4",       "",  "3 0 2 5 1 4 6",       NULL,    "vllm.marlin_weights.8bit_a8"},
    {"marlin_e8m0_scale",      8, "",      "M/64 2 2 2 8 K",            "",  "5 0 4 1 3 2",         NULL,    "vllm.prepare_moe_mxfp4_layer_for_marlin"},
    {"marlin_zp4",             4, "",      "M K/64 2 2 2 8",            "",  "0 1 5 4 2 3",         NULL,    "vllm.marlin_zero_points"},
    {"marlin_zp8",             8, "",      "M K/64 2 2 2 8",            "",  "0 1 5 2 4 3",         NULL,    "vllm.marlin_zero_points"},
    {"marlin_zp_a8",           0, "",      "M K/64 8 8",                "",  "0 1 3 2",             NULL,    "vllm.marlin_zero_points"},
    {"mn_major_pack",          8, "4 4",   "M K/4 4",                   "",  "1 0 2",               NULL,    "deep_gemm.transpose_and_pack_fp32_into_ue8m0"},
    {"p32",                    0, "",      "M K/32 4 4 2",              "",  "0 1 3 2 4",           NULL,    "vllm.marlin_permute_bias"},
    {"p64",                    0, "",      "M K/64 8 8",                "",  "0 1 3 2",             NULL,    "vllm.marlin_permute_scales"},
    {"pairs_shuffle32",        0, "",      "M/32 8 2 2 K",              "3", "0 2 3 1 4",           NULL,    "vllm.gptoss_mxfp4.TRTLLM"},
    {"shuffle16",              0, "",      "M/16 8 2 K",                "",  "0 2 1 3",             NULL,    "fi.shuffle_matrix_a (tile 64)"},
    {"shuffle32",              0, "",      "M/32 8 4 K",                "",  "0 2 1 3",             NULL,    "fi.shuffle_matrix_a (tile 128)"},
    {"sm90_fp4",               8, "",      "M/16 2 8 K/32 2 2 2 4",     "",  "0 5 2 3 4 7 6 1",     twiddle, "fi.interleave_moe_weights_for_sm90_mixed_gemm.fp4"},
    {"sm90_fp4_fp8",          16, "",      "M/16 2 8 K/16 2 2 4",       "",  "0 5 2 3 4 6 1",       nibbles, "fi.interleave_moe_weights_for_sm90_mixed_gemm.fp4_fp8"},
    {"sm90_int4",             16, "",      "M/16 2 8 K/16 2 2 4",       "",  "0 5 2 3 4 6 1",       NULL,    "fi.interleave_moe_weights_for_sm90_mixed_gemm.int4"},
    {"sm90_scale_fold",        8, "",      "M/64 4 16 K/4 4",           "",  "0 3 2 1 4",           NULL,    "fi.interleave_moe_scales_for_sm90_mixed_gemm"},
    {"swap_gated_shuffle32",   0, "",      "2 M/32 8 2 K",              "0", "1 3 0 2 4",           NULL,    "vllm.mxfp4_generic.TRTLLM"},
    {"swap_halves",            0, "",      "2 M/2 K",                   "0", "",                    NULL,    "vllm.swap_w13_to_w31"},
    {"swap_pairs",             0, "",      "M/2 2 K",                   "1", "",                    NULL,    "vllm.gptoss_mxfp4.TRTLLM, with shuffle32"},
    {"swap_shuffle16",         0, "",      "2 M/32 8 2 K",              "0", "0 1 3 2 4",           NULL,    "vllm.fp8_block.FLASHINFER_TRTLLM"},
    {"swizzle_128x4",          0, "128 4", "M/128 4 32 K/4 4",          "",  "0 3 2 1 4",           NULL,    "fi.block_scale_interleave"},
    {"transpose",              0, "",      "M K",                       "",  "1 0",                 NULL,    "vllm.pack_fp8_to_int32"},
    {"utccp_rows",             0, "",      "M/128 4 32 K",              "",  "0 2 1 3",             NULL,    "deep_gemm._transpose_sf_for_utccp"},
};
/* clang-format on */
const size_t cs_n_layouts = CS_COUNT(cs_layouts);

static int compare_name(const void *name, const void *layout) {
    return strcmp(name, ((const struct cs_layout *)layout)->name);
}

const struct cs_layout *cs_layout_by_name(const char *name) {
    return bsearch(name, cs_layouts, cs_n_layouts, sizeof *cs_layouts, compare_name);
}
