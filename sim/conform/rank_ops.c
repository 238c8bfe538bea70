/* Operations on several ranks: post-load tables in which ranks meet. Tensors of a case are called NAME.RANK. */
#include "sim/conform/internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {"vllm.Fp8PerTensorOnlineMoEMethod", "vllm.Fp8PtpcOnlineMoEMethod"};

/* What captured files call a parameter, or a value. */
static const struct {
    const char *golden, *value;
} names[] = {
    {"w13", "w13_weight"}, {"w2", "w2_weight"}, {"w13_scale", "w13_weight_scale"}, {"w2_scale", "w2_weight_scale"}};

enum { PARAMS = 2, MOST_RANKS = 8 };

struct job {
    struct cs_golden_case *golden;
    const struct cs_checkpoint *file;
    const struct cs_step_table *table;
    int64_t n_ranks;
    struct cs_layer layers[MOST_RANKS];
    struct cs_post_load runs[MOST_RANKS];
};

/* "in.w13.1": the value's name, and the rank. */
static enum cs_status parse(const struct job *job, const char *text, const char **value, size_t *rank) {
    const char *start = strchr(text, '.'), *end = strrchr(text, '.');
    CS_REQUIRE(start && end > start, CS_BAD_FILE, "golden file: \"%s\" names no rank", text);
    *rank = (size_t)strtoul(end + 1, NULL, 10);
    *value = NULL;
    for (size_t i = 0; i < CS_COUNT(names); i++) {
        size_t length = strlen(names[i].golden);
        if ((size_t)(end - start - 1) == length && strncmp(start + 1, names[i].golden, length) == 0)
            *value = names[i].value;
    }
    CS_REQUIRE(*value && *rank < (size_t)job->n_ranks, CS_BAD_FILE, "golden file: \"%s\" is of no value or rank", text);
    return CS_OK;
}

static enum cs_status read_spec(const struct job *job, const char *text, struct cs_tensor_spec *spec) {
    const struct cs_checkpoint_entry *entry = cs_checkpoint_find(job->file, text);
    CS_REQUIRE(entry, CS_BAD_FILE, "golden file: there is no \"%s\"", text);
    size_t rank;
    *spec = (struct cs_tensor_spec){.dtype = entry->dtype, .ndim = entry->ndim, .weight_loader_numel = -1};
    memcpy(spec->shape, entry->shape, sizeof spec->shape);
    return parse(job, text, &spec->name, &rank);
}

static enum cs_status open_rank(struct job *job, int64_t rank) {
    struct cs_arena *arena = &job->golden->arena;
    struct cs_tensor_spec *specs = CS_NEW_ARRAY(arena, struct cs_tensor_spec, PARAMS);
    const char *inputs[PARAMS];
    CS_REQUIRE(specs, CS_NO_MEMORY, "no memory for rank %" PRId64, rank);
    for (size_t i = 0; i < PARAMS; i++) {
        inputs[i] = cs_arena_format(arena, "in.%s.%" PRId64, names[i].golden, rank);
        CS_REQUIRE(inputs[i], CS_NO_MEMORY, "no memory for rank %" PRId64, rank);
        CS_TRY(read_spec(job, inputs[i], &specs[i]));
    }
    struct cs_layer *layer = &job->layers[rank];
    CS_TRY(cs_layer_open_tensors(layer, job->golden->device, specs, PARAMS));
    layer->rank.index = (int)rank;
    for (size_t i = 0; i < PARAMS; i++) {
        struct cs_bytes bytes;
        struct cs_view view;
        CS_TRY(cs_bytes_of_entry(job->file, inputs[i], &bytes));
        CS_TRY(cs_layer_param(layer, specs[i].name, &view));
        CS_TRY(cs_device_write(job->golden->device, &view, bytes.data, bytes.size));
    }
    job->runs[rank] = (struct cs_post_load){.module = &layer->module,
                                            .experts = specs[0].shape[0],
                                            .facts = CS_FACT_GATED | (job->n_ranks == 1 ? CS_FACT_ONE_RANK : 0)};
    return CS_OK;
}

static enum cs_status run_rank(void *context, size_t rank, struct cs_group *group) {
    struct job *job = context;
    job->layers[rank].rank.group = group;
    return cs_steps_run(&job->runs[rank], job->table->steps, job->table->n_steps);
}

static enum cs_status find_output(void *context, const char *name, const json_t *output, struct cs_bytes *bytes) {
    struct job *job = context;
    const char *value;
    size_t rank;
    struct cs_view view;
    (void)output;
    CS_TRY(parse(job, name, &value, &rank));
    CS_TRY(cs_steps_value(&job->runs[rank], value, &view));
    return cs_bytes_of_view(&job->golden->arena, job->golden->device, &view, bytes);
}

static enum cs_status run(struct job *job) {
    const json_t *params;
    bool is_stuck;
    CS_TRY(cs_golden_object(job->golden->json, "params", &params));
    CS_TRY(cs_golden_integer(params, "ranks", &job->n_ranks));
    CS_REQUIRE(job->n_ranks >= 1 && job->n_ranks <= MOST_RANKS, CS_UNSUPPORTED,
               "golden file: %" PRId64 " ranks, at most %d", job->n_ranks, MOST_RANKS);
    for (int64_t rank = 0; rank < job->n_ranks; rank++) CS_TRY(open_rank(job, rank));
    CS_TRY(cs_group_run((size_t)job->n_ranks, run_rank, job, &is_stuck));
    const struct cs_golden_outputs outputs = {job->golden, job->file, find_output, job};
    return cs_golden_compare_outputs(&outputs);
}

static enum cs_status check(struct cs_golden_case *golden) {
    struct cs_checkpoint file;
    const struct cs_step_table *also[2];
    struct job *job = CS_NEW(&golden->arena, struct job);
    CS_REQUIRE(job, CS_NO_MEMORY, "no memory for a case of several ranks");
    CS_TRY(cs_golden_file(golden, &file));
    *job = (struct job){.golden = golden, .file = &file, .table = cs_golden_step_table(golden->json, also)};
    enum cs_status status = run(job);
    for (int64_t rank = 0; rank < MOST_RANKS; rank++) cs_layer_close(&job->layers[rank]);
    cs_checkpoint_close(&file);
    return status;
}

cs_golden_check *cs_golden_rank_op(const char *op) {
    for (size_t i = 0; i < CS_COUNT(ops); i++)
        if (cs_text_equal(ops[i], op)) return check;
    return NULL;
}
