/* Family reload/: small servers that are started and reloaded, and what became of every tensor. Private to this folder.
 *
 * A golden scenario is a model, a sequence of loads and two poisons: what fresh memory holds in the cold start, and
 * what in reloads. After each load every tensor is compared with a cold start of the same checkpoint over zeros; the
 * golden file lists the tensors that differed in the real engine, with hashes of both sides. */
#ifndef CS_CONFORM_RELOAD_H
#define CS_CONFORM_RELOAD_H

#include "sim/conform/internal.h"
#include "sim/session/session.h"

/* ---- models (reload_model.c) ---- */

struct cs_golden_kind {
    const char *name, *method;
    const char *loader, *other_loader; /* its checkpoint's form, and the other one that it may be sent in, or NULL */
    unsigned options;                  /* of its layers: a set of cs_layer_option */
};

/* The capture script's class Tiny. */
struct cs_golden_model {
    const struct cs_golden_kind *kind;
    int64_t layers, experts, hidden, intermediate;
    int tp, rank;
    const char *backend;
    bool has_bias;             /* experts have biases */
    bool is_hidden_padded;     /* as DeepEP's high-throughput kernels pad it */
    bool is_tied;              /* lm_head is embed */
    bool has_attention;        /* layers have KV-cache scales, and checkpoint C has none */
    enum cs_tensor_kind table; /* a buffer of layer 0's norm that no checkpoint has; CS_PARAMETER: none */
};

/* Of a scenario's own row; else of another row of the same model in `scenarios`; else as the capture script has it.
 * CS_UNSUPPORTED when we lack its method or back end. */
enum cs_status cs_golden_model_find(const json_t *scenarios, const json_t *row, struct cs_golden_model *model);
/* Names of its checkpoint's tensors in the capture script's order. */
enum cs_status cs_golden_checkpoint_names(struct cs_arena *arena, const struct cs_golden_model *model, size_t *n,
                                          const char *const **names);

/* ---- sequences (reload_sequence.c) ---- */

enum { CS_GOLDEN_LOADS = 2 };

/* What one load does beside sending a checkpoint. */
enum cs_golden_change {
    CS_GOLDEN_WHOLE,
    CS_GOLDEN_SHUFFLED,
    CS_GOLDEN_OTHER_FORM,
    CS_GOLDEN_PARTIAL,   /* a router weight, a norm and the last expert tensor are left out */
    CS_GOLDEN_ONE,       /* the first expert tensor alone */
    CS_GOLDEN_DUPLICATE, /* the first expert tensor twice */
    CS_GOLDEN_HALF,      /* the first half, then the sender fails */
    CS_GOLDEN_UNKNOWN,   /* a name that does not exist after the third tensor */
};

struct cs_golden_load {
    const char *label;      /* "reloadB_streamed"; NULL: nothing is compared after it */
    const char *checkpoint; /* "B" */
    enum cs_golden_change change;
    const char *driver; /* NULL: layerwise */
};

struct cs_golden_sequence {
    const char *name;
    size_t n_loads;
    struct cs_golden_load loads[CS_GOLDEN_LOADS];
};

/* By the middle part of "model/sequence/poison"; NULL when we do not have it. */
const struct cs_golden_sequence *cs_golden_sequence_find(const char *id);
bool cs_golden_id_is(const char *id, const char *sequence);
/* The operation for one load. */
enum cs_status cs_golden_load_op(struct cs_arena *arena, const struct cs_golden_model *model, size_t n_names,
                                 const char *const *names, const struct cs_golden_load *load, struct cs_op *op);

/* numpy.random.RandomState(seed).permutation(n) into `order` (permutation.c). */
void cs_golden_permutation(uint32_t seed, size_t n, size_t *order);

/* ---- servers (reload_server.c) ---- */

/* One server: checkpoints A and B, fresh memory full of `cold` and, in reloads, of `reload`. */
struct cs_golden_server {
    struct cs_arena arena; /* of its description */
    struct cs_scenario scenario;
    struct cs_session session;
    const struct cs_golden_model *model;
    size_t n_names;
    const char *const *names;
};

struct cs_golden_poison {
    uint8_t cold, reload;
    bool has_prefill; /* parameters of routed experts are created holding `cold` too */
};

/* Opens the server and starts it from checkpoint "A" or "B" by the driver. Close after a failure too. */
enum cs_status cs_golden_server_start(struct cs_golden_server *server, const struct cs_device *device,
                                      const struct cs_golden_model *model, struct cs_golden_poison poison,
                                      cs_defect_set defects, const struct cs_op *start);
enum cs_status cs_golden_server_reload(struct cs_golden_server *server, const struct cs_golden_load *load);
void cs_golden_server_close(struct cs_golden_server *server);
/* The live rank. */
struct cs_rank *cs_golden_server_rank(struct cs_golden_server *server);
/* Exactly the named tensors are on the meta device; `pending`: buffered calls by module, or NULL. */
enum cs_status cs_golden_server_is_left_as(struct cs_golden_server *server, const json_t *meta, const json_t *pending);

/* ---- states (reload_state.c) ---- */

struct cs_golden_tensor_state {
    const char *name;
    struct cs_view view;
    uint64_t storage_id;          /* the storage may be gone when states are compared */
    const struct cs_param *param; /* the object */
    struct cs_bytes bytes;
};

struct cs_golden_state {
    size_t n;
    struct cs_golden_tensor_state *tensors; /* every parameter and buffer */
    size_t n_held;
    struct cs_golden_tensor_state *held; /* every path to a tensor from quant configs and kernel objects */
    size_t n_numbers;
    struct cs_golden_tensor_state *numbers; /* Python floats that attention layers keep */
};

/* Of the server's rank. */
enum cs_status cs_golden_state_read(struct cs_arena *arena, struct cs_golden_server *server,
                                    struct cs_golden_state *state);
const struct cs_golden_tensor_state *cs_golden_state_find(const struct cs_golden_state *state, const char *name);

/* The Python float of layer 0's attention under this name is the one that `step` has under `key`, if it has any. */
enum cs_status cs_golden_state_has_number(const json_t *step, const char *key, const char *name,
                                          const struct cs_golden_state *state);
/* Exactly the tensors of `list` differ between the two, and as the list says. `hashes` may be NULL: what tensors that
 * are not listed must hash to. */
enum cs_status cs_golden_state_differs_as(const json_t *list, const json_t *hashes,
                                          const struct cs_golden_state *reference, const struct cs_golden_state *state);
/* Every tensor has the hash that `hashes` says, and there are no others. */
enum cs_status cs_golden_state_has_hashes(const json_t *hashes, const struct cs_golden_state *state);
/* Shape, stride and dtype of every tensor. */
enum cs_status cs_golden_state_has_layouts(const json_t *layouts, const struct cs_golden_state *state);
/* Exactly the named tensors are elsewhere (`by_object`: are other objects) than before. */
enum cs_status cs_golden_state_moved_as(const json_t *names, bool by_object, const struct cs_golden_state *before,
                                        const struct cs_golden_state *after);
/* What quant configs and kernel objects hold, before and after. Which of it moved is only known one way round: the
 * capture's allocator may have handed out an old address again, ours never does. */
enum cs_status cs_golden_state_holds_as(const json_t *held, const struct cs_golden_state *before,
                                        const struct cs_golden_state *after);
/* Tensors that differ in exactly as many elements as `counts` says; those not named in none. */
enum cs_status cs_golden_state_differs_by(const json_t *counts, const struct cs_golden_state *a,
                                          const struct cs_golden_state *b);

#endif
