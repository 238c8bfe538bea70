/* Loaders: which element of the checkpoint goes where, what is left unwritten, and what is recorded as padding. Every case is
 * loaded twice, over two fillings of memory: what differs afterwards was not written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

/* ---- one module of one rank, and its checkpoint tensors ---- */

struct layer {
    struct bare bare;
    struct cs_module_spec spec;
    const struct cs_loader *loader;
    int64_t counted; /* elements, over all calls of the latest load */
};

struct size {
    int tp, rank, ep, ep_rank;
    int64_t experts, full, hidden_u, i_multiple, h_multiple;
    int64_t intermediate; /* set by hand, as in R5.2's example; 0: by the multiple */
};

static void layer_open(struct layer *layer, const char *method, const char *loader, const struct size *size) {
    struct cs_sizes sizes = {.experts_global = size->experts, .experts = size->experts, .hidden_u = size->hidden_u,
                             .intermediate_full = size->full, .tp = size->tp, .ep = size->ep};
    assert_ok(cs_sizes_resolve(&sizes, &(struct cs_rounding){size->i_multiple, size->h_multiple}));
    if (size->intermediate) sizes.intermediate = size->intermediate;
    *layer = (struct layer){.spec = {.name = "experts"}};
    bare_open(&layer->bare, "record_and_fill", &layer->spec, 1);
    layer->loader = cs_loader_by_name(loader);
    layer->bare.spec.tp_rank = size->rank;
    layer->bare.spec.ep_rank = size->ep_rank;
    if (size->ep == 2) { /* linear placement: the first rank gets the rest */
        layer->bare.spec.first_expert = size->ep_rank ? (size->experts + 1) / 2 : 0;
        sizes.experts = size->ep_rank ? size->experts / 2 : (size->experts + 1) / 2;
    }
    layer->bare.spec.sizes = sizes;
    assert_ok(cs_method_tensors(cs_method_by_name(method), &sizes, &layer->bare.arena, &layer->spec.tensors, &layer->spec.n_tensors));
    bare_create(&layer->bare);
}

static const struct cs_loader_row *row_of(const struct layer *layer, const char *tensor) {
    for (size_t i = 0; i < layer->loader->n_rows; i++)
        if (cs_text_equal(layer->loader->rows[i].tensor, tensor)) return &layer->loader->rows[i];
    fail_msg("no row \"%s\"", tensor);
    return NULL;
}

/* Byte `b` of the checkpoint tensor `tensor` of an expert: any number that tells positions apart. */
static unsigned char source_byte(const char *tensor, int64_t expert, int64_t b) {
    return (unsigned char)(cs_mix64(cs_fnv1a32(tensor) + ((uint64_t)expert << 40) + (uint64_t)b) >> 33);
}

/* One call, over the tensor of one expert, or of all of them (expert -1). */
static enum cs_status load_one(struct layer *layer, const char *tensor, int64_t global, int64_t local) {
    const struct cs_loader_row *row = row_of(layer, tensor);
    struct cs_sizes sizes = layer->bare.spec.sizes;
    sizes.experts = sizes.experts_global;
    int ndim;
    int64_t shape[CS_NDIM];
    assert_ok(cs_shape_parse(row->shape, &sizes, &ndim, shape));
    struct cs_view view;
    assert_ok(cs_view_make(&view, NULL, row->dtype, ndim, shape));
    int64_t size = (int64_t)cs_view_span_bytes(&view), n = global < 0 ? sizes.experts : 1;
    unsigned char *bytes = cs_arena_alloc(&layer->bare.arena, (size_t)size, 1);
    for (int64_t b = 0; b < size; b++) bytes[b] = source_byte(tensor, global < 0 ? b / (size / n) : global, b % (size / n));
    struct cs_load_call call = {.module = &layer->bare.rank.modules[0], .param = bare_param(&layer->bare, 0, row->param), .loader = layer->loader,
                                .row = row, .tensor = tensor, .expert = local, .source = source_of_bytes(&layer->bare, row->dtype, ndim, shape, bytes)};
    enum cs_status status = cs_load(&call);
    layer->counted += call.counted;
    return status;
}

static void load_all_experts(struct layer *layer, const char *tensor) {
    layer->counted = 0;
    if (strncmp(tensor, "{expert}", 8) != 0) {
        assert_ok(load_one(layer, tensor, -1, -1));
        return;
    }
    for (int64_t e = 0; e < layer->bare.spec.sizes.experts; e++) assert_ok(load_one(layer, tensor, layer->bare.spec.first_expert + e, e));
}

/* ---- expectations: a rectangle of each expert's matrix [rows, columns of `width` bytes] ---- */

struct rectangle {
    int64_t row, n, columns;   /* written: rows [row, row + n), columns [0, columns) */
    int64_t source_row, source_column, source_columns; /* where they come from, and how long a checkpoint row is */
    bool is_zero;              /* zeros instead (bias of ranks that do not add it) */
};

static bool is_inside(const struct rectangle *r, int64_t row, int64_t column) {
    return row >= r->row && row < r->row + r->n && column < r->columns;
}

/* Elements that the module's records of `param` cover. */
static bool *recorded(struct layer *layer, const struct cs_param *param) {
    int64_t numel = cs_view_numel(&param->view);
    bool *covered = cs_arena_alloc(&layer->bare.arena, (size_t)numel, sizeof *covered);
    const struct cs_padding *padding = &layer->bare.rank.modules[0].padding;
    for (size_t i = 0; i < padding->n_records; i++) {
        if (!cs_text_equal(padding->records[i].name, param->name)) continue;
        assert_true(padding->records[i].n_regions <= 4); /* never one per expert */
        for (size_t r = 0; r < padding->records[i].n_regions; r++) {
            struct cs_view part = cs_region_view(&padding->records[i].regions[r], &param->view);
            for (int64_t k = 0; k < cs_view_numel(&part); k++) covered[cs_view_element(&part, k)] = true;
        }
    }
    return covered;
}

/* Loads `tensors` (the halves of one parameter, or one) over `over`, and checks every byte and every record. */
static void check_over(struct layer *layer, unsigned char over, size_t n, const char *const *tensors, const struct rectangle *expected) {
    struct cs_param *param = bare_param(&layer->bare, 0, row_of(layer, tensors[0])->param);
    int64_t columns = param->view.ndim > 2 ? param->view.shape[2] : 1, rows = param->view.shape[1], width = cs_dtype_bits(param->view.dtype) / 8;
    layer->bare.rank.modules[0].padding.n_records = 0;
    fill_bytes(&param->view, over);
    int64_t counted = 0, written = 0;
    for (size_t t = 0; t < n; t++) load_all_experts(layer, tensors[t]), counted += layer->counted;
    bool *covered = recorded(layer, param);
    for (int64_t i = 0; i < cs_view_numel(&param->view); i++) {
        int64_t e = i / (rows * columns), row = i / columns % rows, column = i % columns;
        const unsigned char *actual = bytes_of(&param->view) + i * width;
        size_t t = 0;
        while (t < n && !is_inside(&expected[t], row, column)) t++;
        written += t < n;
        if (covered[i] != (t == n)) fail_msg("%s[%d, %d, %d]: recorded %d", tensors[0], (int)e, (int)row, (int)column, covered[i]);
        for (int64_t b = 0; b < width; b++) {
            unsigned char want = over;
            if (t < n) {
                int64_t at = (row - expected[t].row + expected[t].source_row) * expected[t].source_columns + column + expected[t].source_column;
                want = expected[t].is_zero ? 0 : source_byte(tensors[t], layer->bare.spec.first_expert + e, at * width + b);
            }
            if (actual[b] != want) fail_msg("%s[%d, %d, %d]: %02x, expected %02x", tensors[0], (int)e, (int)row, (int)column, actual[b], want);
        }
    }
    assert_int_equal(counted, written); /* what layerwise counts */
}

static void check(struct layer *layer, const char *tensor, struct rectangle expected) {
    check_over(layer, 0x5A, 1, &tensor, &expected);
    check_over(layer, 0xA5, 1, &tensor, &expected);
}

/* ---- gpt-oss: combined and streamed are the same rectangles ---- */

static const char *const combined[] = {"gate_up_proj_blocks", "gate_up_proj_scales", "gate_up_proj_bias", "down_proj_blocks", "down_proj_scales", "down_proj_bias"};
static const char *const streamed[] = {"{expert}.w13_weight", "{expert}.w13_weight_scale", "{expert}.w13_bias", "{expert}.w2_weight", "{expert}.w2_weight_scale", "{expert}.w2_bias"};

/* Blocks [first, first + n) of the intermediate dimension belong to the rank (vllm models/gpt_oss.py). */
static void check_gpt_oss(struct layer *layer, const char *const *tensors, int64_t first, int64_t n) {
    int64_t h = layer->bare.spec.sizes.hidden_u, full = layer->bare.spec.sizes.intermediate_full;
    check(layer, tensors[0], (struct rectangle){.n = 64 * n, .columns = h / 2, .source_row = 64 * first, .source_columns = h / 2});
    check(layer, tensors[1], (struct rectangle){.n = 64 * n, .columns = h / 32, .source_row = 64 * first, .source_columns = h / 32});
    check(layer, tensors[2], (struct rectangle){.n = 64 * n, .columns = 1, .source_row = 64 * first, .source_columns = 1});
    check(layer, tensors[3], (struct rectangle){.n = h, .columns = 16 * n, .source_column = 16 * first, .source_columns = full / 2});
    check(layer, tensors[4], (struct rectangle){.n = h, .columns = n, .source_column = first, .source_columns = full / 32});
    check(layer, tensors[5], (struct rectangle){.n = h, .columns = 1, .source_columns = 1, .is_zero = layer->bare.spec.tp_rank > 0});
}

/* `first` and `n`: blocks of each rank. */
static void gpt_oss_splits(int tp, int64_t full, const int64_t *first, const int64_t *n) {
    for (int rank = 0; rank < tp; rank++)
        for (int form = 0; form < 2; form++) {
            struct layer layer;
            layer_open(&layer, "gpt_oss_mxfp4", form ? "gpt_oss_streamed" : "gpt_oss_combined",
                       &(struct size){.tp = tp, .rank = rank, .ep = 1, .experts = 3, .full = full, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
            check_gpt_oss(&layer, form ? streamed : combined, first[rank], n[rank]);
            bare_close(&layer.bare);
        }
}

static void one_rank_gets_every_block(void **state) {
    (void)state;
    gpt_oss_splits(1, 96, (int64_t[]){0}, (int64_t[]){3}); /* 96 = 3 blocks → 128 */
}

static void two_ranks_may_leave_one_with_fewer(void **state) {
    (void)state;
    gpt_oss_splits(2, 128, (int64_t[]){0, 2}, (int64_t[]){2, 2});
    gpt_oss_splits(2, 96, (int64_t[]){0, 2}, (int64_t[]){2, 1}); /* I_u 48: rank 0 loads 64 rows, rank 1 32 */
}

/* I_full must divide over the ranks (A.0.2) and into blocks: three ranks always share evenly. */
static void three_ranks_share_evenly(void **state) {
    (void)state;
    gpt_oss_splits(3, 96, (int64_t[]){0, 1, 2}, (int64_t[]){1, 1, 1});
    gpt_oss_splits(3, 480, (int64_t[]){0, 5, 10}, (int64_t[]){5, 5, 5}); /* 160 → 256 */
}

/* 5 blocks over 4 ranks: 2, 2, 1, 0. The last rank loads nothing but the zero bias of w2. */
static void four_ranks_may_leave_one_with_none(void **state) {
    (void)state;
    gpt_oss_splits(4, 160, (int64_t[]){0, 2, 4, 5}, (int64_t[]){2, 2, 1, 0});
    gpt_oss_splits(4, 96, (int64_t[]){0, 1, 2, 3}, (int64_t[]){1, 1, 1, 0});
}

static void no_rounding_leaves_no_padding(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", &(struct size){.tp = 1, .ep = 1, .experts = 2, .full = 64, .hidden_u = 64});
    check_gpt_oss(&layer, combined, 0, 2);
    assert_int_equal(layer.bare.rank.modules[0].padding.n_records, 0);
    bare_close(&layer.bare);
}

/* 5 experts over 2 ranks: 3 + 2. */
static void expert_parallel_ranks_own_whole_experts(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++)
        for (int form = 0; form < 2; form++) {
            struct layer layer;
            layer_open(&layer, "gpt_oss_mxfp4", form ? "gpt_oss_streamed" : "gpt_oss_combined",
                       &(struct size){.tp = 1, .ep = 2, .ep_rank = rank, .experts = 5, .full = 96, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
            assert_int_equal(bare_param(&layer.bare, 0, "w13_weight")->view.shape[0], rank ? 2 : 3);
            check_gpt_oss(&layer, form ? streamed : combined, 0, 3);
            bare_close(&layer.bare);
        }
}

/* ---- experts by quotient, as released (found: F26) ---- */

static void open_quotient(struct layer *layer, const char *method, const char *loader, int rank, int64_t experts) {
    layer_open(layer, method, loader, &(struct size){.tp = 1, .ep = 2, .ep_rank = rank, .experts = experts, .full = 64, .hidden_u = 64});
    layer->bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_EXPERTS_BY_QUOTIENT);
}

/* 5 over 2: each is handed two, from 2 * rank on. Rank 0 has three and refuses; rank 1 has 3 and 4, and takes 2 and 3 for them. */
static void the_released_combined_loader_hands_out_quotients(void **state) {
    (void)state;
    struct layer layer;
    open_quotient(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", 0, 5);
    assert_int_equal(load_one(&layer, combined[0], -1, -1), CS_BAD_SHAPE);
    assert_says(cs_error_text(), "hands every rank 2 of 5 experts, but rank 0 of 2 has 3");
    bare_close(&layer.bare);
    open_quotient(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", 1, 5);
    layer.bare.spec.first_expert = 2; /* what `check` expects to find */
    check_gpt_oss(&layer, combined, 0, 2);
    bare_close(&layer.bare);
}

/* 3 over 2: one each, which rank 0 copies to both of its experts, and a layerwise load refuses to count. */
static void one_expert_is_copied_to_all(void **state) {
    (void)state;
    struct layer layer;
    open_quotient(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", 0, 3);
    assert_ok(load_one(&layer, combined[2], -1, -1));
    const unsigned char *bias = bytes_of(&bare_param(&layer.bare, 0, "w13_bias")->view);
    for (int64_t b = 0; b < 2 * 128 * 2; b++) assert_int_equal(bias[b], source_byte(combined[2], 0, b % (128 * 2)));
    assert_ok(cs_module_create(&layer.bare.rank, &layer.bare.rank.modules[0], &layer.spec, true));
    assert_int_equal(load_one(&layer, combined[2], -1, -1), CS_BAD_VALUE);
    assert_says(cs_error_text(), "one expert is copied to 2");
    bare_close(&layer.bare);
    open_quotient(&layer, "unquantized", "gpt_oss_bf16_combined", 0, 3); /* copies whole tensors, which nobody counts */
    assert_ok(load_one(&layer, "down_proj", -1, -1));
    assert_memory_equal(bytes_of(&bare_param(&layer.bare, 0, "w2_weight")->view), bytes_of(&bare_param(&layer.bare, 0, "w2_weight")->view) + 64 * 64 * 2, 64 * 64 * 2);
    bare_close(&layer.bare);
}

/* Expert by expert, Quark slices the rows of a matrix as if they were experts, then looks for slots that no rank has. */
static void quark_gpt_oss_refuses_expert_parallelism(void **state) {
    (void)state;
    const struct {
        const char *method, *loader, *tensor;
        enum cs_status status;
    } rows[] = {
        {"quark_mx", "gpt_oss_quark_mx", "{expert}.gate_up_proj.weight", CS_BAD_INDEX},
        {"quark_fp8_gpt_oss", "gpt_oss_quark_fp8", "{expert}.gate_up_proj.weight", CS_BAD_SHAPE},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct layer layer;
        struct cs_sizes *sizes = &layer.bare.spec.sizes;
        open_quotient(&layer, "unquantized", rows[i].loader, 0, 4);
        sizes->bits = 4;
        assert_int_equal(load_one(&layer, rows[i].tensor, 0, 0), rows[i].status);
        assert_says(cs_error_text(), "2 rows are taken for experts");
        bare_close(&layer.bare);
    }
}

/* In turn over two ranks: 1 and 3 are rank 1's. */
static void combined_experts_in_turn(void **state) {
    (void)state;
    struct layer layer;
    open_quotient(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", 1, 4);
    layer.bare.rank.defects = 0;
    layer.bare.spec.is_round_robin = true;
    assert_ok(load_one(&layer, combined[5], -1, -1));
    const unsigned char *bias = bytes_of(&bare_param(&layer.bare, 0, "w2_bias")->view);
    for (int64_t b = 0; b < 2 * 64 * 2; b++) assert_int_equal(bias[b], source_byte(combined[5], b < 64 * 2 ? 1 : 3, b % (64 * 2)));
    layer.bare.spec.sizes.experts_redundant = 2;
    assert_int_equal(load_one(&layer, combined[5], -1, -1), CS_BAD_SHAPE);
    assert_says(cs_error_text(), "redundant experts are outside");
    bare_close(&layer.bare);
}

/* 80 = 2 blocks and a half: what the file has of the last is not there, and the columns stay. 112 = 3 blocks and a half:
 * down_proj's blocks cannot be viewed as rows of 56 bytes. */
static void sizes_of_no_whole_blocks(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", &(struct size){.tp = 1, .ep = 1, .experts = 1, .full = 96, .hidden_u = 80, .i_multiple = 64, .h_multiple = 32});
    check(&layer, combined[0], (struct rectangle){.n = 192, .columns = 32, .source_columns = 32});
    check(&layer, combined[1], (struct rectangle){.n = 192, .columns = 2, .source_columns = 2});
    bare_close(&layer.bare);
    layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", &(struct size){.tp = 1, .ep = 1, .experts = 2, .full = 112, .hidden_u = 64, .i_multiple = 64});
    assert_int_equal(load_one(&layer, combined[3], -1, -1), CS_BAD_SHAPE);
    bare_close(&layer.bare);
}

/* ---- the released streamed split ---- */

/* I_full 128, TP2, 96 per rank by hand: rank 0 gets 192 combined rows, rank 1 the 64 that are left. */
static void the_released_streamed_loader_splits_by_the_padded_size(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct layer layer;
        layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_streamed",
                   &(struct size){.tp = 2, .rank = rank, .ep = 1, .experts = 2, .full = 128, .hidden_u = 96, .intermediate = 96});
        layer.bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_STREAMED_PADDED_SPLIT);
        check(&layer, streamed[0], (struct rectangle){.n = rank ? 64 : 192, .columns = 48, .source_row = rank ? 192 : 0, .source_columns = 48});
        check(&layer, streamed[2], (struct rectangle){.n = rank ? 64 : 192, .columns = 1, .source_row = rank ? 192 : 0, .source_columns = 1});
        check(&layer, streamed[3], (struct rectangle){.n = 96, .columns = rank ? 16 : 48, .source_column = rank ? 48 : 0, .source_columns = 64});
        check(&layer, streamed[4], (struct rectangle){.n = 96, .columns = rank ? 1 : 3, .source_column = rank ? 3 : 0, .source_columns = 4});
        layer.bare.rank.defects = 0; /* the fixed loader: 2 blocks each (R5.2) */
        check_gpt_oss(&layer, streamed, 2 * rank, 2);
        bare_close(&layer.bare);
    }
}

/* I_full 96, TP2, 128 per rank: rank 0 gets all 192 rows, rank 1 an IndexError. */
static void the_released_streamed_loader_starts_behind_the_end(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct layer layer;
        layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_streamed",
                   &(struct size){.tp = 2, .rank = rank, .ep = 1, .experts = 1, .full = 96, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
        layer.bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_STREAMED_PADDED_SPLIT);
        assert_int_equal(load_one(&layer, streamed[0], 0, 0), rank ? CS_BAD_INDEX : CS_OK);
        if (rank) assert_says(cs_error_text(), "starts at 256 of 192");
        else assert_int_equal(layer.counted, 192 * 48);
        bare_close(&layer.bare);
    }
}

/* Unrounded back end, where whole blocks are more than I_u: RuntimeError on rank 0 (B.3, B12X). */
static void whole_blocks_that_do_not_fit_are_an_error(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_combined", &(struct size){.tp = 2, .ep = 1, .experts = 1, .full = 192, .hidden_u = 96, .intermediate = 64});
    assert_int_equal(load_one(&layer, combined[0], -1, -1), CS_BAD_SHAPE);
    assert_says(cs_error_text(), "experts.w13_weight");
    bare_close(&layer.bare);
}

/* ---- the dry run ---- */

static void on_meta_a_loader_counts_and_records_nothing(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_combined",
               &(struct size){.tp = 1, .ep = 1, .experts = 2, .full = 96, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
    assert_ok(cs_module_create(&layer.bare.rank, &layer.bare.rank.modules[0], &layer.spec, true));
    const int64_t counted[] = {2 * 192 * 48, 2 * 192 * 3, 2 * 192, 2 * 96 * 48, 2 * 96 * 3, 2 * 96};
    for (size_t i = 0; i < CS_COUNT(combined); i++) {
        load_all_experts(&layer, combined[i]);
        assert_int_equal(layer.counted, counted[i]);
    }
    assert_int_equal(layer.bare.rank.modules[0].padding.n_records, 0);
    bare_close(&layer.bare);
}

/* Provenance and moved bytes: the policy zeroes the expert that a call loads, not every expert again at each call. */
static void a_zeroing_policy_is_logged_for_what_it_zeroes(void **state) {
    (void)state;
    struct layer layer;
    layer_open(&layer, "gpt_oss_mxfp4", "gpt_oss_streamed",
               &(struct size){.tp = 1, .ep = 1, .experts = 3, .full = 96, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
    layer.bare.rank.policy = cs_policy_by_name("zero_in_loader");
    load_all_experts(&layer, streamed[4]); /* w2_weight_scale [3, 256, 4]: rows 160 × 4 and columns 96 × 1 of each */
    int64_t zeroed = 0;
    for (size_t i = 0; i < layer.bare.log.n_entries; i++)
        if (layer.bare.log.entries[i].kind == CS_LOG_ZERO) zeroed += cs_view_numel(&layer.bare.log.entries[i].destination);
    assert_int_equal(zeroed, 3 * (160 * 4 + 96));
    assert_int_equal(layer.bare.stats.bytes, zeroed);
    bare_close(&layer.bare);
}

/* ---- generic MXFP4: gate and up are the halves of w13 (vllm fused_moe/routed_experts.py) ---- */

static void check_halves(struct layer *layer, int64_t first_row, int64_t n, int64_t scale_row, int64_t n_scale, int64_t n_block, int64_t block) {
    const char *const weights[] = {"{expert}.gate_proj.weight", "{expert}.up_proj.weight"};
    const char *const scales[] = {"{expert}.gate_proj.weight_scale", "{expert}.up_proj.weight_scale"};
    int64_t h = layer->bare.spec.sizes.hidden_u, half = layer->bare.spec.sizes.intermediate, full = layer->bare.spec.sizes.intermediate_full;
    struct rectangle w = {.n = n, .columns = h / 2, .source_row = first_row, .source_columns = h / 2};
    struct rectangle s = {.n = n_scale, .columns = h / 32, .source_row = scale_row, .source_columns = h / 32};
    struct rectangle both_w[] = {w, w}, both_s[] = {s, s};
    both_w[1].row = both_s[1].row = half;
    check_over(layer, 0x5A, 2, weights, both_w), check_over(layer, 0xA5, 2, weights, both_w);
    check_over(layer, 0x5A, 2, scales, both_s), check_over(layer, 0xA5, 2, scales, both_s);
    check(layer, "{expert}.down_proj.weight", (struct rectangle){.n = h, .columns = n / 2, .source_column = first_row / 2, .source_columns = full / 2});
    check(layer, "{expert}.down_proj.weight_scale", (struct rectangle){.n = h, .columns = n_block, .source_column = block, .source_columns = full / 32});
}

static void per_expert_mxfp4_loads_halves(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct layer layer;
        layer_open(&layer, "mxfp4", "per_expert_mxfp4",
                   &(struct size){.tp = 2, .rank = rank, .ep = 1, .experts = 3, .full = 192, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
        check_halves(&layer, 96 * rank, 96, 96 * rank, 96, 3, 3 * rank);
        bare_close(&layer.bare);
    }
}

/* I_full 96, TP2: weights split by 48, scale columns by whole blocks, 3 / 2 = 1: rank 1 has columns 48 … 95 and block 1 only (B.2). */
static void per_expert_mxfp4_splits_weights_and_scales_each_on_its_own(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct layer layer;
        layer_open(&layer, "mxfp4", "per_expert_mxfp4",
                   &(struct size){.tp = 2, .rank = rank, .ep = 1, .experts = 2, .full = 96, .hidden_u = 96, .i_multiple = 128, .h_multiple = 256});
        check_halves(&layer, 48 * rank, 48, 48 * rank, 48, 1, rank);
        bare_close(&layer.bare);
    }
}

/* ---- routes ---- */

static void routes_name_every_tensor_of_the_checkpoint(void **state) {
    (void)state;
    struct cs_arena arena = {0};
    struct cs_routes routes = {.arena = &arena};
    struct cs_sizes sizes = {.experts_global = 3, .experts = 2, .hidden_u = 96, .hidden = 256, .intermediate_full = 96, .intermediate = 128, .tp = 1, .ep = 2};
    assert_ok(cs_routes_of_loader(&routes, cs_loader_by_name("gpt_oss_streamed"), "m.experts", &sizes, 4));
    assert_int_equal(routes.n, 3 * 6); /* every expert, also those of other ranks */
    assert_string_equal(routes.items[6].tensor, "m.experts.1.w13_weight");
    assert_int_equal(routes.items[6].expert, 1);
    assert_int_equal(routes.items[6].module, 4);
    assert_ok(cs_routes_of_loader(&routes, cs_loader_by_name("gpt_oss_combined"), "m.experts", &sizes, 4));
    const struct cs_route *route = &routes.items[18];
    assert_string_equal(route->tensor, "m.experts.gate_up_proj_blocks");
    assert_int_equal(route->expert, -1);
    const int64_t shape[] = {3, 192, 3, 16};
    assert_int_equal(route->ndim, 4);
    assert_memory_equal(route->shape, shape, sizeof shape);
    cs_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_gets_every_block),
        cmocka_unit_test(two_ranks_may_leave_one_with_fewer),
        cmocka_unit_test(three_ranks_share_evenly),
        cmocka_unit_test(four_ranks_may_leave_one_with_none),
        cmocka_unit_test(no_rounding_leaves_no_padding),
        cmocka_unit_test(expert_parallel_ranks_own_whole_experts),
        cmocka_unit_test(the_released_combined_loader_hands_out_quotients),
        cmocka_unit_test(one_expert_is_copied_to_all),
        cmocka_unit_test(quark_gpt_oss_refuses_expert_parallelism),
        cmocka_unit_test(combined_experts_in_turn),
        cmocka_unit_test(sizes_of_no_whole_blocks),
        cmocka_unit_test(the_released_streamed_loader_splits_by_the_padded_size),
        cmocka_unit_test(the_released_streamed_loader_starts_behind_the_end),
        cmocka_unit_test(whole_blocks_that_do_not_fit_are_an_error),
        cmocka_unit_test(on_meta_a_loader_counts_and_records_nothing),
        cmocka_unit_test(a_zeroing_policy_is_logged_for_what_it_zeroes),
        cmocka_unit_test(per_expert_mxfp4_loads_halves),
        cmocka_unit_test(per_expert_mxfp4_splits_weights_and_scales_each_on_its_own),
        cmocka_unit_test(routes_name_every_tensor_of_the_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
