/* Operations that are tables of post-load steps: a module of the case's inputs, the table's steps, its values. */
#include "sim/conform/internal.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct step_op {
    const char *op, *table;
    const char *key, *value; /* only when this parameter is this text, "true" or any "number"; "in": when the case has this input */
} step_ops[] = {
    {"deep_gemm.ceil_to_ue8m0",                                             "power_above_bits",                NULL, NULL},
    {"deep_gemm.pack_ue8m0_to_int",                                         "pack_exponents",                  NULL, NULL},
    {"deep_gemm.per_token_cast_to_fp4",                                     "deep_gemm_token_fp4",             NULL, NULL},
    {"deep_gemm.per_token_cast_to_fp8",                                     "deep_gemm_token_fp8",             NULL, NULL},
    {"deep_gemm.transpose_and_pack_fp32_into_ue8m0",                        "pack_exponents_mn_major",         NULL, NULL},
    {"torch.from_float8_e4m3fn",                                            "cast_from_e4m3",                  NULL, NULL},
    {"torch.from_float8_e8m0fnu",                                           "cast_from_e8m0",                  NULL, NULL},
    {"torch.to_float8_e4m3fn",                                              "cast_to_e4m3",                    NULL, NULL},
    {"torch.to_float8_e8m0fnu",                                             "cast_to_e8m0",                    NULL, NULL},
    {"triton.downcast_to_mxfp_torch.fp4",                                   "triton_down_fp4",                 NULL, NULL},
    {"triton.downcast_to_mxfp_torch.fp8",                                   "triton_down_fp8",                 NULL, NULL},
    {"triton.upcast_from_mxfp_torch",                                       "triton_up_fp4",                   "fmt", "fp4"},
    {"triton.upcast_from_mxfp_torch",                                       "triton_up",                       NULL, NULL},
    {"vllm.Fp8PerTensorOnlineMoEMethod",                                    "online_tensors",                  NULL, NULL},
    {"vllm.Fp8PtpcOnlineMoEMethod",                                         "online_rows",                     NULL, NULL},
    {"vllm.OnlineMoEMethodBase._zero_padding",                              "online_zero_padding",             NULL, NULL},
    {"vllm.QuantFP8.dynamic_per_token",                                     "quantise_token",                  NULL, NULL},
    {"vllm.QuantFP8.static_per_tensor",                                     "quantise_static",                 NULL, NULL},
    {"vllm._ceil_to_ue8m0",                                                 "power_above",                     NULL, NULL},
    {"vllm._mxfp8_e4m3_quantize_torch",                                     "mxfp8_quantise_swizzled",         "is_sf_swizzled_layout", "true"},
    {"vllm._mxfp8_e4m3_quantize_torch",                                     "mxfp8_quantise",                  NULL, NULL},
    {"vllm._process_weights_marlin",                                        "wna16_marlin",                    NULL, NULL},
    {"vllm._swizzle_mxfp4.sm100",                                           "triton_swizzle_blackwell",        NULL, NULL},
    {"vllm._swizzle_mxfp4.sm80",                                            "triton_swizzle_plain",            NULL, NULL},
    {"vllm._swizzle_mxfp4.sm90",                                            "triton_swizzle_hopper",           NULL, NULL},
    {"vllm._upcast_e8m0_to_fp32",                                           "upcast_e8m0",                     NULL, NULL},
    {"vllm._zero_intermediate_padding",                                     "bf16_zero_intermediate",          NULL, NULL},
    {"vllm.align_fp4_moe_hidden_dim_for_fi",                                "nvfp4_align_hidden",              NULL, NULL},
    {"vllm.align_fp4_moe_weights_for_fi",                                   "nvfp4_align_intermediate",        NULL, NULL},
    {"vllm.align_moe_weights_for_fi",                                       "fp8_align",                       NULL, NULL},
    {"vllm.align_mxfp8_moe_weights_for_fi_trtllm",                          "mxfp8_align",                     NULL, NULL},
    {"vllm.awq_to_marlin_zero_points",                                      "marlin_zeros_awq",                NULL, NULL},
    {"vllm.break_fp4_bytes",                                                "unpack_e2m1",                     NULL, NULL},
    {"vllm.cast_to_fp4",                                                    "cast_to_e2m1",                    NULL, NULL},
    {"vllm.convert_moe_weights_to_flashinfer_trtllm_block_layout",          "bf16_block_layout",               NULL, NULL},
    {"vllm.convert_packed_uint4b8_to_signed_int4_inplace",                  "mxint4_signed",                   NULL, NULL},
    {"vllm.dequant_mxfp8_to_bf16",                                          "mxfp8_dequantise",                NULL, NULL},
    {"vllm.dequantize_to_dtype",                                            "nvfp4_dequantise",                NULL, NULL},
    {"vllm.fp8.identity",                                                   "unchanged",                       NULL, NULL},
    {"vllm.fp8_block.FLASHINFER_CUTLASS",                                   "fp8_block_flashinfer_cutlass",    NULL, NULL},
    {"vllm.fp8_block.FLASHINFER_TRTLLM",                                    "fp8_block_trtllm",                NULL, NULL},
    {"vllm.fp8_fused_exponent_bias_into_scales",                            "marlin_exponent_bias",            NULL, NULL},
    {"vllm.fp8_per_tensor.FLASHINFER_CUTLASS",                              "fp8_tensor_flashinfer_cutlass",   NULL, NULL},
    {"vllm.fp8_per_tensor.FLASHINFER_TRTLLM",                               "fp8_tensor_trtllm",               NULL, NULL},
    {"vllm.gptoss.TRITON.sm100",                                            "gpt_oss_triton_blackwell",        NULL, NULL},
    {"vllm.gptoss.TRITON.sm90",                                             "gpt_oss_triton_hopper",           NULL, NULL},
    {"vllm.gptoss_mxfp4.FLASHINFER_CUTLASS_MXFP4_BF16",                     "gpt_oss_cutlass_bf16",            NULL, NULL},
    {"vllm.gptoss_mxfp4.FLASHINFER_CUTLASS_MXFP4_MXFP8",                    "gpt_oss_cutlass_mxfp8",           NULL, NULL},
    {"vllm.marlin_act_int8_process_scales",                                 "marlin_int8_scales",              NULL, NULL},
    {"vllm.marlin_moe_permute_scales",                                      "marlin_scales",                   NULL, NULL},
    {"vllm.marlin_permute_bias",                                            "marlin_scales",                   NULL, NULL},
    {"vllm.marlin_permute_scales",                                          "marlin_scales",                   NULL, NULL},
    {"vllm.marlin_weights.4bit",                                            "marlin_weights4",                 NULL, NULL},
    {"vllm.marlin_weights.4bit_a8",                                         "marlin_weights4",                 NULL, NULL},
    {"vllm.marlin_weights.8bit",                                            "marlin_weights8",                 NULL, NULL},
    {"vllm.marlin_weights.8bit_a8",                                         "marlin_weights8",                 NULL, NULL},
    {"vllm.marlin_zero_points",                                             "marlin_zeros",                    NULL, NULL},
    {"vllm.moe_packed_to_marlin_zero_points",                               "marlin_zeros_packed",             NULL, NULL},
    {"vllm.mxfp4.TRITON.sm100",                                             "mxfp4_triton_blackwell",          NULL, NULL},
    {"vllm.mxfp4.TRITON.sm90",                                              "mxfp4_triton_hopper",             NULL, NULL},
    {"vllm.mxfp4.TRITON_UNFUSED.sm100",                                     "gpt_oss_triton_blackwell",        NULL, NULL},
    {"vllm.mxfp4.TRITON_UNFUSED.sm90",                                      "gpt_oss_triton_hopper",           NULL, NULL},
    {"vllm.mxfp4_generic.CUTLASS_MXFP4_MXFP4",                              "mxfp4_cutlass",                   NULL, NULL},
    {"vllm.mxfp4_generic.FLASHINFER_CUTLASS_MXFP4_BF16",                    "mxfp4_cutlass_bf16",              NULL, NULL},
    {"vllm.mxfp4_generic.FLASHINFER_CUTLASS_MXFP4_MXFP8",                   "mxfp4_cutlass_mxfp8",             NULL, NULL},
    {"vllm.mxfp4_generic.TRTLLM",                                           "mxfp4_trtllm",                    NULL, NULL},
    {"vllm.mxfp4_generic.identity",                                         "unchanged",                       NULL, NULL},
    {"vllm.mxfp4_quantize",                                                 "mxfp4_quantise",                  NULL, NULL},
    {"vllm.mxfp4_marlin_process_scales",                                    "marlin_e8m0_e4m3",                "input_dtype", "torch.float8_e4m3fn"},
    {"vllm.mxfp4_marlin_process_scales",                                    "marlin_e8m0_plain",               "input_dtype", "torch.int8"},
    {"vllm.mxfp4_marlin_process_scales",                                    "marlin_e8m0",                     NULL, NULL},
    {"vllm.mxfp8.FLASHINFER_TRTLLM",                                        "mxfp8_trtllm_w13",                "half", "w13"},
    {"vllm.mxfp8.FLASHINFER_TRTLLM",                                        "mxfp8_trtllm_w2",                 "half", "w2"},
    {"vllm.mxfp8.FLASHINFER_TRTLLM",                                        "mxfp8_trtllm",                    NULL, NULL},
    {"vllm.mxfp8_marlin_process_scales",                                    "marlin_e8m0",                     NULL, NULL},
    {"vllm.mxint4.TRTLLM",                                                  "mxint4_trtllm_w13",               "half", "w13"},
    {"vllm.mxint4.TRTLLM",                                                  "mxint4_trtllm_w2",                "half", "w2"},
    {"vllm.mxint4.TRTLLM",                                                  "mxint4_trtllm",                   NULL, NULL},
    {"vllm.normalize_e4m3fn_to_e4m3fnuz",                                   "to_fnuz",                         NULL, NULL},
    {"vllm.nvfp4.B12X",                                                     "nvfp4_b12x",                      NULL, NULL},
    {"vllm.nvfp4.FLASHINFER_B12X",                                          "nvfp4_flashinfer_cutlass",        NULL, NULL},
    {"vllm.nvfp4.FLASHINFER_CUTEDSL",                                       "nvfp4_cutedsl",                   NULL, NULL},
    {"vllm.nvfp4.FLASHINFER_CUTEDSL_BATCHED",                               "nvfp4_cutedsl_batched",           NULL, NULL},
    {"vllm.nvfp4.FLASHINFER_CUTLASS",                                       "nvfp4_flashinfer_cutlass",        NULL, NULL},
    {"vllm.nvfp4.FLASHINFER_TRTLLM",                                        "nvfp4_trtllm",                    NULL, NULL},
    {"vllm.nvfp4.VLLM_CUTLASS",                                             "nvfp4_cutlass",                   NULL, NULL},
    {"vllm.nvfp4_marlin_process_global_scale",                              "nvfp4_marlin_global",             NULL, NULL},
    {"vllm.nvfp4_marlin_process_scales",                                    "nvfp4_marlin_scales_given",       "scale_factor", "number"},
    {"vllm.nvfp4_marlin_process_scales",                                    "nvfp4_marlin_scales",             NULL, NULL},
    {"vllm.online._fp8_quant_per_channel",                                  "online_channel",                  NULL, NULL},
    {"vllm.online._fp8_scale",                                              "online_tensor_amax",              "in", "w"},
    {"vllm.online._fp8_scale",                                              "online_tensor_scale",             NULL, NULL},
    {"vllm.pack_fp8_to_int32",                                              "pack_words",                      NULL, NULL},
    {"vllm.per_block_cast_to_fp8",                                          "quantise_block",                  NULL, NULL},
    {"vllm.per_block_cast_to_fp8.ue8m0",                                    "quantise_block",                  NULL, NULL},
    {"vllm.prepare_fp8_moe_layer_for_marlin",                               "fp8_marlin",                      NULL, NULL},
    {"vllm.prepare_moe_mxfp4_layer_for_marlin",                             "mxfp4_marlin",                    NULL, NULL},
    {"vllm.prepare_mxfp8_moe_layer_for_marlin",                             "mxfp8_marlin",                    NULL, NULL},
    {"vllm.prepare_nvfp4_moe_layer_for_marlin",                             "nvfp4_marlin",                    NULL, NULL},
    {"vllm.process_fp8_weight_block_strategy.fnuz",                         "block_to_fnuz",                   NULL, NULL},
    {"vllm.process_fp8_weight_tensor_strategy_moe",                         "merge_halves",                    NULL, NULL},
    {"vllm.process_fp8_weight_tensor_strategy_moe.cpu_promotion",           "merge_halves",                    NULL, NULL},
    {"vllm.ref_nvfp4_quant",                                                "nvfp4_quantise",                  NULL, NULL},
    {"vllm.requant_weight_ue8m0_inplace",                                   "requantise_ue8m0",                NULL, NULL},
    {"vllm.unquantized.FLASHINFER_CUTLASS",                                 "bf16_flashinfer_cutlass",         NULL, NULL},
    {"vllm.unquantized.FLASHINFER_TRTLLM",                                  "bf16_trtllm_w13",                 "half", "w13"},
    {"vllm.unquantized.FLASHINFER_TRTLLM",                                  "bf16_trtllm_w2",                  "half", "w2"},
    {"vllm.unquantized.FLASHINFER_TRTLLM",                                  "bf16_trtllm",                     NULL, NULL},
    {"vllm.requantize_with_max_scale",                                      "merge_shard",                     NULL, NULL},
};

/* Tables that must make the same of what another one made first: of cases that have this input, or have it not, and words of
 * `bits`; 0: any. */
static const struct other_op {
    const char *op, *first, *table, *input;
    bool has_input;
    int64_t bits;
} other_ops[] = {
    {"vllm._process_weights_marlin", "gptq_of_rows",           "gptq_marlin",           "w13_qzeros", false, 0},
    {"vllm._process_weights_marlin", "gptq_of_rows_and_zeros", "gptq_marlin_and_zeros", "w13_qzeros", true,  0},
    {"vllm._process_weights_marlin", "awq_of_rows",            "awq_marlin",            "w13_qzeros", true,  4},
};

/* What captured files call a parameter. */
static const struct { const char *golden, *param; } names[] = {
    {"a13_scale",      "w13_input_scale"},     {"a2_scale",    "w2_input_scale"},
    {"w13",            "w13_weight"},          {"w2",          "w2_weight"},
    {"w13_qweight",    "w13_weight"},          {"w2_qweight",  "w2_weight"},
    {"w13_value",      "w13_weight"},          {"w2_value",    "w2_weight"},
    {"w13_scale",      "w13_weight_scale"},    {"w2_scale",    "w2_weight_scale"},
    {"w13_scales",     "w13_weight_scale"},    {"w2_scales",   "w2_weight_scale"},
    {"w13_scale_2",    "w13_weight_scale_2"},  {"w2_scale_2",  "w2_weight_scale_2"},
};
/* clang-format on */

static const char *param_of(const char *golden) {
    for (size_t i = 0; i < CS_COUNT(names); i++)
        if (cs_text_equal(names[i].golden, golden)) return names[i].param;
    return golden;
}

struct job {
    struct cs_golden_case *golden;
    const struct cs_checkpoint *file;
    const json_t *params;
    struct cs_layer layer;
    struct cs_post_load run;
};

/* ---- the module ---- */

static enum cs_status read_spec(const json_t *json, struct cs_tensor_spec *spec) {
    const char *name, *dtype;
    CS_TRY(cs_golden_text(json, "name", &name));
    CS_TRY(cs_golden_text(json, "logical_dtype", &dtype));
    CS_REQUIRE(strncmp(name, "in.", 3) == 0, CS_BAD_FILE, "golden file: input \"%s\" does not start with \"in.\"",
               name);
    *spec = (struct cs_tensor_spec){.name = param_of(name + 3), .weight_loader_numel = -1};
    CS_TRY(cs_dtype_parse(dtype, &spec->dtype));
    return cs_golden_shape(json, "shape", &spec->ndim, spec->shape);
}

/* A factor that the caller of the operation computed. */
static enum cs_status write_factor(struct job *job, double number) {
    struct cs_view view;
    float factor = (float)number;
    CS_TRY(cs_layer_param(&job->layer, "factor", &view));
    return cs_device_write(job->golden->device, &view, &factor, sizeof factor);
}

static enum cs_status open_module(struct job *job) {
    static const struct cs_tensor_spec factor = {
        .name = "factor", .dtype = CS_F32, .ndim = 1, .shape = {1}, .weight_loader_numel = -1};
    const json_t *inputs, *json, *given = json_object_get(job->params, "scale_factor");
    size_t i;
    CS_TRY(cs_golden_array(job->golden->json, "inputs", &inputs));
    size_t n = json_array_size(inputs);
    struct cs_tensor_spec *specs = CS_NEW_ARRAY(&job->golden->arena, struct cs_tensor_spec, n + 1);
    CS_REQUIRE(specs, CS_NO_MEMORY, "no memory for %zu inputs", n);
    json_array_foreach(inputs, i, json) CS_TRY(read_spec(json, &specs[i]));
    if (json_is_number(given)) specs[n] = factor;
    CS_TRY(cs_layer_open_tensors(&job->layer, job->golden->device, specs, json_is_number(given) ? n + 1 : n));
    if (json_is_number(given)) CS_TRY(write_factor(job, json_number_value(given)));
    json_array_foreach(inputs, i, json) {
        struct cs_bytes bytes;
        struct cs_view view;
        CS_TRY(cs_bytes_of_entry(job->file, cs_golden_string(json, "name"), &bytes));
        CS_TRY(cs_layer_param(&job->layer, specs[i].name, &view));
        CS_TRY(cs_device_write(job->golden->device, &view, bytes.data, bytes.size));
    }
    return CS_OK;
}

static int64_t integer_or(const json_t *params, const char *key, int64_t otherwise) {
    const json_t *number = json_object_get(params, key);
    return json_is_integer(number) ? (int64_t)json_integer_value(number) : otherwise;
}

static bool is_true(const json_t *params, const char *key) { return json_is_true(json_object_get(params, key)); }
static bool is_false(const json_t *params, const char *key) { return json_is_false(json_object_get(params, key)); }

/* Facts that the parameters of a case state. */
static unsigned stated_facts(const json_t *params) {
    unsigned facts = 0;
    if (!is_false(params, "gated") && !is_false(params, "is_act_and_mul") && integer_or(params, "shards", 2) == 2)
        facts |= CS_FACT_GATED;
    if (is_true(params, "is_a_8bit")) facts |= CS_FACT_A8;
    if (is_true(params, "use_ue8m0")) facts |= CS_FACT_UE8M0;
    const char *mode = cs_golden_string(params, "mode");
    if (mode && cs_text_equal(mode, "ROUND_DOWN")) facts |= CS_FACT_DOWN;
    return facts;
}

/* Marlin: what groups and sizes mean. Upstream compares w13's group with the unpadded I where weights are integers,
 * with H elsewhere. */
static unsigned marlin_facts(const struct job *job, struct cs_post_load *run) {
    const json_t *params = job->params;
    const char *mode = cs_golden_string(params, "mode");
    bool is_a8 = is_true(params, "is_a_8bit"), is_integer = json_object_get(params, "num_bits");
    int64_t hidden = integer_or(params, "H", 0), intermediate = integer_or(params, "I", 0),
            group = integer_or(params, "group_size", 0);
    if (mode && strncmp(mode, "block", 5) == 0) group = strtoll(mode + 5, NULL, 10);
    run->block[0] = run->block[1] = mode && group ? group : 0;
    if (is_integer && group > 0) run->block[1] = group;
    run->alignment[0] = cs_marlin_intermediate(1, group);
    int64_t padded = cs_marlin_intermediate(intermediate, group);
    int64_t size_k = integer_or(params, "size_k", is_integer ? intermediate : hidden);
    unsigned facts = hidden % 128 == 0 ? CS_FACT_H128 : 0;
    if (group && cs_marlin_is_grouped(group, size_k, is_a8)) facts |= CS_FACT_GROUPED;
    if (group && cs_marlin_is_grouped(group, padded, is_a8)) facts |= CS_FACT_GROUPED_W2;
    if (mode && group) facts |= CS_FACT_BLOCK;
    return integer_or(params, "num_bits", 4) == 8 ? facts | CS_FACT_8BIT : facts;
}

/* Facts that the tensors of a case show. */
static unsigned facts_of(const struct job *job) {
    static const char *const keys[] = {"orig_dtype", "params_dtype", "param_dtype", "dtype", "a_dtype"};
    unsigned facts = stated_facts(job->params);
    for (size_t i = 0; i < CS_COUNT(keys); i++) {
        const char *dtype = cs_golden_string(job->params, keys[i]);
        if (dtype && strstr(dtype, "float16") && !strstr(dtype, "bfloat16")) facts |= CS_FACT_HALF;
    }
    for (size_t i = 0; i < job->layer.module.n_slots; i++) {
        enum cs_dtype dtype = job->layer.module.slots[i].param->view.dtype;
        if (dtype == CS_F16) facts |= CS_FACT_HALF;
        if (cs_text_equal(job->layer.module.slots[i].name, "w13_weight_scale") &&
            job->layer.module.slots[i].param->view.ndim == 2)
            facts |= CS_FACT_FLAT;
        if (dtype == CS_E8M0) facts |= CS_FACT_E8M0;
        if (cs_text_equal(job->layer.module.slots[i].name, "w13_qzeros")) facts |= CS_FACT_ZERO_POINT;
        if (cs_text_equal(job->layer.module.slots[i].name, "w13_bias")) facts |= CS_FACT_BIAS;
        if (cs_text_equal(job->layer.module.slots[i].name, "input_scale")) facts |= CS_FACT_INPUT_SCALE;
    }
    return facts;
}

/* ---- outputs ---- */

static enum cs_status has_layout(const char *name, const json_t *output, const struct cs_view *view) {
    const char *dtype;
    char text[CS_VIEW_TEXT];
    int ndim;
    int64_t shape[CS_NDIM];
    CS_TRY(cs_golden_text(output, "logical_dtype", &dtype));
    CS_TRY(cs_golden_shape(output, "shape", &ndim, shape));
    CS_REQUIRE(cs_text_equal(dtype, cs_dtype_torch(view->dtype)), CS_BAD_TYPE, "%s: expected dtype %s, got %s", name,
               dtype, cs_dtype_torch(view->dtype));
    bool is_same = ndim == view->ndim;
    for (int d = 0; d < ndim && is_same; d++) is_same = shape[d] == view->shape[d];
    CS_REQUIRE(is_same, CS_BAD_SHAPE, "%s: got %s, which is not the expected shape", name, cs_view_text(view, text));
    return CS_OK;
}

/* Files hold 16-bit integers as 32-bit ones. */
static enum cs_status widen(struct cs_arena *arena, struct cs_bytes *bytes) {
    size_t n = bytes->size / sizeof(int16_t);
    int32_t *wide = CS_NEW_ARRAY(arena, int32_t, n + 1);
    CS_REQUIRE(wide, CS_NO_MEMORY, "no memory for %zu integers", n);
    for (size_t i = 0; i < n; i++) {
        int16_t narrow;
        memcpy(&narrow, bytes->data + i * sizeof narrow, sizeof narrow);
        wide[i] = narrow;
    }
    *bytes = (struct cs_bytes){n * sizeof *wide, (const unsigned char *)wide};
    return CS_OK;
}

static enum cs_status find_output(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    struct job *job = context;
    struct cs_view view;
    CS_REQUIRE(strncmp(name, "out.", 4) == 0, CS_BAD_FILE, "golden file: output \"%s\" does not start with \"out.\"",
               name);
    CS_TRY(cs_steps_value(&job->run, param_of(name + 4), &view));
    CS_TRY(has_layout(name, output, &view));
    CS_TRY(cs_bytes_of_view(&job->golden->arena, job->golden->device, &view, bytes));
    return view.dtype == CS_I16 ? widen(&job->golden->arena, bytes) : CS_OK;
}

/* ---- a case ---- */

static bool has_input(const json_t *json, const char *named) {
    size_t i;
    const json_t *input;
    json_array_foreach(json_object_get(json, "inputs"), i, input) {
        const char *name = cs_golden_string(input, "name");
        if (name && cs_text_equal(name + 3, named)) return true;
    }
    return false;
}

static bool selects(const struct step_op *row, const char *op, const json_t *json) {
    if (!cs_text_equal(row->op, op)) return false;
    if (!row->key) return true;
    if (!cs_text_equal(row->key, "in")) {
        const json_t *given = json_object_get(json_object_get(json, "params"), row->key);
        if (json_is_number(given)) return cs_text_equal(row->value, "number");
        if (json_is_true(given)) return cs_text_equal(row->value, "true");
        return json_is_string(given) && cs_text_equal(json_string_value(given), row->value);
    }
    return has_input(json, row->value);
}

/* The row of a case; NULL: it is no such operation. */
static const struct step_op *row_of(const json_t *json) {
    const char *op = cs_golden_string(json, "op");
    for (size_t i = 0; i < CS_COUNT(step_ops); i++)
        if (selects(&step_ops[i], op, json)) return &step_ops[i];
    return NULL;
}

static bool is_other(const struct other_op *row, const json_t *json) {
    const char *op = cs_golden_string(json, "op");
    const json_t *bits = json_object_get(json_object_get(json, "params"), "num_bits");
    return cs_text_equal(row->op, op) && has_input(json, row->input) == row->has_input &&
           (!row->bits || (int64_t)json_integer_value(bits) == row->bits);
}

static enum cs_status table_of(const char *name, const struct cs_step_table **table) {
    *table = name ? cs_step_table_by_name(name) : NULL;
    CS_REQUIRE(*table, CS_INTERNAL, "there is no table of steps \"%s\"", name ? name : "(none)");
    return CS_OK;
}

static const char *op_of(const struct job *job) { return cs_golden_string(job->golden->json, "op"); }

/* Blocks that share a scale (square ones of weights, or groups along K), and alignments. */
static void set_sizes(struct job *job) {
    job->run.block[0] = job->run.block[1] = integer_or(job->params, "block", 0);
    int64_t group = integer_or(job->params, "gran_k", 0);
    if (group) job->run.block[0] = 1, job->run.block[1] = group;
    int64_t align = integer_or(job->params, "align", 0);
    job->run.alignment[0] = integer_or(job->params, "min_alignment", align);
    job->run.alignment[1] = integer_or(job->params, "hidden_alignment", align);
}

/* The merge of a fused linear layer is no table: its shards have rows of their own numbers. */
static enum cs_status run_steps(struct job *job, const struct cs_step_table *table) {
    const json_t *list = json_object_get(job->params, "logical_widths");
    size_t n = json_array_size(list);
    if (!list) return cs_steps_run(&job->run, table->steps, table->n_steps);
    int64_t *widths = CS_NEW_ARRAY(&job->golden->arena, int64_t, n + 1);
    CS_REQUIRE(widths, CS_NO_MEMORY, "no memory for %zu widths", n);
    CS_TRY(cs_golden_integers(list, "logical_widths", n, widths));
    return cs_merge_linear(&job->run, widths, n);
}

/* `first` NULL: `name` alone. */
static enum cs_status run_tables(struct job *job, unsigned facts, const char *first, const char *name) {
    const struct cs_step_table *table, *before = NULL;
    CS_TRY(cs_golden_object(job->golden->json, "params", &job->params));
    CS_TRY(table_of(name, &table));
    if (first) CS_TRY(table_of(first, &before));
    CS_TRY(open_module(job));
    job->run = (struct cs_post_load){.module = &job->layer.module, .facts = facts | facts_of(job)};
    job->run.experts = integer_or(job->params, "groups", integer_or(job->params, "E", 1));
    job->run.unpadded[0] = integer_or(job->params, "I_unpadded", INT64_MAX);
    job->run.unpadded[1] = integer_or(job->params, "H_unpadded", INT64_MAX);
    set_sizes(job);
    if (strstr(op_of(job), "arlin")) job->run.facts |= marlin_facts(job, &job->run);
    if (before) CS_TRY(cs_steps_run(&job->run, before->steps, before->n_steps));
    CS_TRY(run_steps(job, table));
    const struct cs_golden_outputs outputs = {job->golden, job->file, find_output, job};
    return cs_golden_compare_outputs(&outputs);
}

static enum cs_status try_tables(struct cs_golden_case *golden, unsigned facts, const char *first, const char *name) {
    struct cs_checkpoint file;
    struct job job = {.golden = golden, .file = &file};
    CS_TRY(cs_golden_file(golden, &file));
    enum cs_status status = run_tables(&job, facts, first, name);
    cs_layer_close(&job.layer);
    cs_checkpoint_close(&file);
    return status;
}

static enum cs_status try_row(struct cs_golden_case *golden, unsigned facts) {
    const struct step_op *row = row_of(golden->json);
    CS_TRY(try_tables(golden, facts, NULL, row ? row->table : NULL));
    for (size_t i = 0; i < CS_COUNT(other_ops); i++)
        if (is_other(&other_ops[i], golden->json)) CS_TRY(try_tables(golden, facts, other_ops[i].first, other_ops[i].table));
    return CS_OK;
}

/* Cases whose bytes are a CPU's say so: tests/golden/README.md. */
static bool is_of_cpu(const struct cs_golden_case *golden) {
    const json_t *same = json_object_get(json_object_get(golden->json, "params"), "same_with_reciprocal_multiply");
    return strstr(golden->id, "merge_discriminating_") || strstr(golden->id, "merge_f32scales_cpu_") ||
           json_is_false(same);
}

static enum cs_status check_table(struct cs_golden_case *golden) {
    enum cs_status status = try_row(golden, 0);
    if (status == CS_OK || !is_of_cpu(golden)) return status;
    CS_TRY(try_row(golden, CS_FACT_CPU));
    golden->defect = "cpu_arithmetic";
    return CS_OK;
}

const struct cs_step_table *cs_golden_step_table(const json_t *json, const struct cs_step_table *also[2]) {
    const struct step_op *row = row_of(json);
    size_t n = 0;
    also[0] = also[1] = NULL;
    for (size_t i = 0; i < CS_COUNT(other_ops); i++)
        if (n < 2 && is_other(&other_ops[i], json)) also[n++] = cs_step_table_by_name(other_ops[i].table);
    return row ? cs_step_table_by_name(row->table) : NULL;
}

cs_golden_check *cs_golden_step_op(const char *op) {
    for (size_t i = 0; i < CS_COUNT(step_ops); i++)
        if (cs_text_equal(step_ops[i].op, op)) return check_table;
    return NULL;
}
