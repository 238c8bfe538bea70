#include "gpu/jobs.h"

__extension__ typedef unsigned __int128 wide;

static int64_t index_limit = CS_GPU_INDEX_LIMIT;

void cs_gpu_set_index_limit(int64_t n) { index_limit = n < CS_GPU_INDEX_LIMIT ? n : CS_GPU_INDEX_LIMIT; }
bool cs_gpu_is_wide(int64_t n) { return n >= index_limit; }

/* With 2^shift the power of two not below d, m = ceil(2^(31 + shift) / d) fits 32 bits and errs by less than d in 2^(31 + shift),
 * which no n < 2^31 can feel; likewise in 64 bits. */
struct cs_gpu_divisor cs_gpu_divide_by(int64_t extent) {
    struct cs_gpu_divisor divisor = {.extent = (uint64_t)extent};
    wide d = (wide)extent;
    while (((wide)1 << divisor.shift) < d) divisor.shift++;
    divisor.wide_multiplier = (uint64_t)((((wide)1 << (63 + divisor.shift)) + d - 1) / d);
    if (extent <= INT32_MAX) divisor.multiplier = (uint32_t)((((wide)1 << (31 + divisor.shift)) + d - 1) / d);
    return divisor;
}

size_t cs_gpu_span_bytes(const struct cs_view *view) {
    int64_t last = view->offset % 2;
    if (cs_dtype_bits(view->dtype) >= 8 || cs_view_numel(view) == 0) return cs_view_span_bytes(view);
    for (int d = 0; d < view->ndim; d++) last += (view->shape[d] - 1) * view->stride[d];
    return (size_t)(last / 2 + 1);
}

static bool counts_on(const struct cs_gpu_walk *walk, const int64_t *stride, int n_views) {
    int inner = walk->ndim - 1;
    for (int v = 0; v < n_views; v++)
        if (stride[v] != walk->stride[v][inner] * (int64_t)walk->extent[inner].extent) return false;
    return true;
}

struct cs_gpu_walk cs_gpu_walk_of(const struct cs_view *a, const struct cs_view *b) {
    struct cs_gpu_walk walk = {.bits = cs_dtype_bits(a->dtype), .group = 1, .n = cs_view_numel(a)};
    int n_views = b ? 2 : 1;
    walk.start[0] = a->offset;
    walk.start[1] = b ? b->offset : 0;
    for (int d = a->ndim - 1; d >= 0; d--) {
        int64_t stride[2] = {a->stride[d], b ? b->stride[d] : 0};
        if (a->shape[d] == 1) continue;
        if (walk.ndim > 0 && counts_on(&walk, stride, n_views)) {
            walk.extent[walk.ndim - 1].extent *= (uint64_t)a->shape[d];
            continue;
        }
        walk.extent[walk.ndim].extent = (uint64_t)a->shape[d];
        for (int v = 0; v < n_views; v++) walk.stride[v][walk.ndim] = stride[v];
        walk.ndim++;
    }
    if (walk.ndim == 0) { /* a single element */
        walk.ndim = 1;
        walk.extent[0].extent = 1;
        walk.stride[0][0] = walk.stride[1][0] = 1;
    }
    if (!b) walk.stride[1][0] = 1; /* a view that is not there never stands in the way of grouping */
    for (int d = 0; d < walk.ndim; d++) walk.extent[d] = cs_gpu_divide_by((int64_t)walk.extent[d].extent);
    return walk;
}

static bool can_pair(const struct cs_gpu_walk *walk, int v, uintptr_t address) {
    if (address == 0) return walk->stride[v][0] == walk->group;
    bool can = walk->stride[v][0] == 1 && walk->start[v] % 2 == 0 && address % (uintptr_t)(walk->bits < 8 ? 1 : walk->bits / 4) == 0;
    for (int d = 1; d < walk->ndim; d++) can = can && walk->stride[v][d] % 2 == 0;
    return can;
}

static void pair(struct cs_gpu_walk *walk, int v, uintptr_t address) {
    if (address == 0) {
        walk->stride[v][0] *= 2;
        return;
    }
    walk->start[v] /= 2;
    for (int d = 1; d < walk->ndim; d++) walk->stride[v][d] /= 2;
}

static void drop_innermost(struct cs_gpu_walk *walk) {
    walk->ndim--;
    for (int d = 0; d < walk->ndim; d++) {
        walk->extent[d] = walk->extent[d + 1];
        for (int v = 0; v < 2; v++) walk->stride[v][d] = walk->stride[v][d + 1];
    }
}

void cs_gpu_walk_group(struct cs_gpu_walk *walk, uintptr_t a, uintptr_t b) {
    while (walk->bits < 128 && walk->extent[0].extent % 2 == 0 && can_pair(walk, 0, a) && can_pair(walk, 1, b)) {
        pair(walk, 0, a);
        pair(walk, 1, b);
        walk->extent[0].extent /= 2;
        walk->bits *= 2;
        walk->group *= 2;
        walk->n /= 2;
    }
    walk->extent[0] = cs_gpu_divide_by((int64_t)walk->extent[0].extent);
    if (walk->extent[0].extent == 1 && walk->ndim > 1) drop_innermost(walk);
}

bool cs_gpu_walk_is_dense(const struct cs_gpu_walk *walk, int n_views) {
    return walk->ndim == 1 && walk->stride[0][0] == 1 && (n_views == 1 || walk->stride[1][0] == 1);
}
