/* Marlin's post-load of whole layers. Same upstream files as post_marlin.c. Padding: zeros per half of w13 and at the
 * end of w2. */
#include "sim/method/methods.h"

/* Weights [E, N, K] of 4 or 8 bits → words [E, K/16, …]. */
/* clang-format off */
#define MARLIN4(name)                                                                                                  \
    CS_DO_VIEW(name, CS_E2M1), CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "marlin4"),                             \
        CS_DO_RESHAPE(name, "plain.0 plain.2/16 plain.1*16"), CS_DO_VIEW(name, CS_I32)
#define MARLIN8(name)                                                                                                  \
    CS_DO_VIEW(name, CS_U8), CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "marlin8"),                               \
        CS_DO_RESHAPE(name, "plain.0 plain.2/16 plain.1*16"), CS_DO_VIEW(name, CS_I32)
/* clang-format on */
/* e8m0 scales [E, N, groups] → [E, groups, N]. */
/* clang-format off */
#define E8M0(name)                                                                                                     \
    CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "marlin_e8m0_scale"),                                              \
        CS_DO_RESHAPE(name, "plain.0 plain.2 plain.1"), CS_DO_VIEW(name, CS_E8M0)
#define BIAS(name)                                                                                                     \
    CS_DO_TAKE("plain", name), CS_DO_RESHAPE(name, "plain.0 1 plain.1"), CS_DO_RELAYOUT(name, "p32"),                  \
        CS_DO_RESHAPE(name, "plain")
/* clang-format on */
/* Scales [E, groups, N], in the order of `grouped` or of one group. */
/* clang-format off */
#define K_FIRST_SCALES(name, grouped)                                                                                  \
    CS_DO_WHEN(grouped), CS_DO_RELAYOUT(name, "p64"), CS_DO_UNLESS(grouped), CS_DO_RELAYOUT(name, "p32")
/* From [E, N, groups]. */
#define SCALES(name, grouped)                                                                                          \
    CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "transpose"), CS_DO_RESHAPE(name, "plain.0 plain.2 plain.1"),      \
        K_FIRST_SCALES(name, grouped)
/* clang-format on */

static const struct cs_step marlin_biases[] = {BIAS("w13_bias"), BIAS("w2_bias")};
CS_TABLE(marlin_biases);

static const struct cs_step mxfp4_marlin[] = {
    MARLIN4("w13_weight"),   E8M0("w13_weight_scale"), MARLIN4("w2_weight"),
    E8M0("w2_weight_scale"), CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(marlin_biases),
};
CS_TABLE(mxfp4_marlin);

static const struct cs_step mxfp8_marlin[] = {
    CS_DO_PAD_HALVES("w13_weight", 64, 0, 0),
    CS_DO_PAD_HALVES("w13_weight_scale", 64, 0, 0),
    CS_DO_PAD("w2_weight", 0, 64, 0),
    CS_DO_PAD("w2_weight_scale", 0, 2, 0),
    MARLIN8("w13_weight"),
    E8M0("w13_weight_scale"),
    MARLIN8("w2_weight"),
    E8M0("w2_weight_scale"),
};
CS_TABLE(mxfp8_marlin);

/* ---- NVFP4 ---- */

static const struct cs_step nvfp4_marlin_pad64[] = {
    CS_DO_PAD_HALVES("w13_weight", 64, 0, 0),
    CS_DO_PAD_HALVES("w13_weight_scale", 64, 0, 0),
    CS_DO_PAD("w2_weight", 0, 32, 0),
    CS_DO_PAD("w2_weight_scale", 0, 4, 0),
};
CS_TABLE(nvfp4_marlin_pad64);
static const struct cs_step nvfp4_marlin_pad128[] = {
    CS_DO_PAD_HALVES("w13_weight", 128, 0, 0),
    CS_DO_PAD_HALVES("w13_weight_scale", 128, 0, 0),
    CS_DO_PAD("w2_weight", 0, 64, 0),
    CS_DO_PAD("w2_weight_scale", 0, 8, 0),
};
CS_TABLE(nvfp4_marlin_pad128);
/* s: scales, [E, groups, N]; y: bytes; a tensor's factor stays for its second-level scales. */
/* clang-format off */
#define NVFP4_SCALES(name, factor)                                                                                     \
    CS_DO_TAKE("s", name), CS_DO_CALL(nvfp4_marlin_order), CS_DO_TAKE(name, "y"), CS_DO_TAKE(factor, "rescale")
/* Exponents of e2m1 and of bf16 (f16) differ in bias; what scales were multiplied by, second-level scales are divided by. */
#define NVFP4_GLOBAL(name, program, factor)                                                                            \
    CS_DO_UNLESS(CS_FACT_HALF), CS_DO_MAP(name, CS_F32, program " * 0x1p119 / " factor),                               \
        CS_DO_WHEN(CS_FACT_HALF), CS_DO_MAP(name, CS_F32, program " * 0x1p7 / " factor)
/* clang-format on */
/* Upstream casts them to the params dtype, which holds each e4m3 number, transposes and orders them as `p64`, and swaps
 * columns at the end. What is in between looks at each number alone, or at the largest: bytes move once, before all that. */
static const struct cs_step nvfp4_marlin_order[] = {
    CS_DO_TAKE("plain", "s"),
    CS_DO_RELAYOUT("s", "marlin_e8m0_scale"),
    CS_DO_RESHAPE("s", "plain.0 plain.2 plain.1"),
    CS_DO_CALL(nvfp4_marlin_factor),
    CS_DO_TAKE("rescale", "auto_factor"),
    CS_DO_CALL(nvfp4_marlin_bytes),
    CS_DO_VIEW("y", CS_E4M3),
};
CS_TABLE(nvfp4_marlin_order);
static const struct cs_step nvfp4_marlin_layout[] = {
    CS_DO_WHEN(CS_FACT_H128),
    CS_DO_CALL(nvfp4_marlin_pad64),
    CS_DO_UNLESS(CS_FACT_H128),
    CS_DO_CALL(nvfp4_marlin_pad128),
    MARLIN4("w13_weight"),
    NVFP4_SCALES("w13_weight_scale", "w13_factor"),
    MARLIN4("w2_weight"),
    NVFP4_SCALES("w2_weight_scale", "w2_factor"),
};
CS_TABLE(nvfp4_marlin_layout);
static const struct cs_step nvfp4_marlin[] = {
    CS_DO_CALL(nvfp4_marlin_layout),
    NVFP4_GLOBAL("w13_weight_scale_2", "w13_weight_scale_2", "w13_factor"),
    NVFP4_GLOBAL("w2_weight_scale_2", "w2_weight_scale_2", "w2_factor"),
};
CS_TABLE(nvfp4_marlin);
/* compressed-tensors stores what scales divide by: "w13_divisor", of gate, and "w2_divisor". */
static const struct cs_step nvfp4_marlin_ct[] = {
    CS_DO_CALL(nvfp4_marlin_layout),
    NVFP4_GLOBAL("w13_weight_scale_2", "w13_divisor into 1", "w13_factor"),
    NVFP4_GLOBAL("w2_weight_scale_2", "w2_divisor into 1", "w2_factor"),
};
CS_TABLE(nvfp4_marlin_ct);

/* ---- FP8: scales become one per column of the kernel, [E, groups, N] ---- */

/* clang-format off */
#define FP8_SCALES(name, grouped)                                                                                      \
    CS_DO_UNLESS(CS_FACT_HALF), CS_DO_CAST(name, CS_BF16), CS_DO_WHEN(CS_FACT_HALF), CS_DO_CAST(name, CS_F16),         \
        SCALES(name, grouped),                                                                                         \
        CS_DO_UNLESS(CS_FACT_HALF), CS_DO_MAP(name, CS_BF16, name " * 0x1p120"),                                       \
        CS_DO_WHEN(CS_FACT_HALF),   CS_DO_MAP(name, CS_F16, name " * 0x1p8")
/* clang-format on */
/* A block's scale becomes its rows', a tensor's every row's; before padding, so that padded rows get zeros. */
static const struct cs_step fp8_marlin_spread_blocks[] = {
    CS_DO_SPREAD("w13_weight_scale", CS_F32, "w13_weight.0 w13_weight.1 w13_weight_scale.2", "w13_weight_scale"),
    CS_DO_SPREAD("w2_weight_scale", CS_F32, "w2_weight.0 w2_weight.1 w2_weight_scale.2", "w2_weight_scale"),
};
CS_TABLE(fp8_marlin_spread_blocks);
static const struct cs_step fp8_marlin_spread[] = {
    CS_DO_SPREAD("w13_weight_scale", CS_F32, "w13_weight.0 w13_weight.1 1", "w13_weight_scale"),
    CS_DO_SPREAD("w2_weight_scale", CS_F32, "w2_weight.0 w2_weight.1 1", "w2_weight_scale"),
};
CS_TABLE(fp8_marlin_spread);
static const struct cs_step fp8_marlin[] = {
    CS_DO_WHEN(CS_FACT_BLOCK),
    CS_DO_CALL(fp8_marlin_spread_blocks),
    CS_DO_UNLESS(CS_FACT_BLOCK),
    CS_DO_CALL(fp8_marlin_spread),
    CS_DO_PAD_HALVES("w13_weight", CS_OF_I(1), 0, 0),
    CS_DO_PAD_HALVES("w13_weight_scale", CS_OF_I(1), 0, 0),
    CS_DO_PAD("w2_weight", 0, CS_OF_I(1), 0),
    CS_DO_PAD("w2_weight_scale", 0, CS_PER_GROUP, 0),
    MARLIN8("w13_weight"),
    FP8_SCALES("w13_weight_scale", CS_FACT_GROUPED),
    MARLIN8("w2_weight"),
    FP8_SCALES("w2_weight_scale", CS_FACT_GROUPED_W2),
};
CS_TABLE(fp8_marlin);

/* ---- int4 and int8, words along K ---- */

/* clang-format off */
static const struct cs_step wna16_marlin_weights4[] = {
    CS_DO_PAD_HALVES("w13_weight", CS_OF_I(1), 0, 0), CS_DO_PAD("w2_weight", 0, CS_OF_I(8), 0), MARLIN4("w13_weight"), MARLIN4("w2_weight"),
};
/* clang-format on */
CS_TABLE(wna16_marlin_weights4);
/* clang-format off */
static const struct cs_step wna16_marlin_weights8[] = {
    CS_DO_PAD_HALVES("w13_weight", CS_OF_I(1), 0, 0), CS_DO_PAD("w2_weight", 0, CS_OF_I(4), 0), MARLIN8("w13_weight"), MARLIN8("w2_weight"),
};
/* clang-format on */
CS_TABLE(wna16_marlin_weights8);
/* Zero points in words of 32 bits: [E, N/8, groups], or N/4 of 8 bits each. */
/* clang-format off */
#define ZEROS(name)                                                                                                    \
    CS_DO_TAKE("packed", name), CS_DO_RELAYOUT("packed", "transpose"), CS_DO_RESHAPE("packed", name ".0 " name ".2 " name ".1"), \
        CS_DO_CALL(marlin_zeros_packed), CS_DO_TAKE(name, "packed")
static const struct cs_step wna16_marlin_zeros[] = {
    CS_DO_WHEN(CS_FACT_8BIT), CS_DO_PAD_HALVES("w13_qzeros", CS_OF_I(4), 0, 0),
    CS_DO_UNLESS(CS_FACT_8BIT), CS_DO_PAD_HALVES("w13_qzeros", CS_OF_I(8), 0, 0),
    CS_DO_PAD("w2_qzeros", 0, CS_PER_GROUP, 0), ZEROS("w13_qzeros"), ZEROS("w2_qzeros"),
};
/* clang-format on */
CS_TABLE(wna16_marlin_zeros);
static const struct cs_step wna16_marlin_biases[] = {
    CS_DO_PAD_HALVES("w13_bias", CS_OF_I(1), 0, 0),
    CS_DO_CALL(marlin_biases),
};
CS_TABLE(wna16_marlin_biases);
static const struct cs_step wna16_marlin[] = {
    CS_DO_UNLESS(CS_FACT_8BIT),
    CS_DO_CALL(wna16_marlin_weights4),
    CS_DO_WHEN(CS_FACT_8BIT),
    CS_DO_CALL(wna16_marlin_weights8),
    CS_DO_PAD_HALVES("w13_weight_scale", CS_OF_I(1), 0, 0),
    SCALES("w13_weight_scale", CS_FACT_GROUPED),
    CS_DO_PAD("w2_weight_scale", 0, CS_PER_GROUP, 0),
    SCALES("w2_weight_scale", CS_FACT_GROUPED_W2),
    CS_DO_WHEN(CS_FACT_ZERO_POINT),
    CS_DO_CALL(wna16_marlin_zeros),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CALL(wna16_marlin_biases),
};
CS_TABLE(wna16_marlin);

/* ---- GPTQ: words along K, K first, as kernels have scales and zero points. Columns are padded by half ---- */

/* clang-format off */
#define PAD_SHARD_COLUMNS(name, multiple)                                                                               \
    CS_DO_WHEN(CS_FACT_GATED), CS_DO_RESHAPE(name, name ".0 " name ".1*2 " name ".2/2"), CS_DO_PAD(name, 0, multiple, 0), \
        CS_DO_WHEN(CS_FACT_GATED), CS_DO_RESHAPE(name, name ".0 " name ".1/2 " name ".2*2")
#define GPTQ_WEIGHT4(name)                                                                                             \
    CS_DO_VIEW(name, CS_E2M1), CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "gptq_to_marlin4"),                     \
        CS_DO_RESHAPE(name, "plain.0 plain.1/2 plain.2*2"), CS_DO_VIEW(name, CS_I32)
#define GPTQ_ZEROS(name) CS_DO_TAKE("packed", name), CS_DO_CALL(marlin_zeros_packed), CS_DO_TAKE(name, "packed")
#define GPTQ_WEIGHT8(name)                                                                                             \
    CS_DO_VIEW(name, CS_U8), CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "gptq_to_marlin8"),                       \
        CS_DO_RESHAPE(name, "plain.0 plain.1/4 plain.2*4"), CS_DO_VIEW(name, CS_I32)
/* clang-format on */
/* Words of zero points hold 8 or 4 columns. */
static const struct cs_step marlin_pad_zeros4[] = {PAD_SHARD_COLUMNS("w13_qzeros", CS_OF_I(8)), CS_DO_PAD("w2_qzeros", CS_PER_GROUP, 0, 0)};
CS_TABLE(marlin_pad_zeros4);
static const struct cs_step marlin_pad_zeros8[] = {PAD_SHARD_COLUMNS("w13_qzeros", CS_OF_I(4)), CS_DO_PAD("w2_qzeros", CS_PER_GROUP, 0, 0)};
CS_TABLE(marlin_pad_zeros8);
static const struct cs_step gptq_marlin_weights4[] = {
    CS_DO_PAD("w2_weight", CS_OF_I(8), 0, 0),
    GPTQ_WEIGHT4("w13_weight"),
    GPTQ_WEIGHT4("w2_weight"),
};
CS_TABLE(gptq_marlin_weights4);
static const struct cs_step gptq_marlin_weights8[] = {
    CS_DO_PAD("w2_weight", CS_OF_I(4), 0, 0),
    GPTQ_WEIGHT8("w13_weight"),
    GPTQ_WEIGHT8("w2_weight"),
};
CS_TABLE(gptq_marlin_weights8);
static const struct cs_step gptq_marlin_scales[] = {
    CS_DO_TAKE("w13_weight_scale", "w13_scales"),
    CS_DO_TAKE("w2_weight_scale", "w2_scales"),
    PAD_SHARD_COLUMNS("w13_weight_scale", CS_OF_I(1)),
    K_FIRST_SCALES("w13_weight_scale", CS_FACT_GROUPED),
    CS_DO_PAD("w2_weight_scale", CS_PER_GROUP, 0, 0),
    K_FIRST_SCALES("w2_weight_scale", CS_FACT_GROUPED_W2),
};
CS_TABLE(gptq_marlin_scales);
static const struct cs_step gptq_marlin[] = {
    CS_DO_TAKE("w13_weight", "w13_qweight"),
    CS_DO_TAKE("w2_weight", "w2_qweight"),
    PAD_SHARD_COLUMNS("w13_weight", CS_OF_I(1)),
    CS_DO_UNLESS(CS_FACT_8BIT),
    CS_DO_CALL(gptq_marlin_weights4),
    CS_DO_WHEN(CS_FACT_8BIT),
    CS_DO_CALL(gptq_marlin_weights8),
    CS_DO_CALL(gptq_marlin_scales),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CALL(wna16_marlin_biases),
};
CS_TABLE(gptq_marlin);
static const struct cs_step gptq_marlin_zeros[] = {
    CS_DO_UNLESS(CS_FACT_8BIT),
    CS_DO_CALL(marlin_pad_zeros4),
    CS_DO_WHEN(CS_FACT_8BIT),
    CS_DO_CALL(marlin_pad_zeros8),
    GPTQ_ZEROS("w13_qzeros"),
    GPTQ_ZEROS("w2_qzeros"),
};
CS_TABLE(gptq_marlin_zeros);
static const struct cs_step gptq_marlin_and_zeros[] = {CS_DO_CALL(gptq_marlin), CS_DO_CALL(gptq_marlin_zeros)};
CS_TABLE(gptq_marlin_and_zeros);
/* What was captured has rows first. */
#define K_FIRST(name, from)                                                                                            \
    CS_DO_TAKE("rows", from), CS_DO_TAKE(name, from), CS_DO_RELAYOUT(name, "transpose"), CS_DO_RESHAPE(name, "rows.0 rows.2 rows.1")
static const struct cs_step gptq_of_rows[] = {
    K_FIRST("w13_qweight", "w13_weight"),
    K_FIRST("w13_scales", "w13_weight_scale"),
    K_FIRST("w2_qweight", "w2_weight"),
    K_FIRST("w2_scales", "w2_weight_scale"),
};
CS_TABLE(gptq_of_rows);
static const struct cs_step gptq_of_rows_and_zeros[] = {
    CS_DO_CALL(gptq_of_rows),
    K_FIRST("w13_qzeros", "w13_qzeros"),
    K_FIRST("w2_qzeros", "w2_qzeros"),
};
CS_TABLE(gptq_of_rows_and_zeros);

/* ---- AWQ: words along N, K first, columns of a word in their own order. Both scales are ordered by I as it was ---- */

/* clang-format off */
#define AWQ_WEIGHT(name)                                                                                               \
    CS_DO_VIEW(name, CS_E2M1), CS_DO_TAKE("plain", name), CS_DO_RELAYOUT(name, "awq_to_marlin4"),                      \
        CS_DO_RESHAPE(name, "plain.0 plain.1/16 plain.2*16"), CS_DO_VIEW(name, CS_I32)
#define AWQ_ZEROS(name)                                                                                                \
    CS_DO_TAKE("packed", name), CS_DO_VIEW("packed", CS_E2M1), CS_DO_RELAYOUT("packed", "awq_columns4"),               \
        CS_DO_CALL(marlin_zero_order), CS_DO_TAKE(name, "packed")
/* clang-format on */
static const struct cs_step awq_marlin_pad[] = {
    CS_DO_TAKE("w13_weight", "w13_qweight"),
    CS_DO_TAKE("w2_weight", "w2_qweight"),
    CS_DO_TAKE("w13_weight_scale", "w13_scales"),
    CS_DO_TAKE("w2_weight_scale", "w2_scales"),
    PAD_SHARD_COLUMNS("w13_weight", CS_OF_I(8)),
    CS_DO_PAD("w2_weight", CS_OF_I(1), 0, 0),
    PAD_SHARD_COLUMNS("w13_weight_scale", CS_OF_I(1)),
    CS_DO_PAD("w2_weight_scale", CS_PER_GROUP, 0, 0),
    CS_DO_CALL(marlin_pad_zeros4),
};
CS_TABLE(awq_marlin_pad);
static const struct cs_step awq_marlin[] = {
    CS_DO_CALL(awq_marlin_pad),
    AWQ_WEIGHT("w13_weight"),
    K_FIRST_SCALES("w13_weight_scale", CS_FACT_GROUPED),
    AWQ_ZEROS("w13_qzeros"),
    AWQ_WEIGHT("w2_weight"),
    K_FIRST_SCALES("w2_weight_scale", CS_FACT_GROUPED),
    AWQ_ZEROS("w2_qzeros"),
    CS_DO_WHEN(CS_FACT_BIAS),
    CS_DO_CALL(wna16_marlin_biases),
};
CS_TABLE(awq_marlin);
/* What was captured has rows first, and words of plain order; three turns of `awq_columns4` change nothing. */
/* clang-format off */
#define AWQ_OF_PLAIN(name)                                                                                             \
    CS_DO_VIEW(name, CS_E2M1), CS_DO_RELAYOUT(name, "awq_columns4", "awq_columns4"), CS_DO_VIEW(name, CS_I32)
#define AWQ_OF_ROWS(name, from)                                                                                        \
    CS_DO_TAKE(name, from), CS_DO_VIEW(name, CS_E2M1), CS_DO_TAKE("rows", name), CS_DO_RELAYOUT(name, "transpose"),    \
        CS_DO_RESHAPE(name, "rows.0 rows.2 rows.1"), AWQ_OF_PLAIN(name)
static const struct cs_step awq_of_rows[] = {
    AWQ_OF_ROWS("w13_qweight", "w13_weight"),            AWQ_OF_ROWS("w2_qweight", "w2_weight"),
    K_FIRST("w13_scales", "w13_weight_scale"),           K_FIRST("w2_scales", "w2_weight_scale"),
    K_FIRST("w13_qzeros", "w13_qzeros"), AWQ_OF_PLAIN("w13_qzeros"),
    K_FIRST("w2_qzeros", "w2_qzeros"),   AWQ_OF_PLAIN("w2_qzeros"),
};
/* clang-format on */
CS_TABLE(awq_of_rows);
