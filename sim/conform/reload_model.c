#include "sim/conform/reload.h"

#include <string.h>

/* ---- models ---- */

/* As the capture script has them, for scenarios that were refused and carry no sizes. */
/* clang-format off */
static const struct {
    const char *name;
    struct cs_golden_model model;
} models[] = {
    {"gptoss_trt_tp1",      {2, 4, 224, 96,  1, 0, "FLASHINFER_TRTLLM_MXFP4_BF16"}},
    {"gptoss_trt_tp2r0",    {2, 4, 224, 192, 2, 0, "FLASHINFER_TRTLLM_MXFP4_BF16"}},
    {"gptoss_trt_tp2r1",    {2, 4, 224, 192, 2, 1, "FLASHINFER_TRTLLM_MXFP4_BF16"}},
    {"gptoss_trt_tp4r0",    {2, 4, 224, 320, 4, 0, "FLASHINFER_TRTLLM_MXFP4_BF16"}},
    {"gptoss_trt_tp4r3",    {2, 4, 224, 320, 4, 3, "FLASHINFER_TRTLLM_MXFP4_BF16"}},
    {"gptoss_emul_tp4r3",   {2, 4, 224, 320, 4, 3, "EMULATION"}},
    {"gptoss_trt_unpadded", {2, 4, 256, 128, 1, 0, "FLASHINFER_TRTLLM_MXFP4_BF16"}},
};
/* clang-format on */

static enum cs_status read_model(const json_t *row, struct cs_golden_model *model) {
    const json_t *dims;
    int64_t tp, rank;
    CS_TRY(cs_golden_object(row, "dims", &dims));
    CS_TRY(cs_golden_integer(dims, "L", &model->layers));
    CS_TRY(cs_golden_integer(dims, "E", &model->experts));
    CS_TRY(cs_golden_integer(dims, "H", &model->hidden));
    CS_TRY(cs_golden_integer(dims, "I", &model->intermediate));
    CS_TRY(cs_golden_integer(row, "tp", &tp));
    CS_TRY(cs_golden_integer(row, "rank", &rank));
    CS_TRY(cs_golden_text(row, "backend", &model->backend));
    CS_REQUIRE(tp > 0 && tp <= 64 && rank >= 0 && rank < tp, CS_BAD_FILE, "golden file: rank %" PRId64 " of %" PRId64,
               rank, tp);
    model->tp = (int)tp;
    model->rank = (int)rank;
    return CS_OK;
}

enum cs_status cs_golden_model_find(const json_t *scenarios, const json_t *row, struct cs_golden_model *model) {
    if (json_object_get(row, "dims")) return read_model(row, model);
    const char *id = cs_golden_string(row, "id");
    size_t length = strcspn(id, "/"), i;
    const json_t *other;
    json_array_foreach(scenarios, i, other) {
        const char *name = cs_golden_string(other, "id");
        bool is_same = name && strcspn(name, "/") == length && strncmp(name, id, length) == 0;
        if (is_same && json_object_get(other, "dims")) return read_model(other, model);
    }
    for (i = 0; i < CS_COUNT(models); i++) {
        if (strlen(models[i].name) != length || strncmp(models[i].name, id, length) != 0) continue;
        *model = models[i].model;
        return CS_OK;
    }
    return cs_fail(CS_BAD_FILE, "golden file: no scenario says the sizes of model %.*s", (int)length, id);
}

/* ---- sequences ---- */

static const struct cs_golden_sequence sequences[] = {
    {"A_B_A", 2, {{"reloadB", "B", NULL, false}, {"reloadA", "A", NULL, false}}},
    {"same_twice", 2, {{"reloadA", "A", NULL, false}, {"reloadA2", "A", NULL, false}}},
    {"shuffled", 1, {{"reloadB_shuffled", "B", NULL, true}}},
    {"split_differently_streamed", 1, {{"reloadB_streamed", "B", "gpt_oss_streamed", false}}},
};

bool cs_golden_id_is(const char *id, const char *sequence) {
    const char *start = strchr(id, '/');
    if (!start) return false;
    size_t length = strlen(sequence);
    return strcspn(start + 1, "/") == length && strncmp(start + 1, sequence, length) == 0;
}

const struct cs_golden_sequence *cs_golden_sequence_find(const char *id) {
    for (size_t i = 0; i < CS_COUNT(sequences); i++)
        if (cs_golden_id_is(id, sequences[i].name)) return &sequences[i];
    return NULL;
}

/* ---- servers: the capture script's class Tiny ---- */

static const struct cs_template_tensor embed[] = {
    {.name = "weight", .shape = "16 Hu", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_EMPTY},
};
static const struct cs_template_tensor norm[] = {
    {.name = "weight", .shape = "Hu", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_ONES},
    {.name = "inv_freq", .shape = "8", .kind = CS_BUFFER, .dtype = CS_F32, .init = CS_INIT_ARANGE},
};
static const struct cs_template_tensor router[] = {
    {.name = "weight", .shape = "Eg Hu", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_EMPTY},
    {.name = "bias", .shape = "Eg", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_EMPTY},
};
/* In the order in which the checkpoint has their tensors. */
static const struct cs_module_template modules[] = {
    {.name = "embed", .n_tensors = CS_COUNT(embed), .tensors = embed},
    {.name = "layers.{layer}.norm", .n_tensors = CS_COUNT(norm), .tensors = norm},
    {.name = "layers.{layer}.mlp.router", .n_tensors = CS_COUNT(router), .tensors = router},
    {.name = "layers.{layer}.mlp.experts.routed_experts",
     .is_routed_experts = true,
     .checkpoint = "layers.{layer}.mlp.experts"},
};
static const struct cs_checkpoint_config checkpoints[] = {
    {.name = "A", .kind = CS_CHECKPOINT_PATTERN, .version = 0},
    {.name = "B", .kind = CS_CHECKPOINT_PATTERN, .version = 1},
};

static void describe(struct cs_golden_server *server, const struct cs_golden_model *model,
                     struct cs_golden_poison poison, cs_defect_set defects) {
    static const char *const policies[] = {"none"};
    server->model = model;
    server->scenario = (struct cs_scenario){
        .file = "scenarios.json",
        .name = "golden",
        .model = {.name = "tiny",
                  .layers = model->layers,
                  .experts = model->experts,
                  .hidden = model->hidden,
                  .intermediate = model->intermediate,
                  .prefix = "",
                  .n_templates = CS_COUNT(modules),
                  .templates = modules},
        .method = "gpt_oss_mxfp4",
        .backend = model->backend,
        .rounding = "released",
        .tp = model->tp,
        .ep = 1,
        .n_policies = CS_COUNT(policies),
        .policies = policies,
        .allocator = {.fresh_cold = {.kind = CS_PATTERN_BYTE, .byte = poison.cold},
                      .fresh_reload = {.kind = CS_PATTERN_BYTE, .byte = poison.reload}},
        .defects = defects,
        .n_checkpoints = CS_COUNT(checkpoints),
        .checkpoints = checkpoints,
    };
}

enum cs_status cs_golden_server_start(struct cs_golden_server *server, const struct cs_device *device,
                                      const struct cs_golden_model *model, struct cs_golden_poison poison,
                                      cs_defect_set defects, const char *checkpoint) {
    *server = (struct cs_golden_server){0};
    describe(server, model, poison, defects);
    const struct cs_session_config config = {.scenario = &server->scenario,
                                             .device = device,
                                             .policy = "none",
                                             .allocator = server->scenario.allocator,
                                             .has_prefill = poison.has_prefill,
                                             .prefill = poison.cold,
                                             .only_rank = model->rank};
    CS_TRY(cs_session_open(&server->session, &config));
    const struct cs_op op = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = checkpoint};
    return cs_session_run(&server->session, &op);
}

void cs_golden_server_close(struct cs_golden_server *server) { cs_session_close(&server->session); }

static size_t n_tensors_of(const struct cs_session *session, const char *name) {
    for (size_t i = 0; i < session->n_checkpoints; i++)
        if (cs_text_equal(session->checkpoints[i].label, name)) return session->checkpoints[i].n_entries;
    return 0;
}

enum cs_status cs_golden_server_reload(struct cs_golden_server *server, const struct cs_golden_load *load) {
    struct cs_op op = {
        .kind = CS_OP_RELOAD, .driver = "layerwise", .checkpoint = load->checkpoint, .loader = load->loader};
    if (!load->is_shuffled) return cs_session_run(&server->session, &op);
    size_t n = n_tensors_of(&server->session, load->checkpoint);
    size_t *order = CS_NEW_ARRAY(&server->session.arena, size_t, n + 1);
    CS_REQUIRE(order, CS_NO_MEMORY, "no memory for the order of %zu tensors", n);
    cs_golden_permutation(7, n, order);
    op.n_order = n;
    op.order = order;
    return cs_session_run(&server->session, &op);
}
