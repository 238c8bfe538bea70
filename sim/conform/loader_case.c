/* Family loaders/: one case, that is one layer on one rank. */
#include "sim/conform/internal.h"

#include <string.h>

/* ---- loading ---- */

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
        if (status == CS_OK) status = cs_layer_records_equal(layer, &layer->module.slots[i], &sets[i]);
        cs_arena_release(&scratch);
        CS_TRY(status);
    }
    return CS_OK;
}

/* Real bytes through the same loader, over 0xAA. */
static enum cs_status compare_bytes(struct cs_golden_case *golden, struct cs_layer *layer,
                                    const struct cs_checkpoint *file) {
    CS_TRY(cs_layer_poison(layer, 0xAA, false));
    CS_TRY(cs_layer_send(layer, file, "ckpt."));
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

/* Online quantisation runs as soon as the count is reached; what was counted is only known when it was not. */
static enum cs_status compare_trigger(const json_t *json, const struct cs_layer *layer) {
    int64_t total = counted_size(layer), expected, counted = layer->n_counted;
    CS_TRY(cs_golden_integer(json, "load_numel_total", &expected));
    CS_REQUIRE(expected == total, CS_BAD_VALUE, "reload counter: load_numel_total: expected %" PRId64 ", got %" PRId64,
               expected, total);
    bool is_triggered = json_is_true(json_object_get(json, "triggered_during_load"));
    CS_REQUIRE(is_triggered == (counted >= total), CS_BAD_VALUE,
               "reload counter: triggered_during_load: expected %d, counted %" PRId64 " of %" PRId64, is_triggered,
               counted, total);
    if (is_triggered) return CS_OK;
    CS_TRY(cs_golden_integer(json, "counted", &expected));
    CS_REQUIRE(expected == counted, CS_BAD_VALUE, "reload counter: counted: expected %" PRId64 ", got %" PRId64,
               expected, counted);
    return CS_OK;
}

/* The dry run of a layerwise reload: the same loader on meta parameters. */
static enum cs_status send_dry(const struct cs_layer_config *config,
                               const struct cs_golden_checkpoint *golden_checkpoint, struct cs_layer *layer) {
    struct cs_layer_config dry = *config;
    dry.on_meta = !config->has_agreed_scales; /* the real check cannot read a meta tensor (found: F12) */
    struct cs_checkpoint checkpoint;
    CS_TRY(cs_layer_open(layer, &dry));
    enum cs_status status = cs_golden_checkpoint_make(golden_checkpoint, 0, 0, &checkpoint);
    if (status == CS_OK) status = cs_layer_send(layer, &checkpoint, "");
    cs_checkpoint_close(&checkpoint);
    return status;
}

static enum cs_status compare_counter(const struct cs_golden_case *golden, const struct cs_layer_config *config,
                                      const struct cs_golden_checkpoint *golden_checkpoint) {
    const json_t *json;
    CS_TRY(cs_golden_object(golden->json, "reload_counter", &json));
    struct cs_layer layer = {0};
    enum cs_status status = send_dry(config, golden_checkpoint, &layer);
    if (status == CS_OK) status = (config->method->is_online ? compare_trigger : compare_counts)(json, &layer);
    cs_layer_close(&layer);
    return status;
}

/* ---- the case ---- */

static enum cs_status run_loads(struct cs_golden_case *golden, const struct cs_layer_config *config,
                                struct cs_layer *layer) {
    struct cs_golden_checkpoint checkpoint;
    if (!json_object_get(golden->json, "checkpoint")) return CS_OK; /* sizes only */
    CS_TRY(cs_golden_checkpoint_read(golden, &checkpoint));
    if (config->has_agreed_scales) checkpoint.constant = "input_scale";
    CS_TRY(compare_sets(golden, layer, &checkpoint));
    CS_TRY(compare_counter(golden, config, &checkpoint));
    return compare_file(golden, layer);
}

/* Loads once, and if that works as a layerwise load counts, for what happens. */
static enum cs_status load_once(struct cs_golden_case *golden, const struct cs_layer_config *config,
                                struct cs_layer *layer, enum cs_status *outcome) {
    struct cs_golden_checkpoint golden_checkpoint;
    struct cs_checkpoint checkpoint;
    CS_TRY(cs_golden_checkpoint_read(golden, &golden_checkpoint));
    enum cs_status status = cs_golden_checkpoint_make(&golden_checkpoint, 0, 0, &checkpoint);
    if (status == CS_OK) *outcome = cs_layer_send(layer, &checkpoint, "");
    cs_checkpoint_close(&checkpoint);
    if (status != CS_OK || *outcome != CS_OK) return status;
    struct cs_layer counted = {0};
    *outcome = send_dry(config, &golden_checkpoint, &counted);
    cs_layer_close(&counted);
    return CS_OK;
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
    CS_TRY(cs_golden_compare_layer(golden, config, layer));
    if (!load_error) return run_loads(golden, config, layer);
    enum cs_status outcome = CS_OK;
    CS_TRY(load_once(golden, config, layer, &outcome));
    return cs_golden_refusal(load_error, outcome);
}

static enum cs_status attempt(struct cs_golden_case *golden, cs_defect_set defects) {
    struct cs_layer_config config;
    struct cs_layer layer = {0};
    CS_TRY(cs_golden_layer_config(golden, &config));
    config.defects = defects;
    const json_t *checkpoint = json_object_get(golden->json, "checkpoint");
    CS_TRY(cs_golden_prefix(golden, checkpoint, &config.prefix));
    enum cs_status created = cs_sizes_for_backend(&config.sizes, config.backend, false);
    if (created == CS_OK) created = cs_layer_open(&layer, &config);
    enum cs_status status = check_layer(golden, &config, &layer, created);
    cs_layer_close(&layer);
    return status;
}

enum cs_status cs_golden_loader_case(struct cs_golden_case *golden) {
    struct cs_layer_config config;
    CS_TRY(cs_golden_layer_config(golden, &config));
    return cs_golden_try_defects(golden, config.known_defects, attempt);
}
