/* Operations that are a chain of layout rows: each input matrix goes through the chain on the device. */
#include "sim/conform/internal.h"

#include <string.h>

enum { CHAIN = 3 };

struct chain {
    size_t n;
    const struct cs_layout *rows[CHAIN];
    struct cs_layout variant; /* a row with another block size or element width */
    int bits;                 /* of the elements that move */
};

/* ---- which rows: one chooser per kind of operation ---- */

static enum cs_status append(struct chain *chain, const char *name) {
    const struct cs_layout *layout = cs_layout_by_name(name);
    CS_REQUIRE(layout && chain->n < CHAIN, CS_BAD_VALUE, "there is no layout \"%s\"", name);
    chain->rows[chain->n++] = layout;
    return CS_OK;
}

/* FlashInfer shuffles rows in blocks of 32 for tiles of whole 128 rows, else in blocks of 16. */
static const char *shuffle_of_tile(int64_t tile) { return tile % 128 == 0 ? "shuffle32" : "shuffle16"; }

static enum cs_status choose_shuffle(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    (void)arena;
    int64_t tile;
    CS_TRY(cs_golden_integer(params, "epilogue_tile_m", &tile));
    return append(chain, shuffle_of_tile(tile));
}

static enum cs_status choose_gated_shuffle(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    int64_t tile;
    CS_TRY(cs_golden_integer(params, "epilogue_tile_m", &tile));
    if (!json_is_true(json_object_get(params, "gated"))) return choose_shuffle(arena, params, chain);
    if (tile % 128 == 0) return append(chain, "gated_shuffle32");
    CS_TRY(append(chain, "gated_reorder"));
    return choose_shuffle(arena, params, chain);
}

static enum cs_status choose_shuffle_and_swizzle(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    CS_TRY(choose_shuffle(arena, params, chain));
    return append(chain, "swizzle_128x4");
}

/* swigluoai checkpoints interleave gate and up rows. */
static enum cs_status choose_cutedsl_order(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    (void)arena;
    const char *activation;
    CS_TRY(cs_golden_text(params, "activation", &activation));
    return append(chain, cs_text_equal(activation, "swigluoai") ? "deinterleave_up_first" : "swap_halves");
}

/* The row of that name when its view is `view` and its elements are as wide; else the row with these in place of its
 * own. */
static enum cs_status append_variant(struct chain *chain, const char *name, const char *view) {
    CS_REQUIRE(view, CS_NO_MEMORY, "no memory for a view");
    CS_TRY(append(chain, name));
    const struct cs_layout *row = chain->rows[chain->n - 1];
    bool is_as_wide = !row->bits || row->bits == chain->bits;
    if (cs_text_equal(row->view, view) && is_as_wide) return CS_OK;
    chain->variant = *row;
    chain->variant.view = view;
    if (!is_as_wide) chain->variant.bits = chain->bits;
    chain->rows[chain->n - 1] = &chain->variant;
    return CS_OK;
}

static enum cs_status choose_block_major(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    int64_t block;
    CS_TRY(cs_golden_integer(params, "blockK", &block));
    return append_variant(chain, "block_major_k", cs_arena_format(arena, "M K/%" PRId64 " %" PRId64, block, block));
}

/* Scales of 128 columns of K and 64 rows are folded into lines of 16 bytes. */
static enum cs_status choose_sm90_scale(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    int64_t group;
    CS_TRY(cs_golden_integer(params, "group_size", &group));
    CS_REQUIRE(group > 0 && 128 % group == 0, CS_BAD_FILE, "golden file: group_size %" PRId64 " does not divide 128",
               group);
    int64_t groups = 128 / group, slices = 128 / chain->bits / groups;
    CS_REQUIRE(slices > 0 && 64 % slices == 0, CS_BAD_FILE,
               "golden file: no line of 16 bytes has %d-bit scales of %" PRId64 " groups", chain->bits, groups);
    return append_variant(chain, "sm90_scale_fold",
                          cs_arena_format(arena, "M/64 %" PRId64 " %" PRId64 " K/%" PRId64 " %" PRId64, slices,
                                          64 / slices, groups, groups));
}

static enum cs_status choose_interleave(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    int64_t group;
    CS_TRY(cs_golden_integer(params, "group", &group));
    return append_variant(chain, "interleave64",
                          cs_arena_format(arena, "2 M/%" PRId64 " %" PRId64 " K", 2 * group, group));
}

/* The other row is for one matrix without halves. */
static enum cs_status choose_by_gate(const json_t *params, struct chain *chain, const char *gated, const char *plain) {
    return append(chain, json_is_true(json_object_get(params, "gate_up")) ? gated : plain);
}

static enum cs_status choose_a16w4(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    (void)arena;
    return choose_by_gate(params, chain, "aiter_gu", "aiter_16x16");
}

static enum cs_status choose_a16w4_scale(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    (void)arena;
    return choose_by_gate(params, chain, "e8m0_gu", "e8m0_rows");
}

static enum cs_status choose_hopper_scale(struct cs_arena *arena, const json_t *params, struct chain *chain) {
    int64_t warps;
    CS_TRY(cs_golden_integer(params, "num_warps", &warps));
    CS_TRY(append_variant(chain, "hopper_scale",
                          cs_arena_format(arena, "M/%" PRId64 " 2 %" PRId64 " 2 8 K/2 2", 32 * warps, warps)));
    if (chain->rows[0] != &chain->variant) return CS_OK;
    chain->variant.pad = cs_arena_format(arena, "%" PRId64 " 2", 32 * warps);
    CS_REQUIRE(chain->variant.pad, CS_NO_MEMORY, "no memory for a view");
    return CS_OK;
}

/* clang-format off */
static const struct row_op {
    const char *op, *row; /* row: always this one */
    enum cs_status (*choose)(struct cs_arena *arena, const json_t *params, struct chain *chain);
    enum cs_dtype unit; /* that moves, when it is not the tensor's; CS_N_DTYPES: it is the tensor's */
} row_ops[] = {
    {"aiter.e8m0_shuffle",                             "e8m0_shuffle",  NULL, CS_N_DTYPES},
    {"aiter.shuffle_scale_a16w4",                      NULL,            choose_a16w4_scale, CS_N_DTYPES},
    {"aiter.shuffle_weight",                           "aiter_16x16",   NULL, CS_U8},
    {"aiter.shuffle_weight_a16w4",                     NULL,            choose_a16w4, CS_N_DTYPES},
    {"deep_gemm._transpose_sf_for_utccp",              "utccp_rows",    NULL, CS_N_DTYPES},
    {"fi.interleave_moe_scales_for_sm90_mixed_gemm",   NULL,            choose_sm90_scale, CS_N_DTYPES},
    {"fi.interleave_moe_weights_for_sm90_mixed_gemm.fp4",     "sm90_fp4",     NULL, CS_N_DTYPES},
    {"fi.interleave_moe_weights_for_sm90_mixed_gemm.fp4_fp8", "sm90_fp4_fp8", NULL, CS_U16},
    {"fi.interleave_moe_weights_for_sm90_mixed_gemm.int4",    "sm90_int4",    NULL, CS_U16},
    {"triton.BlackwellMXScaleLayout",                  "blackwell_scale", NULL, CS_N_DTYPES},
    {"triton.BlackwellMXValueLayout",                  "blackwell_value", NULL, CS_N_DTYPES},
    {"triton.CDNA4MXScaleLayout",                      "e8m0_rows",     NULL, CS_N_DTYPES},
    {"triton.HopperMXScaleLayout",                     NULL,            choose_hopper_scale, CS_N_DTYPES},
    {"triton.HopperMXValueLayout",                     "hopper_value",  NULL, CS_N_DTYPES},
    {"fi._maybe_get_cached_w3_w1_permute_indices",     NULL,            choose_gated_shuffle, CS_N_DTYPES},
    {"fi.block_scale_interleave",                      "swizzle_128x4", NULL, CS_N_DTYPES},
    {"fi.convert_to_block_layout",                     NULL,            choose_block_major, CS_N_DTYPES},
    {"fi.get_w2_permute_indices_with_cache",           NULL,            choose_shuffle, CS_N_DTYPES},
    {"fi.reorder_rows_for_gated_act_gemm",             "gated_reorder", NULL, CS_N_DTYPES},
    {"fi.shuffle_matrix_a",                            NULL,            choose_shuffle, CS_N_DTYPES},
    {"fi.shuffle_matrix_sf_a",                         NULL,            choose_shuffle_and_swizzle, CS_N_DTYPES},
    {"vllm._interleave_gate_up_rows",                  "gated_reorder", NULL, CS_N_DTYPES},
    {"vllm.interleave_linear_and_gate",                NULL,            choose_interleave, CS_N_DTYPES},
    {"vllm.reorder_w13_to_w31_for_flashinfer_cutedsl", NULL,            choose_cutedsl_order, CS_N_DTYPES},
    {"vllm.reorder_w1w3_to_w3w1",                      "swap_halves",   NULL, CS_N_DTYPES},
    {"vllm.swap_w13_to_w31",                           "swap_halves",   NULL, CS_N_DTYPES},
    {"vllm.swizzle_blockscale",                        "swizzle_128x4", NULL, CS_N_DTYPES},
    {"vllm.swizzle_mxfp4_scales",                      "swizzle_128x4", NULL, CS_N_DTYPES},
    {"vllm.swizzle_mxfp8_scale",                       "swizzle_128x4", NULL, CS_N_DTYPES},
};
/* clang-format on */

/* ---- running a chain ---- */

struct job {
    struct cs_golden_case *golden;
    const struct cs_checkpoint *file;
    struct chain chain;
    enum cs_dtype unit;
};

/* An input as matrices: the last two dimensions are rows and columns. */
static enum cs_status input(const struct job *job, const char *name, const struct cs_checkpoint_entry **entry,
                            int64_t shape[3]) {
    *entry = cs_checkpoint_find(job->file, name);
    CS_REQUIRE(*entry, CS_BAD_FILE, "%s has no tensor \"%s\"", job->file->label, name);
    int ndim = (*entry)->ndim;
    shape[0] = 1;
    for (int d = 0; d < ndim - 2; d++) shape[0] *= (*entry)->shape[d];
    shape[1] = ndim > 1 ? (*entry)->shape[ndim - 2] : ndim == 1 ? (*entry)->shape[0] : 1;
    shape[2] = ndim > 1 ? (*entry)->shape[ndim - 1] : 1;
    /* rows of several experts below each other */
    const json_t *experts = json_object_get(json_object_get(job->golden->json, "params"), "experts");
    int64_t n = json_is_integer(experts) ? (int64_t)json_integer_value(experts) : 1;
    if (ndim == 2 && n > 1 && shape[1] % n == 0) shape[0] = n, shape[1] /= n;
    return CS_OK;
}

/* One pass; the result replaces `bytes`, and its shape `shape`. */
static enum cs_status relayout(const struct job *job, struct cs_allocator *allocator, enum cs_dtype dtype,
                               int64_t shape[3], struct cs_bytes *bytes) {
    struct cs_plan plan;
    CS_TRY(cs_plan_compose(&plan, job->chain.rows, job->chain.n, cs_dtype_bits(dtype), shape[1], shape[2]));
    const struct cs_device *device = job->golden->device;
    struct cs_view source, destination;
    CS_TRY(cs_view_make(&source, NULL, dtype, 3, shape));
    CS_TRY(cs_allocate(allocator, bytes->size, dtype, "input", &source.storage));
    CS_TRY(cs_device_write(device, &source, bytes->data, bytes->size));
    shape[1] = plan.rows;
    shape[2] = plan.columns;
    CS_TRY(cs_view_make(&destination, NULL, dtype, 3, shape));
    CS_TRY(cs_allocate(allocator, cs_view_span_bytes(&destination), dtype, "output", &destination.storage));
    CS_TRY(cs_device_relayout(device, &plan, shape[0], &destination, &source));
    return cs_bytes_of_view(&job->golden->arena, device, &destination, bytes);
}

static enum cs_status transform(const struct job *job, const char *name, int times, struct cs_bytes *bytes) {
    const struct cs_checkpoint_entry *entry;
    int64_t shape[3];
    CS_TRY(input(job, name, &entry, shape));
    *bytes = (struct cs_bytes){entry->bytes, entry->mapped};
    enum cs_dtype unit = job->unit == CS_N_DTYPES ? entry->dtype : job->unit;
    shape[2] = shape[2] * cs_dtype_bits(entry->dtype) / cs_dtype_bits(unit);
    /* An output that is not written at all would hold this byte. */
    const struct cs_pattern pattern = {.kind = CS_PATTERN_BYTE, .byte = 0xA5};
    const struct cs_allocator_rule rule = {.fresh_cold = pattern, .fresh_reload = pattern};
    const struct cs_memory memory = cs_device_memory(job->golden->device);
    struct cs_allocator allocator;
    cs_allocator_init(&allocator, &rule, &memory, 0);
    enum cs_status status = CS_OK;
    for (int i = 0; i < times && status == CS_OK; i++) status = relayout(job, &allocator, unit, shape, bytes);
    cs_allocator_close(&allocator);
    return status;
}

/* Row numbers, as wide as the file stores them: where row r of the result comes from. */
static enum cs_status row_sources(const struct job *job, const char *name, struct cs_bytes *bytes) {
    const struct cs_checkpoint_entry *entry, *stored = cs_checkpoint_find(job->file, name);
    int64_t shape[3];
    CS_TRY(input(job, "in.x", &entry, shape));
    struct cs_plan plan;
    CS_TRY(cs_plan_compose(&plan, job->chain.rows, job->chain.n, 8, shape[1], 1));
    size_t width = stored && stored->dtype == CS_I32 ? sizeof(int32_t) : sizeof(int64_t);
    unsigned char *rows = cs_arena_alloc(&job->golden->arena, (size_t)plan.rows, width);
    CS_REQUIRE(rows, CS_NO_MEMORY, "no memory for %" PRId64 " row numbers", plan.rows);
    for (int64_t r = 0; r < plan.rows; r++) {
        int64_t source = cs_plan_source(&plan, r);
        memcpy(rows + (size_t)r * width, &source, width); /* little-endian, as the file */
    }
    *bytes = (struct cs_bytes){(size_t)plan.rows * width, rows};
    return CS_OK;
}

/* out.y belongs to in.x, out.NAME to in.NAME; out.NAME_twice is the operation's result on its own result. */
static enum cs_status find_output(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)output;
    const struct job *job = context;
    static const char twice[] = "_twice";
    if (cs_text_equal(name, "out.idx") || cs_text_equal(name, "out.row_indices")) return row_sources(job, name, bytes);
    if (cs_text_equal(name, "out.y") || strncmp(name, "out.storage", 11) == 0) {
        static const char *const inputs[] = {"in.x", "in.x_NK", "in.x_NG", "in.s"};
        for (size_t i = 0; i < CS_COUNT(inputs); i++)
            if (cs_checkpoint_find(job->file, inputs[i])) return transform(job, inputs[i], 1, bytes);
    }
    CS_REQUIRE(strncmp(name, "out.", 4) == 0, CS_BAD_FILE, "golden file: output \"%s\" does not start with \"out.\"",
               name);
    size_t length = strlen(name) - 4, tail = sizeof twice - 1;
    bool is_twice = length > tail && cs_text_equal(name + 4 + length - tail, twice);
    const char *in = cs_arena_format(&job->golden->arena, "in.%.*s", (int)(length - (is_twice ? tail : 0)), name + 4);
    CS_REQUIRE(in, CS_NO_MEMORY, "no memory for a name");
    return transform(job, in, is_twice ? 2 : 1, bytes);
}

static const struct row_op *find_op(const char *op) {
    for (size_t i = 0; i < CS_COUNT(row_ops); i++)
        if (cs_text_equal(row_ops[i].op, op)) return &row_ops[i];
    return NULL;
}

static enum cs_status choose(struct job *job) {
    const json_t *params;
    const char *op;
    CS_TRY(cs_golden_object(job->golden->json, "params", &params));
    CS_TRY(cs_golden_text(job->golden->json, "op", &op));
    const struct row_op *row = find_op(op);
    CS_REQUIRE(row, CS_INTERNAL, "operation %s has no row", op);
    job->unit = row->unit;
    const struct cs_checkpoint_entry *entry = job->file->n_entries ? &job->file->entries[0] : NULL;
    job->chain.bits = cs_dtype_bits(row->unit != CS_N_DTYPES || !entry ? row->unit : entry->dtype);
    if (row->row) return append(&job->chain, row->row);
    return row->choose(&job->golden->arena, params, &job->chain);
}

static enum cs_status compare(struct cs_golden_case *golden, const struct cs_checkpoint *file) {
    struct job job = {.golden = golden, .file = file};
    CS_TRY(choose(&job));
    const struct cs_golden_outputs outputs = {golden, file, find_output, &job};
    return cs_golden_compare_outputs(&outputs);
}

static enum cs_status with_file(struct cs_golden_case *golden,
                                enum cs_status (*check)(struct cs_golden_case *, const struct cs_checkpoint *)) {
    struct cs_checkpoint file;
    CS_TRY(cs_golden_file(golden, &file));
    enum cs_status status = check(golden, &file);
    cs_checkpoint_close(&file);
    return status;
}

static enum cs_status check_rows(struct cs_golden_case *golden) { return with_file(golden, compare); }

/* ---- operations that ask a plan instead of running it ---- */

static bool repeats_every(const struct cs_plan *plan, int64_t block) {
    for (int64_t r = block; r < plan->rows; r++)
        if (cs_plan_source(plan, r) != cs_plan_source(plan, r % block) + r / block * block) return false;
    return true;
}

/* Length of the blocks within which a shuffle moves rows. */
static int64_t block_of(const struct cs_plan *plan) {
    int64_t block = 1;
    while (!repeats_every(plan, block)) block++;
    return block;
}

static enum cs_status find_block_sizes(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)name, (void)output;
    const struct job *job = context;
    struct cs_bytes tiles;
    CS_TRY(cs_bytes_of_entry(job->file, "in.tile", &tiles));
    size_t n = tiles.size / sizeof(int32_t);
    int32_t *blocks = CS_NEW_ARRAY(&job->golden->arena, int32_t, n + 1);
    CS_REQUIRE(blocks, CS_NO_MEMORY, "no memory for %zu block sizes", n);
    for (size_t i = 0; i < n; i++) {
        int32_t tile;
        memcpy(&tile, tiles.data + i * sizeof tile, sizeof tile);
        const struct cs_layout *layout = cs_layout_by_name(shuffle_of_tile(tile));
        struct cs_plan plan;
        CS_TRY(cs_plan_compose(&plan, &layout, 1, 8, 64, 1));
        blocks[i] = (int32_t)block_of(&plan);
    }
    *bytes = (struct cs_bytes){tiles.size, (const unsigned char *)blocks};
    return CS_OK;
}

static enum cs_status compare_block_sizes(struct cs_golden_case *golden, const struct cs_checkpoint *file) {
    struct job job = {.golden = golden, .file = file};
    const struct cs_golden_outputs outputs = {golden, file, find_block_sizes, &job};
    return cs_golden_compare_outputs(&outputs);
}

static enum cs_status check_block_sizes(struct cs_golden_case *golden) {
    return with_file(golden, compare_block_sizes);
}

/* Inverse of the swizzle: every element goes back to where the plan takes it from. Rows of padding have no place in the
 * result, columns have. */
static enum cs_status find_linear(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)name, (void)output;
    const struct job *job = context;
    const json_t *params = json_object_get(job->golden->json, "params");
    int64_t rows, columns, block;
    CS_TRY(cs_golden_integer(params, "m", &rows));
    CS_TRY(cs_golden_integer(params, "k", &columns));
    CS_TRY(cs_golden_integer(params, "block_size", &block));
    CS_REQUIRE(rows > 0 && columns > 0 && block > 0, CS_BAD_FILE, "golden file: m, k and block_size must be positive");
    struct cs_plan plan;
    CS_TRY(cs_plan_compose(&plan, job->chain.rows, job->chain.n, 8, rows, (columns + block - 1) / block));
    CS_TRY(cs_plan_compose(&plan, job->chain.rows, job->chain.n, 8, rows, plan.columns));
    struct cs_bytes swizzled;
    CS_TRY(cs_bytes_of_entry(job->file, "in.x", &swizzled));
    int64_t n = plan.rows * plan.columns;
    CS_REQUIRE(swizzled.size == (size_t)n, CS_BAD_SHAPE, "in.x: expected %" PRId64 " bytes, got %zu", n, swizzled.size);
    unsigned char *linear = cs_arena_alloc(&job->golden->arena, (size_t)(rows * plan.columns), 1);
    CS_REQUIRE(linear, CS_NO_MEMORY, "no memory for %" PRId64 " bytes", rows * plan.columns);
    for (int64_t i = 0; i < n; i++) {
        int64_t source = cs_plan_source(&plan, i);
        if (source >= 0) linear[source] = swizzled.data[i];
    }
    *bytes = (struct cs_bytes){(size_t)(rows * plan.columns), linear};
    return CS_OK;
}

static enum cs_status compare_linear(struct cs_golden_case *golden, const struct cs_checkpoint *file) {
    struct job job = {.golden = golden, .file = file};
    CS_TRY(append(&job.chain, "swizzle_128x4"));
    const struct cs_golden_outputs outputs = {golden, file, find_linear, &job};
    return cs_golden_compare_outputs(&outputs);
}

static enum cs_status check_linear(struct cs_golden_case *golden) { return with_file(golden, compare_linear); }

cs_golden_check *cs_golden_row_op(const char *op) {
    if (cs_text_equal(op, "fi.get_shuffle_block_size")) return check_block_sizes;
    if (cs_text_equal(op, "vllm.convert_swizzled_to_linear")) return check_linear;
    return find_op(op) ? check_rows : NULL;
}
