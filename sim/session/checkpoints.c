/* The checkpoints of a scenario: folders on disk, synthetic ones in the form that the scenario's loader expects,
 * perturbed copies, and what toys say they write. */
#include "sim/session/internal.h"

#include <math.h>
#include <string.h>

const char *cs_checkpoint_original(const struct cs_checkpoint_config *config) {
    return config->perturbs ? config->perturbs : config->patches;
}

const struct cs_checkpoint *cs_session_checkpoint(const struct cs_session *session, const char *name) {
    const struct cs_scenario *scenario = session->config.scenario;
    for (size_t i = 0; i < scenario->n_checkpoints; i++)
        if (cs_text_equal(scenario->checkpoints[i].name, name)) return &session->checkpoints[i];
    return NULL;
}

/* The formula makes bf16 numbers; e4m3 weights are those converted, f32 scales their magnitude and a half. */
static enum cs_status pattern_number(const struct cs_content *content, enum cs_dtype dtype, size_t index,
                                     uint64_t *bits) {
    double number = cs_dtype_decode(CS_BF16, cs_content_element(content, CS_BF16, index));
    return cs_dtype_encode(dtype, dtype == CS_F32 ? fabs(number) + 0.5 : number, bits);
}

static enum cs_status convert_pattern(struct cs_session *session, const struct cs_content *content,
                                      struct cs_checkpoint_entry *entry) {
    size_t width = (size_t)cs_dtype_bits(entry->dtype) / 8;
    unsigned char *bytes = CS_NEW_ARRAY(&session->arena, unsigned char, entry->bytes + 1);
    CS_REQUIRE(bytes, CS_NO_MEMORY, "out of memory for %s", entry->name);
    for (size_t i = 0; i < entry->bytes / width; i++) {
        uint64_t bits;
        CS_TRY(pattern_number(content, entry->dtype, i, &bits));
        memcpy(bytes + i * width, &bits, width); /* little-endian, as everything here */
    }
    entry->mapped = bytes;
    return CS_OK;
}

static enum cs_status scale_content(enum cs_dtype dtype, float scale, struct cs_content *content) {
    uint64_t bits;
    CS_TRY(cs_dtype_encode(dtype, (double)scale, &bits));
    *content = (struct cs_content){.kind = CS_CONTENT_VALUE, .as = dtype, .key = bits};
    return CS_OK;
}

static enum cs_status add_pattern(struct cs_session *session, const struct cs_checkpoint_config *config,
                                  const struct cs_route *route, struct cs_checkpoint *checkpoint) {
    bool is_converted = route->as == CS_E4M3 || route->as == CS_F32;
    struct cs_content content =
        cs_checkpoint_pattern_content(route->tensor, is_converted ? CS_BF16 : route->as, config->version);
    if (route->is_optional) {
        float scale = config->kv_scales[cs_text_equal(route->param, "v_scale")];
        CS_TRY(scale_content(route->dtype, scale, &content));
        is_converted = false;
    }
    const struct cs_content zero = {.kind = CS_CONTENT_ZERO, .as = route->dtype};
    CS_TRY(cs_checkpoint_add(checkpoint, route->tensor, route->dtype, route->ndim, route->shape,
                             is_converted ? &zero : &content));
    return is_converted ? convert_pattern(session, &content, &checkpoint->entries[checkpoint->n_entries - 1]) : CS_OK;
}

/* The tensor's shape in a checkpoint whose experts have another intermediate size. */
static enum cs_status resize(const struct cs_session *session, int64_t intermediate, struct cs_route *route) {
    struct cs_sizes sizes = session->model.ranks[0].sizes;
    sizes.experts = sizes.experts_global;
    sizes.intermediate_full = intermediate;
    return route->row ? cs_shape_parse(route->row->shape, &sizes, &route->ndim, route->shape) : CS_OK;
}

static enum cs_status make_pattern(struct cs_session *session, const struct cs_checkpoint_config *config,
                                   const struct cs_route_set *set, struct cs_checkpoint *checkpoint) {
    for (size_t i = 0; i < config->n_names; i++) {
        const struct cs_route *route = cs_route_find(set, config->names[i]);
        CS_REQUIRE(route, CS_BAD_FILE, "checkpoint %s: the model expects no tensor \"%s\"", config->name,
                   config->names[i]);
        CS_TRY(add_pattern(session, config, route, checkpoint));
    }
    for (size_t i = 0; !config->n_names && i < set->routes.n; i++) {
        struct cs_route route = set->routes.items[i];
        enum cs_status status = config->intermediate ? resize(session, config->intermediate, &route) : CS_OK;
        CS_REQUIRE(status == CS_OK, status, "checkpoint %s: tensor \"%s\": %s", config->name, route.tensor,
                   cs_error_text());
        CS_TRY(add_pattern(session, config, &route, checkpoint));
    }
    return CS_OK;
}

/* Whose contents a tensor has: its own, or those of the slot that it must agree with others about. */
static const char *content_name(struct cs_session *session, const struct cs_route *route) {
    bool is_agreed = route->row && route->row->shard_dim == CS_SCALAR_AGREED;
    if (!is_agreed) return route->tensor;
    return cs_arena_format(&session->arena, "%s.%" PRId64 ".%s", route->prefix, route->expert, route->param);
}

static enum cs_status make_synthetic(struct cs_session *session, const struct cs_checkpoint_config *config,
                                     struct cs_checkpoint *checkpoint) {
    const struct cs_route_set *set;
    CS_TRY(cs_session_routes(session, cs_session_loader(session, NULL), config->name, &set));
    cs_checkpoint_init(checkpoint, config->name);
    if (config->kind == CS_CHECKPOINT_PATTERN) return make_pattern(session, config, set, checkpoint);
    for (size_t i = 0; i < set->routes.n; i++) {
        const struct cs_route *route = &set->routes.items[i];
        if (route->is_optional && config->leaves_out_optional) continue;
        const char *name = content_name(session, route);
        CS_REQUIRE(name, CS_NO_MEMORY, "out of memory for the contents of checkpoint %s", config->name);
        struct cs_content content = cs_checkpoint_hash_content(session->config.seed, name, route->as);
        if (route->is_optional) CS_TRY(scale_content(route->dtype, 0.5f, &content)); /* a scale is positive */
        CS_TRY(cs_checkpoint_add(checkpoint, route->tensor, route->dtype, route->ndim, route->shape, &content));
        checkpoint->entries[checkpoint->n_entries - 1].contents_of = name; /* copies agree as the original does */
    }
    return CS_OK;
}

/* A toy's source holds the call's numbers: one for all, or one per element. */
static enum cs_status toy_content(struct cs_session *session, const struct cs_route *route,
                                  struct cs_checkpoint_entry *entry) {
    const struct cs_toy_call *call = route->toy;
    int64_t numel = 1;
    for (int d = 0; d < route->ndim; d++) numel *= route->shape[d];
    size_t width = (size_t)cs_dtype_bits(route->dtype) / 8;
    CS_REQUIRE(width > 0, CS_UNSUPPORTED, "%s: toys cannot write %s", route->tensor, cs_dtype_name(route->dtype));
    unsigned char *bytes = CS_NEW_ARRAY(&session->arena, unsigned char, (size_t)numel *width + 1);
    CS_REQUIRE(bytes, CS_NO_MEMORY, "out of memory for the values of %s", route->tensor);
    for (int64_t i = 0; i < numel; i++) {
        uint64_t bits;
        enum cs_status status = cs_dtype_encode(route->dtype, call->values[call->n_values > 1 ? i : 0], &bits);
        CS_REQUIRE(status == CS_OK, status, "%s:%d: %s", session->config.scenario->file, call->line, cs_error_text());
        memcpy(bytes + (size_t)i * width, &bits, width); /* little-endian, as everything here */
    }
    entry->mapped = bytes;
    return CS_OK;
}

static enum cs_status make_toy(struct cs_session *session, const struct cs_checkpoint_config *config,
                               struct cs_checkpoint *checkpoint) {
    const struct cs_route_set *set;
    CS_TRY(cs_session_routes(session, NULL, config->name, &set));
    cs_checkpoint_init(checkpoint, config->name);
    for (size_t i = 0; i < set->routes.n; i++) {
        const struct cs_route *route = &set->routes.items[i];
        const struct cs_content zero = {.kind = CS_CONTENT_ZERO, .as = route->dtype};
        CS_TRY(cs_checkpoint_add(checkpoint, route->tensor, route->dtype, route->ndim, route->shape, &zero));
        if (route->toy->has_write) CS_TRY(toy_content(session, route, &checkpoint->entries[checkpoint->n_entries - 1]));
    }
    return CS_OK;
}

static enum cs_status make(struct cs_session *session, const struct cs_checkpoint_config *config,
                           struct cs_checkpoint *checkpoint) {
    if (session->config.scenario->model.is_toy) return make_toy(session, config, checkpoint);
    if (config->kind == CS_CHECKPOINT_FOLDER) {
        const char *label = cs_arena_format(&session->arena, "%s (%s)", config->name, config->path);
        CS_REQUIRE(label, CS_NO_MEMORY, "out of memory for the name of checkpoint %s", config->name);
        return cs_checkpoint_open(checkpoint, label, config->path);
    }
    return make_synthetic(session, config, checkpoint);
}

static enum cs_status make_copy(struct cs_session *session, const struct cs_checkpoint_config *config,
                                const struct cs_checkpoint *original, struct cs_checkpoint *checkpoint) {
    if (config->perturbs)
        return cs_checkpoint_perturb(checkpoint, config->name, original, config->version, session->config.seed);
    bool is_elsewhere = session->config.only_module && !cs_checkpoint_find(original, config->change.tensor);
    return cs_checkpoint_patch(checkpoint, config->name, original, is_elsewhere ? NULL : &config->change);
}

/* What the script asked for and the model cannot have is the script's fault, where it says so. Files name themselves.
 */
static enum cs_status placed(const struct cs_scenario *scenario, const struct cs_checkpoint_config *config,
                             enum cs_status status) {
    if (status == CS_OK || status == CS_NO_MEMORY || !config->line || config->kind == CS_CHECKPOINT_FOLDER)
        return status;
    return cs_fail(CS_BAD_SCRIPT, "%s:%d: %s", scenario->file, config->line, cs_error_text());
}

/* Makes those that can be made by now: originals, and copies of what is there. */
static enum cs_status make_possible(struct cs_session *session, const struct cs_scenario *scenario, bool *is_made,
                                    size_t *n_made) {
    for (size_t i = 0; i < scenario->n_checkpoints; i++) {
        const struct cs_checkpoint_config *config = &scenario->checkpoints[i];
        const char *name = cs_checkpoint_original(config);
        const struct cs_checkpoint *original = name ? cs_session_checkpoint(session, name) : NULL;
        bool is_possible = !name || (original && is_made[original - session->checkpoints]);
        if (is_made[i] || !is_possible) continue;
        enum cs_status status = name ? make_copy(session, config, original, &session->checkpoints[i])
                                     : make(session, config, &session->checkpoints[i]);
        CS_TRY(placed(scenario, config, status));
        is_made[i] = true;
        ++*n_made;
    }
    return CS_OK;
}

/* Copies read from their originals, whatever their names. */
static enum cs_status make_all(struct cs_session *session, const struct cs_scenario *scenario) {
    bool *is_made = CS_NEW_ARRAY(&session->arena, bool, scenario->n_checkpoints + 1);
    CS_REQUIRE(is_made, CS_NO_MEMORY, "out of memory for %zu checkpoints", scenario->n_checkpoints);
    for (size_t n_made = 0; n_made < scenario->n_checkpoints;) {
        size_t n_before = n_made;
        CS_TRY(make_possible(session, scenario, is_made, &n_made));
        CS_REQUIRE(n_made > n_before, CS_BAD_SCRIPT, "%s:%d: checkpoints: some are copies of what is not there",
                   scenario->file, scenario->line);
    }
    return CS_OK;
}

enum cs_status cs_session_checkpoints(struct cs_session *session) {
    const struct cs_scenario *scenario = session->config.scenario;
    session->checkpoints = CS_NEW_ARRAY(&session->arena, struct cs_checkpoint, scenario->n_checkpoints);
    CS_REQUIRE(session->checkpoints, CS_NO_MEMORY, "out of memory for %zu checkpoints", scenario->n_checkpoints);
    session->n_checkpoints = scenario->n_checkpoints;
    return make_all(session, scenario);
}

enum cs_status cs_session_keep_checkpoints(struct cs_session *session) {
    for (size_t i = 0; i < session->n_checkpoints; i++) {
        struct cs_checkpoint *checkpoint = &session->checkpoints[i];
        for (size_t e = 0; e < checkpoint->n_entries; e++) {
            struct cs_checkpoint_entry *entry = &checkpoint->entries[e];
            unsigned char *bytes;
            if (!entry->bytes || (entry->mapped && !checkpoint->version)) continue;
            CS_TRY(cs_checkpoint_bytes(checkpoint, entry, &session->arena, &bytes));
            entry->mapped = bytes;
        }
        checkpoint->version = 0; /* its entries hold the perturbed numbers by now */
    }
    return CS_OK;
}
