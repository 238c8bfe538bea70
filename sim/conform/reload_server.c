/* Servers of the capture script: its class Tiny as a scenario. */
#include "sim/conform/reload.h"

#include <string.h>

static const struct cs_template_tensor embed[] = {
    {.name = "weight", .shape = "16 Hu", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_EMPTY},
};
static const struct cs_template_tensor norm[] = {
    {.name = "weight", .shape = "Hu", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_ONES},
    {.name = "inv_freq", .shape = "8", .kind = CS_BUFFER, .dtype = CS_F32, .init = CS_INIT_ARANGE},
    {.name = "table", .shape = "16", .kind = CS_BUFFER, .dtype = CS_F32, .init = CS_INIT_ARANGE},
};
static const struct cs_template_tensor router[] = {
    {.name = "weight", .shape = "Eg Hu", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_EMPTY},
    {.name = "bias", .shape = "Eg", .kind = CS_PARAMETER, .dtype = CS_BF16, .init = CS_INIT_EMPTY},
};
static const struct cs_template_tensor head[] = {
    {.name = "weight",
     .shape = "16 Hu",
     .kind = CS_PARAMETER,
     .dtype = CS_BF16,
     .init = CS_INIT_EMPTY,
     .tied = "embed.weight"},
};
enum { NORM = 1, ATTENTION, ROUTER, EXPERTS, HEAD }; /* places of them here */
static const struct cs_module_template modules[] = {
    {.name = "embed", .n_tensors = CS_COUNT(embed), .tensors = embed},
    {.name = "layers.{layer}.norm", .n_tensors = CS_COUNT(norm) - 1, .tensors = norm},
    {.name = "layers.{layer}.attn", .is_attention = true},
    {.name = "layers.{layer}.mlp.router", .n_tensors = CS_COUNT(router), .tensors = router},
    {.name = "layers.{layer}.mlp.experts.routed_experts",
     .is_routed_experts = true,
     .checkpoint = "layers.{layer}.mlp.experts"},
    {.name = "lm_head", .n_tensors = CS_COUNT(head), .tensors = head},
};

/* The modules, with what this model has of its own. */
static enum cs_status describe_modules(struct cs_golden_server *server, struct cs_model_config *config) {
    struct cs_module_template *own = CS_NEW_ARRAY(&server->arena, struct cs_module_template, CS_COUNT(modules));
    struct cs_template_tensor *with_table = CS_NEW_ARRAY(&server->arena, struct cs_template_tensor, CS_COUNT(norm));
    CS_REQUIRE(own && with_table, CS_NO_MEMORY, "no memory for a model");
    memcpy(own, modules, sizeof modules);
    memcpy(with_table, norm, sizeof norm);
    with_table[CS_COUNT(norm) - 1].kind = server->model->table;
    own[NORM].tensors = with_table;
    if (server->model->table != CS_PARAMETER) own[NORM].n_tensors = CS_COUNT(norm);
    config->n_templates = server->model->is_tied ? CS_COUNT(modules) : HEAD;
    config->templates = own;
    if (server->model->has_attention) return CS_OK;
    memmove(own + ATTENTION, own + ROUTER, (CS_COUNT(modules) - ROUTER) * sizeof *own);
    config->n_templates--;
    return CS_OK;
}

static enum cs_status describe_checkpoints(struct cs_golden_server *server) {
    static const struct cs_checkpoint_config known[] = {
        {.name = "A", .kind = CS_CHECKPOINT_PATTERN, .version = 0, .kv_scales = {0.5f, 0.25f}},
        {.name = "B", .kind = CS_CHECKPOINT_PATTERN, .version = 1, .kv_scales = {2.0f, 4.0f}},
        {.name = "C", .kind = CS_CHECKPOINT_PATTERN, .version = 0}, /* the numbers of A, without scales */
    };
    enum { C = 2 };
    struct cs_checkpoint_config *checkpoints =
        CS_NEW_ARRAY(&server->arena, struct cs_checkpoint_config, CS_COUNT(known));
    CS_REQUIRE(checkpoints, CS_NO_MEMORY, "no memory for a model");
    CS_TRY(cs_golden_checkpoint_names(&server->arena, server->model, &server->n_names, &server->names));
    memcpy(checkpoints, known, sizeof known);
    for (size_t i = 0; i < CS_COUNT(known); i++)
        checkpoints[i].n_names = server->n_names, checkpoints[i].names = server->names;
    if (server->model->has_attention) checkpoints[C].n_names -= 2 * (size_t)server->model->layers; /* the last ones */
    server->scenario.n_checkpoints = server->model->has_attention ? CS_COUNT(known) : C;
    server->scenario.checkpoints = checkpoints;
    return CS_OK;
}

static enum cs_status describe(struct cs_golden_server *server, struct cs_golden_poison poison, cs_defect_set defects) {
    static const char *const policies[] = {"none"};
    const struct cs_golden_model *model = server->model;
    server->scenario = (struct cs_scenario){
        .file = "scenarios.json",
        .name = "golden",
        .model = {.name = "Tiny",
                  .layers = model->layers,
                  .experts = model->experts,
                  .hidden = model->hidden,
                  .intermediate = model->intermediate,
                  .prefix = ""},
        .method = model->kind->method,
        .backend = model->backend,
        .loader = model->kind->loader,
        .rounding = "released",
        .layer = {.on = (model->has_bias ? CS_WITH_BIAS : 0) | model->kind->options,
                  .all2all = model->is_hidden_padded ? CS_ALL2ALL_DEEPEP_HT : CS_ALL2ALL_NONE},
        .tp = model->tp,
        .ep = 1,
        .n_policies = CS_COUNT(policies),
        .policies = policies,
        .allocator = {.fresh_cold = {.kind = CS_PATTERN_BYTE, .byte = poison.cold},
                      .fresh_reload = {.kind = CS_PATTERN_BYTE, .byte = poison.reload}},
        .defects = defects,
        .has_cpu_arithmetic = true,
    };
    CS_TRY(describe_modules(server, &server->scenario.model));
    return describe_checkpoints(server);
}

enum cs_status cs_golden_server_start(struct cs_golden_server *server, const struct cs_device *device,
                                      const struct cs_golden_model *model, struct cs_golden_poison poison,
                                      cs_defect_set defects, const struct cs_op *start) {
    *server = (struct cs_golden_server){.model = model};
    CS_TRY(describe(server, poison, defects));
    const struct cs_session_config config = {.scenario = &server->scenario,
                                             .device = device,
                                             .policy = "none",
                                             .allocator = server->scenario.allocator,
                                             .has_prefill = poison.has_prefill,
                                             .prefill = poison.cold,
                                             .only_rank = model->rank};
    CS_TRY(cs_session_open(&server->session, &config));
    return cs_session_run(&server->session, start);
}

void cs_golden_server_close(struct cs_golden_server *server) {
    cs_session_close(&server->session);
    cs_arena_release(&server->arena);
}

enum cs_status cs_golden_server_reload(struct cs_golden_server *server, const struct cs_golden_load *load) {
    struct cs_op op;
    CS_TRY(cs_golden_load_op(&server->arena, server->model, server->n_names, server->names, load, &op));
    return cs_session_run(&server->session, &op);
}

struct cs_rank *cs_golden_server_rank(struct cs_golden_server *server) {
    return &server->session.ranks[server->model->rank];
}

/* ---- what an interrupted load leaves ---- */

static bool lists(const json_t *list, const char *module, const char *name) {
    size_t i, length = strlen(module);
    const json_t *entry;
    json_array_foreach(list, i, entry) {
        const char *text = json_string_value(entry);
        bool is_in = text && strncmp(text, module, length) == 0 && text[length] == '.';
        if (is_in && cs_text_equal(text + length + 1, name)) return true;
    }
    return false;
}

static enum cs_status is_on_meta_as(struct cs_module *module, const json_t *meta, size_t *n) {
    for (size_t i = 0; i < module->n_slots; i++) {
        const struct cs_slot *slot = &module->slots[i];
        if (slot->kind == CS_PLAIN_TENSOR) continue;
        bool is_meta = slot->param->view.storage->kind == CS_STORAGE_META,
             expected = lists(meta, module->spec->name, slot->name);
        CS_REQUIRE(is_meta == expected, CS_BAD_VALUE, "%s.%s: expected %son the meta device after the interruption",
                   module->spec->name, slot->name, expected ? "" : "not ");
        *n += is_meta;
    }
    return CS_OK;
}

static enum cs_status is_pending_as(const struct cs_module *module, const json_t *pending) {
    const json_t *number = json_object_get(pending, module->spec->name);
    int64_t expected = number ? (int64_t)json_integer_value(number) : 0, n = (int64_t)cs_driver_pending_calls(module);
    CS_REQUIRE(n == expected, CS_BAD_VALUE,
               "%s: expected %" PRId64 " buffered calls after the interruption, got %" PRId64, module->spec->name,
               expected, n);
    return CS_OK;
}

enum cs_status cs_golden_server_is_left_as(struct cs_golden_server *server, const json_t *meta, const json_t *pending) {
    struct cs_rank *rank = cs_golden_server_rank(server);
    size_t n = 0;
    for (size_t m = 0; m < rank->n_modules; m++) {
        CS_TRY(is_on_meta_as(&rank->modules[m], meta, &n));
        if (pending) CS_TRY(is_pending_as(&rank->modules[m], pending));
    }
    CS_REQUIRE(n == json_array_size(meta), CS_BAD_VALUE, "expected %zu tensors on the meta device, got %zu",
               json_array_size(meta), n);
    return CS_OK;
}
