/* Which checkpoint tensors a load of this model expects. */
#include "sim/session/internal.h"

#include <string.h>

const struct cs_loader *cs_session_loader(const struct cs_session *session, const char *name) {
    return cs_scenario_loader(session->config.scenario, name);
}

bool cs_session_is_stored_scale(const struct cs_tensor_spec *tensor) {
    return cs_text_equal(tensor->name, "k_scale") || cs_text_equal(tensor->name, "v_scale");
}

static enum cs_status plain_routes(struct cs_session *session, const struct cs_module_spec *spec, size_t module,
                                   struct cs_routes *routes) {
    for (size_t i = 0; i < spec->n_tensors; i++) {
        const struct cs_tensor_spec *tensor = &spec->tensors[i];
        bool is_known = spec->is_attention ? cs_session_is_stored_scale(tensor) : tensor->kind == CS_PARAMETER;
        bool is_sent_once = tensor->tied && !session->config.only_module; /* to the module that it is tied to */
        if (is_sent_once || !is_known) continue;
        struct cs_route route = {.dtype = tensor->dtype,
                                 .as = tensor->dtype,
                                 .ndim = tensor->ndim,
                                 .module = module,
                                 .param = tensor->name,
                                 .loader = &cs_loader_default,
                                 .expert = -1,
                                 .is_optional = spec->is_attention};
        memcpy(route.shape, tensor->shape, sizeof route.shape);
        route.tensor =
            tensor->tied ? tensor->tied : cs_arena_format(&session->arena, "%s.%s", spec->checkpoint, tensor->name);
        CS_REQUIRE(route.tensor, CS_NO_MEMORY, "out of memory for the names of checkpoint tensors");
        CS_TRY(cs_routes_add(routes, &route));
    }
    return CS_OK;
}

/* The name of a toy call's source: "toy.p.0". */
static enum cs_status toy_route(struct cs_session *session, const struct cs_module_spec *spec,
                                const struct cs_toy_call *call, size_t number, struct cs_routes *routes) {
    struct cs_route route = {.param = call->param, .loader = &cs_loader_toy, .toy = call, .expert = -1};
    for (size_t i = 0; i < spec->n_tensors; i++) {
        if (!cs_text_equal(spec->tensors[i].name, call->param)) continue;
        route.dtype = route.as = spec->tensors[i].dtype;
        route.ndim = spec->tensors[i].ndim;
    }
    for (int d = 0; d < route.ndim; d++) route.shape[d] = call->has_write ? call->write.length[d] : 0;
    route.tensor = cs_arena_format(&session->arena, "toy.%s.%zu", call->param, number);
    CS_REQUIRE(route.tensor, CS_NO_MEMORY, "out of memory for the toy");
    return cs_routes_add(routes, &route);
}

static enum cs_status toy_routes(struct cs_session *session, const char *checkpoint, struct cs_routes *routes) {
    const struct cs_model_config *model = &session->config.scenario->model;
    for (size_t i = 0; i < model->n_toy_loads; i++) {
        if (!cs_text_equal(model->toy_loads[i].checkpoint, checkpoint)) continue;
        for (size_t c = 0; c < model->toy_loads[i].n_calls; c++)
            CS_TRY(toy_route(session, &session->model.ranks[0].modules[0], &model->toy_loads[i].calls[c], c, routes));
    }
    return CS_OK;
}

/* Checkpoints of this model may store other numbers than its parameters are (words.c checks what it says). The word is
 * the loader's own, whatever the checkpoint calls it; a plain tensor's is its name. */
static void store_otherwise(const struct cs_module_spec *spec, struct cs_route *route) {
    const char *word = route->row ? cs_loader_row_word(route->row) : route->param;
    for (size_t i = 0; i < spec->n_stored; i++)
        if (cs_text_equal(spec->stored[i].word, word) && cs_dtype_is_number(route->dtype))
            route->dtype = route->as = spec->stored[i].dtype;
}

static enum cs_status add_module_routes(struct cs_session *session, const struct cs_loader *loader, size_t module,
                                        struct cs_routes *routes) {
    const struct cs_rank_spec *rank = &session->model.ranks[0];
    const struct cs_module_spec *spec = &rank->modules[module];
    if (!spec->backend) return plain_routes(session, spec, module, routes);
    routes->renames = spec->renames, routes->n_renames = spec->n_renames;
    return cs_routes_of_loader(routes, loader, spec->checkpoint, &rank->sizes, module);
}

static enum cs_status model_routes(struct cs_session *session, const struct cs_loader *loader,
                                   struct cs_routes *routes) {
    const struct cs_module_spec *modules = session->model.ranks[0].modules;
    for (size_t m = 0; m < session->model.n_modules; m++) {
        size_t first = routes->n;
        CS_TRY(add_module_routes(session, loader, m, routes));
        for (size_t i = first; i < routes->n && modules[m].n_stored; i++)
            store_otherwise(&modules[m], &routes->items[i]);
    }
    return CS_OK;
}

static size_t slot_of(const struct cs_route_set *set, const char *tensor) {
    size_t slot = cs_fnv1a32(tensor) & (set->n_slots - 1);
    while (set->slots[slot] && !cs_text_equal(set->routes.items[set->slots[slot] - 1].tensor, tensor))
        slot = (slot + 1) & (set->n_slots - 1);
    return slot;
}

static enum cs_status index_routes(struct cs_arena *arena, struct cs_route_set *set) {
    for (set->n_slots = 16; set->n_slots < set->routes.n * 2;) set->n_slots *= 2;
    set->slots = CS_NEW_ARRAY(arena, uint32_t, set->n_slots);
    CS_REQUIRE(set->slots, CS_NO_MEMORY, "out of memory for an index of %zu checkpoint tensors", set->routes.n);
    for (size_t i = 0; i < set->routes.n; i++)
        set->slots[slot_of(set, set->routes.items[i].tensor)] = (uint32_t)(i + 1);
    return CS_OK;
}

const struct cs_route *cs_route_find(const struct cs_route_set *set, const char *tensor) {
    uint32_t found = set->slots[slot_of(set, tensor)];
    return found ? &set->routes.items[found - 1] : NULL;
}

enum cs_status cs_session_routes(struct cs_session *session, const struct cs_loader *loader, const char *checkpoint,
                                 const struct cs_route_set **set) {
    bool is_toy = session->config.scenario->model.is_toy;
    for (struct cs_route_set *kept = session->route_sets; kept; kept = kept->next)
        if (kept->loader == loader && (!is_toy || cs_text_equal(kept->checkpoint, checkpoint))) {
            *set = kept;
            return CS_OK;
        }
    struct cs_route_set *made = CS_NEW(&session->arena, struct cs_route_set);
    CS_REQUIRE(made, CS_NO_MEMORY, "out of memory for the list of checkpoint tensors");
    *made = (struct cs_route_set){
        .next = session->route_sets, .loader = loader, .checkpoint = checkpoint, .routes = {.arena = &session->arena}};
    CS_TRY(is_toy ? toy_routes(session, checkpoint, &made->routes) : model_routes(session, loader, &made->routes));
    CS_TRY(index_routes(&session->arena, made));
    session->route_sets = made;
    *set = made;
    return CS_OK;
}
