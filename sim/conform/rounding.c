/* loaders/rounding.json: a grid of (H, I) and, per platform and back end, what they are rounded to. */
#include "sim/conform/internal.h"

static const struct cs_backend *backend_of(const char *name) {
    const struct cs_method *method = cs_method_by_name("gpt_oss_mxfp4");
    return method ? cs_backend_by_name(method, name) : NULL;
}

static enum cs_status compare_pair(const struct cs_backend *backend, const int64_t sizes[2],
                                   const int64_t expected[2]) {
    struct cs_sizes resolved = {
        .experts_global = 1, .experts = 1, .hidden_u = sizes[0], .intermediate_full = sizes[1], .tp = 1, .ep = 1};
    CS_TRY(cs_sizes_resolve(&resolved, &backend->released));
    CS_REQUIRE(resolved.hidden == expected[0] && resolved.intermediate == expected[1], CS_BAD_VALUE,
               "H %" PRId64 ", I %" PRId64 ": expected %" PRId64 ", %" PRId64 ", got %" PRId64 ", %" PRId64, sizes[0],
               sizes[1], expected[0], expected[1], resolved.hidden, resolved.intermediate);
    return CS_OK;
}

/* The case's context is the grid, its id "<table>/<back end>". */
static enum cs_status check_row(struct cs_golden_case *golden) {
    const json_t *grid = golden->context;
    const char *slash = golden->id;
    while (*slash && *slash != '/') slash++;
    const struct cs_backend *backend = backend_of(slash + 1);
    CS_REQUIRE(backend, CS_INTERNAL, "there is no back end \"%s\"", slash + 1);
    size_t n = json_array_size(golden->json);
    CS_REQUIRE(n > 0 && n == json_array_size(grid), CS_BAD_FILE, "golden file: %zu rounded pairs for a grid of %zu", n,
               json_array_size(grid));
    for (size_t i = 0; i < n; i++) {
        int64_t sizes[2], expected[2];
        CS_TRY(cs_golden_integers(json_array_get(grid, i), "grid", 2, sizes));
        CS_TRY(cs_golden_integers(json_array_get(golden->json, i), "rounded", 2, expected));
        CS_TRY(compare_pair(backend, sizes, expected));
    }
    return CS_OK;
}

void cs_golden_judge_rounding(struct cs_conform_run *run, const char *file, const json_t *root,
                              struct cs_arena *arena) {
    const json_t *grid = json_object_get(root, "grid"), *table, *row;
    const char *table_name, *backend;
    json_object_foreach((json_t *)root, table_name, table) {
        bool is_ours = cs_text_equal(table_name, "mxfp4_cuda");
        json_object_foreach((json_t *)table, backend, row) {
            const char *id = cs_arena_format(arena, "%s/%s", table_name, backend);
            if (id) cs_golden_judge(run, file, id, row, grid, is_ours && backend_of(backend) ? check_row : NULL);
        }
    }
}
