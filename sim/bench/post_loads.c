/* A row for each back end that has a post-load: against a copy of what its parameters hold before and after. */
#include "sim/bench/internal.h"

#include <string.h>

#include "sim/method/method.h"

/* Sizes that every back end rounds to themselves, or nearly. */
static void size_of(const struct cs_bench *bench, int64_t *layers, int64_t *experts, int64_t *width) {
    bool is_small = bench->bytes < 64 << 20, is_full = bench->bytes >= UINT64_C(4) << 30;
    *layers = is_full ? 4 : 1;
    *experts = is_full ? 32 : is_small ? 2 : 8;
    *width = is_full ? 3072 : is_small ? 256 : 1024;
}

/* ---- numbers as checkpoints have them: undefined memory holds NaNs, which take their own, slower way ---- */

static struct cs_content content_of(const struct cs_param *param) {
    static const float scale = 0.01f;
    const struct cs_tensor_spec *spec = param->spec;
    enum cs_dtype dtype = param->view.dtype;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    if (dtype == CS_F32) return (struct cs_content){.kind = CS_CONTENT_VALUE, .as = CS_F32, .key = bits};
    return cs_checkpoint_hash_content(1, spec->name, spec->is_scale && dtype == CS_U8 ? CS_E8M0 : dtype);
}

static enum cs_status write_numbers(struct cs_rank *rank, struct cs_param *param) {
    if (param->view.storage->kind == CS_STORAGE_META) /* online methods; a tensor that arrives would do the same */
        CS_TRY(cs_rank_allocate(rank, &param->view, param->spec->name, &param->view));
    struct cs_storage source = {.kind = CS_STORAGE_SYNTHETIC,
                                .bytes = cs_view_span_bytes(&param->view),
                                .content = content_of(param),
                                .label = param->spec->name};
    struct cs_view numbers;
    CS_TRY(cs_view_make(&numbers, &source, param->view.dtype, param->view.ndim, param->view.shape));
    return cs_device_copy(rank->device, &param->view, &numbers);
}

static enum cs_status load(struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++) {
            struct cs_param *param = rank->modules[m].slots[i].param;
            if (param && param->spec && param->view.storage) CS_TRY(write_numbers(rank, param));
        }
    return CS_OK;
}

/* ---- rows ---- */

static enum cs_status create(struct cs_bench *bench, const struct cs_bench_row *row) {
    int64_t layers, experts, width;
    size_of(bench, &layers, &experts, &width);
    bench->scenario = cs_bench_scenario(row, row->backend, layers, experts, width);
    bench->scenario.layer.on |= cs_backend_needed_options(row->backend);
    CS_TRY(cs_bench_open_server(bench, "none"));
    CS_TRY(cs_bench_create(bench));
    return load(&bench->server.ranks[0]);
}

static enum cs_status finish(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
    return cs_bench_finish(bench, bytes);
}

static bool has_post_load(const struct cs_backend *backend) { return backend->steps && backend->n_steps; }

size_t cs_bench_n_post_loads(void) {
    size_t n = 0;
    for (size_t i = 0; i < cs_n_backends; i++) n += has_post_load(&cs_backends[i]);
    return n;
}

enum cs_status cs_bench_post_load_row(size_t i, struct cs_arena *arena, struct cs_bench_row *row) {
    const struct cs_backend *backend = cs_backends;
    for (;; backend++)
        if (has_post_load(backend) && i-- == 0) break;
    bool quantises = cs_backend_quantises(backend); /* twice the time: a second pass, or arithmetic with several roundings */
    *row = (struct cs_bench_row){.what = cs_arena_format(arena, "post-load %s, %s", backend->method, backend->name),
                                 .yardstick = CS_BENCH_MEMCPY,
                                 .goal = {0, quantises ? 0.25 : 0.50},
                                 .prepare = create,
                                 .clean = cs_bench_close_server,
                                 .run = finish,
                                 .backend = backend};
    CS_REQUIRE(row->what, CS_NO_MEMORY, "out of memory for a name");
    return CS_OK;
}
