#include "sim/conform/internal.h"

#include <stdlib.h>
#include <string.h>

static enum cs_status make_rank(struct cs_layer *layer, const struct cs_layer_config *config) {
    const struct cs_allocator_rule rule = {.fresh_cold = {.kind = CS_PATTERN_BYTE},
                                           .fresh_reload = {.kind = CS_PATTERN_BYTE}};
    const struct cs_memory memory = cs_device_memory(config->device);
    layer->log = (struct cs_log){.arena = &layer->arena};
    layer->rank_spec = (struct cs_rank_spec){.tp_rank = config->tp_rank,
                                             .ep_rank = config->ep_rank,
                                             .first_expert = config->first_expert,
                                             .is_round_robin = config->is_round_robin,
                                             .sizes = config->sizes,
                                             .modules = &layer->module_spec};
    layer->rank = (struct cs_rank){.index = config->tp_rank,
                                   .spec = &layer->rank_spec,
                                   .device = config->device,
                                   .policy = cs_policy_by_name("record_and_fill"),
                                   .defects = config->defects,
                                   .arena = &layer->arena,
                                   .log = &layer->log,
                                   .stats = &layer->stats,
                                   .n_modules = 1,
                                   .modules = &layer->module};
    cs_allocator_init(&layer->rank.allocator, &rule, &memory, 0);
    CS_REQUIRE(layer->rank.policy, CS_INTERNAL, "there is no policy \"record_and_fill\"");
    return CS_OK;
}

/* Online parameters as they are while they are loaded: in memory. */
static enum cs_status make_tensors(struct cs_layer *layer, const struct cs_layer_config *config) {
    struct cs_module_spec *spec = &layer->module_spec;
    const struct cs_tensor_spec *tensors;
    CS_TRY(cs_method_tensors(config->method, &config->sizes, &layer->arena, &tensors, &spec->n_tensors));
    struct cs_tensor_spec *made = CS_NEW_ARRAY(&layer->arena, struct cs_tensor_spec, spec->n_tensors);
    CS_REQUIRE(made, CS_NO_MEMORY, "no memory for the parameters of %s", config->method->name);
    for (size_t i = 0; i < spec->n_tensors; i++) {
        made[i] = tensors[i];
        made[i].is_online = false;
    }
    spec->tensors = made;
    return CS_OK;
}

enum cs_status cs_layer_open(struct cs_layer *layer, const struct cs_layer_config *config) {
    *layer = (struct cs_layer){.loader = config->loader, .has_agreed_scales = config->has_agreed_scales};
    CS_TRY(make_rank(layer, config));
    struct cs_module_spec *spec = &layer->module_spec;
    *spec = (struct cs_module_spec){.name = "experts", .backend = config->backend};
    CS_TRY(make_tensors(layer, config));
    CS_TRY(cs_module_create(&layer->rank, &layer->module, spec, config->on_meta));
    if (!config->loader) return CS_OK;
    layer->routes.arena = &layer->arena;
    CS_TRY(cs_routes_of_loader(&layer->routes, config->loader, config->prefix, &config->sizes, 0));
    layer->is_sent = CS_NEW_ARRAY(&layer->arena, bool, layer->routes.n + 1);
    CS_REQUIRE(layer->is_sent, CS_NO_MEMORY, "no memory for %zu tensors", layer->routes.n);
    return CS_OK;
}

enum cs_status cs_layer_open_tensors(struct cs_layer *layer, const struct cs_device *device,
                                     const struct cs_tensor_spec *tensors, size_t n_tensors) {
    const struct cs_layer_config config = {.device = device};
    *layer = (struct cs_layer){0};
    CS_TRY(make_rank(layer, &config));
    layer->module_spec = (struct cs_module_spec){.name = "experts", .tensors = tensors, .n_tensors = n_tensors};
    return cs_module_create(&layer->rank, &layer->module, &layer->module_spec, false);
}

void cs_layer_close(struct cs_layer *layer) {
    cs_allocator_close(&layer->rank.allocator);
    cs_arena_release(&layer->arena);
}

enum cs_status cs_layer_poison(struct cs_layer *layer, uint8_t byte, bool as_number) {
    for (size_t i = 0; i < layer->module.n_slots; i++) {
        struct cs_fill fill = {.view = layer->module.slots[i].param->view, .bits = UINT64_C(0x0101010101010101) * byte};
        int bits = cs_dtype_bits(fill.view.dtype);
        if (as_number && cs_dtype_is_floating(fill.view.dtype))
            CS_TRY(cs_dtype_encode(fill.view.dtype, byte, &fill.bits));
        if (bits < 64) fill.bits &= (UINT64_C(1) << bits) - 1;
        bool is_agreed = layer->has_agreed_scales && cs_text_matches("*_input_scale", layer->module.slots[i].name);
        if (is_agreed) CS_TRY(cs_dtype_encode(fill.view.dtype, 1.0, &fill.bits));
        CS_TRY(cs_device_fill(layer->rank.device, &fill, 1));
    }
    return CS_OK;
}

/* A call counts for no more than the parameter has: released, the streamed gpt-oss loaders write more rows than that. */
static int64_t counted_by(const struct cs_load_call *call) {
    int64_t most = call->param->spec->weight_loader_numel;
    if (most < 0) most = cs_view_numel(&call->param->view);
    if (call->n_calls > 1) most *= call->n_calls;
    return call->counted < most ? call->counted : most;
}

static enum cs_status load_slot(struct cs_layer *layer, const struct cs_route *route,
                                const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry,
                                int64_t slot) {
    const struct cs_slot *param = cs_module_slot(&layer->module, route->param);
    CS_REQUIRE(param, CS_BAD_VALUE, "%s: there is no parameter %s", route->tensor, route->param);
    struct cs_load_call call = {.module = &layer->module,
                                .param = param->param,
                                .loader = layer->loader,
                                .row = route->row,
                                .tensor = route->tensor,
                                .expert = slot,
                                .is_patch = layer->is_patch};
    CS_TRY(cs_checkpoint_source(checkpoint, entry, &layer->rank.allocator, &call.source));
    CS_TRY(cs_load(&call));
    layer->n_calls += call.n_calls;
    layer->n_counted += counted_by(&call);
    return CS_OK;
}

/* Experts of other ranks are called for and skipped, as upstream's loader returns False for them; redundant ones load
 * their own copies. */
static enum cs_status load_route(struct cs_layer *layer, const struct cs_route *route,
                                 const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry) {
    const struct cs_sizes *sizes = &layer->rank_spec.sizes;
    layer->is_sent[route - layer->routes.items] = true;
    if (route->expert < 0) return load_slot(layer, route, checkpoint, entry, -1);
    int64_t n = cs_load_physical_experts(&layer->rank, layer->loader);
    for (int64_t expert = route->expert; expert < n; expert += sizes->experts_global) {
        int64_t slot = cs_load_slot(&layer->rank_spec, route->row, expert);
        if (slot >= 0)
            CS_TRY(load_slot(layer, route, checkpoint, entry, slot));
        else
            layer->n_calls += layer->loader->bypasses_counter ? 0 : cs_load_calls_of_row(route->row);
    }
    return CS_OK;
}

static const struct cs_route *find_route(const struct cs_layer *layer, const char *name, size_t length) {
    for (size_t i = 0; i < layer->routes.n; i++) {
        const char *tensor = layer->routes.items[i].tensor;
        if (strncmp(tensor, name, length) == 0 && !tensor[length]) return &layer->routes.items[i];
    }
    return NULL;
}

/* Projections, of one expert or of all of them, that upstream's table of names has for such a layer. */
static bool is_projection(const struct cs_layer *layer, const char *name) {
    static const char *const projections[] = {"down_proj", "up_proj", "gate_proj", "gate_up_proj"};
    size_t n = layer->rank_spec.sizes.options & CS_NOT_GATED ? 2 : CS_COUNT(projections);
    for (size_t i = 0; i < n; i++)
        if (strncmp(name, projections[i], strlen(projections[i])) == 0) return true;
    return false;
}

/* Biases that no parameter takes, experts beyond the layer's, and gates of layers without. */
static bool is_skipped(const struct cs_layer *layer, const char *name) {
    size_t digits = strspn(name, "0123456789");
    const char *tensor = digits && name[digits] == '.' ? name + digits + 1 : name;
    bool is_beyond = tensor != name && strtoll(name, NULL, 10) >= layer->rank_spec.sizes.experts_global;
    bool is_nobodys = strstr(tensor, "_proj") && !is_projection(layer, tensor);
    return is_beyond || is_nobodys || cs_text_matches("*.bias", name);
}

enum cs_status cs_layer_send(struct cs_layer *layer, const struct cs_checkpoint *checkpoint, const char *prefix) {
    enum cs_status status = CS_OK;
    for (size_t i = 0; i < checkpoint->n_entries && status == CS_OK; i++) {
        const struct cs_checkpoint_entry *entry = &checkpoint->entries[i];
        if (strncmp(entry->name, prefix, strlen(prefix)) != 0) continue;
        const char *name = entry->name + strlen(prefix);
        const struct cs_route *route = find_route(layer, name, strcspn(name, "#"));
        if (route)
            status = load_route(layer, route, checkpoint, entry);
        else if (!is_skipped(layer, name))
            status =
                cs_fail(CS_BAD_VALUE, "%s has no parameter for checkpoint tensor %s", layer->module_spec.name, name);
    }
    cs_rank_sweep(&layer->rank);
    return status;
}

const char *cs_layer_same_name(struct cs_arena *arena, const char *tensor) { return cs_arena_text(arena, tensor); }

enum cs_status cs_layer_load(struct cs_layer *layer, const struct cs_checkpoint *checkpoint, cs_layer_name *name_of) {
    struct cs_arena names = {0};
    enum cs_status status = CS_OK;
    for (size_t i = 0; i < layer->routes.n && status == CS_OK; i++) {
        const struct cs_route *route = &layer->routes.items[i];
        const char *name = name_of(&names, route->tensor);
        const struct cs_checkpoint_entry *entry = name ? cs_checkpoint_find(checkpoint, name) : NULL;
        status =
            entry ? load_route(layer, route, checkpoint, entry)
                  : cs_fail(CS_BAD_FILE, "checkpoint \"%s\" has nothing for \"%s\"", checkpoint->label, route->tensor);
    }
    cs_arena_release(&names);
    cs_rank_sweep(&layer->rank);
    return status;
}

enum cs_status cs_layer_param(struct cs_layer *layer, const char *name, struct cs_view *view) {
    const struct cs_slot *slot = cs_module_slot(&layer->module, name);
    CS_REQUIRE(slot && slot->param, CS_BAD_FILE, "there is no parameter \"%s\"", name);
    *view = slot->param->view;
    return CS_OK;
}
