/* What arrives, in which order, and the accounting of one load (R4 "Accounting"). */
#include "sim/session/internal.h"

#include <string.h>

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

/* Tensors are copied by value: a router's bf16 bias into an f32 one, GPTQ's f16 scales into bf16 ones; powers of two go
 * as bytes, whatever a checkpoint calls them. Source: vllm model_loader/weight_utils.py, default_weight_loader, and
 * fused_moe/routed_experts.py (copy_). */
static bool dtype_fits(const struct cs_checkpoint_entry *entry, const struct cs_route *route) {
    bool is_converted = cs_dtype_is_number(entry->dtype) && cs_dtype_is_number(route->dtype);
    bool is_power = entry->dtype == CS_E8M0 && route->as == CS_E8M0;
    return entry->dtype == route->dtype || is_converted || is_power;
}

/* A checkpoint tensor must be what the loader's table says: a wrong size would be loaded into a smaller rectangle,
 * silently. */
static enum cs_status check_tensor(const struct cs_listing *list, const struct cs_checkpoint_entry *entry,
                                   const struct cs_route *route, bool is_slice) {
    int64_t expected[CS_NDIM] = {0};
    int skipped = is_slice ? 1 : 0;
    if (is_slice) expected[0] = list->session->config.scenario->model.experts;
    memcpy(expected + skipped, route->shape, sizeof(int64_t) * (size_t)route->ndim);
    bool fits = dtype_fits(entry, route) && entry->ndim == route->ndim + skipped;
    for (int d = 0; fits && d < entry->ndim; d++) fits = entry->shape[d] == expected[d];
    bool is_checked = !cs_defects_have(list->session->config.scenario->defects, CS_DEFECT_SIZES_UNCHECKED);
    if (fits || (!is_checked && dtype_fits(entry, route) && entry->ndim == route->ndim + skipped)) return CS_OK;
    char found[CS_VIEW_TEXT], wanted[CS_VIEW_TEXT];
    describe(entry->dtype, entry->ndim, entry->shape, found);
    describe(route->dtype, route->ndim + skipped, expected, wanted);
    return cs_fail(CS_BAD_FILE, "checkpoint %s: tensor \"%s\" is %s, the model expects %s: %s", list->checkpoint->label,
                   entry->name, found, wanted,
                   entry->dtype == route->dtype ? "does the checkpoint belong to a model of another size?"
                                                : "convert the tensor, or take a checkpoint of this format");
}

/* Patterns of an operation select by the name that arrives. */
static bool is_selected(const struct cs_op *op, const char *name) {
    if (op->has_only && !matches_any(op->only, op->n_only, name)) return false;
    return !matches_any(op->omitted, op->n_omitted, name);
}

static enum cs_status append(struct cs_listing *list, const struct cs_arrival *arrival) {
    struct cs_arrivals *arrivals = list->arrivals;
    struct cs_arrival *added =
        cs_arena_grow(list->arena, (void **)&arrivals->items, arrivals->n, &arrivals->capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for %zu arrivals", arrivals->n);
    *added = *arrival;
    arrivals->n++;
    return CS_OK;
}

enum cs_status cs_listing_add(struct cs_listing *list, const struct cs_checkpoint_entry *entry,
                              const struct cs_route *route, bool is_slice) {
    if (!is_selected(list->op, route->tensor)) return CS_OK;
    CS_TRY(check_tensor(list, entry, route, is_slice));
    const struct cs_arrival arrival = {.name = route->tensor, .entry = entry, .route = route, .is_slice = is_slice};
    return append(list, &arrival);
}

enum cs_status cs_listing_add_merged(struct cs_listing *list, const struct cs_route *route,
                                     const struct cs_checkpoint_entry *const *parts, size_t n_parts) {
    if (!is_selected(list->op, route->tensor)) return CS_OK;
    const struct cs_arrival arrival = {.name = route->tensor, .route = route, .parts = parts, .n_parts = n_parts};
    return append(list, &arrival);
}

/* A checkpoint tensor that no loader expects. The model may trip over it when it arrives. */
enum cs_status cs_listing_add_unknown(struct cs_listing *list, const char *name) {
    struct cs_accounting *accounting = &list->session->accounting;
    const struct cs_model_config *model = &list->session->config.scenario->model;
    if (matches_any(model->not_simulated, model->n_not_simulated, name)) {
        accounting->not_simulated++;
        return CS_OK;
    }
    if (list->session->config.only_module || !is_selected(list->op, name)) return CS_OK;
    accounting->excess++;
    if (!accounting->first_excess) accounting->first_excess = name;
    const struct cs_arrival arrival = {.name = name};
    return append(list, &arrival);
}

/* In the checkpoint's own order and form. */
static enum cs_status list_entries(struct cs_listing *list) {
    for (size_t i = 0; i < list->checkpoint->n_entries; i++) {
        const struct cs_checkpoint_entry *entry = &list->checkpoint->entries[i];
        const struct cs_route *route = cs_route_find(list->set, entry->name);
        CS_TRY(route ? cs_listing_add(list, entry, route, false) : cs_listing_add_unknown(list, entry->name));
    }
    return CS_OK;
}

/* How many of a loader's expert tensors the checkpoint has, and how many there are. */
static enum cs_status count_form(struct cs_listing *list, const struct cs_loader *loader, size_t *n_found, size_t *n) {
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

/* The loader in whose form the checkpoint is: of the wanted one, the scenario's and the method's, the first of whose
 * tensors the largest part is there (several forms have the same names). */
static enum cs_status form_of(struct cs_listing *list, const struct cs_loader *wanted, const struct cs_loader **form) {
    const char *const *loaders = cs_scenario_method(list->session->config.scenario)->loaders;
    const struct cs_loader *usual = cs_session_loader(list->session, NULL);
    size_t best_found, best_n, n_found, n;
    *form = wanted;
    CS_TRY(count_form(list, wanted, &best_found, &best_n));
    CS_TRY(count_form(list, usual, &n_found, &n));
    if (n_found * best_n > best_found * n) {
        *form = usual;
        best_found = n_found, best_n = n;
    }
    for (; *loaders && best_found < best_n; loaders++) {
        const struct cs_loader *loader = cs_session_loader(list->session, *loaders);
        CS_TRY(count_form(list, loader, &n_found, &n));
        if (n_found * best_n <= best_found * n) continue;
        *form = loader;
        best_found = n_found, best_n = n;
    }
    return CS_OK;
}

/* A pattern that matches nothing is a slip of the pen. */
static enum cs_status check_patterns(const struct cs_listing *list, const char *key, const char *const *patterns,
                                     size_t n) {
    const struct cs_scenario *scenario = list->session->config.scenario;
    for (size_t p = 0; p < n && !list->session->config.only_module; p++) {
        bool is_used = false;
        for (size_t i = 0; i < list->set->routes.n && !is_used; i++)
            is_used = cs_text_matches(patterns[p], list->set->routes.items[i].tensor);
        for (size_t i = 0; i < list->checkpoint->n_entries && !is_used; i++)
            is_used = cs_text_matches(patterns[p], list->checkpoint->entries[i].name);
        CS_REQUIRE(is_used, CS_BAD_SCRIPT,
                   "%s:%d: %s: no tensor of this load matches \"%s\"; the first of %zu is \"%s\"", scenario->file,
                   list->op->line, key, patterns[p], list->set->routes.n,
                   list->set->routes.n ? list->set->routes.items[0].tensor : "");
    }
    return CS_OK;
}

static enum cs_status check_selection(const struct cs_listing *list) {
    const struct cs_op *op = list->op;
    CS_TRY(check_patterns(list, "only", op->only, op->n_only));
    CS_TRY(check_patterns(list, "omit", op->omitted, op->n_omitted));
    return check_patterns(list, "duplicate", op->duplicated, op->n_duplicated);
}

static enum cs_status list_all(struct cs_listing *list, const struct cs_loader *loader) {
    if (!loader) return list_entries(list);
    const struct cs_loader *form;
    CS_TRY(form_of(list, loader, &form));
    return form == loader ? list_entries(list) : cs_listing_in_other_form(list, loader, form);
}

/* By the final order: an explicit one may send a tensor twice and another never. What comes in another form than the
 * loader's is not expected in it. */
static enum cs_status count_sent(struct cs_listing *list) {
    const struct cs_route *expected = list->set->routes.items;
    bool *is_sent = CS_NEW_ARRAY(list->arena, bool, list->set->routes.n + 1);
    CS_REQUIRE(is_sent, CS_NO_MEMORY, "out of memory for the accounting of %zu tensors", list->set->routes.n);
    struct cs_accounting *accounting = &list->session->accounting;
    for (size_t i = 0; i < list->arrivals->n; i++) {
        const struct cs_route *route = list->arrivals->items[i].route;
        bool is_expected = route && route >= expected && route < expected + list->set->routes.n;
        if (!is_expected) continue;
        bool *sent = &is_sent[route - expected];
        accounting->duplicate += *sent;
        *sent = true;
    }
    for (size_t i = 0; i < list->set->routes.n; i++) {
        if (is_sent[i] || expected[i].is_optional) continue;
        accounting->missing++;
        if (!accounting->first_missing) accounting->first_missing = expected[i].tensor;
    }
    return CS_OK;
}

/* A cold start needs every tensor and knows every tensor; in a reload the driver's own rule holds: what is not sent is
 * not loaded. */
static enum cs_status be_strict(const struct cs_listing *list) {
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

/* Mutants read another one: what a cache of paths kept, or of another checkpoint with the same headers. */
static const struct cs_checkpoint *checkpoint_of(const struct cs_session *session, const struct cs_op *op) {
    const struct cs_scenario *scenario = session->config.scenario;
    const char *name = op->checkpoint;
    if (op->kind == CS_OP_RELOAD && cs_defects_have(scenario->defects, CS_DEFECT_CACHED_CHECKPOINT))
        name = scenario->ops[0].checkpoint;
    if (op->driver && cs_text_equal(op->driver, "meta_build") &&
        cs_defects_have(scenario->defects, CS_DEFECT_CACHE_KEY_OF_HEADERS))
        name = scenario->checkpoints[0].name;
    return cs_session_checkpoint(session, name ? name : op->checkpoint);
}

enum cs_status cs_session_arrivals(struct cs_session *session, const struct cs_op *op, struct cs_arena *arena,
                                   struct cs_arrivals *arrivals) {
    session->accounting = (struct cs_accounting){0};
    *arrivals = (struct cs_arrivals){0};
    const struct cs_driver *driver = op->driver ? cs_driver_by_name(op->driver) : NULL;
    if (driver && driver->takes != CS_TAKES_CHECKPOINT) return CS_OK;
    const struct cs_loader *loader = cs_session_loader(session, op->loader);
    struct cs_listing list = {
        .session = session, .op = op, .checkpoint = checkpoint_of(session, op), .arrivals = arrivals, .arena = arena};
    CS_TRY(cs_session_routes(session, loader, op->checkpoint, &list.set));
    CS_TRY(check_selection(&list));
    CS_TRY(list_all(&list, loader));
    arrivals->set = list.set;
    CS_TRY(cs_listing_order(&list));
    arrivals->set = list.set;
    if (session->config.scenario->defects && op->kind == CS_OP_RELOAD) CS_TRY(cs_listing_mutate(&list));
    CS_TRY(count_sent(&list));
    return op->kind == CS_OP_COLD_START ? be_strict(&list) : CS_OK;
}
