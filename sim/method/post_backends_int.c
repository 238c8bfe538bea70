/* What ends in parameters, of integer back ends. As post_backends.c. Kernels know weights as w13_weight and w2_weight:
 * a second name of the same objects. Source: vllm quantization/auto_gptq.py, auto_awq.py, compressed_tensors/. */
#include "sim/method/methods.h"

#define STEPS(id) const size_t cs_n_##id##_steps = CS_COUNT(cs_##id##_steps)

/* ---- zero points: read, or retired ---- */

static const struct cs_step hold_qzeros[] = {CS_DO_REPLACE("w13_qzeros"), CS_DO_REPLACE("w2_qzeros"),
                                             CS_DO_CONFIG("w13_qzeros", "_w1.zp"), CS_DO_CONFIG("w2_qzeros", "_w2.zp")};
CS_TABLE(hold_qzeros);
/* GPTQ's numbers are symmetric: its zero points are converted too, and no kernel reads them. */
static const struct cs_step keep_unread_qzeros[] = {CS_DO_REPLACE("w13_qzeros"), CS_DO_REPLACE("w2_qzeros"),
                                                    CS_DO_RETIRE("w13_qzeros"), CS_DO_RETIRE("w2_qzeros")};
CS_TABLE(keep_unread_qzeros);
static const struct cs_step hold_zero_points[] = {
    CS_DO_TAKE("w13_weight_zero_point", "w13_qzeros"),
    CS_DO_TAKE("w2_weight_zero_point", "w2_qzeros"),
    CS_DO_REPLACE("w13_weight_zero_point"),
    CS_DO_REPLACE("w2_weight_zero_point"),
    CS_DO_CONFIG("w13_weight_zero_point", "_w1.zp"),
    CS_DO_CONFIG("w2_weight_zero_point", "_w2.zp"),
};
CS_TABLE(hold_zero_points);
static const struct cs_step take_zero_points[] = {CS_DO_TAKE("w13_qzeros", "w13_weight_zero_point"),
                                                  CS_DO_TAKE("w2_qzeros", "w2_weight_zero_point")};
CS_TABLE(take_zero_points);
static const struct cs_step replace_biases[] = {CS_DO_REPLACE("w13_bias"), CS_DO_REPLACE("w2_bias"),
                                                CS_DO_CALL(hold_biases)};
CS_TABLE(replace_biases);

/* GPTQ creates biases whether the checkpoint has them or not. */
static const struct cs_step empty_biases[] = {CS_DO_EMPTY("w13_bias"), CS_DO_EMPTY("w2_bias")};
CS_TABLE(empty_biases);

/* ---- GPTQ and AWQ ---- */

/* clang-format off */
#define KEEP_QWEIGHTS                                                                                                  \
    CS_DO_TAKE("w13_qweight", "w13_weight"), CS_DO_TAKE("w2_qweight", "w2_weight"),                                    \
        CS_DO_TAKE("w13_scales", "w13_weight_scale"), CS_DO_TAKE("w2_scales", "w2_weight_scale"),                      \
        CS_DO_REPLACE("w13_qweight"), CS_DO_REPLACE("w2_qweight"), CS_DO_REPLACE("w13_scales"),                        \
        CS_DO_REPLACE("w2_scales"), CS_DO_RENAME("w13_weight", "w13_qweight"), CS_DO_RENAME("w2_weight", "w2_qweight"), \
        CS_DO_CONFIG("w13_scales", "_w1.scale"), CS_DO_CONFIG("w2_scales", "_w2.scale")
/* clang-format on */
const struct cs_step cs_gptq_marlin_steps[] = {
    CS_DO_CALL(gptq_marlin_and_zeros), KEEP_QWEIGHTS,
    CS_DO_CALL(keep_unread_qzeros),
    CS_DO_WHEN(CS_FACT_BIAS),         CS_DO_CALL(replace_biases),
    CS_DO_UNLESS(CS_FACT_BIAS),       CS_DO_CALL(empty_biases),
};
STEPS(gptq_marlin);
const struct cs_step cs_awq_marlin_steps[] = {CS_DO_CALL(awq_marlin), KEEP_QWEIGHTS, CS_DO_CALL(hold_qzeros)};
STEPS(awq_marlin);

/* ---- compressed-tensors ---- */

/* clang-format off */
#define TAKE_PACKED                                                                                                    \
    CS_DO_TAKE("w13_weight", "w13_weight_packed"), CS_DO_TAKE("w2_weight", "w2_weight_packed")
#define KEEP_PACKED                                                                                                    \
    CS_DO_TAKE("w13_weight_packed", "w13_weight"), CS_DO_TAKE("w2_weight_packed", "w2_weight"),                        \
        CS_DO_REPLACE("w13_weight_packed"), CS_DO_REPLACE("w2_weight_packed"), CS_DO_REPLACE("w13_weight_scale"),      \
        CS_DO_REPLACE("w2_weight_scale"), CS_DO_RENAME("w13_weight", "w13_weight_packed"),                             \
        CS_DO_RENAME("w2_weight", "w2_weight_packed"), CS_DO_RETIRE("w13_weight_shape"),                               \
        CS_DO_RETIRE("w2_weight_shape"), CS_DO_CONFIG("w13_weight_scale", "_w1.scale"),                                \
        CS_DO_CONFIG("w2_weight_scale", "_w2.scale"), CS_DO_WHEN(CS_FACT_BIAS), CS_DO_CALL(replace_biases)
/* clang-format on */
const struct cs_step cs_ct_wna16_marlin_steps[] = {
    TAKE_PACKED, CS_DO_WHEN(CS_FACT_ZERO_POINT), CS_DO_CALL(take_zero_points), CS_DO_CALL(wna16_marlin),
    KEEP_PACKED, CS_DO_WHEN(CS_FACT_ZERO_POINT), CS_DO_CALL(hold_zero_points),
};
STEPS(ct_wna16_marlin);
/* The kernels know one kind of integers: 4 bits, groups of 32, no zero points. */
const struct cs_step cs_ct_wna16_trtllm_steps[] = {TAKE_PACKED, CS_DO_CALL(mxint4_trtllm), KEEP_PACKED};
STEPS(ct_wna16_trtllm);
