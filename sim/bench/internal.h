/* What the files of this folder share: a row is a function that does some work once and says how many bytes it moved.
 */
#ifndef CS_BENCH_INTERNAL_H
#define CS_BENCH_INTERNAL_H

#include "sim/bench/bench.h"
#include "sim/session/session.h"

enum cs_bench_yardstick {
    CS_BENCH_NONE,
    CS_BENCH_MEMCPY,
    CS_BENCH_MEMSET,
    CS_BENCH_MEMCMP,
    CS_BENCH_COUNTER_HASH,
    CS_BENCH_READ,
    CS_BENCH_SAME_RUNS, /* plain writes of what a fill of all padding writes */
    CS_BENCH_NO_POLICY  /* the same reload under policy "none" */
};

/* Two buffers of the device that both sides work on, and host memory for the yardsticks: the same, where it can be. */
struct cs_bench {
    const struct cs_device *device, *host_device;
    size_t bytes;
    struct cs_storage storage[2];
    unsigned char *host[2];
    struct cs_pool pool; /* of a row's servers, so that each touches its memory once */
    bool has_server;
    struct cs_session server; /* that a row prepared */
    struct cs_scenario scenario;
};

/* Least shares, on the host's own memory and on a device that has memory of its own; 0: nothing was promised. */
struct cs_bench_goal {
    double host, device;
};

struct cs_bench_row {
    const char *what;
    enum cs_bench_yardstick yardstick;
    struct cs_bench_goal goal;
    /* Not timed; NULL: nothing to do. */
    enum cs_status (*prepare)(struct cs_bench *bench, const struct cs_bench_row *row);
    void (*clean)(struct cs_bench *bench);
    enum cs_status (*run)(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes);
    enum cs_content_kind content; /* generate */
    enum cs_dtype dtype;
    int64_t run_bytes, pitch_bytes; /* fill */
    const char *program;            /* map, maximum: over one operand */
    int64_t block;
    int bits; /* relayout: of an element, the matrix and its chain */
    int64_t rows, row_bytes;
    const char *chain[3];
    int64_t layers, experts; /* models */
    const char *policy;
    const struct cs_backend *backend;
};

/* ---- rows: yardsticks, device operations and servers (yardsticks.c, operations.c, servers.c) ---- */

extern const struct cs_bench_row cs_bench_yardstick_rows[], cs_bench_operation_rows[], cs_bench_server_rows[];
extern const size_t cs_bench_n_yardsticks, cs_bench_n_operations, cs_bench_n_servers;
/* A row for each back end that has a post-load (post_loads.c); `what` is made in `arena`. */
size_t cs_bench_n_post_loads(void);
enum cs_status cs_bench_post_load_row(size_t i, struct cs_arena *arena, struct cs_bench_row *row);

/* The row that a yardstick is on this device, and its name there. `measured`: the row that is held against it. */
struct cs_bench_row cs_bench_yardstick_for(const struct cs_bench *bench, const struct cs_bench_row *measured);

/* ---- servers ---- */

/* Prepares bench->server: opened, one rank, nothing created. Undefined memory is left as it is: a real server writes
 * nothing there either. */
enum cs_status cs_bench_open_server(struct cs_bench *bench, const char *policy);
void cs_bench_close_server(struct cs_bench *bench);
/* Bytes of the server's tensors. */
int64_t cs_bench_server_bytes(const struct cs_bench *bench);
/* Of bench->scenario's first rank: create_weights; then all that a cold start does after the last tensor came. */
enum cs_status cs_bench_create(struct cs_bench *bench);
enum cs_status cs_bench_finish(struct cs_bench *bench, int64_t *bytes);
/* All padding of bench->server in one fill (padding.c); and plain loops that write runs of the same lengths. */
enum cs_status cs_bench_fill_padding(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes);
enum cs_status cs_bench_write_same_runs(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes);
/* A scenario of `backend` with routed experts in `layers` layers. */
struct cs_scenario cs_bench_scenario(const struct cs_bench_row *row, const struct cs_backend *backend, int64_t layers,
                                     int64_t experts, int64_t width);

#endif
