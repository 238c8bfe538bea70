/* Which checkpoint tensor goes where, and the registry of loaders. */
#include "sim/loader/loaders.h"
#include "sim/method/method.h"

#include <string.h>

/* Sorted by name. */
/* clang-format off */
const struct cs_loader *const cs_loaders[] = {
    &cs_loader_default, &cs_loader_fused_3d, &cs_loader_fused_3d_transposed, &cs_loader_gpt_oss_bf16_combined, &cs_loader_gpt_oss_bf16_streamed,
    &cs_loader_gpt_oss_combined, &cs_loader_gpt_oss_quark_fp8, &cs_loader_gpt_oss_quark_mx, &cs_loader_gpt_oss_quark_mx_combined,
    &cs_loader_gpt_oss_streamed, &cs_loader_llama4, &cs_loader_per_expert, &cs_loader_per_expert_awq, &cs_loader_per_expert_ct_wna16,
    &cs_loader_per_expert_fp8_block, &cs_loader_per_expert_fp8_channel, &cs_loader_per_expert_fp8_tensor, &cs_loader_per_expert_fp8_tensor_ct,
    &cs_loader_per_expert_gate_up, &cs_loader_per_expert_gptq, &cs_loader_per_expert_mxfp4, &cs_loader_per_expert_mxfp4_ct,
    &cs_loader_per_expert_mxfp8, &cs_loader_per_expert_nvfp4_ct, &cs_loader_per_expert_nvfp4_modelopt, &cs_loader_per_expert_quark_fp8_block,
    &cs_loader_per_expert_quark_fp8_channel, &cs_loader_per_expert_quark_mx, &cs_loader_toy,
};
/* clang-format on */
const size_t cs_n_loaders = CS_COUNT(cs_loaders);

const struct cs_loader *cs_loader_by_name(const char *name) {
    for (size_t i = 0; i < cs_n_loaders; i++)
        if (cs_text_equal(cs_loaders[i]->name, name)) return cs_loaders[i];
    return NULL;
}

enum cs_status cs_routes_add(struct cs_routes *routes, const struct cs_route *route) {
    struct cs_route *added =
        cs_arena_grow(routes->arena, (void **)&routes->items, routes->n, &routes->capacity, sizeof *added);
    CS_REQUIRE(added, CS_NO_MEMORY, "out of memory for the list of checkpoint tensors (%zu so far)", routes->n);
    *added = *route;
    routes->n++;
    return CS_OK;
}

static const char per_expert[] = "{expert}.";

static const char *renamed(const struct cs_routes *routes, const char *word, size_t length, size_t *n) {
    *n = length;
    for (size_t i = 0; i < routes->n_renames; i++) {
        const struct cs_rename *rename = &routes->renames[i];
        if (strlen(rename->word) != length || strncmp(rename->word, word, length) != 0) continue;
        *n = strlen(rename->name);
        return rename->name;
    }
    return word;
}

const char *cs_routes_name(const struct cs_routes *routes, const char *prefix, const struct cs_loader_row *row,
                           int64_t expert) {
    const char *dot = *prefix ? "." : ""; /* a checkpoint of one layer may have no prefix */
    const char *name = expert >= 0 ? cs_arena_format(routes->arena, "%s%s%" PRId64, prefix, dot, expert) : prefix;
    const char *word = row->tensor + (expert >= 0 ? sizeof per_expert - 1 : 0);
    for (const char *separator = expert >= 0 ? "." : dot; name && *word; separator = ".") {
        size_t length = strcspn(word, "."), n;
        const char *called = renamed(routes, word, length, &n);
        name = cs_arena_format(routes->arena, "%s%s%.*s", name, separator, (int)n, called);
        word += length + (word[length] == '.');
    }
    return name;
}

const char *cs_loader_row_word(const struct cs_loader_row *row) {
    const char *dot = strrchr(row->tensor, '.');
    return dot ? dot + 1 : row->tensor;
}

static enum cs_status add_row(struct cs_routes *routes, const struct cs_loader *loader, const struct cs_loader_row *row,
                              const char *prefix, const struct cs_sizes *global, size_t module, int64_t expert) {
    struct cs_route route = {.dtype = row->dtype,
                             .as = row->as,
                             .module = module,
                             .param = row->param,
                             .loader = loader,
                             .row = row,
                             .expert = expert,
                             .prefix = prefix};
    route.tensor = cs_routes_name(routes, prefix, row, expert);
    CS_REQUIRE(route.tensor, CS_NO_MEMORY, "out of memory for the names of checkpoint tensors");
    enum cs_status status = cs_shape_parse(row->shape, global, &route.ndim, route.shape);
    CS_REQUIRE(status == CS_OK, status, "%s: %s", route.tensor, cs_error_text());
    return cs_routes_add(routes, &route);
}

enum cs_status cs_routes_of_loader(struct cs_routes *routes, const struct cs_loader *loader, const char *prefix,
                                   const struct cs_sizes *sizes, size_t module) {
    struct cs_sizes global = *sizes; /* a checkpoint holds every expert */
    global.experts = sizes->experts_global;
    bool is_per_expert = loader->n_rows && strncmp(loader->rows[0].tensor, per_expert, sizeof per_expert - 1) == 0;
    for (int64_t expert = is_per_expert ? 0 : -1; expert < (is_per_expert ? sizes->experts_global : 0); expert++)
        for (size_t i = 0; i < loader->n_rows; i++)
            if (cs_options_select(sizes->options, loader->rows[i].when))
                CS_TRY(add_row(routes, loader, &loader->rows[i], prefix, &global, module, expert));
    return CS_OK;
}
