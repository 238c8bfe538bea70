/* What plain loops of the C library and the compiler reach, one slab of memory per thread. */
#include "sim/bench/internal.h"

#include <omp.h>
#include <string.h>

/* The calling thread's part of n: a multiple of 64, but for the last. */
static size_t slab(size_t n, size_t *first) {
    size_t n_threads = (size_t)omp_get_num_threads(), thread = (size_t)omp_get_thread_num();
    size_t each = n / n_threads / 64 * 64;
    *first = thread * each;
    return thread + 1 == n_threads ? n - *first : each;
}

static enum cs_status copy(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
#pragma omp parallel
    {
        size_t first, n = slab(bench->bytes, &first);
        memcpy(bench->host[1] + first, bench->host[0] + first, n);
    }
    *bytes = 2 * (int64_t)bench->bytes;
    return CS_OK;
}

static enum cs_status set(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
#pragma omp parallel
    {
        size_t first, n = slab(bench->bytes, &first);
        memset(bench->host[1] + first, 1, n);
    }
    *bytes = (int64_t)bench->bytes;
    return CS_OK;
}

static enum cs_status make_equal(struct cs_bench *bench, const struct cs_bench_row *row) {
    int64_t bytes;
    return copy(bench, row, &bytes);
}

/* Of equal bytes, so that none is spared. */
static enum cs_status compare(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    int n_differ = 0;
    (void)row;
#pragma omp parallel reduction(+ : n_differ)
    {
        size_t first, n = slab(bench->bytes, &first);
        n_differ += memcmp(bench->host[0] + first, bench->host[1] + first, n) != 0;
    }
    CS_REQUIRE(n_differ == 0, CS_INTERNAL, "bench: the buffers differ");
    *bytes = 2 * (int64_t)bench->bytes;
    return CS_OK;
}

static enum cs_status count_and_hash(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
#pragma omp parallel
    {
        size_t first, n = slab(bench->bytes / 8, &first);
        uint64_t *words = (uint64_t *)(void *)bench->host[1] + first;
        for (size_t i = 0; i < n; i++) words[i] = cs_mix64(17 + first + i);
    }
    *bytes = (int64_t)bench->bytes;
    return CS_OK;
}

static enum cs_status read(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    static volatile uint64_t kept; /* or the compiler reads nothing */
    uint64_t sum = 0;
    (void)row;
#pragma omp parallel reduction(+ : sum)
    {
        size_t first, n = slab(bench->bytes / 8, &first);
        const uint64_t *words = (const uint64_t *)(const void *)bench->host[0] + first;
        for (size_t i = 0; i < n; i++) sum += words[i];
    }
    kept = sum;
    (void)kept;
    *bytes = (int64_t)bench->bytes;
    return CS_OK;
}

/* New pages from the system, each written once. */
static enum cs_status touch_first(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    void *data;
    (void)row;
    CS_TRY(bench->host_device->allocate(bench->host_device, bench->bytes, &data));
#pragma omp parallel
    {
        size_t first, n = slab(bench->bytes, &first);
        memset((unsigned char *)data + first, 1, n);
    }
    bench->host_device->release(bench->host_device, data, bench->bytes);
    *bytes = (int64_t)bench->bytes;
    return CS_OK;
}

/* ---- devices with memory of their own: their probes ---- */

static enum cs_status copy_on_device(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_view view[2];
    (void)row;
    for (int i = 0; i < 2; i++)
        CS_TRY(cs_view_make(&view[i], &bench->storage[i], CS_U8, 1, (const int64_t[]){(int64_t)bench->bytes}));
    *bytes = 2 * (int64_t)bench->bytes;
    return cs_device_copy(bench->device, &view[1], &view[0]);
}

static enum cs_status probe(struct cs_bench *bench, enum cs_probe kind, int buffer) {
    return bench->device->probe(bench->device, kind, bench->storage[buffer].data, bench->bytes, 0, 0);
}

static enum cs_status read_on_device(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
    *bytes = (int64_t)bench->bytes;
    return probe(bench, CS_PROBE_READ, 0);
}

static enum cs_status read_both_on_device(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    CS_TRY(read_on_device(bench, row, bytes));
    *bytes *= 2;
    return probe(bench, CS_PROBE_READ, 1);
}

static enum cs_status hash_on_device(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    (void)row;
    *bytes = (int64_t)bench->bytes;
    return probe(bench, CS_PROBE_HASH, 1);
}

/* The runs of the row that is measured. */
static enum cs_status set_on_device(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    size_t run = (size_t)row->run_bytes, pitch = (size_t)row->pitch_bytes;
    *bytes = (int64_t)(run ? bench->bytes / pitch * run : bench->bytes);
    return bench->device->probe(bench->device, CS_PROBE_WRITE, bench->storage[1].data, bench->bytes, run, pitch);
}

const struct cs_bench_row cs_bench_yardstick_rows[] = {
    {"memcpy", .run = copy},
    {"memset", .run = set},
    {"memcmp", .prepare = make_equal, .run = compare},
    {"counter hash", .run = count_and_hash},
    {"read", .run = read},
    {"first touch", .run = touch_first},
};
const size_t cs_bench_n_yardsticks = CS_COUNT(cs_bench_yardstick_rows);

/* The same on a device that has probes. */
static const struct cs_bench_row device_rows[] = {
    {"device copy", .run = copy_on_device},      {"device write", .run = set_on_device},
    {"device read", .run = read_both_on_device}, {"device hash", .run = hash_on_device},
    {"device read", .run = read_on_device},
};

struct cs_bench_row cs_bench_yardstick_for(const struct cs_bench *bench, const struct cs_bench_row *measured) {
    struct cs_bench_row row = {0};
    if (measured->yardstick == CS_BENCH_NONE) return row;
    if (measured->yardstick == CS_BENCH_NO_POLICY) { /* the same row */
        row = *measured;
        row.what = row.policy = "none";
        return row;
    }
    if (measured->yardstick == CS_BENCH_SAME_RUNS) { /* of the same server */
        row = *measured;
        row.what = bench->device->probe ? "device runs" : "same runs";
        row.run = cs_bench_write_same_runs;
        return row;
    }
    row = (bench->device->probe ? device_rows : cs_bench_yardstick_rows)[measured->yardstick - CS_BENCH_MEMCPY];
    row.run_bytes = measured->run_bytes;
    row.pitch_bytes = measured->pitch_bytes;
    return row;
}
