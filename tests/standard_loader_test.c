/* The rules that per-expert and fused loaders share, on parameters small enough to write out. A checkpoint tensor holds 1, 2, 3 … in row-major
 * order; X is an element that nothing wrote and that is recorded as padding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

#define X (-1.0)

/* ---- one layer of one rank ---- */

struct layer {
    struct bare bare;
    struct cs_module_spec spec;
    const struct cs_loader *loader;
    struct cs_load_call last;
};

/* `sizes` are final: nothing is rounded here. */
static void layer_open(struct layer *layer, const char *method, const char *loader, int rank, struct cs_sizes sizes) {
    *layer = (struct layer){.spec = {.name = "experts"}};
    bare_open(&layer->bare, "record_and_fill", &layer->spec, 1);
    layer->loader = cs_loader_by_name(loader);
    assert_non_null(layer->loader);
    if (!sizes.ep) sizes.ep = 1;
    layer->bare.spec.tp_rank = rank;
    layer->bare.spec.sizes = sizes;
    assert_ok(cs_method_tensors(cs_method_by_name(method), &sizes, &layer->bare.arena, &layer->spec.tensors, &layer->spec.n_tensors));
    bare_create(&layer->bare);
    for (size_t i = 0; i < layer->bare.rank.modules[0].n_slots; i++) fill_bytes(&layer->bare.rank.modules[0].slots[i].param->view, 0xAA);
}

static struct cs_view numbers_from(struct layer *layer, enum cs_dtype dtype, int ndim, const int64_t *shape, double first) {
    struct cs_view view;
    assert_ok(cs_view_make(&view, NULL, dtype, ndim, shape));
    size_t width = (size_t)cs_dtype_bits(dtype) / 8;
    unsigned char *bytes = cs_arena_alloc(&layer->bare.arena, (size_t)cs_view_numel(&view) + 1, width);
    for (int64_t i = 0; i < cs_view_numel(&view); i++) {
        uint64_t bits;
        assert_ok(cs_dtype_encode(dtype, isnan(first) ? first : first + (double)i, &bits));
        memcpy(bytes + (size_t)i * width, &bits, width);
    }
    return source_of_bytes(&layer->bare, dtype, ndim, shape, bytes);
}

static const struct cs_loader_row *row_of(const struct layer *layer, const char *tensor) {
    for (size_t i = 0; i < layer->loader->n_rows; i++)
        if (cs_text_equal(layer->loader->rows[i].tensor, tensor) && cs_options_select(layer->bare.spec.sizes.options, layer->loader->rows[i].when))
            return &layer->loader->rows[i];
    fail_msg("no row \"%s\"", tensor);
    return NULL;
}

/* The tensor holds `first`, first + 1, …, of the row's dtype. */
static enum cs_status send(struct layer *layer, const char *tensor, int64_t slot, double first, int ndim, const int64_t *shape) {
    const struct cs_loader_row *row = row_of(layer, tensor);
    layer->last = (struct cs_load_call){.module = &layer->bare.rank.modules[0], .param = bare_param(&layer->bare, 0, row->param), .loader = layer->loader,
                                        .row = row, .tensor = tensor, .expert = slot, .source = numbers_from(layer, row->dtype, ndim, shape, first)};
    return cs_load(&layer->last);
}
#define SEND(layer, tensor, slot, first, ...)                                                                          \
    send(layer, tensor, slot, first, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
#define SEND_NUMBER(layer, tensor, slot, number) send(layer, tensor, slot, number, 0, NULL)

static bool is_recorded(struct layer *layer, const struct cs_param *param, int64_t element) {
    const struct cs_padding *padding = &layer->bare.rank.modules[0].padding;
    for (size_t i = 0; i < padding->n_records; i++) {
        if (!cs_text_equal(padding->records[i].name, param->name)) continue;
        for (size_t r = 0; r < padding->records[i].n_regions; r++) {
            struct cs_view part = cs_region_view(&padding->records[i].regions[r], &param->view);
            for (int64_t k = 0; k < cs_view_numel(&part); k++)
                if (cs_view_element(&part, k) == element) return true;
        }
    }
    return false;
}

static double number_at(const struct cs_view *view, int64_t i) {
    size_t width = (size_t)cs_dtype_bits(view->dtype) / 8;
    uint64_t bits = 0;
    memcpy(&bits, bytes_of(view) + (size_t)i * width, width);
    return cs_dtype_decode(view->dtype, bits);
}

static void expect(struct layer *layer, const char *name, size_t n, const double *expected) {
    struct cs_param *param = bare_param(&layer->bare, 0, name);
    assert_int_equal(cs_view_numel(&param->view), n);
    for (size_t i = 0; i < n; i++) {
        bool is_padding = expected[i] == X;
        const unsigned char *bytes = bytes_of(&param->view) + i * (size_t)cs_dtype_bits(param->view.dtype) / 8;
        if (is_recorded(layer, param, (int64_t)i) != is_padding) fail_msg("%s[%zu]: %s recorded", name, i, is_padding ? "not" : "is");
        if (is_padding ? *bytes != 0xAA : number_at(&param->view, (int64_t)i) != expected[i])
            fail_msg("%s[%zu] is %g, expected %g", name, i, number_at(&param->view, (int64_t)i), expected[i]);
    }
}
#define EXPECT(layer, name, ...) expect(layer, name, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})

/* H 2 → 3, I 2 → 3, one expert. */
static const struct cs_sizes small = {.experts_global = 1, .experts = 1, .hidden_u = 2, .hidden = 3, .intermediate_full = 2, .intermediate_u = 2,
                                      .intermediate = 3, .tp = 1};

/* ---- shards ---- */

static void gate_and_up_are_halves_with_a_tail_each(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "unquantized", "per_expert", 0, small);
    assert_ok(SEND(&layer, "{expert}.gate_proj.weight", 0, 1, 2, 2));
    assert_int_equal(layer.last.counted, 4);
    assert_int_equal(layer.last.n_calls, 1);
    assert_ok(SEND(&layer, "{expert}.up_proj.weight", 0, 11, 2, 2));
    EXPECT(&layer, "w13_weight", 1, 2, X, 3, 4, X, X, X, X, 11, 12, X, 13, 14, X, X, X, X);
    assert_ok(SEND(&layer, "{expert}.down_proj.weight", 0, 21, 2, 2));
    EXPECT(&layer, "w2_weight", 21, 22, X, 23, 24, X, X, X, X);
    bare_close(&layer.bare);
}

static void one_region_is_recorded_for_each_narrowed_axis(void **state) {
    (void)state;
    struct layer layer;
    struct cs_sizes sizes = small;
    sizes.experts = sizes.experts_global = 2;
    layer_open(&layer, "unquantized", "per_expert", 0, sizes);
    for (int e = 0; e < 2; e++) assert_ok(SEND(&layer, "{expert}.gate_proj.weight", e, 1, 2, 2));
    assert_int_equal(layer.bare.rank.modules[0].padding.n_records, 1);
    assert_int_equal(layer.bare.rank.modules[0].padding.records[0].n_regions, 2); /* rows and columns, whatever the number of experts */
    bare_close(&layer.bare);
}

/* 5 rows over 2 ranks: 2 each, the last one is dropped. */
static void shares_are_rounded_down(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct layer layer;
        struct cs_sizes sizes = {.experts_global = 1, .experts = 1, .hidden_u = 1, .hidden = 1, .intermediate_full = 6, .intermediate_u = 3, .intermediate = 3, .tp = 2};
        layer_open(&layer, "unquantized", "per_expert", rank, sizes);
        assert_ok(SEND(&layer, "{expert}.gate_proj.weight", 0, 1, 5, 1));
        assert_ok(SEND(&layer, "{expert}.up_proj.weight", 0, 11, 5, 1));
        if (rank) EXPECT(&layer, "w13_weight", 3, 4, X, 13, 14, X);
        else EXPECT(&layer, "w13_weight", 1, 2, X, 11, 12, X);
        assert_int_equal(SEND(&layer, "{expert}.gate_proj.weight", 0, 1, 8, 1), CS_BAD_SHAPE);
        bare_close(&layer.bare);
    }
}

static void without_a_gate_up_is_the_whole_of_w13(void **state) {
    (void)state;
    struct layer layer;
    struct cs_sizes sizes = small;
    sizes.options = CS_NOT_GATED;
    layer_open(&layer, "unquantized", "per_expert", 0, sizes);
    assert_ok(SEND(&layer, "{expert}.up_proj.weight", 0, 1, 2, 2));
    EXPECT(&layer, "w13_weight", 1, 2, X, 3, 4, X, X, X, X);
    bare_close(&layer.bare);
}

/* gate and up biases are sharded like rows, that of down is whole on every rank. */
static void biases(void **state) {
    (void)state;
    struct layer layer;
    struct cs_sizes sizes = {.experts_global = 1, .experts = 1, .hidden_u = 2, .hidden = 3, .intermediate_full = 4, .intermediate_u = 2, .intermediate = 3, .tp = 2,
                             .options = CS_WITH_BIAS};
    layer_open(&layer, "unquantized", "per_expert", 1, sizes);
    assert_ok(SEND(&layer, "{expert}.gate_proj.bias", 0, 1, 4));
    assert_ok(SEND(&layer, "{expert}.up_proj.bias", 0, 11, 4));
    assert_ok(SEND(&layer, "{expert}.down_proj.bias", 0, 21, 2));
    EXPECT(&layer, "w13_bias", 3, 4, X, 13, 14, X);
    EXPECT(&layer, "w2_bias", 21, 22, X);
    bare_close(&layer.bare);
}

static void both_halves_may_come_in_one_tensor(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "unquantized", "per_expert_gate_up", 0, small);
    assert_ok(SEND(&layer, "{expert}.gate_up_proj.weight", 0, 1, 4, 2));
    EXPECT(&layer, "w13_weight", 1, 2, X, 3, 4, X, X, X, X, 5, 6, X, 7, 8, X, X, X, X);
    assert_int_equal(layer.last.n_calls, 2);
    bare_close(&layer.bare);
}

/* AWQ keeps K first: gate and up are halves of the columns, and w2 is split along rows. */
static void k_first_changes_rows_and_columns(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "awq", "per_expert_awq", 1, (struct cs_sizes){.experts_global = 1, .experts = 1, .hidden_u = 8, .hidden = 8, .intermediate_full = 16,
                                                                     .intermediate_u = 8, .intermediate = 8, .tp = 2, .bits = 4, .group = 4});
    assert_ok(SEND(&layer, "{expert}.gate_proj.qzeros", 0, 1, 2, 2));
    assert_ok(SEND(&layer, "{expert}.up_proj.qzeros", 0, 11, 2, 2));
    EXPECT(&layer, "w13_qzeros", 2, 12, 4, 14); /* [2 groups, gate | up] */
    assert_ok(SEND(&layer, "{expert}.down_proj.qzeros", 0, 1, 4, 1));
    EXPECT(&layer, "w2_qzeros", 3, 4);
    bare_close(&layer.bare);
}

static void both_weight_shapes_go_into_one_slot(void **state) {
    (void)state;
    struct layer layer;
    struct cs_sizes sizes = {.experts_global = 1, .experts = 1, .hidden_u = 32, .hidden = 32, .intermediate_full = 32, .intermediate_u = 32, .intermediate = 32,
                             .tp = 1, .bits = 4, .group = 32};
    layer_open(&layer, "ct_wna16", "per_expert_ct_wna16", 0, sizes);
    assert_ok(SEND(&layer, "{expert}.gate_proj.weight_shape", 0, 1, 2));
    assert_ok(SEND(&layer, "{expert}.up_proj.weight_shape", 0, 5, 2));
    EXPECT(&layer, "w13_weight_shape", 5, 6);
    bare_close(&layer.bare);
}

/* ---- numbers ---- */

static const struct cs_sizes two_experts = {.experts_global = 2, .experts = 2, .hidden_u = 16, .hidden = 16, .intermediate_full = 16, .intermediate_u = 16,
                                            .intermediate = 16, .tp = 1, .options = CS_STATIC_INPUT};

static void numbers_have_a_slot_for_each_shard_or_one(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "fp8_tensor", "per_expert_fp8_tensor", 0, two_experts);
    for (int e = 0; e < 2; e++) {
        assert_ok(SEND_NUMBER(&layer, "{expert}.gate_proj.weight_scale", e, 1 + e));
        assert_ok(SEND_NUMBER(&layer, "{expert}.up_proj.weight_scale", e, 11 + e));
        assert_ok(SEND_NUMBER(&layer, "{expert}.down_proj.weight_scale", e, 21 + e));
        assert_ok(SEND_NUMBER(&layer, "{expert}.up_proj.input_scale", e, 31 + e));
        assert_ok(SEND_NUMBER(&layer, "{expert}.gate_proj.input_scale", e, 41 + e)); /* the later one stays */
    }
    EXPECT(&layer, "w13_weight_scale", 1, 11, 2, 12);
    EXPECT(&layer, "w2_weight_scale", 21, 22);
    EXPECT(&layer, "w13_input_scale", 41, 42);
    assert_int_equal(SEND(&layer, "{expert}.gate_proj.weight_scale", 0, 1, 2), CS_BAD_SHAPE);
    bare_close(&layer.bare);
}

static void a_processed_scale_has_no_slot_for_a_shard(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "fp8_tensor", "per_expert_fp8_tensor", 0, two_experts);
    assert_ok(cs_view_select(&bare_param(&layer.bare, 0, "w13_weight_scale")->view, 1, 0));
    assert_int_equal(SEND_NUMBER(&layer, "{expert}.up_proj.weight_scale", 1, 1), CS_BAD_INDEX);
    bare_close(&layer.bare);
}

static void gate_and_up_must_agree_on_activation_scales(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "fp8_tensor_ct", "per_expert_fp8_tensor_ct", 0, two_experts);
    struct cs_view slots = bare_param(&layer.bare, 0, "w13_input_scale")->view;
    const float fresh[] = {1.0f, NAN};
    memcpy(bytes_of(&slots), fresh, sizeof fresh);
    assert_ok(SEND(&layer, "{expert}.gate_proj.input_scale", 0, 0.5, 1));
    assert_ok(SEND(&layer, "{expert}.up_proj.input_scale", 0, 0.500005, 1)); /* within 1e-5 */
    assert_int_equal(SEND(&layer, "{expert}.up_proj.input_scale", 0, 0.6, 1), CS_BAD_VALUE);
    assert_ok(SEND(&layer, "{expert}.gate_proj.input_scale", 1, 0.7, 1)); /* NaN passes */
    assert_ok(cs_module_create(&layer.bare.rank, &layer.bare.rank.modules[0], &layer.spec, true));
    assert_int_equal(SEND(&layer, "{expert}.gate_proj.input_scale", 0, 0.5, 1), CS_BAD_SHAPE); /* nothing to compare with */
    bare_close(&layer.bare);
}

static void activation_scales_of_every_rank_may_be_kept(void **state) {
    (void)state;
    struct cs_rank_spec rank = {.first_expert = 2, .sizes = {.experts_global = 4, .experts = 2, .ep = 2, .options = CS_GLOBAL_INPUT}};
    const struct cs_loader *loader = cs_loader_by_name("per_expert_nvfp4_modelopt");
    const struct cs_loader_row *input = NULL, *weight = &loader->rows[0];
    for (size_t i = 0; i < loader->n_rows; i++)
        if (cs_text_equal(loader->rows[i].param, "w2_input_scale")) input = &loader->rows[i];
    assert_int_equal(cs_load_slot(&rank, input, 1), 1);
    assert_int_equal(cs_load_slot(&rank, weight, 1), -1);
    assert_int_equal(cs_load_slot(&rank, weight, 3), 1);
    rank.sizes.options = 0;
    assert_int_equal(cs_load_slot(&rank, input, 1), -1);
}

static void scales_that_are_powers_of_two_stay_bytes(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "mxfp8_modelopt", "per_expert_mxfp8", 0, (struct cs_sizes){.experts_global = 1, .experts = 1, .hidden_u = 32, .hidden = 32,
                                                                                  .intermediate_full = 32, .intermediate_u = 32, .intermediate = 32, .tp = 1});
    struct cs_load_call call = {.module = &layer.bare.rank.modules[0], .param = bare_param(&layer.bare, 0, "w2_weight_scale"), .loader = layer.loader,
                                .row = row_of(&layer, "{expert}.down_proj.weight_scale"), .tensor = "s"};
    unsigned char bytes[32];
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)(120 + i % 3);
    call.source = source_of_bytes(&layer.bare, CS_E8M0, 2, (int64_t[]){32, 1}, bytes);
    assert_ok(cs_load(&call));
    assert_memory_equal(bytes_of(&call.param->view), bytes, sizeof bytes);
    call.source = source_of_value(&layer.bare, CS_F32, 2, (int64_t[]){32, 1}, 0.25); /* 2^-2: byte 125 */
    assert_ok(cs_load(&call));
    assert_int_equal(bytes_of(&call.param->view)[31], 125);
    bare_close(&layer.bare);
}

/* ---- experts ---- */

static void experts_are_placed_in_a_row_or_in_turn(void **state) {
    (void)state;
    struct cs_rank_spec rank = {.ep_rank = 1, .first_expert = 3, .sizes = {.experts = 3, .experts_global = 4, .experts_redundant = 2, .ep = 2}};
    for (int64_t e = 0; e < 6; e++) assert_int_equal(cs_rank_expert_slot(&rank, e), e < 3 ? -1 : e - 3);
    rank.is_round_robin = true;
    for (int64_t e = 0; e < 6; e++) assert_int_equal(cs_rank_expert_slot(&rank, e), e % 2 ? e / 2 : -1);
}

/* Experts 0 and 1, and a copy of 0; H 1, I 1: every expert is gate, up and down, one number each. */
static void redundant_experts_of_a_fused_tensor(void **state) {
    (void)state;
    struct cs_sizes sizes = {.experts_global = 2, .experts_redundant = 1, .experts = 3, .hidden_u = 1, .hidden = 1, .intermediate_full = 1, .intermediate_u = 1,
                             .intermediate = 1, .tp = 1};
    struct layer layer;
    layer_open(&layer, "unquantized", "fused_3d", 0, sizes);
    assert_ok(SEND(&layer, "gate_up_proj", -1, 1, 2, 2, 1));
    EXPECT(&layer, "w13_weight", 1, 2, 3, 4, 1, 2);
    assert_int_equal(layer.last.n_calls, 6);
    fill_bytes(&bare_param(&layer.bare, 0, "w13_weight")->view, 0xAA);
    layer.bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_FUSED_EXPERT_IDS); /* as released the copy stays as it was, without a word */
    assert_ok(SEND(&layer, "gate_up_proj", -1, 1, 2, 2, 1));
    assert_int_equal(layer.last.counted, 4);
    assert_int_equal(bytes_of(&bare_param(&layer.bare, 0, "w13_weight")->view)[8], 0xAA);
    layer.loader = cs_loader_by_name("llama4"); /* all ranks' experts at once: three slots for two */
    assert_int_equal(SEND(&layer, "gate_up_proj", -1, 1, 2, 1, 2), CS_BAD_SHAPE);
    assert_says(cs_error_text(), "2 experts do not fit 3");
    layer.bare.spec.sizes.ep = 2; /* by number: expert 2 is in no checkpoint */
    assert_int_equal(SEND(&layer, "gate_up_proj", -1, 1, 2, 1, 2), CS_BAD_INDEX);
    assert_says(cs_error_text(), "expert 2 of rank 0 is outside of the checkpoint's 2");
    layer.bare.spec.sizes.experts = 2, layer.bare.spec.sizes.options = CS_NOT_GATED;
    assert_int_equal(SEND(&layer, "gate_up_proj", -1, 1, 2, 1, 2), CS_BAD_SHAPE);
    assert_says(cs_error_text(), "experts have none");
    bare_close(&layer.bare);
}

/* [K, N] of both halves: columns 1 and 2 are gate, 3 and 4 up. */
static void a_transposed_fused_tensor_is_turned(void **state) {
    (void)state;
    static const char *const loaders[] = {"fused_3d_transposed", "llama4"};
    for (size_t i = 0; i < CS_COUNT(loaders); i++) {
        struct layer layer;
        layer_open(&layer, "unquantized", loaders[i], 0, small);
        assert_ok(SEND(&layer, "gate_up_proj", -1, 1, 1, 2, 4));
        EXPECT(&layer, "w13_weight", 1, 5, X, 2, 6, X, X, X, X, 3, 7, X, 4, 8, X, X, X, X);
        assert_int_equal(layer.last.n_calls, 2);
        bare_close(&layer.bare);
    }
}

/* ---- FP8 blocks ---- */

/* Blocks of 4 in the checkpoint, of 2 in the parameter; I_full 12 is 3 blocks, 6 per rank: rank 1 starts in the middle of block 1. */
static void a_refined_grid_repeats_scales(void **state) {
    (void)state;
    struct cs_sizes sizes = {.experts_global = 1, .experts = 1, .hidden_u = 4, .hidden = 4, .intermediate_full = 12, .intermediate_u = 6, .intermediate = 6, .tp = 2,
                             .block = {4, 4}, .refine = {2, 2}};
    struct layer layer;
    layer_open(&layer, "fp8_block", "per_expert_fp8_block", 1, sizes);
    assert_ok(SEND(&layer, "{expert}.gate_proj.weight_scale_inv", 0, 1, 3, 1));
    assert_ok(SEND(&layer, "{expert}.up_proj.weight_scale_inv", 0, 11, 3, 1));
    EXPECT(&layer, "w13_weight_scale_inv", 2, 2, 3, 3, 3, 3, 12, 12, 13, 13, 13, 13);
    assert_ok(SEND(&layer, "{expert}.down_proj.weight_scale_inv", 0, 1, 1, 3));
    EXPECT(&layer, "w2_weight_scale_inv", 2, 3, 3, 2, 3, 3);
    assert_int_equal(SEND(&layer, "{expert}.gate_proj.weight_scale_inv", 0, 1, 4, 1), CS_BAD_SHAPE); /* a partial last block is too long */
    bare_close(&layer.bare);
}

/* H 6 is a block and a half: its second scale stands for one column of the finer grid, or one row. As released it does not fit. */
static void a_refined_grid_ends_where_the_sizes_end(void **state) {
    (void)state;
    struct cs_sizes sizes = {.experts_global = 1, .experts = 1, .hidden_u = 6, .hidden = 6, .intermediate_full = 12, .intermediate_u = 6, .intermediate = 6, .tp = 2,
                             .block = {4, 4}, .refine = {2, 2}};
    struct layer layer;
    layer_open(&layer, "fp8_block", "per_expert_fp8_block", 1, sizes);
    assert_int_equal(SEND(&layer, "{expert}.gate_proj.weight_scale_inv", 0, 1, 3, 2), CS_BAD_SHAPE);
    layer.bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_PARTIAL_BLOCK_REFINED); /* a standing one: off */
    assert_ok(SEND(&layer, "{expert}.gate_proj.weight_scale_inv", 0, 1, 3, 2));
    assert_ok(SEND(&layer, "{expert}.up_proj.weight_scale_inv", 0, 11, 3, 2));
    EXPECT(&layer, "w13_weight_scale_inv", 3, 3, 4, 5, 5, 6, 5, 5, 6, 13, 13, 14, 15, 15, 16, 15, 15, 16);
    assert_ok(SEND(&layer, "{expert}.down_proj.weight_scale_inv", 0, 1, 2, 3));
    EXPECT(&layer, "w2_weight_scale_inv", 2, 3, 3, 2, 3, 3, 5, 6, 6);
    bare_close(&layer.bare);
}

/* Blocks of 2, I_full 6 over 4 ranks: one block for each of three; rank 3 has nothing. */
static void ranks_take_whole_blocks(void **state) {
    (void)state;
    for (int rank = 0; rank < 4; rank++)
        for (int released = 0; released < 2; released++) {
            struct cs_sizes sizes = {.experts_global = 1, .experts = 1, .hidden_u = 2, .hidden = 2, .intermediate_full = 6, .intermediate_u = 2, .intermediate = 2,
                                     .tp = 4, .block = {2, 2}, .shards_whole_blocks = true};
            struct layer layer;
            layer_open(&layer, "fp8_block", "per_expert_fp8_block", rank, sizes);
            if (released) layer.bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_BLOCK_LOADER_FILLS);
            assert_ok(SEND(&layer, "{expert}.gate_proj.weight_scale_inv", 0, 5, 3, 1));
            assert_ok(SEND(&layer, "{expert}.up_proj.weight_scale_inv", 0, 15, 3, 1));
            assert_int_equal(layer.last.counted, rank < 3);
            if (rank < 3) EXPECT(&layer, "w13_weight_scale_inv", 5 + rank, 15 + rank);
            else if (released) EXPECT(&layer, "w13_weight_scale_inv", 1, 1);
            else EXPECT(&layer, "w13_weight_scale_inv", X, X);
            assert_int_equal(SEND(&layer, "{expert}.gate_proj.weight_scale_inv", 0, 5, 4, 1), CS_BAD_VALUE);
            bare_close(&layer.bare);
        }
}

/* ---- copies that nobody counts, and patches ---- */

static void a_plain_copy_takes_no_padding_and_counts_nothing(void **state) {
    (void)state;
    struct cs_sizes exact = {.experts_global = 1, .experts = 1, .hidden_u = 2, .hidden = 2, .intermediate_full = 1, .intermediate_u = 1, .intermediate = 1, .tp = 1};
    struct layer layer;
    layer_open(&layer, "unquantized", "gpt_oss_bf16_combined", 0, exact);
    assert_ok(SEND(&layer, "gate_up_proj", -1, 1, 1, 2, 2));
    EXPECT(&layer, "w13_weight", 1, 3, 2, 4);
    assert_int_equal(layer.last.counted, 0);
    assert_int_equal(layer.last.n_calls, 0);
    bare_close(&layer.bare);
    layer_open(&layer, "unquantized", "gpt_oss_bf16_combined", 0, small);
    assert_int_equal(SEND(&layer, "gate_up_proj", -1, 1, 1, 2, 4), CS_BAD_SHAPE);
    bare_close(&layer.bare);
}

static void a_patch_leaves_what_is_nan_but_not_a_number_of_its_own(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "unquantized", "per_expert", 0, small);
    assert_ok(SEND(&layer, "{expert}.down_proj.weight", 0, 1, 2, 2));
    layer.last.is_patch = true;
    layer.last.source = numbers_from(&layer, CS_BF16, 2, (int64_t[]){2, 2}, NAN);
    assert_ok(cs_load(&layer.last));
    EXPECT(&layer, "w2_weight", 1, 2, X, 3, 4, X, X, X, X);
    layer.last.source = numbers_from(&layer, CS_E4M3, 2, (int64_t[]){2, 2}, 1);
    assert_int_equal(cs_load(&layer.last), CS_REFUSED);
    layer.last.source = numbers_from(&layer, CS_U8, 2, (int64_t[]){2, 2}, 1);
    assert_int_equal(cs_load(&layer.last), CS_BAD_TYPE);
    bare_close(&layer.bare);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gate_and_up_are_halves_with_a_tail_each),
        cmocka_unit_test(one_region_is_recorded_for_each_narrowed_axis),
        cmocka_unit_test(shares_are_rounded_down),
        cmocka_unit_test(without_a_gate_up_is_the_whole_of_w13),
        cmocka_unit_test(biases),
        cmocka_unit_test(both_halves_may_come_in_one_tensor),
        cmocka_unit_test(k_first_changes_rows_and_columns),
        cmocka_unit_test(both_weight_shapes_go_into_one_slot),
        cmocka_unit_test(numbers_have_a_slot_for_each_shard_or_one),
        cmocka_unit_test(a_processed_scale_has_no_slot_for_a_shard),
        cmocka_unit_test(gate_and_up_must_agree_on_activation_scales),
        cmocka_unit_test(activation_scales_of_every_rank_may_be_kept),
        cmocka_unit_test(scales_that_are_powers_of_two_stay_bytes),
        cmocka_unit_test(experts_are_placed_in_a_row_or_in_turn),
        cmocka_unit_test(redundant_experts_of_a_fused_tensor),
        cmocka_unit_test(a_transposed_fused_tensor_is_turned),
        cmocka_unit_test(a_refined_grid_repeats_scales),
        cmocka_unit_test(a_refined_grid_ends_where_the_sizes_end),
        cmocka_unit_test(ranks_take_whole_blocks),
        cmocka_unit_test(a_plain_copy_takes_no_padding_and_counts_nothing),
        cmocka_unit_test(a_patch_leaves_what_is_nan_but_not_a_number_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
