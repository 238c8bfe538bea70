/* Operations of the loader that most methods share, on one expert whose sizes are set by hand. The captures hold bytes
 * of no dtype in particular: e4m3 parameters take them as they are. */
#include "sim/conform/internal.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct expert_op {
    const char *op, *method, *backend, *loader;
} ops[] = {
    {"vllm.RoutedExperts._load_model_weight_or_group_weight_scale", "fp8_tensor", "triton", "per_expert_fp8_tensor"},
    {"vllm.RoutedExperts.tp_shard_with_padding",                    "fp8_block",  "triton", "per_expert_fp8_block"},
    {"vllm.RoutedExperts.weight_scale_refine",                      "fp8_block",  "triton", "per_expert_fp8_block"},
};

/* What captured files call a tensor and a parameter. */
static const struct { const char *input, *sent; } tensors[] = {
    {"in.s1", "in.experts.0.gate_proj.weight_scale_inv"}, {"in.s2", "in.experts.0.down_proj.weight_scale_inv"},
    {"in.s3", "in.experts.0.up_proj.weight_scale_inv"},   {"in.w1", "in.experts.0.gate_proj.weight"},
    {"in.w2", "in.experts.0.down_proj.weight"},           {"in.w3", "in.experts.0.up_proj.weight"},
};
static const struct { const char *output, *param; } params[] = {
    {"out.w13", "w13_weight"}, {"out.w13_scale", "w13_weight_scale_inv"},
    {"out.w2",  "w2_weight"},  {"out.w2_scale",  "w2_weight_scale_inv"},
};
/* clang-format on */

struct job {
    struct cs_golden_case *golden;
    const struct expert_op *op;
    struct cs_checkpoint *file;
    const json_t *params;
    struct cs_layer layer;
};

static int64_t number(const struct job *job, const char *key, int64_t otherwise) {
    const json_t *json = json_object_get(job->params, key);
    return json_is_integer(json) ? (int64_t)json_integer_value(json) : otherwise;
}

/* Extent of an input; 0 when the case does not have it. */
static int64_t extent(const struct job *job, const char *input, int dim) {
    const struct cs_checkpoint_entry *entry = cs_checkpoint_find(job->file, input);
    return entry && dim < entry->ndim ? entry->shape[dim] : 0;
}

static struct cs_sizes sizes_of(const struct job *job) {
    struct cs_sizes sizes = {.experts = 1, .experts_global = 1, .ep = 1, .tp = (int)number(job, "tp", 1)};
    sizes.hidden = number(job, "H", extent(job, "in.w1", 1));
    sizes.hidden_u = number(job, "H_unpadded", sizes.hidden);
    sizes.intermediate_full = number(job, "I_full", 0);
    sizes.intermediate_u = sizes.intermediate_full / (sizes.tp > 0 ? sizes.tp : 1);
    sizes.intermediate = number(job, "I", number(job, "I_pp", sizes.intermediate_u));
    sizes.block[0] = sizes.block[1] = number(job, "block", number(job, "ckpt_block", 1));
    sizes.refine[0] = sizes.refine[1] = number(job, "refined", 0) > 0 ? sizes.block[0] / number(job, "refined", 1) : 1;
    sizes.shards_whole_blocks = json_object_get(job->params, "I_pp");
    sizes.options = json_is_false(json_object_get(job->params, "gated")) ? CS_NOT_GATED : 0;
    return sizes;
}

static enum cs_status open_layer(struct job *job, cs_defect_set defects) {
    struct cs_layer_config config = {
        .device = job->golden->device, .prefix = "experts", .sizes = sizes_of(job), .defects = defects};
    config.tp_rank = (int)number(job, "rank", 0);
    CS_REQUIRE(config.sizes.tp > 0 && config.tp_rank >= 0 && config.tp_rank < config.sizes.tp &&
                   config.sizes.intermediate > 0,
               CS_BAD_FILE, "golden file: sizes, tp and rank do not fit");
    config.method = cs_method_by_name(job->op->method);
    config.backend = config.method ? cs_backend_by_name(config.method, job->op->backend) : NULL;
    config.loader = cs_loader_by_name(job->op->loader);
    CS_REQUIRE(config.backend && config.loader, CS_INTERNAL, "there is no %s with %s, or no loader %s", job->op->method,
               job->op->backend, job->op->loader);
    CS_TRY(cs_layer_open(&job->layer, &config));
    const char *init = cs_golden_string(job->params, "param_init");
    return init ? cs_layer_poison(&job->layer, (uint8_t)strtoul(init, NULL, 0), false) : CS_OK;
}

/* The case's inputs under the names of a checkpoint. Without a gate, upstream loads the only shard as w1. */
static void name_inputs(struct job *job) {
    bool is_gated = !json_is_false(json_object_get(job->params, "gated"));
    for (size_t i = 0; i < job->file->n_entries; i++) {
        struct cs_checkpoint_entry *entry = &job->file->entries[i];
        for (size_t t = 0; t < CS_COUNT(tensors); t++) {
            if (!cs_text_equal(tensors[t].input, entry->name)) continue;
            if (entry->dtype == CS_U8) entry->dtype = CS_E4M3;
            entry->name =
                !is_gated && cs_text_equal(entry->name, "in.w1") ? "in.experts.0.up_proj.weight" : tensors[t].sent;
            break;
        }
    }
}

static enum cs_status find_output(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    (void)output;
    struct job *job = context;
    for (size_t i = 0; i < CS_COUNT(params); i++) {
        if (!cs_text_equal(params[i].output, name)) continue;
        struct cs_view view;
        CS_TRY(cs_layer_param(&job->layer, params[i].param, &view));
        return cs_bytes_of_view(&job->golden->arena, job->golden->device, &view, bytes);
    }
    return cs_fail(CS_BAD_FILE, "golden file: output \"%s\" is no parameter", name);
}

static enum cs_status load(struct job *job, cs_defect_set defects) {
    CS_TRY(cs_golden_object(job->golden->json, "params", &job->params));
    CS_TRY(open_layer(job, defects));
    name_inputs(job);
    CS_TRY(cs_layer_send(&job->layer, job->file, "in."));
    const struct cs_golden_outputs outputs = {job->golden, job->file, find_output, job};
    return cs_golden_compare_outputs(&outputs);
}

static const struct expert_op *find_op(const char *op) {
    for (size_t i = 0; i < CS_COUNT(ops); i++)
        if (cs_text_equal(ops[i].op, op)) return &ops[i];
    return NULL;
}

static enum cs_status attempt(struct cs_golden_case *golden, cs_defect_set defects) {
    struct cs_checkpoint file;
    struct job job = {.golden = golden, .op = find_op(cs_golden_string(golden->json, "op")), .file = &file};
    CS_TRY(cs_golden_file(golden, &file));
    enum cs_status status = load(&job, defects);
    cs_layer_close(&job.layer);
    cs_checkpoint_close(&file);
    return status;
}

static enum cs_status check_expert(struct cs_golden_case *golden) {
    return cs_golden_try_defect(golden, CS_DEFECT_BLOCK_LOADER_FILLS, attempt);
}

cs_golden_check *cs_golden_expert_op(const char *op) { return find_op(op) ? check_expert : NULL; }
