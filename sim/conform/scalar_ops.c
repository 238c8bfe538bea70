/* Operations on numbers that the host computes: sizes, permutations as lists, scales of a KV cache. */
#include "sim/conform/internal.h"

#include <string.h>

struct job {
    struct cs_golden_case *golden;
    const struct cs_checkpoint *file;
    const json_t *params;
};

typedef enum cs_status find_function(void *job, const char *name, const json_t *output, struct cs_bytes *bytes);

/* ---- rows of integers → rows of integers ---- */

static enum cs_status marlin_intermediate(const int32_t *in, int32_t *out) {
    out[0] = (int32_t)cs_marlin_intermediate(in[0], in[1]);
    return CS_OK;
}

static enum cs_status marlin_pad(const int32_t *in, int32_t *out) {
    int64_t n = in[0], k = in[1];
    cs_marlin_pad(in[2], &n, &k);
    out[0] = (int32_t)n, out[1] = (int32_t)k;
    return CS_OK;
}

static enum cs_status aiter_alignment(const int32_t *in, int32_t *out) {
    out[0] = (int32_t)cs_aiter_alignment(in[0]);
    return CS_OK;
}

/* bn, bk, I of a rank, tp, H → the finer block, or 0 when there is none or none is needed. */
static enum cs_status refine_block(const int32_t *in, int32_t *out) {
    struct cs_sizes sizes = {.block = {in[0], in[1]}, .intermediate = in[2], .tp = in[3], .hidden = in[4], .ep = 1};
    bool is_refined = cs_round_fp8_block_refined(&sizes) == CS_OK && sizes.refine[0] > 0;
    for (int i = 0; i < 2; i++) out[i] = is_refined ? (int32_t)(sizes.block[i] / sizes.refine[i]) : 0;
    return CS_OK;
}

/* bn, bk, I, tp, H, ep, LoRA, bias → 1 (whole blocks), 0 (nothing) or −1 (refused); I of a rank; the flag. */
static enum cs_status pad_shard(const int32_t *in, int32_t *out) {
    struct cs_sizes sizes = {.block = {in[0], in[1]},
                             .intermediate_full = in[2],
                             .tp = in[3],
                             .hidden = in[4],
                             .ep = in[5],
                             .options = CS_NAMED_BACKEND | (in[6] ? CS_WITH_LORA : 0u) | (in[7] ? CS_WITH_BIAS : 0u)};
    sizes.intermediate = sizes.intermediate_full / sizes.tp;
    enum cs_status status = cs_round_fp8_block(&sizes);
    out[0] = status != CS_OK ? -1 : sizes.shards_whole_blocks;
    out[1] = (int32_t)sizes.intermediate, out[2] = sizes.shards_whole_blocks;
    return CS_OK;
}

/* clang-format off */
static const struct integer_op {
    const char *op, *input;
    size_t n_in, n_out; /* numbers of a row */
    enum cs_status (*row)(const int32_t *in, int32_t *out);
} integer_ops[] = {
    {"vllm.aiter_moe_intermediate_alignment", "in.I",                        1, 1, aiter_alignment},
    {"vllm.marlin_moe_padded_intermediate",   "in.ig",                       2, 1, marlin_intermediate},
    {"vllm.marlin_padded_nk",                 "in.nkg",                      3, 2, marlin_pad},
    {"vllm.pad_tp_shard_to_weight_blocks",    "in.bn_bk_I_tp_H_ep_lora_bias", 8, 3, pad_shard},
    {"vllm.refine_fp8_moe_block_shape",       "in.bn_bk_Ipp_tp_H",           5, 2, refine_block},
};
/* clang-format on */

static const struct integer_op *integer_op(const char *op) {
    for (size_t i = 0; i < CS_COUNT(integer_ops); i++)
        if (cs_text_equal(integer_ops[i].op, op)) return &integer_ops[i];
    return NULL;
}

static enum cs_status find_integers(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)name, (void)output;
    const struct job *job = context;
    const struct integer_op *op = integer_op(cs_golden_string(job->golden->json, "op"));
    struct cs_bytes in;
    CS_TRY(cs_bytes_of_entry(job->file, op->input, &in));
    size_t rows = in.size / sizeof(int32_t) / op->n_in;
    int32_t *numbers = CS_NEW_ARRAY(&job->golden->arena, int32_t, rows * op->n_in + 1);
    int32_t *results = CS_NEW_ARRAY(&job->golden->arena, int32_t, rows * op->n_out + 1);
    CS_REQUIRE(numbers && results, CS_NO_MEMORY, "no memory for %zu rows", rows);
    memcpy(numbers, in.data, rows * op->n_in * sizeof *numbers);
    for (size_t i = 0; i < rows; i++) CS_TRY(op->row(numbers + i * op->n_in, results + i * op->n_out));
    *bytes = (struct cs_bytes){rows * op->n_out * sizeof *results, (const unsigned char *)results};
    return CS_OK;
}

/* ---- Marlin's permutation: where each number of a tile's words comes from ---- */

static enum cs_status find_permutation(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)name, (void)output;
    const struct job *job = context;
    enum { TILE = 1024, NARROW = 16, WIDE = 32 }; /* parts of a tile: NARROW rows of N by a side of K */
    struct cs_bytes in;
    CS_TRY(cs_bytes_of_entry(job->file, "in.num_bits", &in));
    int32_t key[2];
    CS_REQUIRE(in.size == sizeof key, CS_BAD_FILE, "golden file: in.num_bits has %zu bytes", in.size);
    memcpy(key, in.data, sizeof key);
    int64_t side = key[1] ? WIDE : NARROW;
    const char *row = cs_arena_format(&job->golden->arena, "marlin%d%s", key[0], key[1] ? "_a8" : "");
    const struct cs_layout *layout = row ? cs_layout_by_name(row) : NULL;
    CS_REQUIRE(layout, CS_BAD_VALUE, "there is no layout \"%s\"", row ? row : "");
    struct cs_plan plan;
    CS_TRY(cs_plan_compose(&plan, &layout, 1, key[0], TILE / side, side));
    int32_t *sources = CS_NEW_ARRAY(&job->golden->arena, int32_t, TILE); /* as files hold 64-bit integers */
    CS_REQUIRE(sources, CS_NO_MEMORY, "no memory for a permutation");
    for (int64_t i = 0; i < TILE; i++) {
        int64_t source = cs_plan_source(&plan, i), n = source / side, k = source % side;
        sources[i] = (int32_t)(n / NARROW * NARROW * side + k * NARROW + n % NARROW); /* upstream's tiles are K first */
    }
    *bytes = (struct cs_bytes){TILE * sizeof *sources, (const unsigned char *)sources};
    return CS_OK;
}

/* ---- rounded sizes, for every back end of a list ---- */

static enum cs_status mxfp4_rounding(const json_t *row, struct cs_sizes *sizes) {
    static const struct {
        const char *name;
        enum cs_platform platform;
    } platforms[] = {{"cuda", CS_CUDA}, {"rocm_gfx942", CS_CDNA3}, {"rocm_gfx950", CS_CDNA4}, {"xpu", CS_XPU}};
    const char *platform = json_string_value(json_array_get(row, 0)),
               *backend = json_string_value(json_array_get(row, 1));
    for (size_t i = 0; i < CS_COUNT(platforms) && backend; i++) {
        if (!platform || !cs_text_equal(platforms[i].name, platform)) continue;
        struct cs_rounding rounding =
            cs_mxfp4_rounding(backend, platforms[i].platform, json_string_value(json_array_get(row, 2)));
        return cs_sizes_resolve(sizes, &rounding);
    }
    return cs_fail(CS_BAD_FILE, "golden file: a row names no platform and back end that we know");
}

static enum cs_status unquantized_rounding(const json_t *row, struct cs_sizes *sizes) {
    const struct cs_method *method = cs_method_by_name("unquantized");
    const struct cs_backend *backend =
        method && json_is_string(row) ? cs_backend_by_name(method, json_string_value(row)) : NULL;
    CS_REQUIRE(backend, CS_BAD_VALUE, "unquantized has no back end \"%s\"",
               json_is_string(row) ? json_string_value(row) : "");
    return cs_sizes_for_backend(sizes, backend, false);
}

static enum cs_status round_row(bool is_mxfp4, const json_t *row, const int32_t *in, int32_t *out) {
    struct cs_sizes sizes = {
        .hidden_u = in[0], .intermediate_full = in[1], .experts_global = 1, .experts = 1, .tp = 1, .ep = 1};
    CS_TRY(is_mxfp4 ? mxfp4_rounding(row, &sizes) : unquantized_rounding(row, &sizes));
    out[0] = (int32_t)sizes.hidden, out[1] = (int32_t)sizes.intermediate;
    return CS_OK;
}

static const char mxfp4_table[] = "vllm.mxfp4_round_up_hidden_size_and_intermediate_size";
static const char unquantized_table[] = "vllm.unquantized_round_up_hidden_size_and_intermediate_size";

static enum cs_status find_rounded(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)name, (void)output;
    const struct job *job = context;
    bool is_mxfp4 = cs_text_equal(cs_golden_string(job->golden->json, "op"), mxfp4_table);
    const json_t *rows;
    struct cs_bytes in;
    CS_TRY(cs_golden_array(job->params, "rows", &rows));
    CS_TRY(cs_bytes_of_entry(job->file, "in.H_I", &in));
    size_t n = in.size / sizeof(int32_t[2]), n_rows = json_array_size(rows);
    int32_t(*pairs)[2] = cs_arena_alloc(&job->golden->arena, n + 1, sizeof *pairs);
    int32_t(*results)[2] = cs_arena_alloc(&job->golden->arena, n * n_rows + 1, sizeof *results);
    CS_REQUIRE(pairs && results, CS_NO_MEMORY, "no memory for %zu sizes", n * n_rows);
    memcpy(pairs, in.data, n * sizeof *pairs);
    for (size_t r = 0; r < n_rows; r++)
        for (size_t i = 0; i < n; i++)
            CS_TRY(round_row(is_mxfp4, json_array_get(rows, r), pairs[i], results[r * n + i]));
    *bytes = (struct cs_bytes){n * n_rows * sizeof *results, (const unsigned char *)results};
    return CS_OK;
}

/* ---- KV-cache scales ---- */

enum { KV_IN = 4, KV_OUT = 10 };

struct kv_table {
    size_t rows;
    float *scales;    /* [rows, KV_OUT] */
    int32_t *refused; /* [rows] */
};

static void kv_row(const struct cs_kv_rule *rule, const float *loaded, float start, float *out, int32_t *refused) {
    struct cs_kv_scales scales = {.is_loaded = true};
    for (int i = 0; i < 4; i++) scales.device[i] = start;
    for (int i = 0; i < 3; i++) scales.number[i] = start;
    for (int i = 0; i < 2; i++) scales.host[i] = start;
    *refused = cs_kv_scales_take(rule, loaded, &scales) == CS_BAD_VALUE;
    memcpy(out, scales.device, sizeof scales.device);
    memcpy(out + 4, scales.number, sizeof scales.number);
    memcpy(out + 7, scales.host, sizeof scales.host);
    out[9] = scales.is_loaded ? 1.0f : 0.0f;
}

static enum cs_status kv_table(const struct job *job, struct kv_table *table) {
    struct cs_kv_rule rule;
    struct cs_bytes in;
    const char *dtype;
    CS_TRY(cs_golden_text(job->params, "kv_cache_dtype", &dtype));
    CS_TRY(cs_kv_rule_parse(dtype, json_is_true(json_object_get(job->params, "fnuz")), &rule));
    CS_TRY(cs_bytes_of_entry(job->file, "in.k_v_q_prob", &in));
    table->rows = in.size / sizeof(float) / KV_IN;
    float *loaded = CS_NEW_ARRAY(&job->golden->arena, float, table->rows *KV_IN + 1);
    table->scales = CS_NEW_ARRAY(&job->golden->arena, float, table->rows *KV_OUT + 1);
    table->refused = CS_NEW_ARRAY(&job->golden->arena, int32_t, table->rows + 1);
    CS_REQUIRE(loaded && table->scales && table->refused, CS_NO_MEMORY, "no memory for %zu rows", table->rows);
    memcpy(loaded, in.data, table->rows * KV_IN * sizeof *loaded);
    float start = (float)json_number_value(json_object_get(job->params, "initial_value_of_every_output"));
    for (size_t i = 0; i < table->rows; i++)
        kv_row(&rule, loaded + i * KV_IN, start, table->scales + i * KV_OUT, &table->refused[i]);
    return CS_OK;
}

static enum cs_status find_kv(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)output;
    struct kv_table table;
    CS_TRY(kv_table(context, &table));
    *bytes = cs_text_equal(name, "out.assertion_error")
                 ? (struct cs_bytes){table.rows * sizeof *table.refused, (const unsigned char *)table.refused}
                 : (struct cs_bytes){table.rows * KV_OUT * sizeof *table.scales, (const unsigned char *)table.scales};
    return CS_OK;
}

/* ---- a case ---- */

static find_function *finder(const char *op) {
    if (cs_text_equal(op, "vllm.BaseKVCacheMethod.process_weights_after_loading")) return find_kv;
    if (cs_text_equal(op, "vllm.get_weight_perm")) return find_permutation;
    if (cs_text_equal(op, mxfp4_table) || cs_text_equal(op, unquantized_table)) return find_rounded;
    return integer_op(op) ? find_integers : NULL;
}

static enum cs_status check_scalars(struct cs_golden_case *golden) {
    struct cs_checkpoint file;
    struct job job = {.golden = golden, .file = &file};
    CS_TRY(cs_golden_object(golden->json, "params", &job.params));
    CS_TRY(cs_golden_file(golden, &file));
    const struct cs_golden_outputs outputs = {golden, &file, finder(cs_golden_string(golden->json, "op")), &job};
    enum cs_status status = cs_golden_compare_outputs(&outputs);
    cs_checkpoint_close(&file);
    return status;
}

cs_golden_check *cs_golden_scalar_op(const char *op) { return finder(op) ? check_scalars : NULL; }
