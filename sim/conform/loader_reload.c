/* Family loaders/: reload.json. A layer is loaded, and reloaded layer by layer as the release does, without any padding
 * policy and without post-load: when it is processed, what post-load would see, and what is left in the end. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/conform/internal.h"
#include "sim/driver/driver.h"

/* ---- arrival orders, by id ---- */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Per projection: weight, input_scale, weight_scale. */
static int weight_first(const void *a, const void *b) {
    static const char *const kinds[] = {"*.weight", "*.input_scale", "*.weight_scale"};
    static const char *const projections[] = {"*.gate_proj.*", "*.up_proj.*", "*.down_proj.*"};
    const char *names[] = {*(const char *const *)a, *(const char *const *)b};
    size_t rank[2] = {0, 0};
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < 3; i++) {
            if (cs_text_matches(projections[i], names[n])) rank[n] += 3 * i;
            if (cs_text_matches(kinds[i], names[n])) rank[n] += i;
        }
    long long expert[] = {strtoll(names[0], NULL, 10), strtoll(names[1], NULL, 10)};
    if (expert[0] != expert[1]) return expert[0] < expert[1] ? -1 : 1;
    return (rank[0] > rank[1]) - (rank[0] < rank[1]);
}

/* Per projection of an expert, as checkpoints are captured where nothing else is said; what has neither, as it is. */
static int by_projection(const void *a, const void *b) {
    static const char *const projections[] = {"*.gate_proj.*", "*.up_proj.*", "*.down_proj.*"};
    const char *names[] = {*(const char *const *)a, *(const char *const *)b};
    long long rank[2];
    for (int n = 0; n < 2; n++) {
        rank[n] = 3 * strtoll(names[n], NULL, 10);
        for (int i = 0; i < 3; i++)
            if (cs_text_matches(projections[i], names[n])) rank[n] += i;
    }
    return (rank[0] > rank[1]) - (rank[0] < rank[1]);
}

static const struct {
    const char *ids;
    int (*order)(const void *, const void *);
} orders[] = {{"*-alpha", by_name}, {"reload-fp8blk-*", by_name}, {"*-wfirst", weight_first}, {"*", by_projection}};

/* Those that are equal stay in their order. */
static void sort(const char **names, size_t n, int (*order)(const void *, const void *)) {
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && order(&names[k - 1], &names[k]) > 0; k--) {
            const char *name = names[k];
            names[k] = names[k - 1], names[k - 1] = name;
        }
}

/* ---- partial updates, by id ---- */

static const struct {
    const char *ids, *tensors; /* that are not sent */
} withheld[] = {{"reload-missing-expert*", "1.*"}};

static bool is_withheld(const struct cs_golden_case *golden, const char *tensor) {
    for (size_t i = 0; i < CS_COUNT(withheld); i++)
        if (cs_text_matches(withheld[i].ids, golden->id) && cs_text_matches(withheld[i].tensors, tensor)) return true;
    return false;
}

/* ---- a layer and what happened to it ---- */

struct reload {
    struct cs_layer layer;
    struct cs_checkpoint old, new;
    const char **names;                           /* of the checkpoint's tensors, in the order of arrival */
    int64_t n_processed, n_counted, triggered_at; /* -1: not while loading */
    struct cs_bytes *seen;                        /* by slot: when post-load would have run */
};

/* Stands where a policy fills: right before post-load. */
static enum cs_status look(struct cs_padding *padding, cs_padding_lookup *lookup, void *context,
                           const struct cs_device *device, struct cs_fill_stats *stats) {
    (void)padding, (void)lookup, (void)stats;
    struct cs_module *module = context;
    struct reload *reload = (struct reload *)(void *)((char *)module - offsetof(struct reload, layer.module));
    reload->n_processed++;
    for (size_t i = 0; i < module->n_slots; i++)
        CS_TRY(cs_bytes_of_view(&reload->layer.arena, device, &module->slots[i].param->view, &reload->seen[i]));
    return CS_OK;
}
static const struct cs_policy looking = {.name = "look", .rule = "", .weakness = "", .before_post_load = look};

/* Every element of version 1 differs from version 0. */
static enum cs_status make_checkpoint(const struct cs_golden_case *golden, const struct cs_layer *layer, unsigned shift,
                                      struct cs_checkpoint *checkpoint) {
    cs_checkpoint_init(checkpoint, "reload");
    for (size_t i = 0; i < layer->routes.n; i++) {
        const struct cs_route *route = &layer->routes.items[i];
        if (shift && is_withheld(golden, route->tensor)) continue;
        struct cs_content content = cs_checkpoint_hash_content(1, route->tensor, route->dtype);
        content.shift = shift;
        CS_TRY(cs_checkpoint_add(checkpoint, route->tensor, route->dtype, route->ndim, route->shape, &content));
    }
    return CS_OK;
}

static enum cs_status list_names(struct cs_golden_case *golden, struct reload *reload) {
    size_t n = reload->new.n_entries;
    reload->names = CS_NEW_ARRAY(&golden->arena, const char *, n + 1);
    reload->seen = CS_NEW_ARRAY(&golden->arena, struct cs_bytes, reload->layer.module.n_slots + 1);
    CS_REQUIRE(reload->names && reload->seen, CS_NO_MEMORY, "no memory for %zu tensors", n);
    for (size_t i = 0; i < n; i++) reload->names[i] = reload->new.entries[i].name;
    for (size_t i = 0; i < CS_COUNT(orders); i++) {
        if (!cs_text_matches(orders[i].ids, golden->id)) continue;
        sort(reload->names, n, orders[i].order);
        break;
    }
    return CS_OK;
}

/* ---- the reload ---- */

static int64_t expected_count(const struct cs_module *module, const char *name) {
    for (size_t i = 0; i < module->spec->n_tensors; i++) {
        const struct cs_tensor_spec *spec = &module->spec->tensors[i];
        if (!cs_text_equal(spec->name, name)) continue;
        int64_t numel = 1;
        for (int d = 0; d < spec->ndim; d++) numel *= spec->shape[d];
        return spec->weight_loader_numel >= 0 ? spec->weight_loader_numel : numel;
    }
    return 0;
}

static enum cs_status send_slot(struct reload *reload, const struct cs_driver *driver, const struct cs_route *route,
                                int64_t slot) {
    struct cs_layer *layer = &reload->layer;
    struct cs_load_call call = {
        .module = &layer->module, .loader = layer->loader, .row = route->row, .tensor = route->tensor, .expert = slot};
    CS_TRY(cs_checkpoint_source(&reload->new, cs_checkpoint_find(&reload->new, route->tensor), &layer->rank.allocator,
                                &call.source));
    CS_TRY(driver->load(&layer->rank, &call, route->param));
    int64_t most = expected_count(&layer->module, route->param);
    reload->n_counted += call.counted < most ? call.counted : most;
    return CS_OK;
}

static enum cs_status send(struct reload *reload, const struct cs_driver *driver, const char *name) {
    const struct cs_rank_spec *rank = &reload->layer.rank_spec;
    const struct cs_route *route = reload->layer.routes.items;
    while (!cs_text_equal(route->tensor, name)) route++;
    if (route->expert < 0) return send_slot(reload, driver, route, -1);
    int64_t n = cs_load_physical_experts(&reload->layer.rank, reload->layer.loader);
    for (int64_t e = route->expert; e < n; e += rank->sizes.experts_global) {
        int64_t slot = cs_load_slot(rank, route->row, e);
        if (slot >= 0) CS_TRY(send_slot(reload, driver, route, slot));
    }
    return CS_OK;
}

static enum cs_status run_reload(struct reload *reload) {
    const struct cs_driver *driver = cs_driver_by_name("layerwise");
    struct cs_rank *rank = &reload->layer.rank;
    rank->allocator.rule.fresh_reload = (struct cs_pattern){.kind = CS_PATTERN_BYTE, .byte = 0xAA};
    rank->policy = &looking;
    reload->triggered_at = -1;
    CS_TRY(driver->begin(rank));
    for (size_t i = 0; i < reload->new.n_entries; i++) {
        bool was_processed = reload->layer.module.is_processed;
        CS_TRY(send(reload, driver, reload->names[i]));
        if (!was_processed && reload->layer.module.is_processed) reload->triggered_at = (int64_t)i;
    }
    return driver->finish(rank);
}

/* ---- against the capture ---- */

struct truth { /* what a fresh layer holds after a load of the same checkpoint */
    struct cs_layer layer;
    struct cs_source_set *sets;
    struct cs_bytes *old, *new; /* by slot */
};

static enum cs_status bytes_after(struct cs_golden_case *golden, struct cs_layer *layer,
                                  const struct cs_checkpoint *checkpoint, struct cs_bytes **bytes) {
    *bytes = CS_NEW_ARRAY(&golden->arena, struct cs_bytes, layer->module.n_slots + 1);
    CS_REQUIRE(*bytes, CS_NO_MEMORY, "no memory for a layer's bytes");
    CS_TRY(cs_layer_poison(layer, 0, false));
    CS_TRY(cs_layer_send(layer, checkpoint, ""));
    for (size_t i = 0; i < layer->module.n_slots; i++)
        CS_TRY(cs_bytes_of_view(&golden->arena, layer->rank.device, &layer->module.slots[i].param->view, &(*bytes)[i]));
    return CS_OK;
}

/* Sources of every element need a checkpoint that numbers them. */
static enum cs_status find_truth(struct cs_golden_case *golden, const struct reload *reload, struct truth *truth) {
    size_t n = truth->layer.routes.n;
    struct cs_golden_tensor *tensors = CS_NEW_ARRAY(&golden->arena, struct cs_golden_tensor, n + 1);
    CS_REQUIRE(tensors, CS_NO_MEMORY, "no memory for %zu tensors", n);
    struct cs_golden_checkpoint numbered = {.tensors = tensors};
    for (size_t i = 0; i < n; i++) {
        const struct cs_route *route = &truth->layer.routes.items[i];
        struct cs_view view;
        if (is_withheld(golden, route->tensor)) continue;
        CS_TRY(cs_view_make(&view, NULL, route->dtype, route->ndim, route->shape));
        tensors[numbered.n] = (struct cs_golden_tensor){.name = route->tensor,
                                                        .dtype = route->dtype,
                                                        .ndim = route->ndim,
                                                        .start = numbered.n_elements,
                                                        .n_elements = cs_view_numel(&view)};
        memcpy(tensors[numbered.n].shape, route->shape, sizeof route->shape);
        numbered.n_elements += tensors[numbered.n++].n_elements;
    }
    CS_TRY(cs_digits_derive(&golden->arena, &truth->layer, &numbered, &truth->sets));
    CS_TRY(bytes_after(golden, &truth->layer, &reload->old, &truth->old));
    return bytes_after(golden, &truth->layer, &reload->new, &truth->new);
}

/* Elements with and without a source that differ from a fresh layer's. */
static void count_differences(const struct cs_source_set *set, const struct cs_bytes *expected,
                              const struct cs_bytes *actual, int64_t *wrong, int64_t *garbage) {
    size_t width = (size_t)cs_dtype_bits(set->dtype) / 8;
    *wrong = *garbage = 0;
    for (size_t i = 0; i < expected->size / width; i++) {
        bool differs = memcmp(expected->data + i * width, actual->data + i * width, width) != 0;
        *(set->from[i] == CS_FROM_NOTHING ? garbage : wrong) += differs;
    }
}

static enum cs_status compare_number(const json_t *json, const char *what, const char *key, int64_t actual) {
    int64_t expected;
    CS_TRY(cs_golden_integer(json, key, &expected));
    CS_REQUIRE(expected == actual, CS_BAD_VALUE, "%s: %s: expected %" PRId64 ", got %" PRId64, what, key, expected,
               actual);
    return CS_OK;
}

static enum cs_status compare_param(const struct reload *reload, const struct truth *truth, size_t i,
                                    const json_t *json, struct cs_arena *arena) {
    const struct cs_slot *slot = &reload->layer.module.slots[i];
    struct cs_bytes last;
    int64_t wrong, garbage;
    CS_REQUIRE(json_is_object(json), CS_BAD_VALUE, "%s: the real layer has no such parameter", slot->name);
    CS_TRY(cs_bytes_of_view(arena, reload->layer.rank.device, &slot->param->view, &last));
    count_differences(&truth->sets[i], &truth->new[i], &last, &wrong, &garbage);
    CS_TRY(compare_number(json, slot->name, "numel", cs_view_numel(&slot->param->view)));
    CS_TRY(compare_number(json, slot->name, "padding", truth->sets[i].n_nothing));
    CS_TRY(compare_number(json, slot->name, "final_wrong", wrong));
    CS_TRY(compare_number(json, slot->name, "final_padding_garbage", garbage));
    bool is_old = last.size == 0 || memcmp(last.data, truth->old[i].data, last.size) == 0;
    CS_REQUIRE(json_is_true(json_object_get(json, "equals_old")) == is_old, CS_BAD_VALUE, "%s: equals_old: got %d",
               slot->name, is_old);
    if (!reload->n_processed) return CS_OK;
    count_differences(&truth->sets[i], &truth->new[i], &reload->seen[i], &wrong, &garbage);
    CS_TRY(compare_number(json, slot->name, "at_processing_wrong", wrong));
    return compare_number(json, slot->name, "at_processing_padding_garbage", garbage);
}

static enum cs_status compare_trigger(const struct reload *reload, const json_t *json) {
    bool is_triggered = reload->triggered_at >= 0;
    CS_REQUIRE(json_is_true(json_object_get(json, "triggered_during_load")) == is_triggered, CS_BAD_VALUE,
               "triggered_during_load: got %d", is_triggered);
    int64_t total = 0;
    for (size_t i = 0; i < reload->layer.module_spec.n_tensors; i++)
        total += expected_count(&reload->layer.module, reload->layer.module_spec.tensors[i].name);
    CS_TRY(compare_number(json, "reload", "pwal_calls", reload->n_processed));
    CS_TRY(compare_number(json, "reload", "n_tensors", (int64_t)reload->new.n_entries));
    CS_TRY(compare_number(json, "reload", "load_numel_before_finalize", is_triggered ? 0 : reload->n_counted));
    CS_TRY(compare_number(json, "reload", "load_numel_total", is_triggered ? 0 : total));
    const json_t *at = json_object_get(json, "triggered_at"), *late = json_object_get(json, "tensors_after_trigger"),
                 *name;
    if (!json_is_array(at)) return CS_OK;
    CS_REQUIRE(json_integer_value(json_array_get(at, 0)) == reload->triggered_at, CS_BAD_VALUE,
               "triggered_at: expected %" PRId64 ", got %" PRId64, (int64_t)json_integer_value(json_array_get(at, 0)),
               reload->triggered_at);
    enum { MOST_LISTED = 8 }; /* by the capture */
    size_t i, first = (size_t)reload->triggered_at, n = reload->new.n_entries - first - 1;
    CS_REQUIRE(json_array_size(late) == (n < MOST_LISTED ? n : MOST_LISTED), CS_BAD_VALUE,
               "tensors_after_trigger: expected %zu, got %zu", json_array_size(late), n);
    json_array_foreach(late, i, name)
        CS_REQUIRE(cs_text_equal(json_string_value(name), reload->names[first + 1 + i]), CS_BAD_VALUE,
                   "tensors_after_trigger: got %s", reload->names[first + 1 + i]);
    return CS_OK;
}

static enum cs_status compare(struct cs_golden_case *golden, const struct reload *reload, struct truth *truth) {
    const json_t *json, *params;
    CS_TRY(cs_golden_object(golden->json, "reload", &json));
    CS_TRY(cs_golden_object(json, "params", &params));
    CS_TRY(compare_trigger(reload, json));
    CS_TRY(find_truth(golden, reload, truth));
    for (size_t i = 0; i < reload->layer.module.n_slots; i++)
        CS_TRY(compare_param(reload, truth, i, json_object_get(params, reload->layer.module.slots[i].name),
                             &golden->arena));
    return CS_OK;
}

/* ---- the case ---- */

static enum cs_status load_and_reload(struct cs_golden_case *golden, struct reload *reload) {
    CS_TRY(make_checkpoint(golden, &reload->layer, 0, &reload->old));
    CS_TRY(make_checkpoint(golden, &reload->layer, 37, &reload->new));
    CS_TRY(list_names(golden, reload));
    CS_TRY(cs_layer_poison(&reload->layer, 0, false));
    reload->layer.module_spec.backend = NULL; /* post-load is not what this is about */
    const char *error = cs_golden_string(json_object_get(golden->json, "load_error"), "type");
    if (error) return cs_golden_refusal(error, run_reload(reload));
    CS_TRY(cs_layer_send(&reload->layer, &reload->old, ""));
    return run_reload(reload);
}

enum cs_status cs_golden_loader_reload(struct cs_golden_case *golden) {
    struct cs_layer_config config;
    struct reload *reload = CS_NEW(&golden->arena, struct reload);
    struct truth *truth = CS_NEW(&golden->arena, struct truth);
    CS_REQUIRE(reload && truth, CS_NO_MEMORY, "no memory for a layer");
    CS_TRY(cs_golden_layer_config(golden, &config));
    config.prefix = "";
    config.defects = config.known_defects;
    CS_TRY(cs_sizes_for_backend(&config.sizes, config.backend, false));
    CS_TRY(cs_golden_compare_sizes(golden, &config.sizes));
    enum cs_status status = cs_layer_open(&reload->layer, &config);
    if (status == CS_OK) status = cs_layer_open(&truth->layer, &config);
    if (status == CS_OK) status = load_and_reload(golden, reload);
    if (status == CS_OK && json_object_get(golden->json, "reload")) status = compare(golden, reload, truth);
    cs_checkpoint_close(&reload->old);
    cs_checkpoint_close(&reload->new);
    cs_layer_close(&reload->layer);
    cs_layer_close(&truth->layer);
    return status;
}
