/* Family loaders/: sizes and parameters as create_weights makes them. */
#include "sim/conform/internal.h"

#include <string.h>

enum cs_status cs_golden_compare_sizes(const struct cs_golden_case *golden, const struct cs_sizes *sizes) {
    const json_t *json;
    CS_TRY(cs_golden_object(golden->json, "sizes", &json));
    bool is_padded = json_is_true(json_object_get(json, "tp_shard_with_padding"));
    CS_REQUIRE(is_padded == sizes->shards_whole_blocks, CS_BAD_VALUE, "tp_shard_with_padding: expected %d, got %d",
               is_padded, sizes->shards_whole_blocks);
    const struct {
        const char *key;
        int64_t actual;
    } rows[] = {
        {"H", sizes->hidden},
        {"I_per_rank", sizes->intermediate},
        {"H_unpadded", sizes->hidden_u},
        {"I_unpadded", sizes->intermediate_u},
        {"E_local", sizes->experts},
        {"E_global", sizes->experts_global + sizes->experts_redundant},
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

/* "empty", "full" of 1.0, "zeros@meta". */
static enum cs_status compare_init(const struct cs_slot *slot, const char *expected, bool is_online) {
    const struct cs_tensor_spec *spec = slot->param->spec;
    const char *name = spec->init == CS_INIT_VALUE ? "full" : cs_init_name(spec->init);
    size_t length = strlen(name);
    bool is_same = strncmp(expected, name, length) == 0 && cs_text_equal(expected + length, is_online ? "@meta" : "");
    CS_REQUIRE(is_same, CS_BAD_VALUE, "%s: expected to be created as %s, got %s%s", slot->name, expected, name,
               is_online ? "@meta" : "");
    return CS_OK;
}

static enum cs_status compare_numel(const struct cs_slot *slot, const json_t *attributes) {
    int64_t expected = -1, actual = slot->param->spec->weight_loader_numel;
    if (json_object_get(attributes, "weight_loader_numel"))
        CS_TRY(cs_golden_integer(attributes, "weight_loader_numel", &expected));
    CS_REQUIRE(expected == actual, CS_BAD_VALUE, "%s: weight_loader_numel: expected %" PRId64 ", got %" PRId64,
               slot->name, expected, actual);
    return CS_OK;
}

static enum cs_status compare_param(const struct cs_slot *slot, const json_t *json, bool is_online) {
    const struct cs_view *view = &slot->param->view;
    const char *dtype, *init;
    CS_REQUIRE(json_is_object(json), CS_BAD_VALUE, "%s: we have a parameter of that name, the real layer has none",
               slot->name);
    CS_TRY(compare_dims(slot->name, json, "shape", view, view->shape));
    CS_TRY(compare_dims(slot->name, json, "stride", view, view->stride));
    CS_TRY(cs_golden_text(json, "dtype", &dtype));
    CS_TRY(cs_golden_text(json, "init", &init));
    CS_REQUIRE(cs_text_equal(dtype, cs_dtype_torch(view->dtype)), CS_BAD_TYPE, "%s: expected dtype %s, got %s",
               slot->name, dtype, cs_dtype_torch(view->dtype));
    CS_TRY(compare_init(slot, init, is_online));
    return compare_numel(slot, json_object_get(json, "attrs"));
}

/* The parameter's scale grid, where the capture has one. */
static enum cs_status compare_blocks(const struct cs_golden_case *golden, const struct cs_sizes *sizes) {
    const json_t *shape = json_object_get(golden->json, "moe_block_shape"),
                 *refine = json_object_get(golden->json, "weight_scale_refine");
    int64_t block[2], factor[2] = {0, 0};
    if (!json_is_array(shape)) return CS_OK;
    CS_TRY(cs_golden_integers(shape, "moe_block_shape", 2, block));
    if (json_is_array(refine)) CS_TRY(cs_golden_integers(refine, "weight_scale_refine", 2, factor));
    for (int d = 0; d < 2; d++) {
        int64_t own = sizes->block[d] / (sizes->refine[d] ? sizes->refine[d] : 1);
        CS_REQUIRE(own == block[d] && sizes->refine[d] == factor[d], CS_BAD_VALUE,
                   "scale block %d: expected %" PRId64 ", refined %" PRId64 ", got %" PRId64 ", refined %" PRId64, d,
                   block[d], factor[d], own, sizes->refine[d]);
    }
    return CS_OK;
}

static enum cs_status compare_params(const struct cs_golden_case *golden, const struct cs_layer *layer,
                                     bool is_online) {
    const json_t *params;
    CS_TRY(cs_golden_object(golden->json, "params", &params));
    for (size_t i = 0; i < layer->module.n_slots; i++)
        CS_TRY(compare_param(&layer->module.slots[i], json_object_get(params, layer->module.slots[i].name), is_online));
    CS_REQUIRE(json_object_size(params) == layer->module.n_slots, CS_BAD_VALUE, "expected %zu parameters, got %zu",
               json_object_size(params), layer->module.n_slots);
    return CS_OK;
}

enum cs_status cs_golden_compare_layer(const struct cs_golden_case *golden, const struct cs_layer_config *config,
                                       const struct cs_layer *layer) {
    CS_TRY(cs_golden_compare_sizes(golden, &config->sizes));
    CS_TRY(compare_blocks(golden, &config->sizes));
    return compare_params(golden, layer, config->method->is_online);
}
