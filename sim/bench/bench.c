#include "sim/bench/internal.h"

#include <string.h>
#include <time.h>

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- rows ---- */

static size_t n_rows(void) { return cs_bench_n_yardsticks + cs_bench_n_operations + cs_bench_n_growths; }

static const struct cs_bench_row *row_at(size_t i) {
    if (i < cs_bench_n_yardsticks) return &cs_bench_yardstick_rows[i];
    i -= cs_bench_n_yardsticks;
    return i < cs_bench_n_operations ? &cs_bench_operation_rows[i] : &cs_bench_growth_rows[i - cs_bench_n_operations];
}

static bool is_wanted(const struct cs_bench_options *options, const struct cs_bench_row *row) {
    return !options->filter || strstr(row->what, options->filter);
}

size_t cs_bench_count(const struct cs_bench_options *options) {
    size_t n = 0;
    for (size_t i = 0; i < n_rows(); i++) n += is_wanted(options, row_at(i));
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

static enum cs_status run_once(struct cs_bench *bench, const struct cs_bench_row *row, struct best *best) {
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

static double rate(const struct best *best) { return (double)best->bytes / best->seconds; }

/* In turn with the yardstick: what else the machine does then slows both. */
static enum cs_status measure(struct cs_bench *bench, const struct cs_bench_row *row, struct cs_bench_result *result) {
    const struct cs_bench_row *yardstick = cs_bench_yardstick_row(row->yardstick);
    struct best own = {0}, other = {0};
    for (int i = 0; i < CS_BENCH_REPEATS; i++) {
        if (yardstick) CS_TRY(run_once(bench, yardstick, &other));
        CS_TRY(run_once(bench, row, &own));
    }
    *result = (struct cs_bench_result){
        .what = row->what, .bytes = own.bytes, .seconds = own.seconds, .rate = rate(&own), .goal = row->goal};
    if (!yardstick) return CS_OK;
    result->yardstick = yardstick->what;
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
    for (size_t i = 0; i < n_rows(); i++) {
        struct cs_bench_result result;
        if (!is_wanted(options, row_at(i))) continue;
        CS_TRY(measure(bench, row_at(i), &result));
        show(context, &result);
    }
    return CS_OK;
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
