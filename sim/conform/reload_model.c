/* The small models of the capture script, and the tensors of their checkpoints. */
#include "sim/conform/reload.h"

#include <string.h>

static const struct cs_golden_kind kinds[] = {
    {"bf16", "unquantized", "per_expert", "fused_3d", 0},
    {"fp8blk", "online_fp8_block", "per_expert", "fused_3d", 0},
    {"fp8pt", "fp8_tensor", "per_expert_fp8_tensor", NULL, CS_STATIC_INPUT},
    {"fp8ser", "fp8_block", "per_expert_fp8_block", NULL, 0},
    {"gptoss", "gpt_oss_mxfp4", "gpt_oss_combined", "gpt_oss_streamed", 0},
    {"mxgen", "mxfp4", "per_expert_mxfp4", NULL, 0},
    {"onch", "online_fp8_channel", "per_expert", "fused_3d", 0},
    {"onmx4", "online_mxfp4", "per_expert", "fused_3d", 0},
    {"onmx8", "online_mxfp8", "per_expert", "fused_3d", 0},
    {"onpt", "online_fp8_tensor", "per_expert", "fused_3d", 0},
};

static const struct cs_golden_kind *find_kind(const char *name) {
    for (size_t i = 0; i < CS_COUNT(kinds); i++)
        if (cs_text_equal(kinds[i].name, name)) return &kinds[i];
    return NULL;
}

/* As the capture script has them, for scenarios that were refused and carry no sizes. */
/* clang-format off */
#define TRT_MX "FLASHINFER_TRTLLM_MXFP4_BF16"
static const struct {
    const char *name, *kind;
    struct cs_golden_model model;
} models[] = {
    {"bf16_ficutlass_i96",          "bf16",   {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "FLASHINFER_CUTLASS"}},
    {"bf16_triton_hidpad",          "bf16",   {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "TRITON"}},
    {"bf16_triton_i96",             "bf16",   {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "TRITON"}},
    {"bf16_trt_bias_i96",           "bf16",   {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "FLASHINFER_TRTLLM"}},
    {"bf16_trt_hidpad_i96",         "bf16",   {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "FLASHINFER_TRTLLM"}},
    {"bf16_trt_i96",                "bf16",   {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "FLASHINFER_TRTLLM"}},
    {"bf16_trt_tp4r1",              "bf16",   {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 384, .tp = 4, .rank = 1, .backend = "FLASHINFER_TRTLLM"}},
    {"bf16_trt_unpadded",           "bf16",   {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 128, .tp = 1, .rank = 0, .backend = "FLASHINFER_TRTLLM"}},
    {"fp8blk_triton_h224_i96",      "fp8blk", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "TRITON"}},
    {"fp8blk_triton_unpadded",      "fp8blk", {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 128, .tp = 1, .rank = 0, .backend = "TRITON"}},
    {"fp8blk_trt_h224_i96",         "fp8blk", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = "FLASHINFER_TRTLLM"}},
    {"fp8ser_triton_tp2r1_refined", "fp8ser", {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 384, .tp = 2, .rank = 1, .backend = "TRITON"}},
    {"fp8ser_trt_tp2r1_blockpad",   "fp8ser", {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 384, .tp = 2, .rank = 1, .backend = "FLASHINFER_TRTLLM"}},
    {"gptoss_emul_tp4r3",           "gptoss", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 320, .tp = 4, .rank = 3, .backend = "EMULATION"}},
    {"gptoss_source_mutated",       "gptoss", {.layers = 1, .experts = 2, .hidden = 256, .intermediate = 256, .tp = 2, .rank = 1, .backend = TRT_MX}},
    {"gptoss_trt_tp1",              "gptoss", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 96,  .tp = 1, .rank = 0, .backend = TRT_MX}},
    {"gptoss_trt_tp2r0",            "gptoss", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 192, .tp = 2, .rank = 0, .backend = TRT_MX}},
    {"gptoss_trt_tp2r1",            "gptoss", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 192, .tp = 2, .rank = 1, .backend = TRT_MX}},
    {"gptoss_trt_tp4r0",            "gptoss", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 320, .tp = 4, .rank = 0, .backend = TRT_MX}},
    {"gptoss_trt_tp4r3",            "gptoss", {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 320, .tp = 4, .rank = 3, .backend = TRT_MX}},
    {"gptoss_trt_unpadded",         "gptoss", {.layers = 2, .experts = 4, .hidden = 256, .intermediate = 128, .tp = 1, .rank = 0, .backend = TRT_MX}},
    {"meta_built",                  "bf16",   {.layers = 1, .experts = 2, .hidden = 64,  .intermediate = 32,  .tp = 1, .rank = 0, .backend = "TRITON"}},
    {"mxgen_emul_tp2r1_unpadded",   "mxgen",  {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 192, .tp = 2, .rank = 1, .backend = "EMULATION"}},
    {"mxgen_trt_tp2r1",             "mxgen",  {.layers = 2, .experts = 4, .hidden = 224, .intermediate = 192, .tp = 2, .rank = 1, .backend = "FLASHINFER_TRTLLM_MXFP4_MXFP8"}},
};
/* clang-format on */

/* ---- what rows say ---- */

static bool is_same_model(const char *id, size_t length, const char *other) {
    return other && strcspn(other, "/") == length && strncmp(other, id, length) == 0;
}

static enum cs_status read_model(const json_t *row, struct cs_golden_model *model) {
    const json_t *dims;
    const char *kind;
    int64_t tp, rank;
    CS_TRY(cs_golden_object(row, "dims", &dims));
    CS_TRY(cs_golden_integer(dims, "L", &model->layers));
    CS_TRY(cs_golden_integer(dims, "E", &model->experts));
    CS_TRY(cs_golden_integer(dims, "H", &model->hidden));
    CS_TRY(cs_golden_integer(dims, "I", &model->intermediate));
    CS_TRY(cs_golden_integer(row, "tp", &tp));
    CS_TRY(cs_golden_integer(row, "rank", &rank));
    CS_TRY(cs_golden_text(row, "backend", &model->backend));
    CS_TRY(cs_golden_text(row, "kind", &kind));
    CS_REQUIRE(tp > 0 && tp <= 64 && rank >= 0 && rank < tp, CS_BAD_FILE, "golden file: rank %" PRId64 " of %" PRId64,
               rank, tp);
    model->tp = (int)tp;
    model->rank = (int)rank;
    model->kind = find_kind(kind);
    CS_REQUIRE(model->kind, CS_UNSUPPORTED, "golden file: kind \"%s\" of model is unknown", kind);
    return CS_OK;
}

static enum cs_status find_sizes(const json_t *scenarios, const char *id, size_t length,
                                 struct cs_golden_model *model) {
    size_t i;
    const json_t *other;
    json_array_foreach(scenarios, i, other) {
        bool is_same = is_same_model(id, length, cs_golden_string(other, "id"));
        if (is_same && json_object_get(other, "dims")) return read_model(other, model);
    }
    for (i = 0; i < CS_COUNT(models); i++) {
        if (!is_same_model(id, length, models[i].name)) continue;
        *model = models[i].model;
        model->kind = find_kind(models[i].kind);
        return CS_OK;
    }
    return cs_fail(CS_BAD_FILE, "golden file: no scenario says the sizes of model %.*s", (int)length, id);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return n <= length && cs_text_equal(text + length - n, end);
}

/* What a captured parameter says about the layer that no row spells out. */
static void learn(struct cs_golden_model *model, const char *name, const json_t *shape) {
    if (ends_with(name, ".w13_bias")) model->has_bias = true;
    bool is_w2 = ends_with(name, ".w2_weight") && json_array_size(shape) == 3;
    if (is_w2 && json_integer_value(json_array_get(shape, 1)) > model->hidden) model->is_hidden_padded = true;
}

/* Biases and hidden padding show in the tensors that any row of the model lists; where none does, in the name that the
 * capture script gave the model. */
static void learn_layer(const json_t *scenarios, const char *id, size_t length, struct cs_golden_model *model) {
    size_t i, s, d;
    const json_t *row, *step, *entry, *value;
    const char *name;
    static const char *const plain[] = {"bf16", "onch", "onpt"}; /* others round H and have biases by themselves */
    bool is_plain = false;
    for (i = 0; i < CS_COUNT(plain); i++) is_plain = is_plain || cs_text_equal(model->kind->name, plain[i]);
    if (!is_plain) return;
    json_array_foreach(scenarios, i, row) {
        if (!is_same_model(id, length, cs_golden_string(row, "id"))) continue;
        json_object_foreach(json_object_get(row, "cold_meta"), name, value)
            learn(model, name, json_array_get(value, 0));
        json_array_foreach(json_object_get(row, "steps"), s, step)
            json_array_foreach(json_object_get(step, "differing"), d, entry) if (cs_golden_string(entry, "name"))
                learn(model, cs_golden_string(entry, "name"), json_object_get(entry, "shape"));
    }
    char text[64] = {0};
    strncpy(text, id, length < sizeof text - 1 ? length : sizeof text - 1);
    model->has_bias = model->has_bias || strstr(text, "_bias");
    model->is_hidden_padded = model->is_hidden_padded || strstr(text, "hidpad");
}

enum cs_status cs_golden_model_find(const json_t *scenarios, const json_t *row, struct cs_golden_model *model) {
    const char *id = cs_golden_string(row, "id");
    size_t length = strcspn(id, "/");
    *model = (struct cs_golden_model){0};
    CS_TRY(json_object_get(row, "dims") ? read_model(row, model) : find_sizes(scenarios, id, length, model));
    const struct cs_backend *backend = cs_backend_by_name(cs_method_by_name(model->kind->method), model->backend);
    CS_REQUIRE(backend && backend->steps, CS_UNSUPPORTED, "the post-load of %s with %s is not implemented",
               model->kind->method, model->backend);
    learn_layer(scenarios, id, length, model);
    model->is_tied = is_same_model(id, length, "tied");
    model->has_attention = is_same_model(id, length, "kv_scales");
    if (is_same_model(id, length, "unloaded_buffer"))
        model->table = strstr(id, "/nonpersistent") ? CS_BUFFER : CS_PERSISTENT_BUFFER;
    return CS_OK;
}

/* ---- checkpoints ---- */

struct names {
    struct cs_arena *arena;
    size_t n, capacity;
    const char **items;
};

static enum cs_status add_name(struct names *names, const char *name) {
    const char **added = cs_arena_grow(names->arena, (void **)&names->items, names->n, &names->capacity, sizeof *added);
    CS_REQUIRE(added && name, CS_NO_MEMORY, "no memory for the names of a checkpoint");
    *added = name;
    names->n++;
    return CS_OK;
}

static enum cs_status add_in_layer(struct names *names, int64_t layer, const char *const *tails, size_t n) {
    for (size_t i = 0; i < n; i++)
        CS_TRY(add_name(names, cs_arena_format(names->arena, "layers.%" PRId64 ".%s", layer, tails[i])));
    return CS_OK;
}

/* For each expert, for each projection, each of the tensors. */
static enum cs_status add_experts(struct names *names, const struct cs_golden_model *model, int64_t layer,
                                  const char *const *tensors, size_t n) {
    static const char *const projections[] = {"gate_proj", "up_proj", "down_proj"};
    for (int64_t e = 0; e < model->experts; e++)
        for (size_t p = 0; p < CS_COUNT(projections); p++)
            for (size_t t = 0; t < n; t++)
                CS_TRY(add_name(names, cs_arena_format(names->arena, "layers.%" PRId64 ".mlp.experts.%" PRId64 ".%s.%s",
                                                       layer, e, projections[p], tensors[t])));
    return CS_OK;
}

static enum cs_status add_layer(struct names *names, const struct cs_golden_model *model, int64_t layer) {
    static const char *const dense[] = {"norm.weight", "mlp.router.weight", "mlp.router.bias"};
    static const char *const combined[] = {"mlp.experts.gate_up_proj_blocks", "mlp.experts.gate_up_proj_scales",
                                           "mlp.experts.gate_up_proj_bias",   "mlp.experts.down_proj_blocks",
                                           "mlp.experts.down_proj_scales",    "mlp.experts.down_proj_bias"};
    static const char *const bias[] = {"bias"}, *const block[] = {"weight", "weight_scale_inv"},
                             *const group[] = {"weight", "weight_scale"},
                             *const tensor[] = {"weight", "weight_scale", "input_scale"};
    const char *kind = model->kind->name;
    CS_TRY(add_in_layer(names, layer, dense, CS_COUNT(dense)));
    if (cs_text_equal(kind, "gptoss")) return add_in_layer(names, layer, combined, CS_COUNT(combined));
    if (cs_text_equal(kind, "fp8ser")) return add_experts(names, model, layer, block, 2);
    if (cs_text_equal(kind, "fp8pt")) return add_experts(names, model, layer, tensor, 3);
    if (cs_text_equal(kind, "mxgen")) return add_experts(names, model, layer, group, 2);
    if (model->has_bias) CS_TRY(add_experts(names, model, layer, bias, 1));
    return add_experts(names, model, layer, block, 1);
}

enum cs_status cs_golden_checkpoint_names(struct cs_arena *arena, const struct cs_golden_model *model, size_t *n,
                                          const char *const **names) {
    struct names list = {.arena = arena};
    CS_TRY(add_name(&list, "embed.weight"));
    static const char *const scales[] = {"attn.k_scale", "attn.v_scale"};
    for (int64_t layer = 0; layer < model->layers; layer++) CS_TRY(add_layer(&list, model, layer));
    for (int64_t layer = 0; model->has_attention && layer < model->layers; layer++)
        CS_TRY(add_in_layer(&list, layer, scales, CS_COUNT(scales)));
    *n = list.n;
    *names = list.items;
    return CS_OK;
}
