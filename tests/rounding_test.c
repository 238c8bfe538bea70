/* Sizes that back ends round to: layouts of published models, worked out by hand, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/method/rounding.h"
#include "tests/support_session.h"

static void hidden_sizes_fit_the_all_to_all(void **state) {
    (void)state;
    const struct { enum cs_all2all all2all; int64_t hidden, rounded; } rows[] = {
        {CS_ALL2ALL_NONE, 2880, 2880},
        {CS_ALL2ALL_DEEPEP_HT, 200, 256}, {CS_ALL2ALL_DEEPEP_HT, 256, 256}, {CS_ALL2ALL_DEEPEP_HT, 2880, 3072}, {CS_ALL2ALL_DEEPEP_V2, 8200, 8448},
        {CS_ALL2ALL_DEEPEP_LL, 64, 2048}, {CS_ALL2ALL_DEEPEP_LL, 2049, 2560}, {CS_ALL2ALL_DEEPEP_LL, 2880, 3072}, {CS_ALL2ALL_NIXL_EP, 7168, 7168},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        int64_t rounded;
        assert_ok(cs_all2all_round(rows[i].all2all, rows[i].hidden, &rounded));
        assert_int_equal(rounded, rows[i].rounded);
    }
    int64_t rounded;
    assert_int_equal(cs_all2all_round(CS_ALL2ALL_DEEPEP_LL, 8193, &rounded), CS_BAD_VALUE);
    assert_int_equal(cs_all2all_round(CS_ALL2ALL_NIXL_EP, 8200, &rounded), CS_BAD_VALUE);
}

static void mxfp4_back_ends_round_by_platform_and_activation(void **state) {
    (void)state;
    const struct { const char *upstream, *activation; enum cs_platform platform; int64_t i, h; } rows[] = {
        {"MARLIN", NULL, CS_CUDA, 128, 256},           {"MARLIN", NULL, CS_XPU, 128, 128},             {"EMULATION", "silu", CS_CDNA4, 32, 32},
        {"AITER_MXFP4_BF16", "silu", CS_CDNA3, 128, 128}, {"AITER_MXFP4_BF16", NULL, CS_CDNA3, 256, 256}, {"AITER_MXFP4_MXFP4", NULL, CS_CDNA4, 128, 256},
        {"TRITON_UNFUSED", "situ", CS_CDNA3, 128, 128}, {"TRITON_UNFUSED", "situ", CS_CDNA4, 256, 256},  {"TRITON_UNFUSED", "silu", CS_CUDA, 64, 0},
        {"TRITON", "silu", CS_CDNA3, 256, 256},        {"CPU", NULL, CS_XPU, 32, 32},                  {"B12X_MXFP4_BF16", NULL, CS_CDNA4, 0, 0},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_rounding rounding = cs_mxfp4_rounding(rows[i].upstream, rows[i].platform, rows[i].activation);
        if (rounding.intermediate != rows[i].i || rounding.hidden != rows[i].h) fail_msg("%s, row %zu", rows[i].upstream, i);
    }
}

/* Rows of back ends speak of CUDA: every MXFP4 method must say what the table says. */
static void rows_of_back_ends_agree_with_the_table(void **state) {
    (void)state;
    static const char *const methods[] = {"gpt_oss_mxfp4", "mxfp4", "online_mxfp4", "quark_mx"};
    int n = 0;
    for (size_t i = 0; i < cs_n_backends; i++)
        for (size_t m = 0; m < CS_COUNT(methods); m++) {
            const struct cs_backend *backend = &cs_backends[i];
            if (!cs_text_equal(backend->method, methods[m])) continue;
            char first[64] = "";
            size_t length = strcspn(backend->upstream, " ");
            assert_true(length < sizeof first);
            memcpy(first, backend->upstream, length);
            struct cs_rounding rounding = cs_mxfp4_rounding(first, CS_CUDA, NULL);
            if (rounding.intermediate != backend->released.intermediate || rounding.hidden != backend->released.hidden)
                fail_msg("%s %s: the table has %d, %d", backend->method, backend->name, (int)rounding.intermediate, (int)rounding.hidden);
            n++;
        }
    assert_true(n > 30);
}

/* ---- single back ends ---- */

static struct cs_sizes sizes_of(int64_t hidden, int64_t full, int tp) {
    return (struct cs_sizes){.experts_global = 2, .experts = 2, .hidden_u = hidden, .intermediate_full = full, .tp = tp, .ep = 1};
}

static enum cs_status resolve(struct cs_sizes *sizes, const char *method, const char *backend) {
    return cs_sizes_for_backend(sizes, cs_backend_by_name(cs_method_by_name(method), backend), false);
}

static void unquantized_back_ends(void **state) {
    (void)state;
    const struct { const char *backend; int64_t from, to; } rows[] = {
        {"aiter", 64, 64}, {"aiter", 100, 128}, {"aiter", 192, 192}, {"aiter", 193, 256}, {"aiter", 320, 384},
        {"flashinfer_trtllm", 192, 256}, {"triton", 193, 193}, {"BATCHED_TRITON", 100, 100}, {"CPU", 100, 100},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_sizes sizes = sizes_of(200, rows[i].from, 1);
        assert_ok(resolve(&sizes, "unquantized", rows[i].backend));
        assert_int_equal(sizes.intermediate, rows[i].to);
        assert_int_equal(sizes.hidden, 200);
    }
}

/* supports_eplb of every quantization method, by hand from vLLM: what is not named here supports it. */
static void load_balancing_is_refused_where_upstream_does(void **state) {
    (void)state;
    const struct { const char *method, *but; } refused[] = {
        {"awq", ""}, {"ct_wna16", ""}, {"fp8_tensor_modelopt", ""}, {"gpt_oss_mxfp4", ""}, {"gptq", ""}, {"mxfp4_ct", ""}, {"mxfp8_modelopt", ""},
        {"nvfp4_ct", "cutedsl cutedsl_batched flashinfer_trtllm"},
        {"quark_fp8_block", ""}, {"quark_fp8_channel", ""}, {"quark_fp8_gpt_oss", ""}, {"quark_fp8_tensor", ""},
    };
    int n = 0;
    for (size_t i = 0; i < cs_n_backends; i++) {
        const struct cs_backend *backend = &cs_backends[i];
        bool is_refused = false;
        for (size_t r = 0; r < CS_COUNT(refused); r++)
            if (cs_text_equal(refused[r].method, backend->method)) is_refused = !strstr(refused[r].but, backend->name);
        struct cs_sizes sizes = sizes_of(256, 256, 1);
        sizes.experts_redundant = 2;
        enum cs_status status = resolve(&sizes, backend->method, backend->name);
        if (status != (is_refused ? CS_REFUSED : CS_OK)) fail_msg("%s %s: %s", backend->method, backend->name, cs_status_name(status));
        n += is_refused;
    }
    assert_int_equal(n, 58 - 3); /* their rows of the table, less those that support it */
}

/* 128 × 128 blocks. Refined: gcd of the block, I and H. */
static void fp8_blocks_are_refined_or_taken_whole(void **state) {
    (void)state;
    enum { REFUSED = -1, FITS = 0, WHOLE = 128 };
    const struct { const char *backend; bool is_named; int64_t hidden, full; int tp; int64_t grid; } rows[] = {
        {"triton", false, 128, 256, 2, FITS},   {"triton", false, 200, 128, 1, FITS}, /* a partial block of H is no matter */
        {"triton", false, 128, 640, 2, 64},     {"triton", false, 128, 640, 4, 32},   {"triton", false, 128, 640, 8, REFUSED}, /* I = 80: 16 */
        {"triton", true, 128, 640, 4, 32},      {"triton", true, 128, 640, 8, WHOLE},
        {"marlin", true, 128, 640, 2, WHOLE},   {"marlin", false, 128, 640, 2, 64},
        {"marlin", true, 192, 640, 2, REFUSED}, {"marlin", true, 128, 320, 2, REFUSED}, /* H, or I_full, is not whole blocks */
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_sizes sizes = sizes_of(rows[i].hidden, rows[i].full, rows[i].tp);
        if (rows[i].is_named) sizes.options = CS_NAMED_BACKEND;
        enum cs_status status = resolve(&sizes, "fp8_block", rows[i].backend);
        int64_t unrounded = rows[i].full / rows[i].tp, grid = sizes.refine[0] ? sizes.block[0] / sizes.refine[0] : 0;
        if (status != (rows[i].grid == REFUSED ? CS_BAD_VALUE : CS_OK)) fail_msg("row %zu: %s", i, cs_status_name(status));
        if (status != CS_OK) continue;
        assert_int_equal(sizes.shards_whole_blocks, rows[i].grid == WHOLE);
        assert_int_equal(grid, rows[i].grid == WHOLE ? 0 : rows[i].grid);
        assert_int_equal(sizes.intermediate, rows[i].grid == WHOLE ? (unrounded + 127) / 128 * 128 : unrounded);
    }
    struct cs_sizes with_bias = sizes_of(128, 640, 2);
    with_bias.options = CS_NAMED_BACKEND | CS_WITH_BIAS;
    assert_int_equal(resolve(&with_bias, "fp8_block", "marlin"), CS_BAD_VALUE);
}

static void some_sizes_are_refused(void **state) {
    (void)state;
    struct cs_sizes sizes = sizes_of(96, 96, 2); /* 48 per rank */
    assert_int_equal(resolve(&sizes, "mxfp8_modelopt", "triton"), CS_BAD_VALUE);
    assert_int_equal(resolve(&sizes, "online_mxfp8", "triton"), CS_BAD_VALUE);
    sizes.group = 32;
    assert_int_equal(resolve(&sizes, "ct_wna16", "marlin"), CS_BAD_VALUE);
    sizes.options = CS_PER_CHANNEL;
    assert_ok(resolve(&sizes, "ct_wna16", "marlin"));
    sizes.options |= CS_ACT_ORDER; /* one group: the order is ignored */
    assert_ok(resolve(&sizes, "gptq", "marlin"));
    sizes.options = CS_ACT_ORDER;
    assert_int_equal(resolve(&sizes, "gptq", "marlin"), CS_BAD_VALUE);
}

/* ---- parameters ---- */

static void expect_shape(const struct cs_tensor_spec *tensors, size_t n, const char *name, int64_t d0, int64_t d1, int64_t d2) {
    for (size_t i = 0; i < n; i++) {
        if (!cs_text_equal(tensors[i].name, name)) continue;
        const int64_t expected[] = {d0, d1, d2};
        assert_int_equal(tensors[i].ndim, d2 ? 3 : d1 ? 2 : 1);
        for (int d = 0; d < tensors[i].ndim; d++) assert_int_equal(tensors[i].shape[d], expected[d]);
        return;
    }
    fail_msg("no parameter %s", name);
}

/* 2 experts, H 128, I 96 per rank. */
static void parameters_follow_their_options(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    const struct cs_tensor_spec *t;
    size_t n;
    struct cs_sizes sizes = {.experts_global = 4, .experts = 2, .hidden_u = 128, .hidden = 128, .intermediate_full = 96, .intermediate_u = 96, .intermediate = 96,
                             .tp = 1, .ep = 2, .bits = 4, .group = 64, .block = {128, 128}, .refine = {4, 4}};
    assert_ok(cs_method_tensors(cs_method_by_name("gptq"), &sizes, &arena, &t, &n));
    expect_shape(t, n, "w13_qweight", 2, 16, 192);
    expect_shape(t, n, "w2_scales", 2, 1, 128); /* 96 / 64, rounded down */
    expect_shape(t, n, "w13_qzeros", 2, 2, 24);
    assert_ok(cs_method_tensors(cs_method_by_name("fp8_block"), &sizes, &arena, &t, &n));
    expect_shape(t, n, "w13_weight_scale_inv", 2, 6, 4); /* blocks of 32 */
    assert_int_equal(n, 4);
    sizes.options = CS_WITH_BIAS | CS_NOT_GATED;
    assert_ok(cs_method_tensors(cs_method_by_name("unquantized"), &sizes, &arena, &t, &n));
    expect_shape(t, n, "w13_weight", 2, 96, 128);
    assert_int_equal(t[0].weight_loader_numel, 2 * 96 * 128);
    assert_int_equal(t[3].weight_loader_numel, 2 * 128);
    sizes.options = CS_GLOBAL_INPUT;
    assert_ok(cs_method_tensors(cs_method_by_name("nvfp4_modelopt"), &sizes, &arena, &t, &n));
    expect_shape(t, n, "w13_input_scale", 4, 2, 0);
    expect_shape(t, n, "w2_weight_scale_2", 2, 0, 0);
    sizes.options = 0, sizes.bits = 6;
    assert_ok(cs_method_tensors(cs_method_by_name("quark_mx"), &sizes, &arena, &t, &n));
    expect_shape(t, n, "w13_weight", 2, 192, 96); /* 128 elements of 6 bits */
    cs_arena_release(&arena);
}

/* R2.2: integer ones are no ones; full(1.0) is. */
static void padding_values_follow_creation(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    const struct { const char *method, *param; double value; } rows[] = {
        {"quark_mx", "w13_weight_scale", 0}, {"fp8_tensor_modelopt", "w2_weight_scale", 1}, {"fp8_channel", "w13_weight_scale", 1},
        {"ct_wna16", "w2_weight_scale", 1},  {"nvfp4_ct", "w13_weight_scale", 0},           {"unquantized", "w2_weight", 0},
    };
    for (size_t r = 0; r < CS_COUNT(rows); r++) {
        struct cs_sizes sizes = sizes_of(64, 64, 1);
        const struct cs_method *method = cs_method_by_name(rows[r].method);
        sizes.hidden = sizes.intermediate = sizes.intermediate_u = 64, sizes.bits = 4, sizes.group = 32;
        const struct cs_tensor_spec *t;
        size_t n, i = 0;
        assert_ok(cs_method_tensors(method, &sizes, &arena, &t, &n));
        while (i < n && !cs_text_equal(t[i].name, rows[r].param)) i++;
        assert_true(i < n && cs_padding_value(&t[i], false) == rows[r].value);
    }
    cs_arena_release(&arena);
}

/* ---- registries ---- */

static void every_method_names_loaders_that_exist(void **state) {
    (void)state;
    for (size_t m = 0; m < cs_n_methods; m++) {
        const struct cs_method *method = cs_methods[m];
        if (m) assert_true(strcmp(cs_methods[m - 1]->name, method->name) < 0);
        size_t n = 0;
        for (; method->loaders[n]; n++)
            if (!cs_loader_by_name(method->loaders[n])) fail_msg("%s: no loader %s", method->name, method->loaders[n]);
        assert_true(n > 0);
        bool has_backend = false;
        for (size_t i = 0; i < cs_n_backends; i++) has_backend = has_backend || cs_text_equal(cs_backends[i].method, method->name);
        if (!has_backend) fail_msg("%s has no back end", method->name);
    }
    for (size_t l = 1; l < cs_n_loaders; l++) assert_true(strcmp(cs_loaders[l - 1]->name, cs_loaders[l]->name) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_sizes_fit_the_all_to_all),
        cmocka_unit_test(mxfp4_back_ends_round_by_platform_and_activation),
        cmocka_unit_test(rows_of_back_ends_agree_with_the_table),
        cmocka_unit_test(unquantized_back_ends),
        cmocka_unit_test(load_balancing_is_refused_where_upstream_does),
        cmocka_unit_test(fp8_blocks_are_refined_or_taken_whole),
        cmocka_unit_test(some_sizes_are_refused),
        cmocka_unit_test(parameters_follow_their_options),
        cmocka_unit_test(padding_values_follow_creation),
        cmocka_unit_test(every_method_names_loaders_that_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
