/* Family loaders/: one case, that is one layer on one rank. */
#include "sim/conform/internal.h"

#include <string.h>

/* The engine's methods by the names of the captures. */
/* clang-format off */
static const struct {
    const char *captured, *method, *loader;
} methods[] = {
    {"gptoss_mxfp4",          "gpt_oss_mxfp4", "gpt_oss_combined"},
    {"gptoss_mxfp4_streamed", "gpt_oss_mxfp4", "gpt_oss_streamed"},
};
/* clang-format on */

/* ---- what the case is about ---- */

static enum cs_status find_method(const json_t *json, struct cs_layer_config *config) {
    const char *captured = cs_golden_string(json, "method"), *backend = cs_golden_string(json, "backend");
    for (size_t i = 0; i < CS_COUNT(methods) && captured && backend; i++) {
        if (!cs_text_equal(methods[i].captured, captured)) continue;
        config->method = cs_method_by_name(methods[i].method);
        config->loader = cs_loader_by_name(methods[i].loader);
        config->backend = config->method ? cs_backend_by_name(config->method, backend) : NULL;
    }
    return config->backend && config->loader ? CS_OK : cs_fail(CS_UNSUPPORTED, "no such method or back end");
}

/* A case has a layer's sizes; entries of other files may carry the same method's name. */
bool cs_golden_loader_is_supported(const json_t *json) {
    struct cs_layer_config config = {0};
    return json_object_get(json, "dims") && find_method(json, &config) == CS_OK;
}

static enum cs_status small_integer(const json_t *json, const char *key, int64_t absent, int *number) {
    int64_t value = absent;
    if (json_object_get(json, key)) CS_TRY(cs_golden_integer(json, key, &value));
    CS_REQUIRE(value >= 0 && value <= INT16_MAX, CS_BAD_FILE, "golden file: \"%s\" is %" PRId64, key, value);
    *number = (int)value;
    return CS_OK;
}

/* Sizes and place of the rank, before rounding. Experts are placed linearly: the first ranks get the remainder. */
static enum cs_status read_config(const struct cs_golden_case *golden, struct cs_layer_config *config) {
    const json_t *json = golden->json, *dims;
    struct cs_sizes *sizes = &config->sizes;
    config->device = golden->device;
    CS_TRY(find_method(json, config));
    CS_TRY(cs_golden_object(json, "dims", &dims));
    CS_TRY(cs_golden_integer(dims, "E", &sizes->experts_global));
    CS_TRY(cs_golden_integer(dims, "H", &sizes->hidden_u));
    CS_TRY(cs_golden_integer(dims, "I", &sizes->intermediate_full));
    CS_TRY(small_integer(json, "tp", 1, &sizes->tp));
    CS_TRY(small_integer(json, "ep", 1, &sizes->ep));
    CS_TRY(small_integer(json, "rank", 0, &config->tp_rank));
    CS_TRY(small_integer(json, "eprank", 0, &config->ep_rank));
    CS_REQUIRE(sizes->ep > 0 && sizes->experts_global >= 0, CS_BAD_FILE,
               "golden file: \"ep\" or \"E\" is not positive");
    int64_t each = sizes->experts_global / sizes->ep, rest = sizes->experts_global % sizes->ep;
    sizes->experts = each + (config->ep_rank < rest);
    config->first_expert = each * config->ep_rank + (config->ep_rank < rest ? config->ep_rank : rest);
    return CS_OK;
}

/* ---- parameters as created ---- */

static enum cs_status compare_sizes(const struct cs_golden_case *golden, const struct cs_sizes *sizes) {
    const json_t *json;
    CS_TRY(cs_golden_object(golden->json, "sizes", &json));
    const struct {
        const char *key;
        int64_t actual;
    } rows[] = {
        {"H", sizes->hidden},
        {"I_per_rank", sizes->intermediate},
        {"H_unpadded", sizes->hidden_u},
        {"I_unpadded", sizes->intermediate_u},
        {"E_local", sizes->experts},
        {"E_global", sizes->experts_global},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        int64_t expected;
        CS_TRY(cs_golden_integer(json, rows[i].key, &expected));
        CS_REQUIRE(expected == rows[i].actual, CS_BAD_VALUE, "size %s: expected %" PRId64 ", got %" PRId64, rows[i].key,
                   expected, rows[i].actual);
    }
    return CS_OK;
}

static enum cs_status compare_dims(const char *param, const json_t *json, const char *key, const struct cs_view *view,
                                   const int64_t *actual) {
    int ndim;
    int64_t expected[CS_NDIM];
    CS_TRY(cs_golden_shape(json, key, &ndim, expected));
    CS_REQUIRE(ndim == view->ndim, CS_BAD_SHAPE, "%s: expected %d dimensions, got %d", param, ndim, view->ndim);
    for (int d = 0; d < ndim; d++)
        CS_REQUIRE(expected[d] == actual[d], CS_BAD_SHAPE, "%s: %s[%d]: expected %" PRId64 ", got %" PRId64, param, key,
                   d, expected[d], actual[d]);
    return CS_OK;
}

static enum cs_status compare_param(const struct cs_slot *slot, const json_t *json) {
    const struct cs_view *view = &slot->param->view;
    const char *dtype, *init, *actual = cs_init_name(slot->param->spec->init);
    CS_REQUIRE(json_is_object(json), CS_BAD_VALUE, "%s: we have a parameter of that name, the real layer has none",
               slot->name);
    CS_TRY(compare_dims(slot->name, json, "shape", view, view->shape));
    CS_TRY(compare_dims(slot->name, json, "stride", view, view->stride));
    CS_TRY(cs_golden_text(json, "dtype", &dtype));
    CS_TRY(cs_golden_text(json, "init", &init));
    CS_REQUIRE(cs_text_equal(dtype, cs_dtype_torch(view->dtype)), CS_BAD_TYPE, "%s: expected dtype %s, got %s",
               slot->name, dtype, cs_dtype_torch(view->dtype));
    CS_REQUIRE(cs_text_equal(init, actual), CS_BAD_VALUE, "%s: expected to be created as %s, got %s", slot->name, init,
               actual);
    return CS_OK;
}

static enum cs_status compare_params(const struct cs_golden_case *golden, const struct cs_layer *layer) {
    const json_t *params;
    CS_TRY(cs_golden_object(golden->json, "params", &params));
    for (size_t i = 0; i < layer->module.n_slots; i++)
        CS_TRY(compare_param(&layer->module.slots[i], json_object_get(params, layer->module.slots[i].name)));
    CS_REQUIRE(json_object_size(params) == layer->module.n_slots, CS_BAD_VALUE, "expected %zu parameters, got %zu",
               json_object_size(params), layer->module.n_slots);
    return CS_OK;
}

/* ---- loading ---- */

static const char *ckpt_name(struct cs_arena *arena, const char *tensor) {
    return cs_arena_format(arena, "ckpt.%s", tensor);
}

static enum cs_status compare_sets(struct cs_golden_case *golden, struct cs_layer *layer,
                                   const struct cs_golden_checkpoint *checkpoint) {
    struct cs_source_set *sets, expected;
    CS_TRY(cs_digits_derive(&golden->arena, layer, checkpoint, &sets));
    const json_t *params = json_object_get(golden->json, "params");
    for (size_t i = 0; i < layer->module.n_slots; i++) {
        struct cs_arena scratch = {0};
        enum cs_status status =
            cs_rectangles_read(&scratch, json_object_get(params, sets[i].name), checkpoint, &sets[i], &expected);
        if (status == CS_OK) status = cs_source_sets_equal(checkpoint, &expected, &sets[i]);
        cs_arena_release(&scratch);
        CS_TRY(status);
    }
    return CS_OK;
}

/* Real bytes through the same loader, over 0xAA. */
static enum cs_status compare_bytes(struct cs_golden_case *golden, struct cs_layer *layer,
                                    const struct cs_checkpoint *file) {
    CS_TRY(cs_layer_poison(layer, 0xAA, false));
    CS_TRY(cs_layer_load(layer, file, ckpt_name));
    for (size_t i = 0; i < layer->module.n_slots; i++) {
        const struct cs_slot *slot = &layer->module.slots[i];
        const char *name = cs_arena_format(&golden->arena, "param.%s", slot->name);
        CS_REQUIRE(name, CS_NO_MEMORY, "no memory for a name");
        struct cs_bytes expected, actual;
        CS_TRY(cs_bytes_of_entry(file, name, &expected));
        CS_TRY(cs_bytes_of_view(&golden->arena, golden->device, &slot->param->view, &actual));
        CS_TRY(cs_bytes_equal(slot->name, &expected, &actual));
    }
    return CS_OK;
}

static enum cs_status compare_file(struct cs_golden_case *golden, struct cs_layer *layer) {
    const char *name = cs_golden_string(golden->json, "bytes");
    if (!name) return CS_OK;
    const char *path = cs_arena_format(&golden->arena, "%s/%s", golden->folder, name);
    CS_REQUIRE(path, CS_NO_MEMORY, "no memory for a path");
    struct cs_checkpoint file;
    CS_TRY(cs_checkpoint_open(&file, NULL, path));
    enum cs_status status = compare_bytes(golden, layer, &file);
    cs_checkpoint_close(&file);
    return status;
}

/* ---- what a layerwise reload would count ---- */

static int64_t counted_size(const struct cs_layer *layer) {
    int64_t total = 0;
    for (size_t i = 0; i < layer->module.n_slots; i++) {
        const struct cs_param *param = layer->module.slots[i].param;
        total += param->spec->weight_loader_numel >= 0 ? param->spec->weight_loader_numel : cs_view_numel(&param->view);
    }
    return total;
}

static enum cs_status compare_counts(const json_t *json, const struct cs_layer *layer) {
    int64_t total = counted_size(layer);
    const struct {
        const char *key;
        int64_t actual;
    } rows[] = {{"load_numel_total", total}, {"counted_full_load", layer->n_counted}, {"loader_calls", layer->n_calls}};
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        int64_t expected;
        CS_TRY(cs_golden_integer(json, rows[i].key, &expected));
        CS_REQUIRE(expected == rows[i].actual, CS_BAD_VALUE, "reload counter: %s: expected %" PRId64 ", got %" PRId64,
                   rows[i].key, expected, rows[i].actual);
    }
    bool reaches = layer->n_counted >= total, expected = json_is_true(json_object_get(json, "reaches_total"));
    CS_REQUIRE(reaches == expected, CS_BAD_VALUE, "reload counter: reaches_total: expected %s, got %s",
               expected ? "true" : "false", reaches ? "true" : "false");
    return CS_OK;
}

/* The dry run of a layerwise reload: the same loader on meta parameters. */
static enum cs_status compare_counter(const struct cs_golden_case *golden, const struct cs_layer_config *config,
                                      const struct cs_golden_checkpoint *golden_checkpoint) {
    const json_t *json;
    CS_TRY(cs_golden_object(golden->json, "reload_counter", &json));
    struct cs_layer_config dry = *config;
    dry.on_meta = true;
    struct cs_layer layer;
    struct cs_checkpoint checkpoint;
    enum cs_status status = cs_layer_open(&layer, &dry);
    if (status == CS_OK) {
        status = cs_golden_checkpoint_make(golden_checkpoint, 0, 0, &checkpoint);
        if (status == CS_OK) status = cs_layer_load(&layer, &checkpoint, cs_layer_same_name);
        cs_checkpoint_close(&checkpoint);
    }
    if (status == CS_OK) status = compare_counts(json, &layer);
    cs_layer_close(&layer);
    return status;
}

/* ---- the case ---- */

static enum cs_status run_loads(struct cs_golden_case *golden, const struct cs_layer_config *config,
                                struct cs_layer *layer) {
    struct cs_golden_checkpoint checkpoint;
    CS_TRY(cs_golden_checkpoint_read(golden, &checkpoint));
    CS_TRY(compare_sets(golden, layer, &checkpoint));
    CS_TRY(compare_counter(golden, config, &checkpoint));
    return compare_file(golden, layer);
}

/* Loads once, for what happens. */
static enum cs_status load_once(struct cs_golden_case *golden, struct cs_layer *layer, enum cs_status *outcome) {
    struct cs_golden_checkpoint golden_checkpoint;
    struct cs_checkpoint checkpoint;
    CS_TRY(cs_golden_checkpoint_read(golden, &golden_checkpoint));
    enum cs_status status = cs_golden_checkpoint_make(&golden_checkpoint, 0, 0, &checkpoint);
    if (status == CS_OK) *outcome = cs_layer_load(layer, &checkpoint, cs_layer_same_name);
    cs_checkpoint_close(&checkpoint);
    return status;
}

static enum cs_status exception_of(const json_t *json, const char *key, const char **type) {
    *type = NULL;
    const json_t *error = json_object_get(json, key);
    return error ? cs_golden_text(error, "type", type) : CS_OK;
}

/* A refusal may come at the captured stage or earlier; parameters after a failed load are not compared. */
static enum cs_status check_layer(struct cs_golden_case *golden, const struct cs_layer_config *config,
                                  struct cs_layer *layer, enum cs_status created) {
    const char *create_error, *load_error;
    CS_TRY(exception_of(golden->json, "create_error", &create_error));
    CS_TRY(exception_of(golden->json, "load_error", &load_error));
    if (create_error) return cs_golden_refusal(create_error, created);
    if (load_error && created != CS_OK) return cs_golden_refusal(load_error, created);
    CS_TRY(created);
    CS_TRY(compare_sizes(golden, &config->sizes));
    CS_TRY(compare_params(golden, layer));
    if (!load_error) return run_loads(golden, config, layer);
    enum cs_status outcome = CS_OK;
    CS_TRY(load_once(golden, layer, &outcome));
    return cs_golden_refusal(load_error, outcome);
}

static enum cs_status attempt(struct cs_golden_case *golden, uint64_t defects) {
    struct cs_layer_config config = {.defects = defects};
    struct cs_layer layer = {0};
    CS_TRY(read_config(golden, &config));
    const json_t *checkpoint = json_object_get(golden->json, "checkpoint");
    CS_TRY(cs_golden_prefix(golden, checkpoint, &config.prefix));
    enum cs_status created = cs_sizes_resolve(&config.sizes, &config.backend->released);
    if (created == CS_OK) created = cs_layer_open(&layer, &config);
    enum cs_status status = check_layer(golden, &config, &layer, created);
    cs_layer_close(&layer);
    return status;
}

enum cs_status cs_golden_loader_case(struct cs_golden_case *golden) { return cs_golden_try_defect(golden, attempt); }
