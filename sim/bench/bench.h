/* Bench: how fast a device does byte work, as shares of what plain loops reach in the same process.
 *
 * A machine's speed is nobody's merit, and a shared machine's is not even a fact: only ratios mean something. Each row
 * is therefore measured in turn with its yardstick (memcpy, memset, …, on all threads), several times, and the best of
 * each are compared. Rates count bytes read plus bytes written; first touch of memory is a row of its own and in no
 * other.
 *
 * A device with memory of its own is held against loops on that device, not against the host's.
 *
 * Rows of back ends run a post-load, others whole scenarios: a cold start, a layerwise reload and the audit. Their
 * share is the time that memcpy would take for the bytes that they move, over the time that they took. */
#ifndef CS_BENCH_H
#define CS_BENCH_H

#include "sim/device/device.h"

enum {
    CS_BENCH_REPEATS = 5,
    CS_BENCH_LEAST = 64 << 10, /* bytes */
};

struct cs_bench_options {
    const struct cs_device *device;
    const char *filter; /* only rows whose name contains it; NULL: all */
    uint64_t bytes;     /* of each of the two buffers, at least CS_BENCH_LEAST */
};

struct cs_bench_result {
    const char *what;      /* "generate u8 hash" */
    const char *yardstick; /* "counter hash"; NULL: is one itself, or has none */
    int64_t bytes;         /* read + written */
    double seconds, rate;  /* of the best run; bytes per second */
    double share;          /* of the yardstick's rate; 0: none */
    double goal;           /* least share; 0: none */
};

static inline bool cs_bench_is_slow(const struct cs_bench_result *result) { return result->share < result->goal; }

/* Rows that the filter keeps. */
size_t cs_bench_count(const struct cs_bench_options *options);

/* Measures them in order; `show` gets each result as soon as it is there. */
typedef void cs_bench_show(void *context, const struct cs_bench_result *result);
enum cs_status cs_bench(const struct cs_bench_options *options, cs_bench_show *show, void *context);

/* Orderings a second on one thread: build, load A, post-load, layerwise reload of B, compare with a kept state of B. */
struct cs_bench_ordering {
    const char *what;
    double rate;        /* a second */
    double peer, times; /* of vLLM's own reload code as published, 0: never measured; times as many are the goal */
    double goal;        /* where there is no peer */
};
/* The i-th of the rows that the filter keeps (NULL: all), before it is measured: its rate is 0. False: there is none. */
bool cs_bench_ordering_row(const char *filter, size_t i, struct cs_bench_ordering *row);
typedef void cs_bench_show_orderings(void *context, const struct cs_bench_ordering *result);
enum cs_status cs_bench_orderings(const struct cs_device *device, const char *filter, cs_bench_show_orderings *show,
                                  void *context);

#endif
