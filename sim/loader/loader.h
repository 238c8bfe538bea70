/* Loaders copy one checkpoint tensor, or a slice of it, into a parameter, and narrow what does not fit.
 *
 * A loader is a table of the tensors that it consumes (names as published, shapes, parameter) and one function. The
 * same function runs for real and as layerwise reload's dry run: on META parameters it moves nothing and only counts.
 * Invariants of the function:
 *   - every element it writes goes through cs_load_copy, which counts it (R8.1 accounting, layerwise's load_numel);
 *   - everything it narrows away goes through cs_load_narrowed, once per axis of a call (R2.8). */
#ifndef CS_LOADER_H
#define CS_LOADER_H

#include "sim/checkpoint/checkpoint.h"
#include "sim/model/model.h"

/* Which dimension of one expert's matrix tensor parallelism splits, or how a number is kept. */
enum cs_shard_dim {
    CS_ROWS = 0,
    CS_COLUMNS = 1,
    CS_UNSPLIT = -1,
    CS_SCALAR = -2,        /* one number, into the expert's slot of the shard, or its only slot */
    CS_SCALAR_AGREED = -3, /* the same, but the slot's earlier value must be 1 or nearly equal */
    CS_SCALAR_OF_ALL = -4, /* the same, by global expert where a back end keeps every rank's (CS_GLOBAL_INPUT) */
};
enum cs_shard { CS_WHOLE = -1, CS_GATE = 0, CS_UP = 1, CS_GATE_UP = 2 /* both, one behind the other */ };

/* One checkpoint tensor of a routed-experts module. Shapes as in method.h, plus If = intermediate before sharding. */
struct cs_loader_row {
    const char *tensor; /* "gate_up_proj_blocks"; with a leading "{expert}." one per expert */
    const char *shape;
    enum cs_dtype dtype;
    enum cs_dtype as; /* whose numbers a synthetic one holds */
    const char *param;
    int shard_dim; /* enum cs_shard_dim */
    int shard;     /* enum cs_shard: which part of shard_dim of w13 */
    int block;     /* gpt-oss: elements of shard_dim that stay together; 0: not by blocks */
    unsigned when; /* options of the layer that has it */
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
    size_t n_zeros; /* boxes that the loader zeroes itself, past everything that records padding (R4.11) */
    const struct cs_toy_box *zeros;
    bool concatenates; /* zeros are copied behind what it read, so that they count; else they are filled in */
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
    struct cs_view source; /* whole checkpoint tensor; its storage may be changed (zero_ of an incoming bias) */
    int64_t expert;        /* local id, or -1: all */
    bool is_dropped;       /* out: the driver took no notice of the call */
    bool keeps_parameters; /* the model looked this parameter up before the load began */
    int64_t run;           /* calls of one run: the model did not leave the module between them */
    /* For a call on meta: told of every copy. NULL: nobody asks. */
    enum cs_status (*record)(struct cs_load_call *call, const struct cs_view *destination,
                             const struct cs_view *source);
    bool is_patch;   /* elements of the source that are NaN leave the parameter's as they are */
    int64_t counted; /* out: elements that copies wrote, as layerwise counts them */
    int64_t n_calls; /* out: calls of upstream's weight loader */
};

struct cs_loader {
    const char *name, *text;
    const struct cs_loader_row *rows;
    size_t n_rows;
    enum cs_status (*load)(struct cs_load_call *call);
    bool is_transposed;    /* weights arrive as [K, N] */
    bool bypasses_counter; /* copies without the parameter's weight loader: nothing is counted, and a reload keeps the
                              old values (found: F13) */
    bool keeps_parameters; /* the model looked its parameters up once: what comes after a layer was processed is lost
                              (found: F4) */
    bool leaves_copies;    /* as released, redundant experts are not loaded (defect fused_expert_ids, found: F15) */
    bool keeps_in_run;     /* the same, but for one run of the module's tensors only (AutoWeightsLoader) */
};

/* Runs call->loader on call->param as it is now. */
enum cs_status cs_load(struct cs_load_call *call);

/* destination := source (same shape), counted; nothing moves when the destination is META. */
enum cs_status cs_load_copy(struct cs_load_call *call, const struct cs_view *destination, const struct cs_view *source);
/* Tells the policy that a box of the parameter, in its coordinates, is padding. With experts, dimension 0 of the box is
 * widened to all of them (R2.1). An empty box says nothing. */
enum cs_status cs_load_narrowed(struct cs_load_call *call, const int64_t *start, const int64_t *length);
/* The same for a loader that knows only a view of the parameter: the parameter of the module that owns the view's
 * storage is looked up; when none does, the tensor is plain and nothing is recorded (R2.7, R2.5). The box is in the
 * view's coordinates. */
enum cs_status cs_load_narrowed_in_view(struct cs_load_call *call, const struct cs_view *view, const int64_t *start,
                                        const int64_t *length);

/* A part of a parameter with experts: experts [first, first + n), rows [row, row + rows), columns likewise; 0 columns:
 * every one. */
struct cs_load_part {
    int64_t first_expert, n_experts, row, rows, column, columns;
};
/* part[:, :d1, :d2] = source, and the rest of the part is narrowed away: rows first, then the columns of the written
 * rows. Source [experts, rows] or [experts, rows, columns]. CS_BAD_SHAPE when it is larger than the part. */
enum cs_status cs_load_prefix(struct cs_load_call *call, const struct cs_load_part *part, const struct cs_view *source);
/* What cs_load_prefix does before and after it copies `shape` = rows and columns: for loaders that copy piecewise. */
enum cs_status cs_load_check_part(struct cs_load_call *call, const struct cs_load_part *part, const int64_t shape[2]);
enum cs_status cs_load_narrow_part(struct cs_load_call *call, const struct cs_load_part *part, const int64_t shape[2]);
/* The part that a loader writes, as a view of the parameter. */
enum cs_status cs_load_part_view(const struct cs_load_call *call, const struct cs_load_part *part,
                                 struct cs_view *view);
/* The part of an expert that a shard fills: half of shard_dim for gate and up, otherwise everything. */
struct cs_load_part cs_load_part_of(const struct cs_load_call *call, int64_t expert, int shard);

/* vLLM's rules for tensors of one expert (fused_moe/routed_experts.py): shards of w13, tensor parallelism by rounding
 * down, numbers. */
enum cs_status cs_load_standard(struct cs_load_call *call);
/* The part of them that splits `source`, [experts, rows] or [experts, rows, columns], and writes a shard of experts
 * from `expert` on. */
enum cs_status cs_load_shard(struct cs_load_call *call, const struct cs_view *source, int64_t expert, int shard);
/* The two halves of rows [gate; up], of [experts, rows] or [experts, rows, columns]. */
enum cs_status cs_load_halves(const struct cs_view *source, struct cs_view halves[2]);
/* A leading dimension of one expert. */
enum cs_status cs_load_one_expert(struct cs_view *source);

/* Which local slot a call for a physical expert is about: its own, -1 when it lives elsewhere and nothing is called.
 * Numbers that every rank keeps have one for each expert. */
int64_t cs_load_slot(const struct cs_rank_spec *rank, const struct cs_loader_row *row, int64_t expert);
/* How many physical experts a loader of single experts knows: numbers beyond are nobody's. Physical expert E + i is a
 * copy of expert i mod E. */
int64_t cs_load_physical_experts(const struct cs_rank *rank, const struct cs_loader *loader);
/* Calls of upstream's weight loader that one expert's tensor makes, wherever the expert is. */
int64_t cs_load_calls_of_row(const struct cs_loader_row *row);

/* Where an expected checkpoint tensor goes. */
struct cs_route {
    const char *tensor; /* checkpoint name */
    const char *prefix; /* of the experts in the checkpoint; NULL without a row */
    enum cs_dtype dtype, as;
    int ndim;
    int64_t shape[CS_NDIM];
    size_t module; /* index in the rank's modules */
    const char *param;
    const struct cs_loader *loader;
    const struct cs_loader_row *row;
    const struct cs_toy_call *toy;
    int64_t expert;   /* global id, or -1 */
    bool is_optional; /* a checkpoint may do without it: KV-cache scales */
};

struct cs_routes {
    size_t n, capacity;
    struct cs_route *items;
    struct cs_arena *arena;
    size_t n_renames; /* for the module whose routes are added now */
    const struct cs_rename *renames;
};

/* Appends one route. */
enum cs_status cs_routes_add(struct cs_routes *routes, const struct cs_route *route);
/* The checkpoint's name of a row's tensor, in the arena of `routes`; `expert` -1: of all experts. NULL: out of memory.
 */
const char *cs_routes_name(const struct cs_routes *routes, const char *prefix, const struct cs_loader_row *row,
                           int64_t expert);
/* The last word of a row's tensor, "weight" of "{expert}.gate_proj.weight": by it a module says what checkpoints store. */
const char *cs_loader_row_word(const struct cs_loader_row *row);
/* The routes of a routed-experts module: every row, every expert. `prefix` is the checkpoint's name of the experts,
 * such as "model.layers.0.mlp.experts". */
enum cs_status cs_routes_of_loader(struct cs_routes *routes, const struct cs_loader *loader, const char *prefix,
                                   const struct cs_sizes *sizes, size_t module);

/* Loaders without a table, for tensors that no method loads. */
extern const struct cs_loader cs_loader_default, cs_loader_toy;

extern const struct cs_loader *const cs_loaders[];
extern const size_t cs_n_loaders;
const struct cs_loader *cs_loader_by_name(const char *name);

#endif
