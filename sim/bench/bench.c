#include "sim/bench/internal.h"

#include <string.h>
#include <time.h>

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- rows ---- */

static size_t n_rows(void) {
    return cs_bench_n_yardsticks + cs_bench_n_operations + cs_bench_n_post_loads() + cs_bench_n_servers;
}

/* Names of rows that are made here live in `arena`. */
static enum cs_status row_at(size_t i, struct cs_arena *arena, struct cs_bench_row *row) {
    const struct {
        const struct cs_bench_row *rows; /* NULL: post-loads */
        size_t n;
    } parts[] = {{cs_bench_yardstick_rows, cs_bench_n_yardsticks},
                 {cs_bench_operation_rows, cs_bench_n_operations},
                 {NULL, cs_bench_n_post_loads()},
                 {cs_bench_server_rows, cs_bench_n_servers}};
    size_t part = 0;
    for (; i >= parts[part].n; part++) i -= parts[part].n;
    if (!parts[part].rows) return cs_bench_post_load_row(i, arena, row);
    *row = parts[part].rows[i];
    return CS_OK;
}

static bool is_wanted(const struct cs_bench_options *options, const struct cs_bench_row *row) {
    return !options->filter || strstr(row->what, options->filter);
}

size_t cs_bench_count(const struct cs_bench_options *options) {
    struct cs_arena arena = {0};
    size_t n = 0;
    for (size_t i = 0; i < n_rows(); i++) {
        struct cs_bench_row row;
        n += row_at(i, &arena, &row) == CS_OK && is_wanted(options, &row);
    }
    cs_arena_release(&arena);
    return n;
}

/* ---- measuring ---- */

struct best {
    int64_t bytes;
    double seconds;
};

/* Operations of a device may end after their call does; a byte that comes back comes after them. */
static enum cs_status wait_for_device(struct cs_bench *bench) {
    unsigned char byte;
    return bench->device->download(bench->device, &byte, bench->storage[1].data, 1);
}

static enum cs_status time_once(struct cs_bench *bench, const struct cs_bench_row *row, struct best *best) {
    if (row->prepare) CS_TRY(row->prepare(bench, row));
    CS_TRY(wait_for_device(bench));
    double start = now_seconds();
    CS_TRY(row->run(bench, row, &best->bytes));
    CS_TRY(wait_for_device(bench));
    double seconds = now_seconds() - start;
    if (seconds <= 0) seconds = 1e-9; /* a clock that ticks slower than the work */
    if (best->seconds == 0 || seconds < best->seconds) best->seconds = seconds;
    return CS_OK;
}

static enum cs_status run_once(struct cs_bench *bench, const struct cs_bench_row *row, struct best *best) {
    enum cs_status status = time_once(bench, row, best);
    if (row->clean) row->clean(bench);
    return status;
}

static double rate(const struct best *best) { return (double)best->bytes / best->seconds; }

/* An emulated device promises nothing. */
static double goal_of(const struct cs_bench *bench, const struct cs_bench_row *row) {
    if (bench->device->is_emulated) return 0;
    return bench->device->probe ? row->goal.device : row->goal.host;
}

/* In turn with the yardstick: what else the machine does then slows both. */
static enum cs_status measure(struct cs_bench *bench, const struct cs_bench_row *row, struct cs_bench_result *result) {
    const struct cs_bench_row yardstick = cs_bench_yardstick_for(bench, row);
    struct best own = {0}, other = {0};
    for (int i = 0; i < CS_BENCH_REPEATS; i++) {
        if (yardstick.run) CS_TRY(run_once(bench, &yardstick, &other));
        CS_TRY(run_once(bench, row, &own));
    }
    *result = (struct cs_bench_result){
        .what = row->what, .bytes = own.bytes, .seconds = own.seconds, .rate = rate(&own), .goal = goal_of(bench, row)};
    if (!yardstick.run) return CS_OK;
    result->yardstick = yardstick.what;
    result->share = rate(&own) / rate(&other);
    return CS_OK;
}

/* ---- memory ---- */

static enum cs_status allocate(const struct cs_device *device, size_t bytes, void **data) {
    CS_REQUIRE(device->allocate, CS_UNSUPPORTED, "bench: not supported by %s", device->name);
    return device->allocate(device, bytes, data);
}

/* Whole matrices of every size, and whole words. Host memory is touched here, so that no row pays for it. */
static enum cs_status open(struct cs_bench *bench, const struct cs_bench_options *options) {
    *bench = (struct cs_bench){.device = options->device,
                               .host_device = cs_device_by_name("ref"),
                               .bytes = (size_t)options->bytes / CS_BENCH_LEAST * CS_BENCH_LEAST};
    for (int i = 0; i < 2; i++) {
        void *host;
        bench->storage[i] = (struct cs_storage){
            .kind = CS_STORAGE_MEMORY, .bytes = bench->bytes, .block_bytes = bench->bytes, .label = "a buffer"};
        CS_TRY(allocate(bench->device, bench->bytes, &bench->storage[i].data));
        host = bench->storage[i].data;
        if (bench->device != bench->host_device) CS_TRY(allocate(bench->host_device, bench->bytes, &host));
        bench->host[i] = host;
        memset(host, i, bench->bytes);
    }
    return CS_OK;
}

static void close(struct cs_bench *bench) {
    for (int i = 0; i < 2; i++) {
        if (bench->host[i] && bench->host[i] != bench->storage[i].data)
            bench->host_device->release(bench->host_device, bench->host[i], bench->bytes);
        if (bench->storage[i].data) bench->device->release(bench->device, bench->storage[i].data, bench->bytes);
    }
}

static enum cs_status measure_all(struct cs_bench *bench, const struct cs_bench_options *options, cs_bench_show *show,
                                  void *context) {
    struct cs_memory memory = cs_device_memory(bench->device);
    struct cs_arena arena = {0};
    enum cs_status status = CS_OK;
    for (size_t i = 0; status == CS_OK && i < n_rows(); i++) {
        struct cs_bench_result result;
        struct cs_bench_row row;
        status = row_at(i, &arena, &row);
        if (status != CS_OK || !is_wanted(options, &row)) continue;
        cs_pool_init(&bench->pool, &memory);
        status = measure(bench, &row, &result);
        cs_pool_close(&bench->pool);
        if (status == CS_OK) show(context, &result);
    }
    cs_arena_release(&arena);
    return status;
}

enum cs_status cs_bench(const struct cs_bench_options *options, cs_bench_show *show, void *context) {
    struct cs_bench bench;
    CS_REQUIRE(options->bytes >= CS_BENCH_LEAST, CS_BAD_USAGE,
               "bench: %" PRIu64 " bytes are too few to measure, the least are %d", options->bytes, CS_BENCH_LEAST);
    enum cs_status status = open(&bench, options);
    if (status == CS_OK) status = measure_all(&bench, options, show, context);
    close(&bench);
    return status;
}
