/* Family loaders/: errors.json. Single edge cases, whose inputs the file only has in words: each is made by hand here.
 * A refusal must be of the captured class; what was accepted must end in the captured words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/conform/internal.h"

enum { TEXT = 512 };

struct stage {
    struct cs_golden_case *golden;
    struct cs_layer layer;
    char *text; /* what happened, as the capture words it */
};

/* Sizes are of the layer, its intermediate per rank; `a` and `v` are the case's own. */
struct edge {
    const char *id;
    enum cs_status (*run)(struct stage *stage, const struct edge *edge);
    const char *method, *backend, *loader;
    int64_t experts, hidden, intermediate;
    int tp;
    unsigned options;
    int64_t a[3];
    double v[3];
    const char *tensor;
    enum cs_dtype dtype;
};

/* ---- layers and tensors ---- */

static enum cs_status open_layer(struct stage *stage, const struct edge *edge, int rank, cs_defect_set defects) {
    struct cs_layer_config config = {.device = stage->golden->device,
                                     .method = cs_method_by_name(edge->method),
                                     .loader = cs_loader_by_name(edge->loader),
                                     .prefix = "",
                                     .tp_rank = rank,
                                     .defects = defects};
    config.sizes = (struct cs_sizes){.experts_global = edge->experts,
                                     .experts = edge->experts,
                                     .hidden_u = edge->hidden,
                                     .tp = edge->tp,
                                     .ep = 1,
                                     .intermediate_full = edge->intermediate * edge->tp,
                                     .options = edge->options,
                                     .group = 32};
    config.backend = cs_backend_by_name(config.method, edge->backend);
    CS_TRY(cs_sizes_for_backend(&config.sizes, config.backend, false));
    CS_TRY(cs_layer_open(&stage->layer, &config));
    return cs_layer_poison(&stage->layer, 0xAA, false);
}

/* Sends one tensor that holds a number everywhere. */
static enum cs_status send_shape(struct stage *stage, const char *name, enum cs_dtype dtype, int ndim,
                                 const int64_t *shape, double number) {
    struct cs_checkpoint checkpoint;
    struct cs_content content = {.kind = CS_CONTENT_VALUE, .as = dtype};
    CS_TRY(cs_dtype_encode(dtype, number, &content.key));
    cs_checkpoint_init(&checkpoint, "edge");
    enum cs_status status = cs_checkpoint_add(&checkpoint, name, dtype, ndim, shape, &content);
    if (status == CS_OK) status = cs_layer_send(&stage->layer, &checkpoint, "");
    cs_checkpoint_close(&checkpoint);
    return status;
}
/* clang-format off */
#define SEND(stage, name, dtype, number, ...)                                                                          \
    send_shape(stage, name, dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}, number)
/* clang-format on */

static enum cs_status read_param(struct stage *stage, const char *name, struct cs_bytes *bytes, enum cs_dtype *dtype) {
    struct cs_view view;
    CS_TRY(cs_layer_param(&stage->layer, name, &view));
    *dtype = view.dtype;
    return cs_bytes_of_view(&stage->golden->arena, stage->golden->device, &view, bytes);
}

static double number_at(const struct cs_bytes *bytes, enum cs_dtype dtype, size_t i) {
    uint64_t bits = 0;
    size_t width = (size_t)cs_dtype_bits(dtype) / 8;
    memcpy(&bits, bytes->data + i * width, width);
    return cs_dtype_decode(dtype, bits);
}

/* ---- checkpoints of other sizes: a = I, H, experts ---- */

static enum cs_status count_rows(struct stage *stage, const char *name, int *rows) {
    struct cs_view view;
    struct cs_bytes bytes;
    CS_TRY(cs_layer_param(&stage->layer, name, &view));
    CS_TRY(cs_bytes_of_view(&stage->golden->arena, stage->golden->device, &view, &bytes));
    size_t n = (size_t)(view.shape[0] * view.shape[1]), width = bytes.size / n;
    *rows = 0;
    for (size_t r = 0; r < n; r++) {
        size_t i = 0;
        while (i < width && bytes.data[r * width + i] == 0xAA) i++;
        *rows += i < width;
    }
    return CS_OK;
}

static enum cs_status other_sizes(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    for (int64_t e = 0; e < edge->a[2]; e++)
        for (int t = 0; t < 3; t++) {
            static const char *const names[] = {"gate_proj", "up_proj", "down_proj"};
            char name[32];
            snprintf(name, sizeof name, "%d.%s.weight", (int)e, names[t]);
            const int64_t shape[] = {edge->a[t == 2], edge->a[t != 2]};
            CS_TRY(send_shape(stage, name, CS_BF16, 2, shape, 1.5));
        }
    int w13, w2;
    CS_TRY(count_rows(stage, "w13_weight", &w13));
    CS_TRY(count_rows(stage, "w2_weight", &w2));
    snprintf(stage->text, TEXT, "accepted; rows touched {'w13_weight': %d, 'w2_weight': %d}", w13, w2);
    return CS_OK;
}

/* ---- other dtypes: v = number ---- */

static enum cs_status other_dtype(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    CS_TRY(SEND(stage, edge->tensor, edge->dtype, edge->v[0], edge->a[0], edge->a[1]));
    struct cs_bytes bytes;
    enum cs_dtype dtype;
    CS_TRY(read_param(stage, "w13_weight", &bytes, &dtype));
    if (dtype == CS_BF16)
        snprintf(stage->text, TEXT, "accepted, value %.1f", number_at(&bytes, dtype, 0));
    else
        snprintf(stage->text, TEXT, dtype == CS_U8 ? "accepted, byte %d for %.1f" : "accepted, byte 0x%x for %.1f",
                 bytes.data[0], edge->v[0]);
    return CS_OK;
}

/* ---- names that no parameter has ---- */

static enum cs_status other_name(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    CS_TRY(SEND(stage, edge->tensor, edge->dtype, 1.0, edge->a[0]));
    snprintf(stage->text, TEXT, "skipped silently, yielded [%s]", stage->layer.n_calls ? "?" : "");
    return CS_OK;
}

static enum cs_status other_shard(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    struct cs_loader_row row = stage->layer.loader->rows[0];
    row.shard = 3; /* "w4" */
    struct cs_load_call call = {.module = &stage->layer.module,
                                .param = stage->layer.module.slots[0].param,
                                .loader = stage->layer.loader,
                                .row = &row,
                                .tensor = "0.w4.weight"};
    return cs_load(&call);
}

static enum cs_status sizes_only(struct stage *stage, const struct edge *edge) { return open_layer(stage, edge, 0, 0); }

/* TP 2 of an odd size. */
static enum cs_status does_not_divide(struct stage *stage, const struct edge *edge) {
    (void)stage, (void)edge;
    struct cs_sizes sizes = {.experts_global = 2, .hidden_u = 32, .intermediate_full = 47, .tp = 2, .ep = 1};
    return cs_sizes_resolve(&sizes, &(struct cs_rounding){0, 0});
}

/* ---- numbers ---- */

/* v = what the slot holds, gate's scale, up's; a[0]: the load is repeated with gate's scale + 0.2. */
static enum cs_status agreed_scales(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    struct cs_view slot;
    CS_TRY(cs_layer_param(&stage->layer, "w13_input_scale", &slot));
    struct cs_fill fill = {.view = slot};
    CS_TRY(cs_dtype_encode(CS_F32, edge->v[0], &fill.bits));
    CS_TRY(cs_device_fill(stage->golden->device, &fill, 1));
    CS_TRY(SEND(stage, "0.gate_proj.input_scale", CS_F32, edge->v[1], 1));
    CS_TRY(SEND(stage, "0.up_proj.input_scale", CS_F32, edge->v[2], 1));
    if (edge->a[0]) CS_TRY(SEND(stage, "0.gate_proj.input_scale", CS_F32, edge->v[1] + 0.2, 1));
    struct cs_bytes bytes;
    enum cs_dtype dtype;
    CS_TRY(read_param(stage, "w13_input_scale", &bytes, &dtype));
    snprintf(stage->text, TEXT, "accepted, stored %.16g", number_at(&bytes, dtype, 0));
    return CS_OK;
}

static enum cs_status two_numbers(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    return SEND(stage, edge->tensor, CS_F32, 1.0, 2);
}

/* Post-load merged the scales of gate and up into one for each expert; then the last of them arrives. */
static enum cs_status late_scale(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    CS_TRY(cs_view_select(&cs_module_slot(&stage->layer.module, "w13_weight_scale")->param->view, 1, 0));
    return send_shape(stage, "1.up_proj.weight_scale", CS_F32, 0, NULL, 1.0);
}

/* ---- gpt-oss: a = I, H, experts of the checkpoint ---- */

static enum cs_status other_combined(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    const int64_t i = edge->a[0], h = edge->a[1], e = edge->a[2];
    CS_TRY(SEND(stage, "gate_up_proj_blocks", CS_U8, 1, e, 2 * i, h / 32, 16));
    CS_TRY(SEND(stage, "down_proj_blocks", CS_U8, 1, e, h, i / 32, 16));
    snprintf(stage->text, TEXT, "accepted");
    return CS_OK;
}

/* The caller's tensor, in memory that it keeps. */
static enum cs_status source_destroyed(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 1, CS_DEFECT_BIT(CS_DEFECT_SOURCE_ZEROED)));
    struct cs_layer *layer = &stage->layer;
    struct cs_view layout, source;
    CS_TRY(cs_view_make(&layout, NULL, CS_BF16, 2, (const int64_t[]){edge->experts, edge->hidden}));
    CS_TRY(cs_rank_allocate(&layer->rank, &layout, "the caller's", &source));
    CS_TRY(cs_device_fill(stage->golden->device, &(struct cs_fill){.view = source, .bits = 0x3F80}, 1));
    const struct cs_route *route = layer->routes.items;
    while (!cs_text_equal(route->tensor, "down_proj_bias")) route++;
    struct cs_load_call call = {.module = &layer->module,
                                .param = cs_module_slot(&layer->module, route->param)->param,
                                .loader = layer->loader,
                                .row = route->row,
                                .tensor = route->tensor,
                                .source = source,
                                .expert = -1};
    CS_TRY(cs_load(&call));
    struct cs_bytes bytes;
    CS_TRY(cs_bytes_of_view(&stage->golden->arena, stage->golden->device, &source, &bytes));
    snprintf(stage->text, TEXT, "source tensors changed by loading on rank 1: [%s]",
             bytes.data[1] == 0x3F ? "" : "'down_proj_bias'");
    return CS_OK;
}

/* ---- sparse patches: v[0] is what the layer holds, v[1] the patch; a = shape of the patched tensor, all NaN but its
 * first element ---- */

static enum cs_status patch(struct stage *stage, const struct edge *edge, double number) {
    const int64_t *shape = edge->a;
    int ndim = shape[0] == 0 ? 0 : 2;
    int64_t n = ndim ? shape[0] * shape[1] : 1;
    size_t width = (size_t)cs_dtype_bits(edge->dtype) / 8;
    unsigned char *bytes = CS_NEW_ARRAY(&stage->golden->arena, unsigned char, (size_t)n *width);
    CS_REQUIRE(bytes, CS_NO_MEMORY, "no memory for a patch");
    for (int64_t i = 0; i < n && cs_dtype_is_floating(edge->dtype); i++) {
        uint64_t bits;
        CS_TRY(cs_dtype_encode(edge->dtype, i ? NAN : number, &bits));
        memcpy(bytes + (size_t)i * width, &bits, width);
    }
    struct cs_checkpoint checkpoint;
    cs_checkpoint_init(&checkpoint, "patch");
    enum cs_status status = cs_checkpoint_add(&checkpoint, edge->tensor, edge->dtype, ndim, shape,
                                              &(struct cs_content){.kind = CS_CONTENT_ZERO, .as = edge->dtype});
    if (status == CS_OK) checkpoint.entries[0].mapped = bytes;
    stage->layer.is_patch = true;
    if (status == CS_OK) status = cs_layer_send(&stage->layer, &checkpoint, "");
    cs_checkpoint_close(&checkpoint);
    return status;
}

static enum cs_status hold_number(struct stage *stage, double number) {
    for (size_t i = 0; i < stage->layer.module.n_slots; i++) {
        struct cs_fill fill = {.view = stage->layer.module.slots[i].param->view};
        CS_TRY(cs_dtype_encode(fill.view.dtype, number, &fill.bits));
        CS_TRY(cs_device_fill(stage->golden->device, &fill, 1));
    }
    return CS_OK;
}

static enum cs_status count_changed(struct stage *stage, const char *name, double number, int counts[2]) {
    struct cs_bytes bytes;
    enum cs_dtype dtype;
    CS_TRY(read_param(stage, name, &bytes, &dtype));
    counts[0] = counts[1] = 0;
    for (size_t i = 0; i < bytes.size / ((size_t)cs_dtype_bits(dtype) / 8); i++) {
        double now = number_at(&bytes, dtype, i);
        counts[0] += now != number;
        counts[1] += isnan(now);
    }
    return CS_OK;
}

static enum cs_status sparse(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, CS_DEFECT_BIT(CS_DEFECT_BLOCK_LOADER_FILLS)));
    CS_TRY(hold_number(stage, edge->v[0]));
    CS_TRY(patch(stage, edge, edge->v[1]));
    int length = snprintf(stage->text, TEXT, "elements changed, NaN per parameter: {");
    for (size_t i = 0; i < stage->layer.module.n_slots && length < TEXT; i++) {
        int counts[2];
        const char *name = stage->layer.module.slots[i].name;
        CS_TRY(count_changed(stage, name, edge->v[0], counts));
        length += snprintf(stage->text + length, (size_t)(TEXT - length), "%s'%s': [%d, %d]", i ? ", " : "", name,
                           counts[0], counts[1]);
    }
    if (length < TEXT) snprintf(stage->text + length, (size_t)(TEXT - length), "}");
    return CS_OK;
}

/* A number is assigned by index, whatever the patch says. */
static enum cs_status sparse_empty(struct stage *stage, const struct edge *edge) {
    CS_TRY(open_layer(stage, edge, 0, 0));
    CS_TRY(hold_number(stage, edge->v[0]));
    CS_TRY(patch(stage, edge, NAN));
    struct cs_bytes bytes;
    enum cs_dtype dtype;
    CS_TRY(read_param(stage, "w13_weight_scale", &bytes, &dtype));
    const char *found = isnan(number_at(&bytes, dtype, 1)) ? "nan" : "a number";
    snprintf(stage->text, TEXT, "w13_weight_scale[0,1] after an empty sparse patch: %s (was %.1f)", found, edge->v[0]);
    return CS_OK;
}

/* ---- the cases, by id ---- */

#define BF16_LAYER   "unquantized", "triton", "per_expert", 2, 32, 48
#define TENSOR_LAYER "fp8_tensor", "triton", "per_expert_fp8_tensor", 2, 64, 96
#define CT_LAYER     "fp8_tensor_ct", "triton", "per_expert_fp8_tensor_ct", 2, 64, 96
#define MXFP4_LAYER  "mxfp4", "triton", "per_expert_mxfp4", 2, 32, 64
#define GPT_OSS      "gpt_oss_mxfp4", "triton", "gpt_oss_combined", 2, 96
#define GPTQ_LAYER   "gptq", "marlin", "per_expert_gptq", 2, 64, 128
#define BLOCKS       "fp8_block", "triton", "per_expert_fp8_block", 2, 128, 256
#define WHOLE_BLOCKS "fp8_block", "flashinfer_trtllm", "per_expert_fp8_block", 2, 128, 160
#define NONE         NULL, CS_U8
/* clang-format off */
static const struct edge edges[] = {
    {"bad-shard-id",                     other_shard,     BF16_LAYER,   1, 0, {0},         {0}, NONE},
    {"config-I-not-divisible",           does_not_divide, BF16_LAYER,   1, 0, {0},         {0}, NONE},
    {"ct-input-scale-differ",            agreed_scales,   CT_LAYER,     1, CS_STATIC_INPUT, {0}, {1.0, 0.5, 0.6}, NONE},
    {"ct-input-scale-equal",             agreed_scales,   CT_LAYER,     1, CS_STATIC_INPUT, {0}, {1.0, 0.5, 0.5}, NONE},
    {"ct-input-scale-first-is-1",        agreed_scales,   CT_LAYER,     1, CS_STATIC_INPUT, {0}, {1.0, 1.0, 0.6}, NONE},
    {"ct-input-scale-nan-slot",          agreed_scales,   CT_LAYER,     1, CS_STATIC_INPUT, {0}, {NAN, 0.7, 0.7}, NONE},
    {"ct-input-scale-reload-changed",    agreed_scales,   CT_LAYER,     1, CS_STATIC_INPUT, {1}, {1.0, 0.5, 0.5}, NONE},
    {"dtype-bf16-into-fp8",              other_dtype,     TENSOR_LAYER, 1, 0, {96, 64},    {1000.0}, "0.gate_proj.weight", CS_BF16},
    {"dtype-bf16-into-mxfp4-u8",         other_dtype,     MXFP4_LAYER,  1, 0, {64, 16},    {300.0},  "0.gate_proj.weight", CS_BF16},
    {"dtype-f16-into-bf16",              other_dtype,     BF16_LAYER,   1, 0, {48, 32},    {1.5},    "0.gate_proj.weight", CS_F16},
    {"dtype-f64-into-bf16",              other_dtype,     BF16_LAYER,   1, 0, {48, 32},    {1.5},    "0.gate_proj.weight", CS_F64},
    {"dtype-f8-into-bf16",               other_dtype,     BF16_LAYER,   1, 0, {48, 32},    {1.5},    "0.gate_proj.weight", CS_E4M3},
    {"dtype-u8-into-bf16",               other_dtype,     BF16_LAYER,   1, 0, {48, 32},    {7.0},    "0.gate_proj.weight", CS_U8},
    {"gptoss-ckpt-E-more",               other_combined,  GPT_OSS, 96,  1, 0, {96, 96, 3}, {0}, NONE},
    {"gptoss-ckpt-H-small",              other_combined,  GPT_OSS, 96,  1, 0, {96, 64, 2}, {0}, NONE},
    {"gptoss-ckpt-I-small",              other_combined,  GPT_OSS, 96,  1, 0, {64, 96, 2}, {0}, NONE},
    {"gptoss-source-destroyed",          source_destroyed, GPT_OSS, 48, 2, 0, {0},         {0}, NONE},
    {"gptq-desc_act",                    sizes_only,      GPTQ_LAYER,   1, CS_ACT_ORDER, {0}, {0}, NONE},
    {"gptq-g_idx-tensor",                other_name,      GPTQ_LAYER,   1, 0, {64},        {0}, "0.gate_proj.g_idx", CS_I32},
    {"per-tensor-input-scale-numel2",    two_numbers,     TENSOR_LAYER, 1, CS_STATIC_INPUT, {0}, {0}, "0.gate_proj.input_scale", CS_F32},
    {"per-tensor-scale-numel2",          two_numbers,     TENSOR_LAYER, 1, 0, {0},         {0}, "0.gate_proj.weight_scale", CS_F32},
    {"reload-fp8pt-static-late-scale",   late_scale,      TENSOR_LAYER, 1, CS_STATIC_INPUT, {0}, {0}, NONE},
    {"shape-E-more",                     other_sizes,     BF16_LAYER,   1, 0, {48, 32, 3}, {0}, NONE},
    {"shape-H-1",                        other_sizes,     BF16_LAYER,   1, 0, {48, 1, 2},  {0}, NONE},
    {"shape-H-large",                    other_sizes,     BF16_LAYER,   1, 0, {48, 64, 2}, {0}, NONE},
    {"shape-H-small",                    other_sizes,     BF16_LAYER,   1, 0, {48, 16, 2}, {0}, NONE},
    {"shape-I-1",                        other_sizes,     BF16_LAYER,   1, 0, {1, 32, 2},  {0}, NONE},
    {"shape-I-large",                    other_sizes,     BF16_LAYER,   1, 0, {64, 32, 2}, {0}, NONE},
    {"shape-I-large-tp2",                other_sizes,     BF16_LAYER,   2, 0, {128, 32, 2}, {0}, NONE},
    {"shape-I-odd-tp2",                  other_sizes,     BF16_LAYER,   2, 0, {47, 32, 2}, {0}, NONE},
    {"shape-I-small",                    other_sizes,     BF16_LAYER,   1, 0, {32, 32, 2}, {0}, NONE},
    {"sparse-bf16-1elem",                sparse,          BF16_LAYER,   1, 0, {48, 32},    {2.0, 3.0}, "0.gate_proj.weight", CS_BF16},
    {"sparse-bf16-trt-padded",           sparse,          "unquantized", "flashinfer_trtllm", "per_expert", 2, 32, 48, 1, 0, {48, 32}, {2.0, 3.0}, "0.gate_proj.weight", CS_BF16},
    {"sparse-fp8blk-scale-blockaligned", sparse,          WHOLE_BLOCKS, 4, CS_NAMED_BACKEND, {5, 1}, {2.0, 3.0}, "0.gate_proj.weight_scale_inv", CS_F32},
    {"sparse-fp8blk-scale-plain",        sparse,          BLOCKS,       1, 0, {2, 1},      {2.0, 3.0}, "0.gate_proj.weight_scale_inv", CS_F32},
    {"sparse-fp8blk-weight-blockaligned", sparse,         WHOLE_BLOCKS, 4, CS_NAMED_BACKEND, {640, 128}, {2.0, 3.0}, "0.gate_proj.weight", CS_E4M3},
    {"sparse-fp8blk-weight-plain",       sparse,          BLOCKS,       1, 0, {256, 128},  {2.0, 3.0}, "0.gate_proj.weight", CS_E4M3},
    {"sparse-fp8pt-scale",               sparse,          TENSOR_LAYER, 1, 0, {0},         {2.0, 3.0}, "0.gate_proj.weight_scale", CS_F32},
    {"sparse-fp8pt-scale-empty",         sparse_empty,    TENSOR_LAYER, 1, 0, {0},         {1.0}, "0.up_proj.weight_scale", CS_F32},
    {"sparse-mxfp4-u8",                  sparse,          MXFP4_LAYER,  1, 0, {64, 16},    {2.0, 3.0}, "0.gate_proj.weight", CS_U8},
    {"unknown-bias",                     other_name,      BF16_LAYER,   1, 0, {48},        {0}, "0.gate_proj.bias", CS_BF16},
    {"unknown-expert",                   other_name,      BF16_LAYER,   1, 0, {48},        {0}, "7.gate_proj.weight", CS_BF16},
    {"unknown-param",                    other_name,      BF16_LAYER,   1, 0, {48},        {0}, "0.gate_proj.weight_scale", CS_F32},
};
/* clang-format on */

static const struct edge *find_edge(const json_t *json) {
    const char *id = cs_golden_string(json, "id");
    for (size_t i = 0; i < CS_COUNT(edges) && id; i++)
        if (cs_text_equal(edges[i].id, id)) return &edges[i];
    return NULL;
}

static enum cs_status check(struct cs_golden_case *golden) {
    const struct edge *edge = find_edge(golden->json);
    char text[TEXT] = "";
    struct stage *stage = CS_NEW(&golden->arena, struct stage);
    CS_REQUIRE(stage, CS_NO_MEMORY, "no memory for a layer");
    stage->golden = golden, stage->text = text;
    enum cs_status got = edge->run(stage, edge);
    cs_layer_close(&stage->layer);
    const char *raised = cs_golden_string(golden->json, "raised"), *expected = cs_golden_string(golden->json, "result");
    if (raised) return cs_golden_refusal(raised, got);
    CS_TRY(got);
    CS_REQUIRE(expected && cs_text_equal(expected, text), CS_BAD_VALUE, "expected \"%s\", got \"%s\"",
               expected ? expected : "", text);
    return CS_OK;
}

cs_golden_check *cs_golden_loader_edge(const json_t *json) { return find_edge(json) ? check : NULL; }
