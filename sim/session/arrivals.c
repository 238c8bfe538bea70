/* What arrives, in which order, and the accounting of one load (R4 "Accounting"). */
#include "sim/session/internal.h"

#include <string.h>

struct listing {
    struct cs_session *session;
    const struct cs_op *op;
    const struct cs_checkpoint *checkpoint;
    const struct cs_route_set *set;
    struct cs_arrivals *arrivals;
};

static bool matches_any(const char *const *patterns, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (cs_text_matches(patterns[i], name)) return true;
    return false;
}

static void describe(enum cs_dtype dtype, int ndim, const int64_t *shape, char *text) {
    struct cs_view view = {.dtype = dtype, .ndim = ndim};
    memcpy(view.shape, shape, sizeof view.shape);
    cs_view_text(&view, text);
}

/* A tensor that no method loads is copied by value: a router's bf16 bias into an f32 one. Source: vllm
 * model_loader/weight_utils.py, default_weight_loader (param.data.copy_). */
static bool dtype_fits(const struct cs_checkpoint_entry *entry, const struct cs_route *route) {
    bool is_converted = route->loader == &cs_loader_default && cs_dtype_is_floating(entry->dtype) &&
                        cs_dtype_is_floating(route->dtype) && cs_dtype_bits(entry->dtype) >= 16;
    return entry->dtype == route->dtype || is_converted;
}

/* A checkpoint tensor must be what the loader's table says: a wrong size would be loaded into a smaller rectangle,
 * silently. */
static enum cs_status check_tensor(const struct listing *list, const struct cs_checkpoint_entry *entry,
                                   const struct cs_route *route, bool is_slice) {
    int64_t expected[CS_NDIM] = {0};
    int skipped = is_slice ? 1 : 0;
    if (is_slice) expected[0] = list->session->config.scenario->model.experts;
    memcpy(expected + skipped, route->shape, sizeof(int64_t) * (size_t)route->ndim);
    bool fits = dtype_fits(entry, route) && entry->ndim == route->ndim + skipped;
    for (int d = 0; fits && d < entry->ndim; d++) fits = entry->shape[d] == expected[d];
    if (fits) return CS_OK;
    char found[CS_VIEW_TEXT], wanted[CS_VIEW_TEXT];
    describe(entry->dtype, entry->ndim, entry->shape, found);
    describe(route->dtype, route->ndim + skipped, expected, wanted);
    return cs_fail(CS_BAD_FILE, "checkpoint %s: tensor \"%s\" is %s, the model expects %s: %s", list->checkpoint->label,
                   entry->name, found, wanted,
                   entry->dtype == route->dtype ? "does the checkpoint belong to a model of another size?"
                                                : "convert the tensor, or take a checkpoint of this format");
}

static enum cs_status add(struct listing *list, const struct cs_checkpoint_entry *entry, const struct cs_route *route,
                          bool is_slice) {
    if (matches_any(list->op->omitted, list->op->n_omitted, route->tensor)) return CS_OK;
    CS_TRY(check_tensor(list, entry, route, is_slice));
    list->arrivals->items[list->arrivals->n++] =
        (struct cs_arrival){.entry = entry, .route = route, .is_slice = is_slice};
    return CS_OK;
}

/* A checkpoint tensor that no loader expects. */
static void count_unknown(struct listing *list, const char *name) {
    struct cs_accounting *accounting = &list->session->accounting;
    const struct cs_model_config *model = &list->session->config.scenario->model;
    if (matches_any(model->not_simulated, model->n_not_simulated, name)) {
        accounting->not_simulated++;
    } else if (!list->session->config.only_module) {
        accounting->excess++;
        if (!accounting->first_excess) accounting->first_excess = name;
    }
}

/* In the checkpoint's own order and form. */
static enum cs_status list_entries(struct listing *list) {
    for (size_t i = 0; i < list->checkpoint->n_entries; i++) {
        const struct cs_checkpoint_entry *entry = &list->checkpoint->entries[i];
        const struct cs_route *route = cs_route_find(list->set, entry->name);
        if (route)
            CS_TRY(add(list, entry, route, false));
        else
            count_unknown(list, entry->name);
    }
    return CS_OK;
}

/* What the checkpoint calls the tensor of all experts that has the route's slice. */
static const char *name_in_form(const struct listing *list, const struct cs_route *route,
                                const struct cs_loader *form) {
    const struct cs_module_spec *spec = &list->session->model.ranks[0].modules[route->module];
    const struct cs_routes names = {
        .arena = &list->session->arena, .renames = spec->renames, .n_renames = spec->n_renames};
    return cs_routes_name(&names, route->prefix, &form->rows[route->row - route->loader->rows], -1);
}

/* A trainer that streams one expert at a time out of combined tensors: the loader's order, slices of the checkpoint's
 * form. */
static enum cs_status list_slices(struct listing *list, const struct cs_loader *form) {
    const struct cs_route_set *whole;
    CS_TRY(cs_session_routes(list->session, form, NULL, &whole));
    for (size_t i = 0; i < list->checkpoint->n_entries; i++)
        if (!cs_route_find(whole, list->checkpoint->entries[i].name))
            count_unknown(list, list->checkpoint->entries[i].name);
    for (size_t i = 0; i < list->set->routes.n; i++) {
        const struct cs_route *route = &list->set->routes.items[i];
        const char *name = route->tensor;
        if (route->row) name = name_in_form(list, route, form);
        CS_REQUIRE(name, CS_NO_MEMORY, "out of memory for the names of checkpoint tensors");
        const struct cs_checkpoint_entry *entry = cs_checkpoint_find(list->checkpoint, name);
        if (entry) CS_TRY(add(list, entry, route, route->row != NULL));
    }
    return CS_OK;
}

static bool is_per_expert(const struct cs_loader *loader) {
    return strncmp(loader->rows[0].tensor, "{expert}.", 9) == 0;
}

/* How many of a loader's expert tensors the checkpoint has, and how many there are. */
static enum cs_status count_form(struct listing *list, const struct cs_loader *loader, size_t *n_found, size_t *n) {
    const struct cs_route_set *set;
    CS_TRY(cs_session_routes(list->session, loader, NULL, &set));
    *n_found = *n = 0;
    for (size_t i = 0; i < set->routes.n; i++) {
        if (!set->routes.items[i].row) continue;
        ++*n;
        *n_found += cs_checkpoint_find(list->checkpoint, set->routes.items[i].tensor) != NULL;
    }
    return CS_OK;
}

/* The loader in whose form the checkpoint is: of the wanted one and the method's, the first of whose tensors the
 * largest part is there. */
static enum cs_status form_of(struct listing *list, const struct cs_loader *wanted, const struct cs_loader **form) {
    const char *const *loaders = cs_method_by_name(list->session->config.scenario->method)->loaders;
    size_t best_found, best_n, n_found, n;
    *form = wanted;
    CS_TRY(count_form(list, wanted, &best_found, &best_n));
    for (; *loaders && best_found < best_n; loaders++) {
        const struct cs_loader *loader = cs_loader_by_name(*loaders);
        CS_TRY(count_form(list, loader, &n_found, &n));
        if (n_found * best_n <= best_found * n) continue;
        *form = loader;
        best_found = n_found, best_n = n;
    }
    return CS_OK;
}

/* A pattern that leaves nothing out is a slip of the pen. */
static enum cs_status check_omitted(const struct listing *list) {
    const struct cs_scenario *scenario = list->session->config.scenario;
    for (size_t p = 0; p < list->op->n_omitted && !list->session->config.only_module; p++) {
        bool is_used = false;
        for (size_t i = 0; i < list->set->routes.n && !is_used; i++)
            is_used = cs_text_matches(list->op->omitted[p], list->set->routes.items[i].tensor);
        CS_REQUIRE(is_used, CS_BAD_SCRIPT,
                   "%s:%d: omit: no tensor of this load matches \"%s\"; the first of %zu is \"%s\"", scenario->file,
                   list->op->line, list->op->omitted[p], list->set->routes.n,
                   list->set->routes.n ? list->set->routes.items[0].tensor : "");
    }
    return CS_OK;
}

static enum cs_status list_all(struct listing *list, const struct cs_loader *loader) {
    if (!loader) return list_entries(list);
    const struct cs_loader *form;
    CS_TRY(form_of(list, loader, &form));
    if (form == loader) return list_entries(list);
    CS_REQUIRE(
        is_per_expert(loader) && !is_per_expert(form) && loader->n_rows == form->n_rows, CS_UNSUPPORTED,
        "checkpoint %s has the tensors of loader %s, which cannot be sent in the form of %s: use loader = \"%s\"",
        list->checkpoint->label, form->name, loader->name, form->name);
    return list_slices(list, form);
}

/* By the final order: an explicit one may send a tensor twice and another never. */
static enum cs_status count_sent(struct listing *list, struct cs_arena *arena) {
    bool *is_sent = CS_NEW_ARRAY(arena, bool, list->set->routes.n + 1);
    CS_REQUIRE(is_sent, CS_NO_MEMORY, "out of memory for the accounting of %zu tensors", list->set->routes.n);
    struct cs_accounting *accounting = &list->session->accounting;
    for (size_t i = 0; i < list->arrivals->n; i++) {
        bool *sent = &is_sent[list->arrivals->items[i].route - list->set->routes.items];
        accounting->duplicate += *sent;
        *sent = true;
    }
    for (size_t i = 0; i < list->set->routes.n; i++) {
        if (is_sent[i]) continue;
        accounting->missing++;
        if (!accounting->first_missing) accounting->first_missing = list->set->routes.items[i].tensor;
    }
    return CS_OK;
}

/* A cold start needs every tensor and knows every tensor; in a reload the driver's own rule holds: what is not sent is
 * not loaded, what nobody knows is ignored (vllm models/gpt_oss.py). */
static enum cs_status be_strict(const struct listing *list) {
    const struct cs_accounting *accounting = &list->session->accounting;
    CS_REQUIRE(!accounting->missing, CS_BAD_FILE,
               "checkpoint %s: %" PRId64
               " of %zu tensors are missing, the first is \"%s\": a cold start needs them all",
               list->checkpoint->label, accounting->missing, list->set->routes.n, accounting->first_missing);
    CS_REQUIRE(!accounting->excess, CS_BAD_FILE,
               "checkpoint %s: %" PRId64 " tensors are unknown to the model, the first is \"%s\": add a not_simulated "
               "pattern for what the model leaves out",
               list->checkpoint->label, accounting->excess, accounting->first_excess);
    return CS_OK;
}

static enum cs_status reorder(struct listing *list, struct cs_arena *arena, const struct cs_op *op) {
    struct cs_arrivals *arrivals = list->arrivals;
    CS_REQUIRE(op->n_order == arrivals->n, CS_BAD_SHAPE, "arrival order has %zu positions for %zu tensors", op->n_order,
               arrivals->n);
    struct cs_arrival *moved = CS_NEW_ARRAY(arena, struct cs_arrival, arrivals->n + 1);
    CS_REQUIRE(moved, CS_NO_MEMORY, "out of memory for the arrival order");
    for (size_t i = 0; i < arrivals->n; i++) {
        CS_REQUIRE(op->order[i] < arrivals->n, CS_BAD_INDEX, "arrival order names position %zu of %zu tensors",
                   op->order[i], arrivals->n);
        moved[i] = arrivals->items[op->order[i]];
    }
    arrivals->items = moved;
    return CS_OK;
}

static void shuffle(struct listing *list) {
    struct cs_arrival *items = list->arrivals->items;
    uint64_t key = cs_stream_key(list->session->config.seed, "order", (uint64_t)list->session->log.load);
    for (size_t i = list->arrivals->n; i > 1; i--) {
        size_t other = (size_t)(cs_mix64(key + i) % i);
        struct cs_arrival kept = items[i - 1];
        items[i - 1] = items[other];
        items[other] = kept;
    }
}

enum cs_status cs_session_arrivals(struct cs_session *session, const struct cs_op *op, struct cs_arena *arena,
                                   struct cs_arrivals *arrivals) {
    const struct cs_loader *loader = cs_session_loader(session, op->loader);
    struct listing list = {.session = session,
                           .op = op,
                           .checkpoint = cs_session_checkpoint(session, op->checkpoint),
                           .arrivals = arrivals};
    CS_TRY(cs_session_routes(session, loader, op->checkpoint, &list.set));
    session->accounting = (struct cs_accounting){0};
    *arrivals = (struct cs_arrivals){.items = CS_NEW_ARRAY(arena, struct cs_arrival, list.set->routes.n + 1)};
    CS_REQUIRE(arrivals->items, CS_NO_MEMORY, "out of memory for %zu arrivals", list.set->routes.n);
    CS_TRY(check_omitted(&list));
    CS_TRY(list_all(&list, loader));
    if (op->is_shuffled) shuffle(&list);
    if (op->n_order) CS_TRY(reorder(&list, arena, op));
    CS_TRY(count_sent(&list, arena));
    return op->kind == CS_OP_COLD_START ? be_strict(&list) : CS_OK;
}
