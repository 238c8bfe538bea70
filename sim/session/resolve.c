/* From a model's description in words to modules with sizes, rank by rank. */
#include "sim/session/internal.h"

#include <string.h>

static const char layer_word[] = "{layer}";

static const char *name_of(struct cs_arena *arena, const char *prefix, const char *pattern, int layer) {
    const char *at = strstr(pattern, layer_word);
    if (!at) return cs_arena_format(arena, "%s%s", prefix, pattern);
    return cs_arena_format(arena, "%s%.*s%d%s", prefix, (int)(at - pattern), pattern, layer, at + strlen(layer_word));
}

static enum cs_status tensors_of_template(struct cs_arena *arena, const struct cs_module_template *module,
                                          const struct cs_sizes *sizes, struct cs_module_spec *spec) {
    struct cs_tensor_spec *tensors = CS_NEW_ARRAY(arena, struct cs_tensor_spec, module->n_tensors);
    CS_REQUIRE(tensors, CS_NO_MEMORY, "out of memory for the tensors of %s", module->name);
    for (size_t i = 0; i < module->n_tensors; i++) {
        const struct cs_template_tensor *from = &module->tensors[i];
        tensors[i] = (struct cs_tensor_spec){
            .name = from->name,
            .kind = from->kind,
            .dtype = from->dtype,
            .init = from->init,
            .init_value = from->init_value,
            .has_padding_value = from->has_padding_value,
            .padding_value = from->padding_value,
            .weight_loader_numel = from->has_numel ? from->numel : -1,
            .is_unregistered = from->is_unregistered,
            .is_late = from->is_late,
            .tied = from->tied,
        };
        enum cs_status status = cs_shape_parse(from->shape, sizes, &tensors[i].ndim, tensors[i].shape);
        CS_REQUIRE(status == CS_OK, status, "%s.%s: %s", module->name, from->name, cs_error_text());
    }
    spec->tensors = tensors;
    spec->n_tensors = module->n_tensors;
    return CS_OK;
}

static const struct cs_backend *backend_of_toy(struct cs_arena *arena, const struct cs_model_config *model) {
    struct cs_backend *backend = CS_NEW(arena, struct cs_backend);
    size_t *n_steps = CS_NEW(arena, size_t);
    if (!backend || !n_steps) return NULL;
    *n_steps = model->n_toy_steps;
    struct cs_backend made = {.method = "toy", .name = "toy", .steps = model->toy_steps, .n_steps = n_steps};
    memcpy(backend, &made, sizeof made);
    return backend;
}

static enum cs_status module_of(struct cs_session *session, const struct cs_module_template *module, int layer,
                                const struct cs_sizes *sizes, struct cs_module_spec *spec) {
    const struct cs_scenario *scenario = session->config.scenario;
    spec->name = name_of(&session->arena, scenario->model.prefix, module->name, layer);
    spec->checkpoint =
        module->checkpoint ? name_of(&session->arena, scenario->model.prefix, module->checkpoint, layer) : spec->name;
    CS_REQUIRE(spec->name && spec->checkpoint, CS_NO_MEMORY, "out of memory for the names of modules");
    spec->n_renames = module->n_renames, spec->renames = module->renames;
    spec->n_stored = module->n_stored, spec->stored = module->stored;
    spec->layer = strstr(module->name, layer_word) ? layer : -1;
    spec->processes_while_loading = scenario->model.is_toy && scenario->model.toy_processes_while_loading;
    if (scenario->model.is_toy) {
        spec->backend = backend_of_toy(&session->arena, &scenario->model);
        CS_REQUIRE(spec->backend, CS_NO_MEMORY, "out of memory for the toy");
    }
    spec->is_attention = module->is_attention;
    if (module->is_attention) {
        spec->tensors = cs_kv_tensors;
        spec->n_tensors = cs_n_kv_tensors;
        return CS_OK;
    }
    if (!module->is_routed_experts) return tensors_of_template(&session->arena, module, sizes, spec);
    spec->backend = cs_scenario_backend(scenario);
    return cs_method_tensors(cs_scenario_method(scenario), sizes, &session->arena, &spec->tensors, &spec->n_tensors);
}

static bool is_wanted(const struct cs_session *session, const char *name) {
    return !session->config.only_module || cs_text_equal(session->config.only_module, name);
}

/* Whether template `t` has a module in this pass over the model: -1: before all layers, `layers`: after them. `first`:
 * the first template with layers. */
static bool has_turn(const struct cs_model_config *model, size_t t, size_t first, int64_t pass) {
    const struct cs_module_template *module = &model->templates[t];
    if (!strstr(module->name, layer_word)) return (pass == -1 && t < first) || (pass == model->layers && t > first);
    return pass >= module->first_layer && pass >= 0 && pass < model->layers;
}

/* ---- ties ---- */

static bool has_parameter(const struct cs_module_spec *module, const char *name) {
    size_t length = strlen(module->name);
    if (strncmp(module->name, name, length) != 0 || name[length] != '.') return false;
    for (size_t i = 0; i < module->n_tensors; i++)
        if (module->tensors[i].kind == CS_PARAMETER && cs_text_equal(module->tensors[i].name, name + length + 1))
            return true;
    return false;
}

static bool is_there(const struct cs_module_spec *specs, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (has_parameter(&specs[i], name)) return true;
    return false;
}

/* A tie names its parameter as `modules` does, or with the model's prefix, as checkpoints do. */
static enum cs_status tie(struct cs_session *session, const struct cs_module_spec *specs, size_t n, int layer,
                          struct cs_module_spec *spec) {
    const struct cs_scenario *scenario = session->config.scenario;
    bool is_alone = session->config.only_module != NULL; /* the other module is not built */
    for (size_t i = 0; i < spec->n_tensors; i++) {
        const struct cs_tensor_spec *tensor = &spec->tensors[i];
        if (!tensor->tied) continue;
        const char *name = name_of(&session->arena, scenario->model.prefix, tensor->tied, layer);
        CS_REQUIRE(name, CS_NO_MEMORY, "out of memory for the names of tied parameters");
        size_t length = strlen(scenario->model.prefix);
        bool is_whole = length && strncmp(tensor->tied, scenario->model.prefix, length) == 0;
        if (is_alone ? is_whole : is_there(specs, n, tensor->tied)) name = tensor->tied;
        CS_REQUIRE(is_alone || is_there(specs, n, name), CS_BAD_SCRIPT,
                   "%s.%s: found tied = \"%s\", expected a parameter of an earlier module: \"module.name\", with or "
                   "without the prefix \"%s\"",
                   spec->name, tensor->name, tensor->tied, scenario->model.prefix);
        ((struct cs_tensor_spec *)tensor)->tied = name; /* tensors_of_template made it for this module alone */
    }
    return CS_OK;
}

/* ---- all modules ---- */

/* Layers in order, templates in order within a layer; a template without "{layer}" stands where it is listed: before
 * the first layered one, or after all layers. */
static enum cs_status modules_of(struct cs_session *session, const struct cs_sizes *sizes, struct cs_module_spec *specs,
                                 size_t *n) {
    const struct cs_model_config *model = &session->config.scenario->model;
    *n = 0;
    size_t first = 0;
    while (first < model->n_templates && !strstr(model->templates[first].name, layer_word)) first++;
    for (int64_t pass = -1; pass <= model->layers; pass++) {
        for (size_t t = 0; t < model->n_templates; t++) {
            if (!has_turn(model, t, first, pass)) continue;
            struct cs_module_spec spec = {0};
            CS_TRY(module_of(session, &model->templates[t], (int)pass, sizes, &spec));
            bool is_plain = !spec.is_attention && !model->templates[t].is_routed_experts;
            if (is_plain) CS_TRY(tie(session, specs, *n, (int)pass, &spec));
            if (is_wanted(session, spec.name)) specs[(*n)++] = spec;
        }
    }
    return CS_OK;
}

enum cs_status cs_session_resolve(struct cs_session *session) {
    const struct cs_scenario *scenario = session->config.scenario;
    const struct cs_model_config *model = &scenario->model;
    int n_ranks = scenario->tp * scenario->ep;
    int64_t most;
    CS_REQUIRE(cs_multiply(model->layers + 1, (int64_t)model->n_templates, &most) && most < 1 << 20, CS_BAD_VALUE,
               "%s: %" PRId64 " layers of %zu modules are too many", model->name, model->layers, model->n_templates);
    struct cs_rank_spec *ranks = CS_NEW_ARRAY(&session->arena, struct cs_rank_spec, (size_t)n_ranks);
    CS_REQUIRE(ranks, CS_NO_MEMORY, "out of memory for %d ranks", n_ranks);
    for (int r = 0; r < n_ranks; r++) {
        enum cs_status status = cs_session_rank_sizes(scenario, r, &ranks[r]);
        CS_REQUIRE(status == CS_OK, status, "%s: %s", model->name, cs_error_text());
        struct cs_module_spec *specs = CS_NEW_ARRAY(&session->arena, struct cs_module_spec, (size_t)most);
        CS_REQUIRE(specs, CS_NO_MEMORY, "out of memory for %" PRId64 " modules", most);
        CS_TRY(modules_of(session, &ranks[r].sizes, specs, &session->model.n_modules));
        ranks[r].modules = specs;
    }
    session->model.name = model->name;
    session->model.n_ranks = (size_t)n_ranks;
    session->model.ranks = ranks;
    session->ranks_meet = scenario->method && cs_backend_reduces(cs_scenario_backend(scenario), &ranks[0].sizes);
    return CS_OK;
}
