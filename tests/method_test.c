/* Shapes in words, rounding, and post-load tables: against loops that are written out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/method/methods.h"
#include "tests/support_session.h"

/* ---- shape words ---- */

static const struct cs_sizes sizes_of_words = {.experts = 3, .experts_global = 5, .hidden = 256, .hidden_u = 96, .intermediate = 128,
                                               .intermediate_u = 48, .intermediate_full = 192, .tp = 4, .ep = 1};

static void assert_shape(const char *text, size_t n, const int64_t *expected) {
    int ndim;
    int64_t shape[CS_NDIM];
    assert_ok(cs_shape_parse(text, &sizes_of_words, &ndim, shape));
    assert_int_equal(ndim, n);
    for (size_t d = 0; d < n; d++) assert_int_equal(shape[d], expected[d]);
}
#define ASSERT_SHAPE(text, ...) assert_shape(text, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static void shape_words_stand_for_sizes(void **state) {
    (void)state;
    ASSERT_SHAPE("E Eg H Hu I If", 3, 5, 256, 96, 128, 192);
    ASSERT_SHAPE("Iu", 48);
    ASSERT_SHAPE("E 2*I H/32", 3, 256, 8);
    ASSERT_SHAPE("2*If/32*16", 192); /* from left to right: 384, 12, 192 */
    ASSERT_SHAPE("  7   0 ", 7, 0);
    ASSERT_SHAPE("E*2/3", 2);
    assert_shape("", 0, NULL);
}

static void shape_errors_name_the_word(void **state) {
    (void)state;
    const struct { const char *text, *said; } rows[] = {
        {"E X", "\"X\""},   {"E 2*", "\"2*\""},       {"/2", "\"/2\""}, {"E -1", "\"-1\""}, {"1.5", "\"1.5\""},
        {"e", "\"e\""},     {"If/5", "192 is not a multiple of 5"},     {"I/0", "\"I/0\""}, {"9999999999999999999", "9999999999999999999"},
        {"999999999999999999*100", "too large"},      {"1 2 3 4 5 6 7", "more than 6 dimensions"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        int ndim;
        int64_t shape[CS_NDIM];
        assert_int_equal(cs_shape_parse(rows[i].text, &sizes_of_words, &ndim, shape), CS_BAD_VALUE);
        assert_says(cs_error_text(), rows[i].said);
    }
}

/* ---- rounding ---- */

static struct cs_sizes resolved(int64_t full, int tp, int64_t hidden, int64_t i, int64_t h) {
    struct cs_sizes sizes = {.experts_global = 4, .hidden_u = hidden, .intermediate_full = full, .tp = tp, .ep = 1};
    assert_ok(cs_sizes_resolve(&sizes, &(struct cs_rounding){i, h}));
    return sizes;
}

/* gpt-oss, I_full = 2880 = 90 blocks; H 2880 → 3072 at multiples of 256. */
static void gpt_oss_rounds_as_in_the_table(void **state) {
    (void)state;
    const struct { int tp; int64_t u, at128, at256, at64, at32; } rows[] = {
        {1, 2880, 2944, 3072, 2880, 2880}, {2, 1440, 1536, 1536, 1472, 1440}, {4, 720, 768, 768, 768, 736}, {8, 360, 384, 512, 384, 384}};
    for (size_t r = 0; r < CS_COUNT(rows); r++) {
        const int64_t multiple[] = {128, 256, 64, 32}, expected[] = {rows[r].at128, rows[r].at256, rows[r].at64, rows[r].at32};
        for (size_t m = 0; m < 4; m++) {
            struct cs_sizes sizes = resolved(2880, rows[r].tp, 2880, multiple[m], 256);
            assert_int_equal(sizes.intermediate_u, rows[r].u);
            assert_int_equal(sizes.intermediate, expected[m]);
            assert_int_equal(sizes.hidden, 3072);
        }
    }
}

static void no_multiple_means_unchanged(void **state) {
    (void)state;
    struct cs_sizes sizes = resolved(2880, 4, 2880, 0, 0);
    assert_int_equal(sizes.intermediate, 720);
    assert_int_equal(sizes.hidden, 2880);
}

static void sizes_must_be_positive_and_divide(void **state) {
    (void)state;
    const struct cs_sizes good = {.experts_global = 4, .hidden_u = 64, .intermediate_full = 96, .tp = 2, .ep = 1};
    const struct cs_rounding none = {0};
    for (int what = 0; what < 7; what++) {
        struct cs_sizes bad = good;
        if (what == 0) bad.tp = 5; /* 96 % 5: upstream's AssertionError */
        if (what == 1) bad.tp = 0;
        if (what == 2) bad.hidden_u = 0;
        if (what == 3) bad.intermediate_full = -96;
        if (what == 4) bad.experts_global = 0;
        if (what == 5) bad.ep = 0;
        if (what == 6) bad.hidden_u = INT64_MAX;
        assert_int_equal(cs_sizes_resolve(&bad, &none), CS_BAD_VALUE);
    }
    struct cs_sizes fine = good;
    assert_ok(cs_sizes_resolve(&fine, &none));
}

/* vllm fused_moe/oracle/mxfp4.py on CUDA; the older multiple of 256 is the published figures' (R4). */
static void back_ends_of_gpt_oss_have_the_multiples_of_cuda(void **state) {
    (void)state;
    const struct { const char *upstream; int64_t i, h; } rows[] = {
        {"FLASHINFER_TRTLLM_MXFP4_BF16", 128, 256}, {"FLASHINFER_TRTLLM_MXFP4_MXFP8", 128, 256}, {"FLASHINFER_CUTLASS_MXFP4_BF16", 128, 128},
        {"DEEPGEMM_MXFP4", 128, 128}, {"CUTLASS_MXFP4_MXFP4", 128, 128}, {"MARLIN", 128, 256}, {"batched_marlin", 128, 256}, {"EMULATION", 32, 32},
        {"B12X_MXFP4_BF16", 0, 0}, {"FLASHINFER_MOE_EP_CUTEDSL", 0, 0}, {"AITER_MXFP4_MXFP4", 64, 0}, {"AITER_MXFP4_BF16", 64, 0},
        {"TRITON_UNFUSED", 64, 0}, {"CPU", 32, 32}, {"Triton", 64, 0}, {"XPU", 64, 0}, {"HUMMING", 64, 0}, {"NONE", 64, 0}};
    const struct cs_method *method = cs_method_by_name("gpt_oss_mxfp4");
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        const struct cs_backend *backend = cs_backend_by_name(method, rows[i].upstream);
        if (!backend) fail_msg("no back end %s", rows[i].upstream);
        assert_int_equal(backend->released.intermediate, rows[i].i);
        assert_int_equal(backend->released.hidden, rows[i].h);
    }
    const struct cs_backend *trtllm = cs_backend_by_name(method, "flashinfer_trtllm");
    assert_int_equal(trtllm->reference.intermediate, 256);
    assert_int_equal(trtllm->reference.hidden, 256);
    assert_null(cs_backend_by_name(method, "MXFP4"));
    assert_null(cs_backend_by_name(method, ""));
    assert_null(cs_method_by_name("gpt_oss"));
}

/* Bytes per layer of gpt-oss-20b, TP1, I = 2944. */
static void gpt_oss_20b_has_the_published_bytes(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_sizes sizes = resolved(2880, 1, 2880, 128, 256);
    const struct cs_tensor_spec *tensors;
    size_t n;
    sizes.experts = 32;
    assert_ok(cs_method_tensors(cs_method_by_name("gpt_oss_mxfp4"), &sizes, &arena, &tensors, &n));
    const int64_t numel[] = {289406976, 18087936, 144703488, 9043968, 188416, 98304};
    assert_int_equal(n, CS_COUNT(numel));
    for (size_t i = 0; i < n; i++) {
        struct cs_view view;
        assert_ok(cs_view_make(&view, NULL, tensors[i].dtype, tensors[i].ndim, tensors[i].shape));
        assert_int_equal(cs_view_numel(&view), numel[i]);
        assert_int_equal(tensors[i].init, CS_INIT_ZEROS);
        assert_int_equal(tensors[i].weight_loader_numel, -1); /* MXFP4 sets none */
        assert_int_equal(tensors[i].dtype, i < 4 ? CS_U8 : CS_BF16);
        assert_int_equal(tensors[i].is_scale, i == 1 || i == 3);
    }
    cs_arena_release(&arena);
}

/* ---- post-load ---- */

/* A module of `method` with E 3, I 96 and H 160: 192 and 160 rows are no multiples of 128, 5 and 3 scale columns none of 4. */
enum { E = 3, H = 160 };
static int64_t I = 96;

struct loaded {
    struct bare bare;
    struct cs_module_spec spec;
    struct cs_module *module;
    unsigned char *before[8]; /* bytes of each parameter before post-load */
};

static void load_numbers(struct loaded *l, const char *method, const char *backend) {
    const struct cs_method *m = cs_method_by_name(method);
    bare_open(&l->bare, "none", &l->spec, 1);
    l->bare.spec.sizes = (struct cs_sizes){.experts = E, .experts_global = E, .hidden = H, .hidden_u = H, .intermediate = I, .intermediate_u = I,
                                           .intermediate_full = I, .tp = 1, .ep = 1};
    l->spec = (struct cs_module_spec){.name = "experts", .backend = cs_backend_by_name(m, backend)};
    assert_ok(cs_method_tensors(m, &l->bare.spec.sizes, &l->bare.arena, &l->spec.tensors, &l->spec.n_tensors));
    bare_create(&l->bare);
    l->module = &l->bare.rank.modules[0];
    for (size_t i = 0; i < l->spec.n_tensors; i++) {
        const struct cs_view *view = &l->module->slots[i].param->view;
        size_t size = cs_view_span_bytes(view);
        unsigned char *bytes = bytes_of(view);
        for (size_t b = 0; b < size; b++) bytes[b] = (unsigned char)(cs_mix64(b + 1000003 * i) >> 56);
        if (view->dtype == CS_BF16) /* plain numbers: 0x40nn = 2 … 4 */
            for (size_t b = 1; b < size; b += 2) bytes[b] = 0x40;
        l->before[i] = cs_arena_alloc(&l->bare.arena, size, 1);
        memcpy(l->before[i], bytes, size);
    }
}

static const struct cs_view *view_of(struct loaded *l, const char *name) { return &bare_param(&l->bare, 0, name)->view; }

/* FlashInfer's shuffle for tiles of 128: kernel row 8a + c of each 32 comes from row 4c + a. */
static int64_t shuffled(int64_t row) { return row / 32 * 32 + row % 8 * 4 + row % 32 / 8; }
/* gpt-oss rows are gate, up, gate, up …; the kernel wants up before gate, then the shuffle. */
static int64_t gpt_oss_row(int64_t row) { return shuffled(row) ^ 1; }
/* [gate; up] halves become up, gate, up, gate …, then the shuffle. */
static int64_t halves_row(int64_t row) { return shuffled(row) % 2 ? shuffled(row) / 2 : I + shuffled(row) / 2; }

/* Where the 128x4 swizzle puts (row, column) of a matrix with `columns` (a multiple of 4) columns. */
static int64_t swizzled(int64_t row, int64_t column, int64_t columns) {
    return (row / 128 * (columns / 4) + column / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}

static void assert_rows(struct loaded *l, size_t param, int64_t rows, int64_t columns, int64_t (*source)(int64_t)) {
    const struct cs_view *view = &l->module->slots[param].param->view;
    const unsigned char *after = bytes_of(view);
    assert_int_equal(view->dtype, CS_U8);
    assert_int_equal(cs_view_numel(view), E * rows * columns);
    for (int64_t e = 0; e < E; e++)
        for (int64_t r = 0; r < rows; r++)
            assert_memory_equal(after + (e * rows + r) * columns, l->before[param] + (e * rows + source(r)) * columns, (size_t)columns);
}

static void assert_swizzled(struct loaded *l, size_t param, int64_t rows, int64_t columns, int64_t (*source)(int64_t)) {
    const struct cs_view *view = &l->module->slots[param].param->view;
    int64_t all_rows = (rows + 127) / 128 * 128, all_columns = (columns + 3) / 4 * 4;
    assert_int_equal(view->dtype, CS_E4M3);
    assert_int_equal(view->shape[0], E);
    assert_int_equal(cs_view_numel(view), E * all_rows * all_columns);
    for (int64_t e = 0; e < E; e++)
        for (int64_t r = 0; r < all_rows; r++)
            for (int64_t c = 0; c < all_columns; c++) {
                bool is_padding = r >= rows || c >= columns;
                unsigned char expected = is_padding ? 0 : l->before[param][(e * rows + source(r)) * columns + c];
                assert_int_equal(bytes_of(view)[e * all_rows * all_columns + swizzled(r, c, all_columns)], expected);
            }
}

static void assert_bias(struct loaded *l, size_t param, int64_t rows, int64_t (*source)(int64_t)) {
    const struct cs_view *view = &l->module->slots[param].param->view;
    assert_int_equal(view->dtype, CS_F32);
    assert_int_equal(view->ndim, 2);
    assert_int_equal(view->shape[1], rows);
    for (int64_t i = 0; i < E * rows; i++) {
        uint16_t half;
        uint32_t expected, actual;
        memcpy(&half, l->before[param] + 2 * (i / rows * rows + source(i % rows)), 2);
        memcpy(&actual, bytes_of(view) + 4 * i, 4);
        expected = (uint32_t)half << 16;
        assert_int_equal(actual, expected);
    }
}

/* Parameters in upstream's order: w13 weight, scale, w2 weight, scale, biases. */
static void post_load_of_gpt_oss_for_trtllm(void **state) {
    (void)state;
    struct loaded l;
    load_numbers(&l, "gpt_oss_mxfp4", "flashinfer_trtllm");
    assert_ok(cs_post_load(l.module));
    assert_rows(&l, 0, 2 * I, H / 2, gpt_oss_row);
    assert_swizzled(&l, 1, 2 * I, H / 32, gpt_oss_row);
    assert_rows(&l, 2, H, I / 2, shuffled);
    assert_swizzled(&l, 3, H, I / 32, shuffled);
    assert_bias(&l, 4, 2 * I, gpt_oss_row);
    assert_bias(&l, 5, H, shuffled);
    bare_close(&l.bare);
}

static void post_load_of_generic_mxfp4_for_trtllm(void **state) {
    (void)state;
    struct loaded l;
    load_numbers(&l, "mxfp4", "flashinfer_trtllm");
    assert_ok(cs_post_load(l.module));
    assert_int_equal(l.module->n_slots, 4);
    assert_rows(&l, 0, 2 * I, H / 2, halves_row);
    assert_swizzled(&l, 1, 2 * I, H / 32, halves_row);
    assert_rows(&l, 2, H, I / 2, shuffled);
    assert_swizzled(&l, 3, H, I / 32, shuffled);
    bare_close(&l.bare);
}

static int64_t swapped_row(int64_t row) { return row < I ? row + I : row - I; }

/* Halves of 192 rows and tiles of 128 cross: the chain has no single plan and runs one layout at a time. */
static void a_chain_whose_extents_cross_runs_layout_by_layout(void **state) {
    (void)state;
    static const struct cs_step steps[] = {CS_DO_RELAYOUT("w13_weight_scale", "swap_halves", "swizzle_128x4"),
                                           CS_DO_VIEW("w13_weight_scale", CS_E4M3), CS_DO_REPLACE("w13_weight_scale")};
    static const size_t n_steps = CS_COUNT(steps);
    static const struct cs_backend backend = {.method = "mxfp4", .name = "crossing", .steps = steps, .n_steps = &n_steps};
    const struct cs_layout *chain[] = {cs_layout_by_name("swap_halves"), cs_layout_by_name("swizzle_128x4")};
    struct cs_plan plan;
    struct loaded l;
    I = 192;
    assert_int_equal(cs_plan_compose(&plan, chain, 2, 8, 2 * I, H / 32), CS_UNSUPPORTED);
    load_numbers(&l, "mxfp4", "flashinfer_trtllm");
    l.spec.backend = &backend;
    assert_ok(cs_post_load(l.module));
    assert_swizzled(&l, 1, 2 * I, H / 32, swapped_row);
    bare_close(&l.bare);
    I = 96;
}

static void emulation_changes_no_byte_but_builds_the_config(void **state) {
    (void)state;
    struct loaded l;
    load_numbers(&l, "gpt_oss_mxfp4", "emulation");
    uint64_t id = view_of(&l, "w13_weight_scale")->storage->id;
    assert_ok(cs_post_load(l.module));
    for (size_t i = 0; i < 6; i++) {
        const struct cs_view *view = &l.module->slots[i].param->view;
        assert_memory_equal(bytes_of(view), l.before[i], cs_view_span_bytes(view));
        assert_int_equal(view->dtype, l.spec.tensors[i].dtype);
    }
    assert_int_equal(view_of(&l, "w13_weight_scale")->storage->id, id);
    assert_int_equal(l.module->n_sides, 4 * 2); /* two paths lead to each tensor of the config */
    bare_close(&l.bare);
}

/* The values C.3 gives; f32, one per local expert, and in new memory at each post-load. */
static void constants_are_owned_by_the_experts_object_and_move(void **state) {
    (void)state;
    struct loaded l;
    uint64_t id[3];
    load_numbers(&l, "gpt_oss_mxfp4", "flashinfer_trtllm");
    assert_ok(cs_post_load(l.module));
    const struct { const char *path; double value; } rows[] = {{"gemm1_alpha", 1.702f}, {"gemm1_beta", 1.0}, {"gemm1_clamp_limit", 7.0}};
    assert_int_equal(l.module->n_sides, 4 * 2 + 3);
    for (size_t i = 0; i < 3; i++) {
        const struct cs_side *side = &l.module->sides[8 + i];
        assert_says(side->path, rows[i].path);
        ASSERT_NUMBERS(&side->param->view, rows[i].value, rows[i].value, rows[i].value);
        assert_int_equal(side->param->view.dtype, CS_F32);
        id[i] = side->param->view.storage->id;
    }
    for (size_t i = 0; i < 6; i++) { /* a fresh module again, as a reload has it */
        struct cs_param *param = l.module->slots[i].param;
        struct cs_view layout;
        assert_ok(cs_view_make(&layout, NULL, l.spec.tensors[i].dtype, l.spec.tensors[i].ndim, l.spec.tensors[i].shape));
        assert_ok(cs_rank_allocate(&l.bare.rank, &layout, "again", &param->view));
    }
    assert_ok(cs_post_load(l.module));
    assert_int_equal(l.module->n_sides, 4 * 2 + 3); /* the old objects were dropped */
    for (size_t i = 0; i < 3; i++) assert_true(l.module->sides[8 + i].param->view.storage->id != id[i]);
    bare_close(&l.bare);
}

static void the_config_holds_parameter_objects(void **state) {
    (void)state;
    struct loaded l;
    load_numbers(&l, "gpt_oss_mxfp4", "flashinfer_trtllm");
    assert_ok(cs_post_load(l.module));
    const struct { const char *field, *param; } rows[] = {
        {"_w1.scale", "w13_weight_scale"}, {"_w1.bias", "w13_bias"}, {"_w2.scale", "w2_weight_scale"}, {"_w2.bias", "w2_bias"}};
    for (size_t i = 0; i < 8; i++) {
        assert_says(l.module->sides[i].path, rows[i / 2].field);
        assert_ptr_equal(l.module->sides[i].param, bare_param(&l.bare, 0, rows[i / 2].param));
    }
    bare_close(&l.bare);
}

/* replace_parameter: the object stays. The same layout is copied into it, another one becomes its data. */
static void replace_parameter_keeps_the_object_and_copies_or_rebinds(void **state) {
    (void)state;
    struct loaded l;
    struct cs_param *object[6];
    uint64_t id[6];
    load_numbers(&l, "gpt_oss_mxfp4", "flashinfer_trtllm");
    for (size_t i = 0; i < 6; i++) object[i] = l.module->slots[i].param, id[i] = object[i]->view.storage->id;
    assert_ok(cs_post_load(l.module));
    const bool is_rebound[] = {false, true, false, true, true, true}; /* scales become e4m3, biases f32 */
    for (size_t i = 0; i < 6; i++) {
        assert_ptr_equal(l.module->slots[i].param, object[i]);
        assert_int_equal(object[i]->view.storage->id != id[i], is_rebound[i]);
    }
    bare_close(&l.bare);
}

static void post_load_says_what_it_lacks(void **state) {
    (void)state;
    struct loaded l;
    load_numbers(&l, "gpt_oss_mxfp4", "flashinfer_trtllm");
    l.module->n_slots = 5; /* w2_bias is gone: both biases are required */
    assert_int_equal(cs_post_load(l.module), CS_BAD_VALUE);
    assert_says(cs_error_text(), "w2_bias");
    bare_close(&l.bare);
    load_numbers(&l, "gpt_oss_mxfp4", "humming"); /* R8.4: never silently nothing */
    assert_int_equal(cs_post_load(l.module), CS_UNSUPPORTED);
    assert_says(cs_error_text(), "gpt_oss_mxfp4 with humming has no post-load: Humming's layouts are not described");
    bare_close(&l.bare);
    load_numbers(&l, "gpt_oss_mxfp4", "cutlass"); /* R8.4: a refusal that the real engine also makes */
    assert_int_equal(cs_post_load(l.module), CS_REFUSED);
    bare_close(&l.bare);
}

/* Of BF16, or again by another scale; other scales, layouts and dequantising are none of it. */
static void some_post_loads_quantise(void **state) {
    (void)state;
    static const struct { const char *method, *backend; bool quantises; } rows[] = {
        {"online_fp8_tensor", "triton", true},  {"online_mxfp4", "emulation", true}, {"fp8_tensor", "marlin", true},    {"fp8_block", "deepgemm", true},
        {"fp8_block", "flashinfer_trtllm", false}, {"nvfp4_ct", "flashinfer_b12x", false}, {"mxfp8_modelopt", "emulation", false}, {"gpt_oss_mxfp4", "humming", false}};
    for (size_t i = 0; i < CS_COUNT(rows); i++)
        assert_int_equal(cs_backend_quantises(cs_backend_by_name(cs_method_by_name(rows[i].method), rows[i].backend)), rows[i].quantises);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_words_stand_for_sizes),
        cmocka_unit_test(shape_errors_name_the_word),
        cmocka_unit_test(gpt_oss_rounds_as_in_the_table),
        cmocka_unit_test(no_multiple_means_unchanged),
        cmocka_unit_test(sizes_must_be_positive_and_divide),
        cmocka_unit_test(back_ends_of_gpt_oss_have_the_multiples_of_cuda),
        cmocka_unit_test(gpt_oss_20b_has_the_published_bytes),
        cmocka_unit_test(post_load_of_gpt_oss_for_trtllm),
        cmocka_unit_test(post_load_of_generic_mxfp4_for_trtllm),
        cmocka_unit_test(a_chain_whose_extents_cross_runs_layout_by_layout),
        cmocka_unit_test(emulation_changes_no_byte_but_builds_the_config),
        cmocka_unit_test(constants_are_owned_by_the_experts_object_and_move),
        cmocka_unit_test(the_config_holds_parameter_objects),
        cmocka_unit_test(replace_parameter_keeps_the_object_and_copies_or_rebinds),
        cmocka_unit_test(post_load_says_what_it_lacks),
        cmocka_unit_test(some_post_loads_quantise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
