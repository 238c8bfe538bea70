/* A checkpoint that a trainer sends in another form than it has: one expert at a time out of combined tensors, or
 * combined tensors made of those of experts. */
#include "sim/session/internal.h"

#include <string.h>

static bool is_per_expert(const struct cs_loader *loader) {
    return loader->n_rows && strncmp(loader->rows[0].tensor, "{expert}.", 9) == 0;
}

/* ---- slices ---- */

/* What the checkpoint calls the tensor of all experts that has the route's slice. */
static const char *name_in_form(const struct cs_listing *list, const struct cs_route *route,
                                const struct cs_loader *form) {
    const struct cs_module_spec *spec = &list->session->model.ranks[0].modules[route->module];
    const struct cs_routes names = {
        .arena = &list->session->arena, .renames = spec->renames, .n_renames = spec->n_renames};
    return cs_routes_name(&names, route->prefix, &form->rows[route->row - route->loader->rows], -1);
}

/* The loader's order, slices of the checkpoint's form. */
static enum cs_status list_slices(struct cs_listing *list, const struct cs_loader *form,
                                  const struct cs_route_set *whole) {
    for (size_t i = 0; i < list->checkpoint->n_entries; i++)
        if (!cs_route_find(whole, list->checkpoint->entries[i].name))
            CS_TRY(cs_listing_add_unknown(list, list->checkpoint->entries[i].name));
    for (size_t i = 0; i < list->set->routes.n; i++) {
        const struct cs_route *route = &list->set->routes.items[i];
        const char *name = route->tensor;
        if (route->row) name = name_in_form(list, route, form);
        CS_REQUIRE(name, CS_NO_MEMORY, "out of memory for the names of checkpoint tensors");
        const struct cs_checkpoint_entry *entry = cs_checkpoint_find(list->checkpoint, name);
        if (entry) CS_TRY(cs_listing_add(list, entry, route, route->row != NULL));
    }
    return CS_OK;
}

/* ---- merging ---- */

/* The combined tensor that takes what `part` would load, or NULL. */
static const struct cs_route *combined_of(const struct cs_listing *list, const struct cs_route *part) {
    for (size_t i = 0; i < list->set->routes.n; i++) {
        const struct cs_route *route = &list->set->routes.items[i];
        if (route->row && route->module == part->module && cs_text_equal(route->param, part->param)) return route;
    }
    return NULL;
}

static size_t numel_of(int ndim, const int64_t *shape) {
    size_t numel = 1;
    for (int d = 0; d < ndim; d++) numel *= (size_t)shape[d];
    return numel;
}

/* Parts lie behind each other: experts, and in each of them the form's rows. The last one is there when the tensor can
 * be sent. */
static enum cs_status collect_parts(struct cs_listing *list, const struct cs_route_set *form,
                                    const struct cs_route *combined, struct cs_arrival *merged, bool *is_last,
                                    const char *name) {
    size_t numel = 0, n = 0;
    const struct cs_checkpoint_entry **parts =
        CS_NEW_ARRAY(list->arena, const struct cs_checkpoint_entry *, form->routes.n);
    CS_REQUIRE(parts, CS_NO_MEMORY, "out of memory for the parts of %s", combined->tensor);
    for (size_t i = 0; i < form->routes.n; i++) {
        const struct cs_route *part = &form->routes.items[i];
        bool belongs = part->row && part->module == combined->module && cs_text_equal(part->param, combined->param);
        if (!belongs) continue;
        const struct cs_checkpoint_entry *entry = cs_checkpoint_find(list->checkpoint, part->tensor);
        CS_REQUIRE(entry && entry->dtype == combined->dtype, CS_BAD_FILE,
                   "checkpoint %s: \"%s\" is missing or of another dtype: %s cannot be made of its experts",
                   list->checkpoint->label, part->tensor, combined->tensor);
        parts[n++] = entry;
        numel += numel_of(entry->ndim, entry->shape);
        *is_last = cs_text_equal(entry->name, name);
    }
    CS_REQUIRE(numel == numel_of(combined->ndim, combined->shape), CS_BAD_SHAPE,
               "checkpoint %s: the experts have %zu elements, \"%s\" has %zu", list->checkpoint->label, numel,
               combined->tensor, numel_of(combined->ndim, combined->shape));
    *merged = (struct cs_arrival){.parts = parts, .n_parts = n};
    return CS_OK;
}

/* The checkpoint's order; a combined tensor comes when its last part would. What has no combined form comes as it is.
 */
static enum cs_status list_merged(struct cs_listing *list, const struct cs_route_set *form) {
    for (size_t i = 0; i < list->checkpoint->n_entries; i++) {
        const struct cs_checkpoint_entry *entry = &list->checkpoint->entries[i];
        const struct cs_route *route = cs_route_find(form, entry->name);
        if (!route) {
            CS_TRY(cs_listing_add_unknown(list, entry->name));
            continue;
        }
        const struct cs_route *combined = route->row ? combined_of(list, route) : NULL;
        if (!combined) {
            const struct cs_route *own = cs_route_find(list->set, entry->name);
            CS_TRY(cs_listing_add(list, entry, own ? own : route, false));
            continue;
        }
        struct cs_arrival merged = {0};
        bool is_last = false;
        CS_TRY(collect_parts(list, form, combined, &merged, &is_last, entry->name));
        if (is_last) CS_TRY(cs_listing_add_merged(list, combined, merged.parts, merged.n_parts));
    }
    return CS_OK;
}

/* Row by row, whole tensors of all experts. */
static bool has_slices(const struct cs_loader *loader, const struct cs_loader *form) {
    bool has = !is_per_expert(form) && loader->n_rows == form->n_rows;
    for (size_t i = 0; has && i < form->n_rows; i++) {
        const char *whole = form->rows[i].shape;
        has = strncmp(whole, "E", 1) == 0 && cs_text_equal(whole + strspn(whole, "E "), loader->rows[i].shape);
    }
    return has;
}

bool cs_session_takes_form(const struct cs_loader *loader, const struct cs_loader *form) {
    if (is_per_expert(loader)) return has_slices(loader, form);
    return is_per_expert(form) && !loader->is_transposed && !form->is_transposed;
}

enum cs_status cs_listing_in_other_form(struct cs_listing *list, const struct cs_loader *loader,
                                        const struct cs_loader *form) {
    const struct cs_route_set *form_set;
    CS_TRY(cs_session_routes(list->session, form, NULL, &form_set));
    bool is_sliced = is_per_expert(loader);
    CS_REQUIRE(
        cs_session_takes_form(loader, form), CS_UNSUPPORTED,
        "checkpoint %s has the tensors of loader %s, which cannot be sent in the form of %s: use loader = \"%s\"",
        list->checkpoint->label, form->name, loader->name, form->name);
    return is_sliced ? list_slices(list, form, form_set) : list_merged(list, form_set);
}
