/* A model: its description, and the live modules, parameters and ranks of one simulated server.
 *
 * Description (`cs_*_spec`): plain data with every size resolved. Live objects:
 *   - a parameter is an *object* with a view; one object may be registered under two names, and an object that nothing
 *     registers may still be held by a side path (that is how an orphan copy comes about);
 *   - a module maps names to objects; its padding records outlive them;
 *   - a side path is a tensor reachable from something that is no parameter: quant config, experts or kernel objects;
 *   - storages are freed by `cs_rank_sweep`: what no slot, side path or root of the driver names is gone. */
#ifndef CS_MODEL_H
#define CS_MODEL_H

#include "sim/model/probes.h"
#include "sim/mutant/mutant.h"
#include "sim/padding/padding.h"

struct cs_loader;  /* loader/loader.h */
struct cs_backend; /* method/method.h */

/* ---- description ---- */

/* How a tensor is created. Only ONES, and VALUE 1.0, of a floating dtype make the padding value 1 (R2.2). */
/* clang-format off */
#define CS_INITS(X)                                                                                                    \
    X(EMPTY,  "empty")                                                                                                 \
    X(ZEROS,  "zeros")                                                                                                 \
    X(ONES,   "ones")                                                                                                  \
    X(VALUE,  "value")  /* torch.full(init_value) */                                                                   \
    X(ARANGE, "arange")                                                                                                \
    X(META,   "meta")   /* created on the meta device, materialised later */
/* clang-format on */

enum cs_init {
#define X(id, name) CS_INIT_##id,
    CS_INITS(X)
#undef X
};
const char *cs_init_name(enum cs_init init);

enum cs_tensor_kind { CS_PARAMETER, CS_BUFFER, CS_PERSISTENT_BUFFER, CS_PLAIN_TENSOR };

struct cs_tensor_spec {
    const char *name; /* within its module */
    enum cs_tensor_kind kind;
    enum cs_dtype dtype;
    int ndim;
    int64_t shape[CS_NDIM];
    enum cs_init init;
    double init_value;
    bool has_padding_value;
    double padding_value;        /* explicit */
    int64_t weight_loader_numel; /* counted instead of the number of elements; -1: absent */
    bool is_unregistered;        /* a parameter object that the module does not register (R2.5) */
    bool is_late;                /* registered while loading, when the module's first tensor comes (L9) */
    const char *tied;            /* "module.parameter" of an earlier module that this one is too, or NULL */
    bool is_scale;               /* byte class of its payload in reports */
    bool is_online; /* created on the meta device, materialised with `init` when its first tensor arrives */
};

/* Value that the parameter's padding must hold, decided right after creation (R2.2). `on_meta`: the model was built on
 * the meta device, which records 0 for everything. */
double cs_padding_value(const struct cs_tensor_spec *spec, bool on_meta);

/* What a checkpoint calls a word of a loader's table: Mixtral's "w1" for "gate_proj". */
struct cs_rename {
    const char *word, *name;
};

/* What a checkpoint stores a tensor as, where the engine keeps other numbers: the bf16 of a router that is f32. `word`:
 * the tensor's name in its module, or of experts the last word of the loader's name. */
struct cs_stored {
    const char *word;
    enum cs_dtype dtype;
};

struct cs_module_spec {
    const char *name;
    const char *checkpoint; /* its name in checkpoints */
    size_t n_renames;       /* of words in the names of its experts' tensors */
    const struct cs_rename *renames;
    size_t n_stored;
    const struct cs_stored *stored;
    int layer; /* -1: outside of the decoder layers */
    size_t n_tensors;
    const struct cs_tensor_spec *tensors;
    const struct cs_backend *backend; /* whose post-load runs; NULL: none */
    bool is_attention;                /* KV-cache scales; reloads process it last */
    bool processes_while_loading;     /* post-load as soon as every tensor arrived, as online quantisation does */
};

/* What a layer's configuration says beside its sizes: a set of bits. Rows of tables name the ones that they need, or in
 * the upper half (CS_UNLESS) the ones that must be absent. */
enum cs_layer_option {
    CS_WITH_BIAS = 1 << 0,
    CS_NOT_GATED = 1 << 1,     /* one shard in w13, the up projection */
    CS_STATIC_INPUT = 1 << 2,  /* the checkpoint has activation scales */
    CS_ASYMMETRIC = 1 << 3,    /* zero points */
    CS_PER_CHANNEL = 1 << 4,   /* one group spans K */
    CS_GLOBAL_INPUT = 1 << 5,  /* activation scales of every rank's experts are kept */
    CS_NAMED_BACKEND = 1 << 6, /* the user asked for this back end */
    CS_ACT_ORDER = 1 << 7,     /* GPTQ's desc_act */
    CS_WITH_LORA = 1 << 8,
    CS_CPU_ARITHMETIC = 1 << 9, /* post-load computes as torch does on a CPU, where that differs from CUDA */
};
#define CS_UNLESS(options) ((options) << 16)
static inline bool cs_options_select(unsigned options, unsigned when) {
    return (options & when & 0xFFFF) == (when & 0xFFFF) && !(options & when >> 16);
}

/* All-to-all back ends that round the hidden dimension (sim/method/rounding.c). */
enum cs_all2all {
    CS_ALL2ALL_NONE,
    CS_ALL2ALL_DEEPEP_HT,
    CS_ALL2ALL_DEEPEP_LL,
    CS_ALL2ALL_DEEPEP_V2,
    CS_ALL2ALL_NIXL_EP
};

/* Sizes of one model on one rank, all after sharding; `_u` before rounding. */
struct cs_sizes {
    int64_t experts_global, experts; /* experts: of this rank, redundant ones included */
    int64_t experts_redundant;       /* physical experts E + i hold a copy of expert i mod E */
    int64_t hidden_u, hidden;
    int64_t intermediate_full, intermediate_u, intermediate;
    int tp, ep; /* one of them is 1 */
    enum cs_all2all all2all;
    unsigned options;         /* enum cs_layer_option */
    int bits;                 /* of a quantised weight */
    int64_t group;            /* elements of K with one scale */
    int64_t block[2];         /* rows and columns with one scale in the checkpoint */
    int64_t refine[2];        /* a checkpoint's block is this many of the parameter's, down and across */
    bool shards_whole_blocks; /* ranks take whole blocks; the last ones are padding */
};

struct cs_rank_spec {
    int tp_rank, ep_rank;
    int64_t first_expert; /* physical id of the first local expert; linear placement */
    bool is_round_robin;  /* expert e is on rank e mod ep */
    struct cs_sizes sizes;
    const struct cs_module_spec *modules;
};

struct cs_model_spec {
    const char *name;
    size_t n_ranks;
    const struct cs_rank_spec *ranks;
    size_t n_modules; /* of every rank */
};

/* ---- operation log: who wrote what, for provenance; kept only while `is_tracing` ---- */

/* clang-format off */
#define CS_LOG_KINDS(X)                                                                                                \
    X(ALLOCATE,  "uninitialised memory")                                                                               \
    X(INIT,      "creation")                                                                                           \
    X(LOAD,      "loader")                                                                                             \
    X(FILL,      "padding fill")                                                                                       \
    X(ZERO,      "policy's zero fill")                                                                                 \
    X(RELAYOUT,  "post-load relayout")                                                                                 \
    X(CONVERT,   "post-load cast")                                                                                     \
    X(COPY,      "copy")
/* clang-format on */

enum cs_log_kind {
#define X(id, name) CS_LOG_##id,
    CS_LOG_KINDS(X)
#undef X
};

struct cs_log_entry {
    enum cs_log_kind kind;
    int rank;                   /* storage ids are its allocator's; rank and load are filled in by cs_log_note */
    int load;                   /* 0: cold start, 1: first reload, … */
    const char *who;            /* loader, step or driver state, for the sentence */
    const char *what;           /* checkpoint tensor, parameter or layout chain */
    struct cs_view destination; /* storages may be gone: compare ids, never follow */
    struct cs_view source;
    bool has_source;
    uint64_t destination_id, source_id; /* of their storages; filled in by cs_log_note */
    enum cs_origin origin;              /* ALLOCATE */
    bool is_exchange;                   /* COPY: memory changed hands instead of bytes */
    const struct cs_plan *plan;         /* RELAYOUT */
};

enum { CS_LOG_MOST = 1 << 17 }; /* entries of one trace */

struct cs_log {
    bool is_tracing, is_full; /* full: what came later is not known */
    int rank, load;           /* that run now */
    size_t n_entries, capacity;
    struct cs_log_entry *entries;
    struct cs_arena *arena;
    int64_t bytes_moved; /* read + written by device work, tracing or not */
    uint64_t *probes;    /* counters, CS_N_LOAD_PROBES of them; NULL: nobody counts */
};

static inline void cs_load_probe(struct cs_log *log, enum cs_load_probe probe) {
    if (log->probes) log->probes[probe]++;
}

/* Notes an operation (a copy of `entry`); adds its bytes. Ignores out of memory: a log may end early. */
void cs_log_note(struct cs_log *log, const struct cs_log_entry *entry);

/* ---- live objects ---- */

struct cs_param {
    const char *name;                  /* under which it was created */
    const struct cs_tensor_spec *spec; /* NULL: made by post-load */
    struct cs_view view;
    double padding_value;
    bool has_warned; /* R2.5 */
    bool is_tied;    /* registered in another module too */
    bool is_retired; /* no kernel reads it: it stays registered, but outside of the kernel view */
};

struct cs_slot {
    const char *name;
    enum cs_tensor_kind kind;
    struct cs_param *param;
};

/* A tensor reachable by a path that is no parameter name, such as "quant_method.moe_quant_config._w1.scale". */
struct cs_side {
    const char *path;
    struct cs_param *param;
    bool is_kept;   /* owned by the module: it outlives the objects that post-load builds anew */
    bool is_hidden; /* a closure captured it: nobody can walk to it */
};

struct cs_rank;
struct cs_group; /* group.c */

struct cs_module {
    struct cs_rank *rank;
    const struct cs_module_spec *spec;
    size_t n_slots, slot_capacity;
    struct cs_slot *slots;
    size_t n_sides, side_capacity;
    struct cs_side *sides;
    struct cs_padding padding;
    int64_t n_calls, n_expected_calls; /* of the current load */
    int64_t n_wanted_calls;            /* of a load that sends everything, in this loader's form */
    bool has_biases;                   /* that load sends some */
    bool lacks_optional;               /* the load's checkpoint has none of the tensors that it may do without */
    bool is_processed;                 /* post-load ran for the current load */
    struct cs_layerwise *layerwise;    /* each driver's own state of this module, or NULL */
    struct cs_hosted *hosted;
};

/* Composed relayout plans, by chain and shape: composing costs more than a small relayout. */
struct cs_plan_cache {
    struct cs_plan_cache *next;
    const void *key;
    size_t n_layouts;
    int bits;
    int64_t rows, columns;
    struct cs_plan plan;
};

struct cs_rank {
    int index;
    const struct cs_rank_spec *spec;
    const struct cs_device *device;
    const struct cs_policy *policy;
    cs_defect_set defects;
    struct cs_allocator allocator;
    struct cs_arena *arena; /* the session's */
    struct cs_log *log;
    struct cs_fill_stats *stats;
    bool is_restored_on_meta; /* a layerwise reload would rematerialise on meta: the model was built there */
    bool has_prefill;         /* audit: parameters are created holding this byte */
    uint8_t prefill;
    void (*mark_roots)(const struct cs_rank *rank); /* the drivers' storages, for sweeps; NULL: none */
    struct cs_storage *transport;                   /* the buffer that a bucket arrived in, or NULL */
    size_t buffered_bytes, buffered_peak; /* of checkpoint tensors that buffered loader calls hold, now and at most */
    bool replays_records;                 /* a loader-less load fills by the records of the load before (R4.11) */
    struct cs_plan_cache *plans;
    struct cs_group *group; /* the ranks that run together with this one, or NULL: it runs alone */
    size_t n_modules;
    struct cs_module *modules;
};

/* ---- ranks together ---- */

/* Runs `body` for the ranks 0 to n - 1, each until it waits for the others in cs_all_reduce_max; in that order, and one
 * at a time. Returns the first failure; is_stuck: a rank was waiting then, as the real one would for ever. */
typedef enum cs_status cs_rank_body(void *context, size_t rank, struct cs_group *group);
enum cs_status cs_group_run(size_t n, cs_rank_body *body, void *context, bool *is_stuck);
/* The elements of `view` (a float dtype of whole bytes) become the largest over all ranks of module->rank->group; NaN
 * loses against numbers. `name` is for messages. CS_REFUSED when other ranks bring something else, or nothing. Source:
 * torch.distributed.all_reduce(MAX) in vllm quantization/utils/quant_utils.py; nccl src/device/reduce_kernel.h. */
enum cs_status cs_all_reduce_max(struct cs_module *module, const char *name, const struct cs_view *view);

/* Creates the tensors of `module` in the rank's memory, in the order of its description: create_weights. `on_meta`
 * creates parameters without memory. */
enum cs_status cs_module_create(struct cs_rank *rank, struct cs_module *module, const struct cs_module_spec *spec,
                                bool on_meta);
/* Registers the tensors that are not there yet because models register them while they load. */
enum cs_status cs_module_register_late(struct cs_module *module);
/* Allocates memory for `layout` (shape, stride, dtype; its storage and offset do not matter) as the rank's allocator
 * decides. */
enum cs_status cs_rank_allocate(struct cs_rank *rank, const struct cs_view *layout, const char *label,
                                struct cs_view *view);
/* The same for a result that the next operation writes whole: nobody sees what its memory held (cs_allocate_result). */
enum cs_status cs_rank_allocate_result(struct cs_rank *rank, const struct cs_view *layout, const char *label,
                                       struct cs_view *view);
/* The same on the meta device. */
enum cs_status cs_rank_allocate_meta(struct cs_rank *rank, const struct cs_view *layout, const char *label,
                                     struct cs_view *view);
/* cs_device_copy, noted in the log. */
enum cs_status cs_rank_copy(struct cs_rank *rank, enum cs_log_kind kind, const char *who, const char *what,
                            const struct cs_view *destination, const struct cs_view *source);
/* The same from a source that nobody reads afterwards: where both views are all of their storages, in one layout, the
 * memory behind them is exchanged and no byte moves (cs_allocator_exchange). Addresses, and what the destination holds,
 * are as after a copy; what the source holds is undefined. */
enum cs_status cs_rank_move(struct cs_rank *rank, enum cs_log_kind kind, const char *who, const char *what,
                            const struct cs_view *destination, const struct cs_view *source);
/* Writes the initial value of a tensor (not EMPTY, not META). */
enum cs_status cs_rank_initialise(struct cs_rank *rank, const struct cs_tensor_spec *spec, const struct cs_view *view);

/* The local slot of a physical expert, or -1 when another rank has it. */
int64_t cs_rank_expert_slot(const struct cs_rank_spec *rank, int64_t expert);

struct cs_param *cs_param_new(struct cs_rank *rank, const char *name, const struct cs_tensor_spec *spec);
struct cs_slot *cs_module_slot(struct cs_module *module, const char *name); /* NULL: no such name */
/* Registers an object under a name, replacing what is there. */
enum cs_status cs_module_register(struct cs_module *module, const char *name, enum cs_tensor_kind kind,
                                  struct cs_param *param);
/* Removes a name; nothing when it is not there. */
void cs_module_unregister(struct cs_module *module, const char *name);
/* Whether the slot belongs to the kernel view: each live parameter once, under the name that kernels know it by (the
 * last that it was registered under), and no retired or empty one. */
bool cs_module_is_kernel_slot(const struct cs_module *module, size_t slot);
enum cs_status cs_module_hold(struct cs_module *module, const char *path, struct cs_param *param);

/* What a loader records as the value of the parameter's padding: what creation decided, unless a mutant knows better.
 * `place`: an element of the padding. */
enum cs_status cs_param_padding_value(const struct cs_rank *rank, const struct cs_param *param,
                                      const struct cs_view *place, double *value);

/* Runs the policy's part before post-load, for one module. */
enum cs_status cs_module_fill(struct cs_module *module);

/* Frees storages that no slot, side path or root of the driver names. */
void cs_rank_sweep(struct cs_rank *rank);

static inline bool cs_rank_has_defect(const struct cs_rank *rank, enum cs_defect defect) {
    return cs_defects_have(rank->defects, defect);
}

#endif
