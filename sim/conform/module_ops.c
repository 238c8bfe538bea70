/* Operations on a layer of gpt-oss experts: create_weights, a loader, post-load, on sizes that the case gives. */
#include "sim/conform/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct cs_golden_case *golden;
    const struct cs_checkpoint *file;
    const json_t *params;
    struct cs_layer layer;
};

/* What the captured files and the loaders call the same tensors. */
/* clang-format off */
static const struct {
    const char *combined, *streamed; /* last part of the loader's name */
    const char *param;
    const char *combined_input, *streamed_input;
} tensors[] = {
    {"gate_up_proj_blocks", "w13_weight",       "w13_weight",       "in.ckpt_w13_weight",       "in.w13"      },
    {"gate_up_proj_scales", "w13_weight_scale", "w13_weight_scale", "in.ckpt_w13_weight_scale", "in.w13_scale"},
    {"gate_up_proj_bias",   "w13_bias",         "w13_bias",         "in.ckpt_w13_bias",         "in.w13_bias" },
    {"down_proj_blocks",    "w2_weight",        "w2_weight",        "in.ckpt_w2_weight",        "in.w2"       },
    {"down_proj_scales",    "w2_weight_scale",  "w2_weight_scale",  "in.ckpt_w2_weight_scale",  "in.w2_scale" },
    {"down_proj_bias",      "w2_bias",          "w2_bias",          "in.ckpt_w2_bias",          "in.w2_bias"  },
};
/* clang-format on */

static const char *last_part(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* ---- sizes and parameters ---- */

static enum cs_status read_sizes(const json_t *params, const char *full, const char *rounded, struct cs_sizes *sizes) {
    int64_t tp = 1;
    *sizes = (struct cs_sizes){.experts = 1, .ep = 1};
    if (json_object_get(params, "E")) CS_TRY(cs_golden_integer(params, "E", &sizes->experts));
    if (json_object_get(params, "tp")) CS_TRY(cs_golden_integer(params, "tp", &tp));
    bool is_padded = json_object_get(params, "H_unpadded");
    CS_TRY(cs_golden_integer(params, "H", &sizes->hidden));
    CS_TRY(cs_golden_integer(params, is_padded ? "H_unpadded" : "H", &sizes->hidden_u));
    CS_TRY(cs_golden_integer(params, full, &sizes->intermediate_full));
    CS_TRY(cs_golden_integer(params, rounded, &sizes->intermediate));
    CS_REQUIRE(tp > 0 && tp <= INT16_MAX && sizes->experts > 0, CS_BAD_FILE, "golden file: tp and E must be positive");
    sizes->experts_global = sizes->experts;
    sizes->tp = (int)tp;
    sizes->intermediate_u = sizes->intermediate_full / tp;
    return CS_OK;
}

static enum cs_status open_layer(struct job *job, const char *backend, const char *loader, const struct cs_sizes *sizes,
                                 cs_defect_set defects) {
    struct cs_layer_config config = {.device = job->golden->device,
                                     .method = cs_method_by_name("gpt_oss_mxfp4"),
                                     .prefix = "experts",
                                     .sizes = *sizes,
                                     .defects = defects};
    int64_t rank = 0;
    if (json_object_get(job->params, "rank")) CS_TRY(cs_golden_integer(job->params, "rank", &rank));
    CS_REQUIRE(rank >= 0 && rank < sizes->tp, CS_BAD_FILE, "golden file: rank %" PRId64 " of %d", rank, sizes->tp);
    config.tp_rank = (int)rank;
    CS_REQUIRE(config.method, CS_INTERNAL, "there is no method \"gpt_oss_mxfp4\"");
    config.backend = cs_backend_by_name(config.method, backend);
    CS_REQUIRE(config.backend, CS_BAD_VALUE, "gpt_oss_mxfp4 has no back end \"%s\"", backend);
    config.loader = loader ? cs_loader_by_name(loader) : NULL;
    CS_REQUIRE(config.loader || !loader, CS_INTERNAL, "there is no loader \"%s\"", loader);
    return cs_layer_open(&job->layer, &config);
}

/* What parameters hold before loading: a byte, or a text that starts with one. Biases hold it as a number. */
static enum cs_status initialise(struct job *job) {
    const json_t *init = json_object_get(job->params, "param_init");
    long value = json_is_string(init) ? strtol(json_string_value(init), NULL, 0) : (long)json_integer_value(init);
    CS_REQUIRE(init && value >= 0 && value <= 255, CS_BAD_FILE, "golden file: \"param_init\" is not a byte");
    return cs_layer_poison(&job->layer, (uint8_t)value, true);
}

static const char *combined_input(struct cs_arena *arena, const char *tensor) {
    (void)arena;
    for (size_t i = 0; i < CS_COUNT(tensors); i++)
        if (cs_text_equal(tensors[i].combined, last_part(tensor))) return tensors[i].combined_input;
    return NULL;
}

static const char *streamed_input(struct cs_arena *arena, const char *tensor) {
    (void)arena;
    for (size_t i = 0; i < CS_COUNT(tensors); i++)
        if (cs_text_equal(tensors[i].streamed, last_part(tensor))) return tensors[i].streamed_input;
    return NULL;
}

/* ---- outputs ---- */

/* "w13_weight_cols0_64" and "w2_weight_rows0_96" are windows of a parameter [E, rows, columns]. */
static enum cs_status narrow_to_window(struct cs_arena *arena, const char **name, struct cs_view *view,
                                       struct cs_layer *layer) {
    static const char *const words[] = {NULL, "_rows", "_cols"};
    for (int dim = 1; dim <= 2; dim++) {
        const char *window = strstr(*name, words[dim]);
        int start, end;
        if (!window || sscanf(window + strlen(words[dim]), "%d_%d", &start, &end) != 2) continue;
        *name = cs_arena_format(arena, "%.*s", (int)(window - *name), *name);
        CS_REQUIRE(*name, CS_NO_MEMORY, "no memory for a name");
        CS_TRY(cs_layer_param(layer, *name, view));
        return cs_view_narrow(view, dim, start, end - start);
    }
    return cs_layer_param(layer, *name, view);
}

static const char *param_of_output(const char *name) {
    for (size_t i = 0; i < CS_COUNT(tensors); i++)
        if (cs_text_equal(tensors[i].streamed_input + 3, name)) return tensors[i].param;
    return name;
}

/* The output's shape may lack the expert dimension of a single expert. */
static enum cs_status has_layout(const char *name, const json_t *output, const struct cs_view *view) {
    const char *dtype;
    int ndim;
    int64_t shape[CS_NDIM];
    CS_TRY(cs_golden_text(output, "logical_dtype", &dtype));
    CS_TRY(cs_golden_shape(output, "shape", &ndim, shape));
    CS_REQUIRE(cs_text_equal(dtype, cs_dtype_torch(view->dtype)), CS_BAD_TYPE, "%s: expected dtype %s, got %s", name,
               dtype, cs_dtype_torch(view->dtype));
    int skip = ndim == view->ndim - 1 && view->shape[0] == 1;
    bool is_same = ndim == view->ndim - skip;
    for (int d = 0; d < ndim && is_same; d++) is_same = shape[d] == view->shape[d + skip];
    char text[CS_VIEW_TEXT];
    CS_REQUIRE(is_same, CS_BAD_SHAPE, "%s: got %s, which is not the expected shape", name, cs_view_text(view, text));
    return CS_OK;
}

static enum cs_status find_output(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    struct job *job = context;
    CS_REQUIRE(strncmp(name, "out.", 4) == 0, CS_BAD_FILE, "golden file: output \"%s\" does not start with \"out.\"",
               name);
    const char *param = param_of_output(name + 4);
    struct cs_view view;
    CS_TRY(narrow_to_window(&job->golden->arena, &param, &view, &job->layer));
    CS_TRY(has_layout(name, output, &view));
    return cs_bytes_of_view(&job->golden->arena, job->golden->device, &view, bytes);
}

static enum cs_status compare(struct job *job) {
    const struct cs_golden_outputs outputs = {job->golden, job->file, find_output, job};
    return cs_golden_compare_outputs(&outputs);
}

/* ---- the operations ---- */

typedef enum cs_status job_steps(struct job *job, cs_defect_set defects);

static enum cs_status run_job(struct cs_golden_case *golden, cs_defect_set defects, job_steps *steps) {
    struct cs_checkpoint file;
    struct job job = {.golden = golden, .file = &file};
    CS_TRY(cs_golden_object(golden->json, "params", &job.params));
    CS_TRY(cs_golden_file(golden, &file));
    enum cs_status status = steps(&job, defects);
    cs_layer_close(&job.layer);
    cs_checkpoint_close(&file);
    return status;
}

/* Parameters hold the inputs, as if a loader had put them there. */
static enum cs_status write_params(struct job *job) {
    for (size_t i = 0; i < job->layer.module.n_slots; i++) {
        const struct cs_slot *slot = &job->layer.module.slots[i];
        const char *name = cs_arena_format(&job->golden->arena, "in.%s", slot->name);
        CS_REQUIRE(name, CS_NO_MEMORY, "no memory for a name");
        struct cs_bytes bytes;
        CS_TRY(cs_bytes_of_entry(job->file, name, &bytes));
        CS_TRY(cs_device_write(job->golden->device, &slot->param->view, bytes.data, bytes.size));
    }
    return CS_OK;
}

static enum cs_status post_load(struct job *job, cs_defect_set defects) {
    struct cs_sizes sizes;
    const char *backend;
    CS_TRY(read_sizes(job->params, "I", "I", &sizes));
    CS_TRY(cs_golden_text(job->params, "backend", &backend));
    CS_TRY(open_layer(job, backend, NULL, &sizes, defects));
    CS_TRY(write_params(job));
    CS_TRY(cs_post_load(&job->layer.module));
    return compare(job);
}

/* These cases got their rounded sizes from the back end: so must we. */
static enum cs_status open_rounded(struct job *job, cs_defect_set defects) {
    struct cs_sizes sizes, resolved;
    CS_TRY(read_sizes(job->params, "I_full", "I", &sizes));
    CS_TRY(open_layer(job, "FLASHINFER_TRTLLM_MXFP4_BF16", "gpt_oss_combined", &sizes, defects));
    resolved = sizes;
    CS_TRY(cs_sizes_resolve(&resolved, &job->layer.module_spec.backend->released));
    CS_REQUIRE(resolved.hidden == sizes.hidden && resolved.intermediate == sizes.intermediate, CS_BAD_SHAPE,
               "expected H, I rounded to %" PRId64 ", %" PRId64 ", got %" PRId64 ", %" PRId64, sizes.hidden,
               sizes.intermediate, resolved.hidden, resolved.intermediate);
    return CS_OK;
}

static enum cs_status load_combined(struct job *job, cs_defect_set defects) {
    CS_TRY(open_rounded(job, defects));
    CS_TRY(initialise(job));
    CS_TRY(cs_layer_load(&job->layer, job->file, combined_input));
    return compare(job);
}

static enum cs_status end_to_end(struct job *job, cs_defect_set defects) {
    CS_TRY(open_rounded(job, defects));
    CS_TRY(initialise(job));
    CS_TRY(cs_layer_load(&job->layer, job->file, combined_input));
    CS_TRY(cs_post_load(&job->layer.module));
    return compare(job);
}

/* The padded sizes were set by hand; any back end will do, as nothing but the loader runs. */
static enum cs_status load_streamed(struct job *job, cs_defect_set defects) {
    struct cs_sizes sizes;
    CS_TRY(read_sizes(job->params, "I_full", "I_padded", &sizes));
    CS_TRY(open_layer(job, "FLASHINFER_TRTLLM_MXFP4_BF16", "gpt_oss_streamed", &sizes, defects));
    CS_TRY(initialise(job));
    CS_TRY(cs_layer_load(&job->layer, job->file, streamed_input));
    return compare(job);
}

static enum cs_status try_streamed(struct cs_golden_case *golden, cs_defect_set defects) {
    return run_job(golden, defects, load_streamed);
}

enum cs_status cs_golden_post_load(struct cs_golden_case *golden) { return run_job(golden, 0, post_load); }
enum cs_status cs_golden_end_to_end(struct cs_golden_case *golden) { return run_job(golden, 0, end_to_end); }
enum cs_status cs_golden_load_combined(struct cs_golden_case *golden) { return run_job(golden, 0, load_combined); }
enum cs_status cs_golden_load_streamed(struct cs_golden_case *golden) {
    return cs_golden_try_defect(golden, CS_DEFECT_STREAMED_PADDED_SPLIT, try_streamed);
}
