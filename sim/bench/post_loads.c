/* A row for each back end that has a post-load: against a copy of what its parameters hold before and after. */
#include "sim/bench/internal.h"

#include "sim/method/method.h"

/* Sizes that every back end rounds to themselves, or nearly. */
static void size_of(const struct cs_bench *bench, int64_t *layers, int64_t *experts, int64_t *width) {
    bool is_small = bench->bytes < 64 << 20, is_full = bench->bytes >= UINT64_C(4) << 30;
    *layers = is_full ? 4 : 1;
    *experts = is_full ? 32 : is_small ? 2 : 8;
    *width = is_full ? 3072 : is_small ? 256 : 1024;
}

static enum cs_status create(struct cs_bench *bench, const struct cs_bench_row *row) {
    int64_t layers, experts, width;
    size_of(bench, &layers, &experts, &width);
    bench->scenario = cs_bench_scenario(row, row->backend, layers, experts, width);
    bench->scenario.layer.on |= cs_backend_needed_options(row->backend);
    CS_TRY(cs_bench_open_server(bench, "none"));
    return cs_bench_create(bench);
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
