/* A session is one simulated server: model × ranks × device × allocator × policy, and its log. Here too: the scenario,
 * a plain description of servers and plans, whoever wrote it (Lua, the fuzzer, a replay file). */
#ifndef CS_SESSION_H
#define CS_SESSION_H

#include "sim/driver/driver.h"
#include "sim/loader/loader.h"
#include "sim/method/method.h"

/* ---- scenario: the model ---- */

/* A tensor of a module template; shape in the words of method.h ("E H", "8"). */
struct cs_template_tensor {
    const char *name, *shape;
    enum cs_tensor_kind kind;
    enum cs_dtype dtype;
    enum cs_init init;
    double init_value;
    bool has_padding_value;
    double padding_value;
    bool is_unregistered;
    bool is_late;
    bool has_numel;
    int64_t numel;    /* weight_loader_numel */
    const char *tied; /* the parameter of another module that this one is, such as "embed.weight"; or NULL */
};

/* `name` with "{layer}" in it stands for one module in each decoder layer. */
struct cs_module_template {
    const char *name;       /* "layers.{layer}.mlp.router" */
    bool is_routed_experts; /* tensors come from the method */
    bool is_attention;      /* tensors are those of KV-cache scales */
    const char *checkpoint; /* routed experts: "layers.{layer}.mlp.experts"; others: NULL = name */
    int64_t first_layer;    /* layers before it have no such module */
    size_t n_renames;       /* routed experts: words that this checkpoint calls otherwise */
    const struct cs_rename *renames;
    size_t n_stored; /* dtypes in checkpoints that are not the model's */
    const struct cs_stored *stored;
    size_t n_tensors;
    const struct cs_template_tensor *tensors;
};

struct cs_toy_load {
    const char *checkpoint; /* "A" */
    size_t n_calls;
    const struct cs_toy_call *calls;
};

struct cs_model_config {
    const char *name;
    int64_t layers, experts, hidden, intermediate;
    const char *prefix; /* of module and checkpoint names: "model." */
    size_t n_templates;
    const struct cs_module_template *templates;
    size_t n_not_simulated;
    const char *const *not_simulated; /* patterns of checkpoint names that are counted and skipped */
    bool is_toy;                      /* one module "toy" with templates[0].tensors */
    size_t n_toy_loads;
    const struct cs_toy_load *toy_loads;
    size_t n_toy_steps;
    const struct cs_step *toy_steps; /* post-load of the toy */
    bool toy_processes_while_loading;
};

/* ---- scenario: the plan ---- */

/* Counts that a verdict has and an expectation may name, and what a reader should think when one is not 0. Units:
 * requirements R4, "Unit of every count". */
/* clang-format off */
#define CS_COUNTS(X)                                                                                                   \
    X(params_differ, "parameters and buffers whose bytes, shape, stride or dtype differ from the cold start")          \
    X(params_lucky, "equal only by what undefined memory happened to hold") /* R8.3 */                                 \
    X(params_moved, "parameters and buffers at another address than after the cold start: captured graphs read old memory") \
    X(side_moved, "side tensors that owned their storage and are elsewhere now: captured graphs read old memory")      \
    X(side_extra, "side tensors that were a parameter's storage and are an orphan copy now")                           \
    X(side_missing, "side tensors that were reachable after the cold start and no longer are")                         \
    X(side_differ, "owned or orphaned side tensors whose bytes differ from the cold start")                            \
    X(alias_differ, "pairs of names that share a storage in exactly one of the two states")                            \
    X(device_differ, "tensors, over all states, whose bytes differ from what ref made")                                \
    X(gap_bytes, "bytes between the elements of strided tensors, which no element owns and nobody compares")          \
    X(missing, "checkpoint tensors of the last load that were expected and not sent")                                  \
    X(duplicate, "checkpoint tensors of the last load that were consumed twice")                                       \
    X(excess, "checkpoint tensors of the last load that no loader consumed")                                           \
    X(graph_differ, "tensors that a captured graph, replayed by address, reads otherwise than in a fresh cold start")  \
    X(source_differ, "checkpoint tensors of the last load that a loader changed in the sender's memory; seen in buckets")  \
    X(fill_calls, "device calls of the padding policy in the last load")                                               \
    X(fill_regions, "regions that it filled")                                                                          \
    X(fill_bytes, "bytes that it filled")                                                                              \
    X(fill_skipped, "recorded parameters whose layout no longer matched, so that their padding was not filled")        \
    X(warnings, "padded writes into parameters that are not registered")                                               \
    X(buffered_bytes, "bytes of checkpoint tensors that buffered loader calls held at one time, at most, on any rank")  \
    X(changed, "tensors that are not what they were at the expectation before: bytes and layout, and a parameter's or buffer's address") \
    X(padding_leaks, "parameters with a bit that the checkpoint decides and padding too, if nobody refills it; looked for only when it is expected")
/* clang-format on */

enum cs_count {
#define X(name, text) CS_COUNT_##name,
    CS_COUNTS(X)
#undef X
        CS_N_COUNTS
};
extern const char *const cs_count_names[CS_N_COUNTS], *const cs_count_texts[CS_N_COUNTS];

/* The channels (R8.1) that must all be zero for `equal()`; the others only inform. */
bool cs_count_is_channel(enum cs_count count);

struct cs_expected_values { /* toys: the whole parameter, row-major */
    const char *param;
    size_t n_values;
    const double *values;
};

struct cs_expected {
    const char *policy;   /* NULL: every policy that no other entry names */
    bool is_equal;        /* equal(): every channel 0, nothing lucky */
    bool is_undetermined; /* the cold start itself depends on what memory held: there is nothing to be equal to */
    bool is_refused;      /* the load before this was refused, as the real engine refuses it */
    const char *refusal;  /* text that the reason must contain, or NULL */
    bool has_count[CS_N_COUNTS];
    int64_t count[CS_N_COUNTS];
    size_t n_values;
    const struct cs_expected_values *values;
};

enum cs_op_kind {
    CS_OP_COLD_START, /* driver "cold_start", or "meta_build" */
    CS_OP_RELOAD,
    CS_OP_SLEEP,
    CS_OP_WAKE,
    CS_OP_CAPTURE, /* graphs, anew: they read where everything is now */
    CS_OP_EXPECT,
};

/* A zeroed one of its kind, with driver and checkpoint, is the plain load; other fields are switches. What arrives is
 * made in this order: the checkpoint's tensors, `only`, `omitted`, `duplicated`, the order, `unknown`, `stop_after`. */
struct cs_op {
    enum cs_op_kind kind;
    int line;                           /* of the script */
    const char *driver;                 /* COLD_START, RELOAD */
    const char *checkpoint;             /* NULL: the driver takes none (dummy_start) */
    const char *loader;                 /* another loader than the scenario's, or NULL */
    const struct cs_loader *own_loader; /* `loader` is this one of the script's; it is in the scenario's own loaders */
    bool is_shuffled;                   /* arrival order from the seed */
    bool is_reversed;
    bool shuffles_modules; /* modules come in another order, from the seed; tensors of one stay in theirs */
    size_t n_order; /* explicit arrival order: positions in the order otherwise used; 0: none */
    const size_t *order;
    bool has_only; /* nothing but tensors that match `only` is sent; none of it: an empty load */
    size_t n_only;
    const char *const *only;
    size_t n_omitted; /* patterns of tensors that are not sent */
    const char *const *omitted;
    size_t n_duplicated; /* patterns of tensors that are sent twice, one right after the other */
    const char *const *duplicated;
    size_t n_unknown; /* names that the model does not know, sent from position `unknown_at` on (the end, if larger) */
    const char *const *unknown;
    int64_t unknown_at;
    bool is_stopped; /* after `stop_after` tensors the sender is gone: no finish, no rollback */
    int64_t stop_after;
    uint64_t bucket_bytes;  /* tensors travel in buckets of at most so many bytes (a larger one alone), or … */
    int64_t bucket_tensors; /* … so many tensors; both 0: each on its own, and the whole load is one bucket */
    bool is_buffer_shared;  /* every bucket lands in the same memory, whoever still reads the one before */
    int pieces;             /* each tensor comes in so many trainer shards of its first dimension; 0 and 1: whole */
    bool replays_records;   /* loader-less: padding is filled by the records of the load before (R4.11) */
    bool is_patch;          /* only what differs from the checkpoint before is sent, the other elements are NaN */
    int sleep_level;        /* SLEEP: 1 or 2 */
    size_t n_expected;      /* EXPECT */
    const struct cs_expected *expected;
    const char *against_policy; /* compare with a cold start under another policy (R4.9), or NULL */
};

enum cs_checkpoint_kind { CS_CHECKPOINT_SYNTHETIC, CS_CHECKPOINT_PATTERN, CS_CHECKPOINT_FOLDER };
struct cs_checkpoint_config {
    const char *name; /* "A" */
    enum cs_checkpoint_kind kind;
    const char *path;         /* FOLDER */
    const char *perturbs;     /* name of the checkpoint that this is a perturbed copy of, or NULL */
    const char *patches;      /* name of the checkpoint that this is a copy of but for one element, or NULL */
    struct cs_checkpoint_change change; /* the element that differs, when it patches */
    int line; /* of the script that asked for it; 0: none did */
    unsigned version;         /* 1 … 7 when it perturbs; PATTERN: the formula's ver */
    bool leaves_out_optional; /* has no tensors that a model may do without: KV-cache scales */
    size_t n_names;           /* PATTERN: its tensors in this order; 0: in the loader's */
    const char *const *names;
    int64_t intermediate; /* PATTERN: of its experts; 0: the model's */
    float kv_scales[2]; /* PATTERN: of attention layers, k and v */
};
/* The name of the checkpoint that this is a copy of, or NULL. */
const char *cs_checkpoint_original(const struct cs_checkpoint_config *config);

/* What a scenario's file lets a command line change. Values are written as `--set` takes them. */
enum cs_declared_kind { CS_DECLARED_INTEGER, CS_DECLARED_NUMBER, CS_DECLARED_BOOLEAN, CS_DECLARED_STRING };
struct cs_declared {
    const char *name, *text; /* text: one line, or NULL */
    enum cs_declared_kind kind;
    bool has_least, has_most;
    double least, most;          /* of a number */
    const char *initial, *value; /* the file's, and the one that it was read with */
};

/* How the routed experts of a layer are configured, beside what their method usually is. Zeros: nothing is said. */
struct cs_layer_settings {
    unsigned on, off;         /* enum cs_layer_option */
    bool is_chosen_by_engine; /* the back end; else the user named it */
    int bits;
    int64_t group, block[2];
    int64_t redundant; /* EPLB: physical experts beside those of the model */
    bool is_round_robin;
    enum cs_all2all all2all;
    enum cs_platform platform;
    const char *activation; /* upstream's name, or NULL */
};

/* Bytes that may differ from a cold start, and why (R7). */
struct cs_excuse {
    const char *tensor; /* pattern of "module.name" */
    bool has_region;    /* else all of it */
    int ndim;
    int64_t start[CS_NDIM], length[CS_NDIM]; /* of the kernel tensor of each rank */
    const char *reason;
};

struct cs_scenario {
    const char *file; /* as given to the script loader */
    int line;
    const char *name, *note;
    size_t n_tags;
    const char *const *tags;
    struct cs_model_config model;
    const char *method, *backend, *loader; /* NULL: none (toys, dense models); loader NULL: the method's first */
    const struct cs_method *own_method;    /* the scenario's own of that name, before the registry's; NULL: none */
    const struct cs_backend *own_backend;
    size_t n_own_loaders;
    const struct cs_loader *const *own_loaders;
    struct cs_layer_settings layer;
    const char *rounding; /* "released" or "reference" */
    int tp, ep;
    bool has_only_rank; /* simulate one rank of them alone */
    int only_rank;
    size_t n_policies;
    const char *const *policies;
    struct cs_allocator_rule allocator;
    uint64_t seed;
    cs_defect_set defects;
    size_t n_excuses;
    const struct cs_excuse *excuses; /* that are legitimate */
    size_t n_kills;
    const enum cs_defect *kills; /* mutants that this scenario is there for: one of its policies must kill each */
    bool has_cpu_arithmetic;     /* post-load computes as torch on a CPU, not as CUDA */
    size_t n_checkpoints;
    const struct cs_checkpoint_config *checkpoints;
    size_t n_ops;
    const struct cs_op *ops;
    size_t n_declared;
    const struct cs_declared *declared; /* by name */
};

/* What the scenario's names mean: its own first, then the registries'. NULL: no such thing. The loader of NULL is the
 * scenario's, or the method's first. */
const struct cs_method *cs_scenario_method(const struct cs_scenario *scenario);
const struct cs_backend *cs_scenario_backend(const struct cs_scenario *scenario);
const struct cs_loader *cs_scenario_loader(const struct cs_scenario *scenario, const char *name);
/* Whether a checkpoint in the form of `form` can be sent as the tensors of `loader`: slices of whole ones, or whole ones
 * made of slices. */
bool cs_session_takes_form(const struct cs_loader *loader, const struct cs_loader *form);

/* Everything that can be wrong with a scenario and is not a matter of types: names that no registry knows, an
 * expectation before a cold start, checkpoints that do not exist … The message starts with "file:line: ". */
enum cs_status cs_scenario_check(const struct cs_scenario *scenario);

/* ---- session ---- */

struct cs_session_config {
    const struct cs_scenario *scenario;
    const struct cs_device *device;
    const char *policy;
    struct cs_allocator_rule allocator; /* the scenario's, or other garbage (R8.3) */
    uint64_t seed;                      /* of checkpoint contents and arrival orders */
    uint64_t garbage_seed;              /* of what undefined memory holds */
    bool is_tracing;
    uint64_t *probes; /* counters of coverage, CS_N_LOAD_PROBES of them, or NULL */
    bool has_prefill; /* audit: parameters are created holding this byte, to see what depends on padding */
    uint8_t prefill;
    const char *only_module; /* build just this module, or NULL: all */
    int only_rank;           /* or -1 */
    struct cs_pool *pool;    /* blocks that other sessions freed, or NULL: the device's own memory */
    /* For progress: called n_modules times for each rank of a load, with the bytes that this session moved so far.
     * NULL: nobody asks. */
    void (*module_is_loaded)(void *context, int64_t bytes);
    void *progress_context;
};

/* Checkpoint tensors of the last load (R4 "Accounting"). */
struct cs_accounting {
    int64_t missing, duplicate, excess;
    int64_t not_simulated; /* matched a pattern of the model: counted and skipped */
    const char *first_missing, *first_excess;
    size_t n_changed, changed_capacity; /* that a loader changed in the sender's memory; looked at in buckets only */
    const char **changed;
};

struct cs_session {
    struct cs_session_config config;
    struct cs_arena arena; /* of what the scenario says */
    struct cs_arena live;  /* of ranks, modules, parameters and logs: one server's */
    struct cs_model_spec model;
    struct cs_route_set *route_sets; /* one for each loader that was used */
    struct cs_log log;
    struct cs_fill_stats fill; /* of the last load */
    struct cs_accounting accounting;
    size_t n_ranks;
    struct cs_rank *ranks;
    bool ranks_meet; /* in post-load: then all of them run, whichever is asked for */
    size_t n_checkpoints;
    struct cs_checkpoint *checkpoints; /* beside scenario->checkpoints */
    bool is_unusable;                  /* a reload failed half-way; there is no rollback */
    struct cs_sleep *asleep;           /* what a wake restores, or NULL: awake */
    size_t bytes_peak;
};

/* Resolves the model, opens the checkpoints, makes the ranks. Nothing is loaded yet. */
enum cs_status cs_session_open(struct cs_session *session, const struct cs_session_config *config);
/* Whether the operation's checkpoint has what the model needs, before anything is loaded: the same errors as running
 * it. */
enum cs_status cs_session_can_load(struct cs_session *session, const struct cs_op *op);
/* Runs one operation that is no EXPECT. CS_REFUSED when the real engine refuses it too. */
enum cs_status cs_session_run(struct cs_session *session, const struct cs_op *op);
/* Whether the session is about this rank: all, or config.only_rank. */
bool cs_session_asks(const struct cs_session *session, size_t rank);
/* Throws the server away and makes an empty one of the same scenario: what was resolved, opened and allocated stays. */
enum cs_status cs_session_restart(struct cs_session *session);
/* Computes every synthetic checkpoint now; loads then read bytes, as from a file. */
enum cs_status cs_session_keep_checkpoints(struct cs_session *session);
void cs_session_close(struct cs_session *session);
/* Whether some module of some rank is still on meta, and waits for the rest of a load. */
bool cs_session_waits(const struct cs_session *session);

#endif
