/* Steps of post-load on small tensors, with results written out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref/ref.h"
#include "sim/conform/internal.h"
#include "sim/method/methods.h"

struct fixture {
    struct cs_layer layer;
    struct cs_post_load run;
};

static void assert_fine(enum cs_status status) {
    if (status != CS_OK) fail_msg("%s", cs_error_text());
}

static void open_with(struct fixture *fixture, const struct cs_tensor_spec *specs, size_t n) {
    assert_fine(cs_layer_open_tensors(&fixture->layer, &cs_device_ref, specs, n));
    fixture->run = (struct cs_post_load){.module = &fixture->layer.module, .facts = CS_FACT_GATED};
}

static void put(struct fixture *fixture, const char *name, const void *bytes, size_t size) {
    struct cs_view view;
    assert_fine(cs_layer_param(&fixture->layer, name, &view));
    assert_fine(cs_device_write(&cs_device_ref, &view, bytes, size));
}

static void run_steps(struct fixture *fixture, const struct cs_step *steps, size_t n) { assert_fine(cs_steps_run(&fixture->run, steps, n)); }
#define RUN(fixture, ...)                                                                                              \
    do {                                                                                                               \
        const struct cs_step steps[] = {__VA_ARGS__};                                                                  \
        run_steps(fixture, steps, CS_COUNT(steps));                                                                    \
    } while (0)

static void assert_value(struct fixture *fixture, const char *name, size_t ndim, const int64_t *shape, const void *bytes, size_t size) {
    struct cs_view view;
    unsigned char held[256];
    assert_true(size <= sizeof held);
    assert_fine(cs_steps_value(&fixture->run, name, &view));
    assert_int_equal(view.ndim, ndim);
    for (size_t d = 0; d < ndim; d++) assert_int_equal(view.shape[d], shape[d]);
    assert_fine(cs_device_read(&cs_device_ref, &view, held, size));
    assert_memory_equal(held, bytes, size);
}
#define SHAPE(...) sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}
#define BYTES(...) (const unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__})
#define FLOATS(...) (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__})

static const struct cs_tensor_spec small_w13 = {.name = "w13_weight", .dtype = CS_U8, .ndim = 3, .shape = {1, 4, 3}, .weight_loader_numel = -1};
static const unsigned char twelve[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void open_small(struct fixture *fixture) {
    open_with(fixture, &small_w13, 1);
    put(fixture, "w13_weight", twelve, sizeof twelve);
}

/* Two halves of 2 rows become two of 3: each gets its own zero row. */
static void padding_goes_to_the_end_of_each_half(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    RUN(&fixture, CS_DO_PAD_HALVES("w13_weight", 3, 0, 0));
    assert_value(&fixture, "w13_weight", SHAPE(1, 6, 3), BYTES(1, 2, 3, 4, 5, 6, 0, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0, 0));
    cs_layer_close(&fixture.layer);
}

static void without_a_gate_there_is_one_half(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    fixture.run.facts = 0;
    RUN(&fixture, CS_DO_PAD_HALVES("w13_weight", 3, 4, 127));
    assert_value(&fixture, "w13_weight", SHAPE(1, 6, 4),
                 BYTES(1, 2, 3, 127, 4, 5, 6, 127, 7, 8, 9, 127, 10, 11, 12, 127, 127, 127, 127, 127, 127, 127, 127, 127));
    cs_layer_close(&fixture.layer);
}

static void alignments_are_fractions_of_what_was_set(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    RUN(&fixture, CS_DO_ALIGN(4, 8), CS_DO_PAD("w13_weight", 0, CS_OF_H(2), 0));
    assert_value(&fixture, "w13_weight", SHAPE(1, 4, 4), BYTES(1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0));
    RUN(&fixture, CS_DO_PAD("w13_weight", 0, CS_OF_I(1), 0)); /* 4 is a multiple of 4: nothing to do */
    assert_value(&fixture, "w13_weight", SHAPE(1, 4, 4), BYTES(1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0));
    cs_layer_close(&fixture.layer);
}

/* I = 2 of which 1 is real, H = 3 of which 2 are: in the parameter's own storage. */
static void zeroing_leaves_what_is_not_padding(void **state) {
    struct fixture fixture;
    struct cs_view own;
    unsigned char held[12];
    (void)state;
    open_small(&fixture);
    fixture.run.unpadded[0] = 1, fixture.run.unpadded[1] = 2;
    RUN(&fixture, CS_DO_ZERO_HALVES("w13_weight", 'I', 'H'));
    assert_fine(cs_layer_param(&fixture.layer, "w13_weight", &own));
    assert_fine(cs_device_read(&cs_device_ref, &own, held, sizeof held));
    const unsigned char expected[12] = {1, 2, 0, 0, 0, 0, 7, 8, 0, 0, 0, 0};
    assert_memory_equal(held, expected, sizeof held);
    cs_layer_close(&fixture.layer);
}

static void views_reshapes_and_selections_share_bytes(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    RUN(&fixture, CS_DO_TAKE("rows", "w13_weight"), CS_DO_RESHAPE("rows", "w13_weight.1/2 -1"), CS_DO_SELECT("second", "rows", 0, 1));
    assert_value(&fixture, "second", SHAPE(6), BYTES(7, 8, 9, 10, 11, 12));
    RUN(&fixture, CS_DO_VIEW("rows", CS_U16));
    assert_value(&fixture, "rows", SHAPE(2, 3), twelve, sizeof twelve);
    assert_value(&fixture, "w13_weight", SHAPE(1, 4, 3), twelve, sizeof twelve); /* its own value is as it was */
    cs_layer_close(&fixture.layer);
}

static void a_guard_decides_on_the_next_step_alone(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    RUN(&fixture, CS_DO_UNLESS(CS_FACT_GATED), CS_DO_UPDATE("w13_weight", "w13_weight xor 0xff"),
        CS_DO_WHEN(CS_FACT_GATED | CS_FACT_A8), CS_DO_UPDATE("w13_weight", "w13_weight xor 0xff"),
        CS_DO_WHEN(CS_FACT_GATED), CS_DO_UPDATE("w13_weight", "w13_weight plus 100"));
    assert_value(&fixture, "w13_weight", SHAPE(1, 4, 3), BYTES(101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112));
    cs_layer_close(&fixture.layer);
}

/* A number for each expert covers its whole matrix; one for each half, its half. */
static void scales_spread_over_what_they_scale(void **state) {
    struct fixture fixture;
    (void)state;
    const struct cs_tensor_spec specs[] = {small_w13, {.name = "scale", .dtype = CS_F32, .ndim = 2, .shape = {1, 2}, .weight_loader_numel = -1}};
    open_with(&fixture, specs, 2);
    put(&fixture, "w13_weight", twelve, sizeof twelve);
    put(&fixture, "scale", (const float[]){10, 100}, 8);
    RUN(&fixture, CS_DO_MAP("numbers", CS_F32, "w13_weight float * scale"), CS_DO_MAXIMUM("most", CS_F32, "w13_weight.0", "scale"));
    assert_value(&fixture, "numbers", SHAPE(1, 4, 3), FLOATS(10, 20, 30, 40, 50, 60, 700, 800, 900, 1000, 1100, 1200));
    assert_value(&fixture, "most", SHAPE(1), FLOATS(100));
    RUN(&fixture, CS_DO_SPREAD("most", CS_F32, "2 2", "most"));
    assert_value(&fixture, "most", SHAPE(2, 2), FLOATS(100, 100, 100, 100));
    cs_layer_close(&fixture.layer);
}

static void replacing_what_is_not_there_registers_it(void **state) {
    struct fixture fixture;
    struct cs_view view;
    (void)state;
    open_small(&fixture);
    RUN(&fixture, CS_DO_MAP("alpha", CS_F32, "w13_weight float"), CS_DO_REPLACE("alpha"));
    assert_fine(cs_layer_param(&fixture.layer, "alpha", &view));
    assert_int_equal(view.dtype, CS_F32);
    cs_layer_close(&fixture.layer);
}

static void errors_name_values_and_words(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    const struct { struct cs_step step; const char *said; } rows[] = {
        {CS_DO_TAKE("x", "w9"), "\"w9\""},
        {CS_DO_RESHAPE("w13_weight", "w13_weight.7"), "no dimension 7"},
        {CS_DO_RESHAPE("w13_weight", "5"), ""},
        {CS_DO_VIEW("w13_weight", CS_F32), "no whole number"},
        {CS_DO_MAP("x", CS_F32, "w13_weight + w9"), "\"w9\""},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        assert_int_not_equal(cs_steps_run(&fixture.run, &rows[i].step, 1), CS_OK);
        if (!strstr(cs_error_text(), rows[i].said)) fail_msg("expected \"%s\" in \"%s\"", rows[i].said, cs_error_text());
    }
    cs_layer_close(&fixture.layer);
}

/* ---- tables ---- */

static void tables_are_sorted_and_found_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < cs_n_step_tables; i++) {
        assert_ptr_equal(cs_step_table_by_name(cs_step_tables[i]->name), cs_step_tables[i]);
        assert_true(i == 0 || strcmp(cs_step_tables[i - 1]->name, cs_step_tables[i]->name) < 0);
        assert_true(cs_step_tables[i]->n_steps > 0);
    }
    assert_null(cs_step_table_by_name("no_such_table"));
}

/* Bytes of layouts.md F: e4m3 38 7e c1 05 80 4b by 0.0123, merged under 0.02; requantised, the scale becomes 2^-6. */
static void open_merge(struct fixture *fixture) {
    static const struct cs_tensor_spec specs[] = {
        {.name = "w", .dtype = CS_E4M3, .ndim = 3, .shape = {1, 1, 6}, .weight_loader_numel = -1},
        {.name = "scales", .dtype = CS_F32, .ndim = 2, .shape = {1, 1}, .weight_loader_numel = -1},
        {.name = "scale", .dtype = CS_F32, .ndim = 3, .shape = {1, 1, 1}, .weight_loader_numel = -1},
    };
    open_with(fixture, specs, 3);
    put(fixture, "w", (const unsigned char[]){0x38, 0x7e, 0xc1, 0x05, 0x80, 0x4b}, 6);
    put(fixture, "scale", (const float[]){0.0123f}, 4);
}

static void merged_bytes_are_those_of_the_specification(void **state) {
    struct fixture fixture;
    (void)state;
    open_merge(&fixture);
    RUN(&fixture, CS_DO_TAKE("old", "scale"), CS_DO_SPREAD("scale", CS_F32, "1", "0.02"), CS_DO_CALL(merge_shard));
    assert_value(&fixture, "w", SHAPE(1, 1, 6), BYTES(0x32, 0x79, 0xbb, 0x03, 0x80, 0x46));
    cs_layer_close(&fixture.layer);
}

static void requantised_bytes_are_those_of_the_specification(void **state) {
    struct fixture fixture;
    (void)state;
    open_merge(&fixture);
    RUN(&fixture, CS_DO_CALL(requantise_ue8m0));
    assert_value(&fixture, "w", SHAPE(1, 1, 6), BYTES(0x35, 0x7b, 0xbe, 0x04, 0x80, 0x49));
    assert_value(&fixture, "scale", SHAPE(1, 1, 1), FLOATS(0x1p-6f));
    cs_layer_close(&fixture.layer);
}

/* Shards of 1 and 2 rows; a last scale that was never loaded leaves the weights alone. */
static void shards_of_a_linear_layer_take_the_largest_scale(void **state) {
    struct fixture fixture;
    (void)state;
    static const struct cs_tensor_spec specs[] = {
        {.name = "w", .dtype = CS_E4M3, .ndim = 2, .shape = {3, 1}, .weight_loader_numel = -1},
        {.name = "scales", .dtype = CS_F32, .ndim = 1, .shape = {2}, .weight_loader_numel = -1},
    };
    open_with(&fixture, specs, 2);
    put(&fixture, "w", (const unsigned char[]){0x40, 0x40, 0x38}, 3); /* 2, 2, 1 */
    put(&fixture, "scales", (const float[]){0.5f, 1.0f}, 8);
    assert_fine(cs_merge_linear(&fixture.run, (const int64_t[]){1, 2}, 2));
    assert_value(&fixture, "w", SHAPE(3, 1), BYTES(0x38, 0x40, 0x38)); /* 1, 2, 1 */
    assert_value(&fixture, "scale", 0, NULL, FLOATS(1.0f));
    put(&fixture, "scales", (const float[]){0.25f, -448.0f}, 8);
    assert_fine(cs_merge_linear(&fixture.run, (const int64_t[]){1, 2}, 2));
    assert_value(&fixture, "w", SHAPE(3, 1), BYTES(0x38, 0x40, 0x38));
    cs_layer_close(&fixture.layer);
}

static uint64_t fnv1a(const unsigned char *bytes, size_t n) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* layouts.md F, V24: pattern P modulo 127 as e4m3 scales [128, 4]; 0x7E, the largest number, is among them, so the factor is 1. */
static void marlin_scales_of_nvfp4_are_those_of_the_specification(void **state) {
    struct fixture fixture;
    struct cs_view view;
    (void)state;
    static const struct cs_tensor_spec specs[] = {{.name = "s", .dtype = CS_E4M3, .ndim = 3, .shape = {1, 128, 4}, .weight_loader_numel = -1}};
    unsigned char bytes[512];
    for (uint32_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)((i * 2654435761u >> 24) % 127);
    open_with(&fixture, specs, 1);
    put(&fixture, "s", bytes, sizeof bytes);
    RUN(&fixture, CS_DO_CALL(nvfp4_marlin_order));
    assert_value(&fixture, "auto_factor", SHAPE(1), FLOATS(1));
    assert_fine(cs_steps_value(&fixture.run, "y", &view));
    assert_fine(cs_device_read(&cs_device_ref, &view, bytes, sizeof bytes));
    assert_int_equal(bytes[1], 0x86);
    assert_true(fnv1a(bytes, sizeof bytes) == UINT64_C(0x95fdf0f44d890a10));
    cs_layer_close(&fixture.layer);
}

static void transposing_exchanges_strides(void **state) {
    struct fixture fixture;
    (void)state;
    open_small(&fixture);
    RUN(&fixture, CS_DO_TRANSPOSE("w13_weight"));
    assert_value(&fixture, "w13_weight", SHAPE(1, 3, 4), BYTES(1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12));
    cs_layer_close(&fixture.layer);
}

static uint32_t word_at(const struct cs_view *view, int64_t row, int64_t column) {
    struct cs_view element = *view;
    uint32_t word;
    assert_fine(cs_view_select(&element, 2, column));
    assert_fine(cs_view_select(&element, 1, row));
    assert_fine(cs_device_read(&cs_device_ref, &element, &word, sizeof word));
    return word;
}

/* layouts.md C.8: scales 2^(0, -1, -2, -3, -4) / 2^(-7, -6, -5, -8, -9) of blocks of 128 rows: words of exponents, one for each row. Weights are
 * 448 everywhere, so that requantising keeps the scales. */
static void deepgemm_packs_the_exponents_of_rows(void **state) {
    enum { ROWS = 256, COLUMNS = 640 };
    static const struct cs_tensor_spec specs[] = {
        {.name = "w13_weight", .dtype = CS_E4M3, .ndim = 3, .shape = {1, ROWS, COLUMNS}, .weight_loader_numel = -1},
        {.name = "w13_weight_scale", .dtype = CS_F32, .ndim = 3, .shape = {1, 2, 5}, .weight_loader_numel = -1},
        {.name = "w2_weight", .dtype = CS_E4M3, .ndim = 3, .shape = {1, 128, 128}, .weight_loader_numel = -1},
        {.name = "w2_weight_scale", .dtype = CS_F32, .ndim = 3, .shape = {1, 1, 1}, .weight_loader_numel = -1},
    };
    struct fixture fixture;
    struct cs_view view;
    (void)state;
    open_with(&fixture, specs, CS_COUNT(specs));
    assert_fine(cs_layer_poison(&fixture.layer, 0x7E, false));
    put(&fixture, "w13_weight_scale", (const float[10]){1, 0x1p-1f, 0x1p-2f, 0x1p-3f, 0x1p-4f, 0x1p-7f, 0x1p-6f, 0x1p-5f, 0x1p-8f, 0x1p-9f}, 40);
    put(&fixture, "w2_weight_scale", (const float[1]){1}, 4);
    fixture.run.block[0] = fixture.run.block[1] = 128;
    RUN(&fixture, CS_DO_CALL(fp8_block_deepgemm));
    assert_fine(cs_steps_value(&fixture.run, "w13_weight_scale", &view));
    assert_true(view.shape[1] == ROWS && view.shape[2] == 2 && view.stride[1] == 1 && view.stride[2] == ROWS);
    assert_true(view.dtype == CS_I32);
    assert_int_equal(word_at(&view, 0, 0), 0x7C7D7E7F);
    assert_int_equal(word_at(&view, 127, 0), 0x7C7D7E7F);
    assert_int_equal(word_at(&view, 128, 0), 0x777A7978);
    assert_int_equal(word_at(&view, 0, 1), 0x0000007B);
    assert_int_equal(word_at(&view, 255, 1), 0x00000076);
    cs_layer_close(&fixture.layer);
}

/* ---- scalars ---- */

static void kv_scales_follow_the_cache(void **state) {
    (void)state;
    struct cs_kv_rule rule;
    struct cs_kv_scales scales = {.is_loaded = true};
    assert_fine(cs_kv_rule_parse("fp8", true, &rule));
    assert_fine(cs_kv_scales_take(&rule, (const float[]){0.25f, -1, -1, 0.5f}, &scales)); /* v takes k's; fnuz doubles what was loaded */
    const float device[4] = {0.5f, 0.5f, 1, 1};
    assert_memory_equal(scales.device, device, sizeof device);
    assert_false(scales.is_loaded);
    scales = (struct cs_kv_scales){.device = {9, 9, 9, 9}, .is_loaded = true};
    assert_int_equal(cs_kv_scales_take(&rule, (const float[]){0, 1, -1, -1}, &scales), CS_BAD_VALUE);
    assert_true(scales.device[0] == 9 && scales.is_loaded); /* nothing changed */
    assert_int_equal(cs_kv_rule_parse("fp9", false, &rule), CS_BAD_VALUE);
}

static void marlin_pads_to_the_cheaper_tile(void **state) {
    (void)state;
    int64_t n = 96, k = 64;
    cs_marlin_pad(-1, &n, &k);
    assert_true(n == 128 && k == 64); /* 128 x 64 < 128 x 128 */
    assert_int_equal(cs_marlin_intermediate(100, 128), 128);
    assert_int_equal(cs_marlin_intermediate(720, 96), 768); /* multiples of 192 */
    assert_true(cs_marlin_is_grouped(32, 64, false));
    assert_false(cs_marlin_is_grouped(64, 64, false) || cs_marlin_is_grouped(-1, 64, false) || cs_marlin_is_grouped(32, 64, true));
}

/* ---- back ends ---- */

static void open_backend(struct fixture *fixture, const char *method, const char *backend) {
    struct cs_layer_config config = {.device = &cs_device_ref, .method = cs_method_by_name(method)};
    config.sizes = (struct cs_sizes){.experts = 1, .experts_global = 1, .hidden = 128, .hidden_u = 128, .intermediate_full = 96, .intermediate_u = 96,
                                     .intermediate = 128, .tp = 1, .ep = 1, .block = {64, 64}, .refine = {1, 1}};
    config.backend = cs_backend_by_name(config.method, backend);
    assert_fine(cs_layer_open(&fixture->layer, &config));
    assert_fine(cs_layer_poison(&fixture->layer, 0x3F, false)); /* 0.74 in bf16 */
    assert_fine(cs_post_load(&fixture->layer.module));
}

/* 32 padding rows in each half, wherever the shuffle puts them. */
static void bf16_for_trtllm_zeroes_its_padding_and_stays_where_it_was(void **state) {
    struct fixture fixture;
    struct cs_view view;
    static uint16_t held[256 * 128];
    (void)state;
    open_backend(&fixture, "unquantized", "flashinfer_trtllm");
    assert_fine(cs_layer_param(&fixture.layer, "w13_weight", &view));
    assert_int_equal(view.storage->id, 1); /* the first that create_weights made */
    assert_int_equal(view.shape[1], 256);
    assert_fine(cs_device_read(&cs_device_ref, &view, held, sizeof held));
    size_t n_zero = 0;
    for (size_t i = 0; i < CS_COUNT(held); i++) n_zero += held[i] == 0;
    assert_int_equal(n_zero, 2 * 32 * 128);
    assert_int_equal(held[0], 0x3F3F);
    assert_int_equal(fixture.layer.module.n_sides, 0);
    cs_layer_close(&fixture.layer);
}

static void fp8_blocks_for_trtllm_clamp_scales_and_hold_them(void **state) {
    struct fixture fixture;
    struct cs_view view;
    (void)state;
    open_backend(&fixture, "fp8_block", "flashinfer_trtllm");
    assert_fine(cs_layer_param(&fixture.layer, "w13_weight", &view));
    assert_int_equal(view.ndim, 4);
    assert_int_equal(view.shape[3], 128);
    assert_int_equal(fixture.layer.module.n_sides, 4); /* two scales by two paths */
    put(&fixture, "w13_weight_scale_inv", (const float[8]){0, -1, 1e-23f, 1, 2, 3, 4, 5}, 32);
    fixture.run = (struct cs_post_load){.module = &fixture.layer.module};
    RUN(&fixture, CS_DO_TAKE("w13_weight_scale", "w13_weight_scale_inv"), CS_DO_TAKE("w2_weight_scale", "w2_weight_scale_inv"), CS_DO_CALL(fp8_clamp_scales));
    assert_value(&fixture, "w13_weight_scale_inv", SHAPE(1, 4, 2), FLOATS(1e-10f, 1e-10f, 1e-10f, 1, 2, 3, 4, 5));
    cs_layer_close(&fixture.layer);
}

static void an_unfinished_back_end_is_refused(void **state) {
    struct fixture fixture;
    (void)state;
    struct cs_layer_config config = {.device = &cs_device_ref, .method = cs_method_by_name("nvfp4_modelopt")};
    config.sizes = (struct cs_sizes){.experts = 1, .experts_global = 1, .hidden = 64, .hidden_u = 64, .intermediate_full = 64, .intermediate_u = 64,
                                     .intermediate = 64, .tp = 1, .ep = 1};
    config.backend = cs_backend_by_name(config.method, "b12x");
    assert_fine(cs_layer_open(&fixture.layer, &config));
    assert_int_equal(cs_post_load(&fixture.layer.module), CS_UNSUPPORTED);
    assert_true(strstr(cs_error_text(), "not described") != NULL);
    cs_layer_close(&fixture.layer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_goes_to_the_end_of_each_half),
        cmocka_unit_test(without_a_gate_there_is_one_half),
        cmocka_unit_test(alignments_are_fractions_of_what_was_set),
        cmocka_unit_test(zeroing_leaves_what_is_not_padding),
        cmocka_unit_test(views_reshapes_and_selections_share_bytes),
        cmocka_unit_test(a_guard_decides_on_the_next_step_alone),
        cmocka_unit_test(scales_spread_over_what_they_scale),
        cmocka_unit_test(replacing_what_is_not_there_registers_it),
        cmocka_unit_test(errors_name_values_and_words),
        cmocka_unit_test(tables_are_sorted_and_found_by_name),
        cmocka_unit_test(merged_bytes_are_those_of_the_specification),
        cmocka_unit_test(requantised_bytes_are_those_of_the_specification),
        cmocka_unit_test(shards_of_a_linear_layer_take_the_largest_scale),
        cmocka_unit_test(marlin_scales_of_nvfp4_are_those_of_the_specification),
        cmocka_unit_test(transposing_exchanges_strides),
        cmocka_unit_test(deepgemm_packs_the_exponents_of_rows),
        cmocka_unit_test(kv_scales_follow_the_cache),
        cmocka_unit_test(marlin_pads_to_the_cheaper_tile),
        cmocka_unit_test(bf16_for_trtllm_zeroes_its_padding_and_stays_where_it_was),
        cmocka_unit_test(fp8_blocks_for_trtllm_clamp_scales_and_hold_them),
        cmocka_unit_test(an_unfinished_back_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
