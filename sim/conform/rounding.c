/* loaders/rounding.json: a grid of (H, I) and, per platform and back end, what they are rounded to. */
#include "sim/conform/internal.h"

#include <string.h>

/* What a table of the file is about. Activations without SiLU share one. */
struct table {
    const char *name, *method;
    enum cs_platform platform;
    const char *activation;
};
/* clang-format off */
static const struct table tables[] = {
    {"mxfp4_cuda",                 "gpt_oss_mxfp4", CS_CUDA,  NULL},
    {"mxfp4_rocm_cdna3_silu",      "mxfp4",         CS_CDNA3, "silu"},
    {"mxfp4_rocm_cdna3_situ",      "mxfp4",         CS_CDNA3, "situ"},
    {"mxfp4_rocm_cdna3_swigluoai", "mxfp4",         CS_CDNA3, "swigluoai"},
    {"mxfp4_rocm_cdna4_silu",      "mxfp4",         CS_CDNA4, "silu"},
    {"mxfp4_rocm_cdna4_situ",      "mxfp4",         CS_CDNA4, "situ"},
    {"mxfp4_rocm_cdna4_swigluoai", "mxfp4",         CS_CDNA4, "swigluoai"},
    {"mxfp4_xpu",                  "mxfp4",         CS_XPU,   NULL},
    {"unquantized",                "unquantized",   CS_CUDA,  NULL},
};
/* clang-format on */

static const struct table *find_table(const char *name, size_t length) {
    for (size_t i = 0; i < CS_COUNT(tables); i++)
        if (strncmp(tables[i].name, name, length) == 0 && !tables[i].name[length]) return &tables[i];
    return NULL;
}

static enum cs_status compare_pair(const struct cs_sizes *resolved, const int64_t expected[2]) {
    CS_REQUIRE(resolved->hidden == expected[0] && resolved->intermediate == expected[1], CS_BAD_VALUE,
               "H %" PRId64 ", I %" PRId64 ": expected %" PRId64 ", %" PRId64 ", got %" PRId64 ", %" PRId64,
               resolved->hidden_u, resolved->intermediate_full, expected[0], expected[1], resolved->hidden,
               resolved->intermediate);
    return CS_OK;
}

/* By the row of the back end, which speaks of CUDA, and for MXFP4 by the table of every platform. */
static enum cs_status check_pair(const struct table *table, const char *name, const int64_t sizes[2],
                                 const int64_t expected[2]) {
    struct cs_sizes resolved = {
        .experts_global = 1, .experts = 1, .hidden_u = sizes[0], .intermediate_full = sizes[1], .tp = 1, .ep = 1};
    if (table->platform == CS_CUDA) {
        const struct cs_backend *backend = cs_backend_by_name(cs_method_by_name(table->method), name);
        CS_REQUIRE(backend, CS_BAD_VALUE, "%s has no back end \"%s\"", table->method, name);
        struct cs_sizes by_row = resolved;
        CS_TRY(cs_sizes_for_backend(&by_row, backend, false));
        CS_TRY(compare_pair(&by_row, expected));
    }
    if (cs_text_equal(table->method, "unquantized")) return CS_OK;
    struct cs_rounding rounding = cs_mxfp4_rounding(name, table->platform, table->activation);
    CS_TRY(cs_sizes_resolve(&resolved, &rounding));
    return compare_pair(&resolved, expected);
}

/* The case's context is the grid, its id "<table>/<back end>". */
static enum cs_status check_row(struct cs_golden_case *golden) {
    const json_t *grid = golden->context;
    size_t length = strcspn(golden->id, "/"), n = json_array_size(golden->json);
    const struct table *table = find_table(golden->id, length);
    CS_REQUIRE(n > 0 && n == json_array_size(grid), CS_BAD_FILE, "golden file: %zu rounded pairs for a grid of %zu", n,
               json_array_size(grid));
    for (size_t i = 0; i < n; i++) {
        int64_t sizes[2], expected[2];
        CS_TRY(cs_golden_integers(json_array_get(grid, i), "grid", 2, sizes));
        CS_TRY(cs_golden_integers(json_array_get(golden->json, i), "rounded", 2, expected));
        CS_TRY(check_pair(table, golden->id + length + 1, sizes, expected));
    }
    return CS_OK;
}

void cs_golden_judge_rounding(struct cs_conform_run *run, const char *file, const json_t *root,
                              struct cs_arena *arena) {
    const json_t *grid = json_object_get(root, "grid"), *table, *row;
    const char *table_name, *backend;
    json_object_foreach((json_t *)root, table_name, table) {
        json_object_foreach((json_t *)table, backend, row) {
            const char *id = cs_arena_format(arena, "%s/%s", table_name, backend);
            if (id)
                cs_golden_judge(run, file, id, row, grid,
                                find_table(table_name, strlen(table_name)) ? check_row : NULL);
        }
    }
}
