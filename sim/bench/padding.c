/* All padding of a model in one fill, and what it is held against: plain loops that write as many runs of the same
 * lengths at the same pitches, one loop for all tensors of one shape. */
#include "sim/bench/internal.h"

#include <string.h>

enum { MOST_REGIONS = 1024, MOST_KINDS = 32 };

/* ---- regions ---- */

struct regions {
    struct cs_fill *fills;
    size_t n;
};

static void add(struct regions *regions, const struct cs_view *view) {
    if (regions->n < MOST_REGIONS && cs_view_numel(view) > 0)
        regions->fills[regions->n++] = (struct cs_fill){.view = *view};
}

/* Rows, then columns of the other rows, that lie beyond `used` of `all` in a tensor [experts, rows, columns]. */
static enum cs_status add_padding(struct regions *regions, const struct cs_view *view, const int64_t *used,
                                  const int64_t *all) {
    struct cs_view rest = *view;
    int64_t rows = view->shape[1] * used[0] / all[0];
    CS_TRY(cs_view_narrow(&rest, 1, rows, view->shape[1] - rows));
    add(regions, &rest);
    if (view->ndim < 3) return CS_OK;
    int64_t columns = view->shape[2] * used[1] / all[1];
    rest = *view;
    CS_TRY(cs_view_narrow(&rest, 1, 0, rows));
    CS_TRY(cs_view_narrow(&rest, 2, columns, view->shape[2] - columns));
    add(regions, &rest);
    return CS_OK;
}

static enum cs_status regions_of(struct cs_bench *bench, struct regions *regions) {
    const struct cs_rank *rank = &bench->server.ranks[0];
    const struct cs_sizes *sizes = &rank->spec->sizes;
    const int64_t used[3] = {sizes->intermediate_u, sizes->hidden_u, sizes->intermediate_u};
    const int64_t all[3] = {sizes->intermediate, sizes->hidden, sizes->intermediate};
    *regions = (struct regions){.fills = CS_NEW_ARRAY(&bench->server.arena, struct cs_fill, MOST_REGIONS)};
    CS_REQUIRE(regions->fills, CS_NO_MEMORY, "out of memory for %d regions", MOST_REGIONS);
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++) {
            const struct cs_slot *slot = &rank->modules[m].slots[i];
            bool is_down = slot->name[1] == '2'; /* w2: [H, I]; w13: [I, H] */
            CS_TRY(add_padding(regions, &slot->param->view, used + is_down, all + is_down));
        }
    return CS_OK;
}

static int64_t bytes_of(const struct regions *regions) {
    int64_t bytes = 0;
    for (size_t i = 0; i < regions->n; i++)
        bytes += cs_view_numel(&regions->fills[i].view) * cs_dtype_bits(regions->fills[i].view.dtype) / 8;
    return bytes;
}

enum cs_status cs_bench_fill_padding(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct regions regions;
    (void)row;
    CS_TRY(regions_of(bench, &regions));
    *bytes = bytes_of(&regions);
    return cs_device_fill(bench->device, regions.fills, regions.n);
}

/* ---- the same runs ---- */

struct kind {
    size_t n, run, pitch; /* runs; bytes */
};

/* What lies together, and how far apart. */
static struct kind kind_of(const struct cs_view *view) {
    size_t size = (size_t)cs_dtype_bits(view->dtype) / 8;
    int64_t run = 1;
    int d = view->ndim;
    while (d > 0 && view->stride[d - 1] == run) run *= view->shape[--d];
    size_t pitch = d > 0 ? (size_t)view->stride[d - 1] : (size_t)run;
    return (struct kind){(size_t)(cs_view_numel(view) / run), (size_t)run * size, pitch * size};
}

static size_t kinds_of(const struct regions *regions, struct kind *kinds) {
    size_t n = 0;
    for (size_t i = 0; i < regions->n; i++) {
        struct kind found = kind_of(&regions->fills[i].view);
        size_t k = 0;
        while (k < n && (kinds[k].run != found.run || kinds[k].pitch != found.pitch)) k++;
        if (k == n && n < MOST_KINDS) kinds[n++] = (struct kind){0, found.run, found.pitch};
        if (k < n) kinds[k].n += found.n;
    }
    return n;
}

static void set_runs(unsigned char *data, const struct kind *kind, size_t n) {
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) memset(data + i * kind->pitch, 1, kind->run);
}

/* As many at once as the buffer has room for. */
static enum cs_status write_runs(struct cs_bench *bench, const struct kind *kind) {
    size_t room = bench->bytes / kind->pitch, n;
    CS_REQUIRE(room > 0, CS_INTERNAL, "bench: a buffer of %zu bytes has no room for a row of %zu", bench->bytes,
               kind->pitch);
    for (size_t left = kind->n; left > 0; left -= n) {
        n = left < room ? left : room;
        if (bench->device->probe)
            CS_TRY(bench->device->probe(bench->device, CS_PROBE_WRITE, bench->storage[1].data, n * kind->pitch,
                                        kind->run, kind->pitch));
        else
            set_runs(bench->host[1], kind, n);
    }
    return CS_OK;
}

enum cs_status cs_bench_write_same_runs(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct regions regions;
    struct kind kinds[MOST_KINDS];
    (void)row;
    CS_TRY(regions_of(bench, &regions));
    size_t n = kinds_of(&regions, kinds);
    *bytes = 0;
    for (size_t k = 0; k < n; k++) {
        CS_TRY(write_runs(bench, &kinds[k]));
        *bytes += (int64_t)(kinds[k].n * kinds[k].run);
    }
    CS_REQUIRE(*bytes == bytes_of(&regions), CS_INTERNAL, "bench: %zu kinds of runs are not all padding", n);
    return CS_OK;
}
