/* A batch of regions → one launch. The last region wins where regions overlap; blocks of one launch know no order. So the
 * batch is split, at changes of the value, but only if regions that may overlap hold different values.
 *
 * Regions of a launch are sorted, those with the same runs together: of a run that fills part of a sector the memory reads
 * the rest, and it cannot read and write at once. */
#include "gpu/jobs.h"

#include <stdlib.h>

/* Regions by the address at which they begin. */
struct span {
    uintptr_t start, end;
    uint64_t pattern;
};

static int by_start(const void *a, const void *b) {
    const struct span *first = a, *second = b;
    return (first->start > second->start) - (first->start < second->start);
}

static bool has_one_pattern(const struct cs_gpu_region *regions, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (regions[i].pattern != regions[0].pattern) return false;
    return true;
}

/* How far regions of each pattern reach, of those seen so far. */
enum { PATTERNS = 16 };
struct reach {
    int n;
    uint64_t pattern[PATTERNS];
    uintptr_t end[PATTERNS];
};

/* False when the span meets an earlier one of another pattern, or there are too many patterns to say. */
static bool add_span(struct reach *reach, const struct span *span) {
    int own = -1;
    for (int p = 0; p < reach->n; p++) {
        if (reach->pattern[p] == span->pattern)
            own = p;
        else if (reach->end[p] > span->start)
            return false;
    }
    if (own < 0) {
        if (reach->n == PATTERNS) return false;
        own = reach->n++;
        reach->pattern[own] = span->pattern;
        reach->end[own] = 0;
    }
    if (reach->end[own] < span->end) reach->end[own] = span->end;
    return true;
}

static bool may_go_together(const struct cs_fill *fills, const struct cs_gpu_region *regions, size_t n, struct cs_arena *arena) {
    if (has_one_pattern(regions, n)) return true;
    struct span *spans = CS_NEW_ARRAY(arena, struct span, n);
    struct reach reach = {0};
    if (!spans) return false;
    for (size_t i = 0; i < n; i++) {
        spans[i].start = (uintptr_t)regions[i].to + cs_view_byte_offset(&fills[i].view);
        spans[i].end = spans[i].start + cs_gpu_span_bytes(&fills[i].view);
        spans[i].pattern = regions[i].pattern;
    }
    qsort(spans, n, sizeof *spans, by_start);
    for (size_t i = 0; i < n; i++)
        if (!add_span(&reach, &spans[i])) return false;
    return true;
}

static uint64_t repeated(uint64_t bits, int width) {
    if (width < 64) bits &= (UINT64_C(1) << width) - 1;
    for (; width < 64; width *= 2) bits |= bits << width;
    return bits;
}

static struct cs_gpu_region region_of(const struct cs_fill *fill) {
    struct cs_gpu_region region = {.walk = cs_gpu_walk_of(&fill->view, NULL), .to = fill->view.storage->data};
    region.pattern = repeated(fill->bits, region.walk.bits);
    cs_gpu_walk_group(&region.walk, (uintptr_t)region.to, 0);
    region.is_wide = cs_gpu_is_wide(region.walk.n);
    return region;
}

static int by_kind(const void *a, const void *b) {
    const struct cs_gpu_region *first = a, *second = b;
    uint64_t run = first->walk.extent[0].extent, other = second->walk.extent[0].extent;
    if (first->walk.bits != second->walk.bits) return first->walk.bits - second->walk.bits;
    if (run != other) return run < other ? -1 : 1;
    return (first->to > second->to) - (first->to < second->to);
}

enum cs_status cs_gpu_fill_plan(const struct cs_gpu_backend *backend, const struct cs_fill *fills, size_t n, cs_gpu_launch_fill *launch) {
    struct cs_arena arena = {0};
    struct cs_gpu_region *regions = malloc((n ? n : 1) * sizeof *regions);
    CS_REQUIRE(regions, CS_NO_MEMORY, "%s: no host memory for %zu regions", backend->name, n);
    for (size_t i = 0; i < n; i++) regions[i] = region_of(&fills[i]);
    bool is_one_launch = n > 0 && may_go_together(fills, regions, n, &arena);
    enum cs_status status = CS_OK;
    for (size_t first = 0, end; status == CS_OK && first < n; first = end) {
        for (end = first + 1; end < n && (is_one_launch || regions[end].pattern == regions[first].pattern);) end++;
        qsort(regions + first, end - first, sizeof *regions, by_kind);
        status = launch(backend, regions + first, end - first);
    }
    cs_arena_release(&arena);
    free(regions);
    return status;
}

/* ---- one launch ---- */

static int64_t tiles_of(const struct cs_gpu_region *region) { return (region->walk.n + CS_GPU_TILE - 1) / CS_GPU_TILE; }
static int64_t bytes_of(const struct cs_gpu_region *region) { return region->walk.n * region->walk.bits / 8; }

/* Numbers the tiles of all regions. */
static struct cs_gpu_fill job_of(const struct cs_gpu_region *regions, size_t n, int64_t *first_tile) {
    struct cs_gpu_fill job = {.regions = regions, .first_tile = first_tile, .n_regions = (int64_t)n};
    for (size_t i = 0; i < n; i++) {
        first_tile[i] = job.n_tiles;
        job.n_tiles += tiles_of(&regions[i]);
        job.n_bytes += bytes_of(&regions[i]);
    }
    first_tile[n] = job.n_tiles;
    return job;
}

/* A table of regions, then of the number of the first tile of each. */
static enum cs_status upload_and_launch(const struct cs_gpu_backend *backend, struct cs_gpu_fill *job, unsigned char *device_table) {
    size_t n = (size_t)job->n_regions, tiles_at = n * sizeof *job->regions;
    CS_TRY(backend->upload(device_table, job->regions, tiles_at));
    CS_TRY(backend->upload(device_table + tiles_at, job->first_tile, (n + 1) * sizeof *job->first_tile));
    job->regions = (const struct cs_gpu_region *)(void *)device_table;
    job->first_tile = (const int64_t *)(void *)(device_table + tiles_at);
    return backend->fill(job);
}

static enum cs_status launch_table(const struct cs_gpu_backend *backend, const struct cs_gpu_region *regions, size_t n) {
    int64_t *first_tile = malloc((n + 1) * sizeof *first_tile);
    CS_REQUIRE(first_tile, CS_NO_MEMORY, "%s: no host memory for %zu regions", backend->name, n);
    struct cs_gpu_fill job = job_of(regions, n, first_tile);
    void *device_table = NULL;
    enum cs_status status = backend->allocate(n * sizeof *regions + (n + 1) * sizeof *first_tile, &device_table);
    if (status == CS_OK) {
        status = upload_and_launch(backend, &job, device_table);
        backend->release(device_table);
    }
    free(first_tile);
    return status;
}

/* A few regions travel with the launch. */
enum cs_status cs_gpu_fill_batch(const struct cs_gpu_backend *backend, const struct cs_gpu_region *regions, size_t n) {
    int64_t first_tile[CS_GPU_FEW_REGIONS + 1];
    if (n > CS_GPU_FEW_REGIONS) return launch_table(backend, regions, n);
    struct cs_gpu_fill job = job_of(regions, n, first_tile);
    return backend->fill(&job);
}
