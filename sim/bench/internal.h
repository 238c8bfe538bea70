/* What the files of this folder share: a row is a function that does some work once and says how many bytes it moved.
 */
#ifndef CS_BENCH_INTERNAL_H
#define CS_BENCH_INTERNAL_H

#include "sim/bench/bench.h"

enum cs_bench_yardstick {
    CS_BENCH_NONE,
    CS_BENCH_MEMCPY,
    CS_BENCH_MEMSET,
    CS_BENCH_MEMCMP,
    CS_BENCH_COUNTER_HASH,
    CS_BENCH_READ
};

/* Two buffers of the device that both sides work on, and host memory for the yardsticks: the same, where it can be. */
struct cs_bench {
    const struct cs_device *device, *host_device;
    size_t bytes;
    struct cs_storage storage[2];
    unsigned char *host[2];
};

struct cs_bench_row {
    const char *what;
    enum cs_bench_yardstick yardstick;
    double goal;
    /* Not timed. NULL: nothing to prepare. */
    enum cs_status (*prepare)(struct cs_bench *bench, const struct cs_bench_row *row);
    enum cs_status (*run)(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes);
    enum cs_content_kind content; /* generate */
    enum cs_dtype dtype;
    int64_t run_bytes; /* fill */
    int bits;          /* relayout: of an element, the matrix and its chain */
    int64_t rows, row_bytes;
    const char *chain[3];
    int64_t layers, experts; /* growth */
};

/* Rows that are yardsticks, device operations and scenarios (yardsticks.c, operations.c, growth.c). */
extern const struct cs_bench_row cs_bench_yardstick_rows[], cs_bench_operation_rows[], cs_bench_growth_rows[];
extern const size_t cs_bench_n_yardsticks, cs_bench_n_operations, cs_bench_n_growths;

/* The row that a yardstick is. */
const struct cs_bench_row *cs_bench_yardstick_row(enum cs_bench_yardstick yardstick);

#endif
