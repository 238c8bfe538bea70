/* Loaders copy one checkpoint tensor, or a slice of it, into a parameter, and narrow what does not fit.
 *
 * A loader is a table of the tensors that it consumes (names as published, shapes, parameter) and one function. The same
 * function runs for real and as layerwise reload's dry run: on META parameters it moves nothing and only counts.
 * Invariants of the function:
 *   - every element it writes goes through cs_load_copy, which counts it (R8.1 accounting, layerwise's load_numel);
 *   - everything it narrows away goes through cs_load_narrowed, once per axis of a call (R2.8). */
#ifndef CS_LOADER_H
#define CS_LOADER_H

#include "sim/checkpoint/checkpoint.h"
#include "sim/model/model.h"

/* One checkpoint tensor of a routed-experts module. Shapes as in method.h, plus If = intermediate before sharding. */
struct cs_loader_row {
    const char *tensor; /* "gate_up_proj_blocks"; with a leading "{expert}." one per expert */
    const char *shape;
    enum cs_dtype dtype;
    enum cs_dtype as;   /* whose numbers a synthetic one holds */
    const char *param;
    int shard_dim;      /* of one expert's matrix, that tensor parallelism splits: 0 rows, 1 columns; -1: not split */
    int shard;          /* w13 halves: 0 = gate (w1), 1 = up (w3); -1: whole */
    int block;          /* elements of shard_dim in one 32-block of the intermediate dimension; 0: not by blocks */
};

/* One loader call of a toy: write `values` into a box of a parameter, or a plain mark, or both. */
struct cs_toy_box {
    int64_t start[CS_NDIM], length[CS_NDIM];
};
struct cs_toy_call {
    const char *param;
    bool has_write;
    struct cs_toy_box write;
    size_t n_values; /* 1: the same everywhere; else one per element, row-major */
    const double *values;
    size_t n_marks;
    const struct cs_toy_box *marks;
    bool through_view; /* the loader is given only a view of the parameter (R2.7) */
    bool on_plain;     /* the mark is for a plain tensor copy (R2.5) */
    int line;
};
/* One call of a weight loader. */
struct cs_load_call {
    struct cs_module *module;
    struct cs_param *param;
    const struct cs_loader *loader;
    const struct cs_loader_row *row; /* NULL for loaders without a table */
    const struct cs_toy_call *toy;   /* toy loader only */
    const char *tensor;              /* checkpoint name */
    struct cs_view source;           /* whole checkpoint tensor; its storage may be changed (zero_ of an incoming bias) */
    int64_t expert;                  /* local id, or -1: all */
    bool is_dropped;                 /* out: the driver took no notice of the call */
    int64_t counted;                 /* out: elements that copies wrote, as layerwise counts them */
};

struct cs_loader {
    const char *name, *text;
    const struct cs_loader_row *rows;
    size_t n_rows;
    enum cs_status (*load)(struct cs_load_call *call);
};

/* Runs call->loader on call->param as it is now. */
enum cs_status cs_load(struct cs_load_call *call);

/* destination := source (same shape), counted; nothing moves when the destination is META. */
enum cs_status cs_load_copy(struct cs_load_call *call, const struct cs_view *destination, const struct cs_view *source);
/* Tells the policy that a box of the parameter, in its coordinates, is padding. With experts, dimension 0 of the box is
 * widened to all of them (R2.1). An empty box says nothing. */
enum cs_status cs_load_narrowed(struct cs_load_call *call, const int64_t *start, const int64_t *length);
/* The same for a loader that knows only a view of the parameter: the parameter of the module that owns the view's storage
 * is looked up; when none does, the tensor is plain and nothing is recorded (R2.7, R2.5). The box is in the view's
 * coordinates. */
enum cs_status cs_load_narrowed_in_view(struct cs_load_call *call, const struct cs_view *view, const int64_t *start,
                                        const int64_t *length);

/* A part of a parameter with experts: experts [first, first + n), rows [row, row + rows), every column. */
struct cs_load_part {
    int64_t first_expert, n_experts, row, rows;
};
/* part[:, :d1, :d2] = source, and the rest of the part is narrowed away: rows first, then the columns of the written rows.
 * Source [experts, rows] or [experts, rows, columns]. CS_BAD_SHAPE when it is larger than the part. */
enum cs_status cs_load_prefix(struct cs_load_call *call, const struct cs_load_part *part, const struct cs_view *source);

/* Where an expected checkpoint tensor goes. */
struct cs_route {
    const char *tensor; /* checkpoint name */
    const char *prefix; /* of the experts in the checkpoint; NULL without a row */
    enum cs_dtype dtype, as;
    int ndim;
    int64_t shape[CS_NDIM];
    size_t module;      /* index in the rank's modules */
    const char *param;
    const struct cs_loader *loader;
    const struct cs_loader_row *row;
    const struct cs_toy_call *toy;
    int64_t expert;     /* global id, or -1 */
};

struct cs_routes {
    size_t n, capacity;
    struct cs_route *items;
    struct cs_arena *arena;
};

/* Appends one route. */
enum cs_status cs_routes_add(struct cs_routes *routes, const struct cs_route *route);
/* The routes of a routed-experts module: every row, every expert. `prefix` is the checkpoint's name of the experts, such
 * as "model.layers.0.mlp.experts". */
enum cs_status cs_routes_of_loader(struct cs_routes *routes, const struct cs_loader *loader, const char *prefix,
                                   const struct cs_sizes *sizes, size_t module);

/* Loaders without a table, for tensors that no method loads. */
extern const struct cs_loader cs_loader_default, cs_loader_toy;

extern const struct cs_loader *const cs_loaders[];
extern const size_t cs_n_loaders;
const struct cs_loader *cs_loader_by_name(const char *name);

#endif
