/* Marlin. Source: vllm quantization/utils/marlin_utils.py, marlin_utils_fp4.py, marlin_utils_fp8.py;
 * fused_moe/oracle/int_wna16.py. */
#include "sim/method/methods.h"

bool cs_marlin_is_grouped(int64_t group, int64_t size_k, bool is_a8) { return group != -1 && group < size_k && !is_a8; }

static int64_t round_up(int64_t extent, int64_t multiple) { return (extent + multiple - 1) / multiple * multiple; }

static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t multiple = a;
    while (b > 0 && multiple % b) multiple += a;
    return multiple;
}

int64_t cs_marlin_intermediate(int64_t intermediate, int64_t group) {
    return round_up(intermediate, common_multiple(64, group));
}

void cs_marlin_pad(int64_t group, int64_t *n, int64_t *k) {
    int64_t n_64 = round_up(*n, 64), k_128 = round_up(*k, common_multiple(128, group));
    int64_t n_128 = round_up(*n, 128), k_64 = round_up(*k, common_multiple(64, group));
    bool is_first = n_64 * k_128 <= n_128 * k_64;
    *n = is_first ? n_64 : n_128;
    *k = is_first ? k_128 : k_64;
}

/* ---- the functions alone, on one matrix ---- */

/* s is [groups, N], or [E, groups, N]; a bias is one group. */
static const struct cs_step marlin_scales[] = {
    CS_DO_TAKE("y", "s"),       CS_DO_RESHAPE("y", "1 -1 s.-1"), CS_DO_WHEN(CS_FACT_GROUPED),
    CS_DO_RELAYOUT("y", "p64"), CS_DO_UNLESS(CS_FACT_GROUPED),   CS_DO_RELAYOUT("y", "p32"),
    CS_DO_RESHAPE("y", "s"),
};
CS_TABLE(marlin_scales);

/* q_kn holds one number in a byte. */
/* clang-format off */
static const struct cs_step marlin_pack4[] = {
    CS_DO_TAKE("pairs", "q_kn"), CS_DO_RESHAPE("pairs", "q_kn.0/2 2 q_kn.1"),
    CS_DO_SELECT("even", "pairs", 1, 0), CS_DO_SELECT("odd", "pairs", 1, 1),
    CS_DO_MAP("packed", CS_U8, "odd left 4 or even"),
    CS_DO_RESHAPE("packed", "1 packed.0 packed.1"), CS_DO_RELAYOUT("packed", "transpose"), CS_DO_VIEW("packed", CS_E2M1),
};
/* clang-format on */
CS_TABLE(marlin_pack4);
static const struct cs_step marlin_weights4[] = {
    CS_DO_CALL(marlin_pack4),
    CS_DO_WHEN(CS_FACT_A8),
    CS_DO_RELAYOUT("packed", "marlin4_a8"),
    CS_DO_UNLESS(CS_FACT_A8),
    CS_DO_RELAYOUT("packed", "marlin4"),
    CS_DO_RESHAPE("packed", "q_kn.0/16 q_kn.1*16"),
    CS_DO_VIEW("packed", CS_I32),
};
CS_TABLE(marlin_weights4);
static const struct cs_step marlin_weights8[] = {
    CS_DO_TAKE("packed", "q_kn"),           CS_DO_RESHAPE("packed", "1 q_kn.0 q_kn.1"),
    CS_DO_RELAYOUT("packed", "transpose"),  CS_DO_WHEN(CS_FACT_A8),
    CS_DO_RELAYOUT("packed", "marlin8_a8"), CS_DO_UNLESS(CS_FACT_A8),
    CS_DO_RELAYOUT("packed", "marlin8"),    CS_DO_RESHAPE("packed", "q_kn.0/16 q_kn.1*16"),
    CS_DO_VIEW("packed", CS_I32),
};
CS_TABLE(marlin_weights8);

/* Zero points [E, groups, N], as nibbles or bytes. */
static const struct cs_step marlin_zero_words[] = {
    CS_DO_WHEN(CS_FACT_8BIT),
    CS_DO_VIEW("packed", CS_U8),
    CS_DO_UNLESS(CS_FACT_8BIT),
    CS_DO_VIEW("packed", CS_E2M1),
};
CS_TABLE(marlin_zero_words);
static const struct cs_step marlin_zero_plain[] = {
    CS_DO_WHEN(CS_FACT_8BIT),
    CS_DO_RELAYOUT("packed", "marlin_zp8"),
    CS_DO_UNLESS(CS_FACT_8BIT),
    CS_DO_RELAYOUT("packed", "marlin_zp4"),
};
CS_TABLE(marlin_zero_plain);
static const struct cs_step marlin_zero_order[] = {
    CS_DO_WHEN(CS_FACT_A8),       CS_DO_RELAYOUT("packed", "marlin_zp_a8"),
    CS_DO_UNLESS(CS_FACT_A8),     CS_DO_CALL(marlin_zero_plain),
    CS_DO_VIEW("packed", CS_I32),
};
CS_TABLE(marlin_zero_order);
static const struct cs_step marlin_zeros_pack4[] = {
    CS_DO_TAKE("pairs", "zp"),
    CS_DO_RESHAPE("pairs", "zp.0 zp.1/2 2"),
    CS_DO_SELECT("even", "pairs", 2, 0),
    CS_DO_SELECT("odd", "pairs", 2, 1),
    CS_DO_MAP("packed", CS_U8, "odd left 4 or even"),
};
CS_TABLE(marlin_zeros_pack4);
/* clang-format off */
static const struct cs_step marlin_zeros[] = {
    CS_DO_WHEN(CS_FACT_8BIT), CS_DO_TAKE("packed", "zp"),
    CS_DO_UNLESS(CS_FACT_8BIT), CS_DO_CALL(marlin_zeros_pack4),
    CS_DO_CALL(marlin_zero_words),
    CS_DO_RESHAPE("packed", "1 packed.0 packed.1"), CS_DO_CALL(marlin_zero_order), CS_DO_RESHAPE("packed", "packed.1 packed.2"),
};
/* clang-format on */
CS_TABLE(marlin_zeros);
static const struct cs_step marlin_zeros_awq[] = {
    CS_DO_CALL(marlin_zero_words), CS_DO_RESHAPE("packed", "1 packed.0 packed.1"),
    CS_DO_WHEN(CS_FACT_8BIT),      CS_DO_RELAYOUT("packed", "awq_columns8"),
    CS_DO_UNLESS(CS_FACT_8BIT),    CS_DO_RELAYOUT("packed", "awq_columns4"),
    CS_DO_CALL(marlin_zero_order), CS_DO_RESHAPE("packed", "packed.1 packed.2"),
};
CS_TABLE(marlin_zeros_awq);
static const struct cs_step marlin_zeros_packed[] = {CS_DO_CALL(marlin_zero_words), CS_DO_CALL(marlin_zero_order)};
CS_TABLE(marlin_zeros_packed);

static const struct cs_step pack_words[] = {
    CS_DO_VIEW("w", CS_I32),
    CS_DO_TAKE("n_first", "w"),
    CS_DO_TAKE("k_first", "w"),
    CS_DO_RESHAPE("k_first", "1 w.0 w.1"),
    CS_DO_RELAYOUT("k_first", "transpose"),
    CS_DO_RESHAPE("k_first", "w.1 w.0"),
};
CS_TABLE(pack_words);

/* 8-bit integer activations: whole numbers up to 4096, rounded at every operation of the scales' dtype. */
static const struct cs_step marlin_int8_scales[] = {
    CS_DO_MAXIMUM("most", CS_F32, "", "s"),
    CS_DO_MAP("factor", CS_F32, "most * 0x1p-12"),
    CS_DO_UNLESS(CS_FACT_HALF),
    CS_DO_MAP("y_int16_bits", CS_I16, "s / most as bf16 * 4096 as bf16 nearest int"),
    CS_DO_WHEN(CS_FACT_HALF),
    CS_DO_MAP("y_int16_bits", CS_I16, "s / most as f16 * 4096 as f16 nearest int"),
};
CS_TABLE(marlin_int8_scales);

/* e8m0 scales [groups, N]: exact in bf16, not in f16. */
static const struct cs_step marlin_e8m0_plain[] = {
    CS_DO_VIEW("e8m0", CS_E8M0), CS_DO_TAKE("y", "e8m0"),  CS_DO_WHEN(CS_FACT_HALF),
    CS_DO_CAST("y", CS_F16),     CS_DO_WHEN(CS_FACT_HALF), CS_DO_CAST("y", CS_E8M0),
};
CS_TABLE(marlin_e8m0_plain);
/* 16-bit activations: columns in the order of the kernel's dequantisation. */
static const struct cs_step marlin_e8m0[] = {
    CS_DO_CALL(marlin_e8m0_plain),
    CS_DO_RESHAPE("y", "1 e8m0"),
    CS_DO_RELAYOUT("y", "fp4_columns"),
    CS_DO_RESHAPE("y", "e8m0"),
};
CS_TABLE(marlin_e8m0);
/* e4m3 activations: columns stay; the exponents of e2m1 and e4m3 differ in bias by 2^3 - 2^1. */
static const struct cs_step marlin_e8m0_e4m3[] = {
    CS_DO_CALL(marlin_e8m0_plain),
    CS_DO_VIEW("y", CS_U8),
    CS_DO_MAP("y", CS_U8, "y plus 6"),
    CS_DO_VIEW("y", CS_E8M0),
};
CS_TABLE(marlin_e8m0_e4m3);

/* Exponents of e4m3 and of bf16 (f16) differ in bias: the kernel moves bits, the scales make up for it. */
static const struct cs_step marlin_exponent_bias[] = {
    CS_DO_UNLESS(CS_FACT_HALF),
    CS_DO_MAP("y", CS_BF16, "s * 0x1p120"),
    CS_DO_WHEN(CS_FACT_HALF),
    CS_DO_MAP("y", CS_F16, "s * 0x1p8"),
};
CS_TABLE(marlin_exponent_bias);

/* ---- NVFP4 scales: S0E5M3 bytes ---- */

/* The largest power of two that keeps every scale below 448, and 1 at least; over all experts, so that one tensor's
 * scales depend on all others. */
static const struct cs_step nvfp4_marlin_factor[] = {
    CS_DO_MAXIMUM("largest", CS_F32, "1", "s as f16 * 128"),
    CS_DO_UNLESS(CS_FACT_HALF),
    CS_DO_MAP("auto_factor", CS_F32, "largest if_zero 57344 into 57344 log2 floor max 0 exp2"),
    CS_DO_WHEN(CS_FACT_HALF),
    CS_DO_MAP("auto_factor", CS_F32, "largest * 0 + 1"),
};
CS_TABLE(nvfp4_marlin_factor);
static const struct cs_step nvfp4_marlin_bytes[] = {
    CS_DO_MAP("y", CS_U8, "s as f16 * rescale as f16 * 128 as f16 zero_below 2 bits f16 right 7"),
};
CS_TABLE(nvfp4_marlin_bytes);
static const struct cs_step nvfp4_marlin_finish[] = {
    CS_DO_RESHAPE("y", "1 s"),
    CS_DO_RELAYOUT("y", "fp4_columns"),
    CS_DO_RESHAPE("y", "s"),
    CS_DO_VIEW("y", CS_E4M3),
};
CS_TABLE(nvfp4_marlin_finish);
static const struct cs_step nvfp4_marlin_scales[] = {
    CS_DO_CALL(nvfp4_marlin_factor),
    CS_DO_TAKE("factor", "auto_factor"),
    CS_DO_TAKE("rescale", "factor"),
    CS_DO_CALL(nvfp4_marlin_bytes),
    CS_DO_CALL(nvfp4_marlin_finish),
};
CS_TABLE(nvfp4_marlin_scales);
/* "factor" comes from the caller; one below 1 changes no scale. */
static const struct cs_step nvfp4_marlin_scales_given[] = {
    CS_DO_CALL(nvfp4_marlin_factor),
    CS_DO_MAP("rescale", CS_F32, "factor max 1"),
    CS_DO_CALL(nvfp4_marlin_bytes),
    CS_DO_CALL(nvfp4_marlin_finish),
};
CS_TABLE(nvfp4_marlin_scales_given);
static const struct cs_step nvfp4_marlin_global[] = {
    CS_DO_UNLESS(CS_FACT_HALF),
    CS_DO_MAP("y", CS_F32, "g * 0x1p119"),
    CS_DO_WHEN(CS_FACT_HALF),
    CS_DO_MAP("y", CS_F32, "g * 0x1p7"),
};
CS_TABLE(nvfp4_marlin_global);
