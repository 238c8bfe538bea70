/* Methods are data: a table of parameters (create_weights) and, per back end, a table of post-load steps.
 *
 * Sizes: E local experts, I and H after rounding, per rank. A shape is words of letters and numbers with *, / (exact),
 * // (rounding down) and
 * /+ (rounding up), such as "E S*I H/2". Steps: step.h. */
#ifndef CS_METHOD_H
#define CS_METHOD_H

#include "sim/method/layouts.h"
#include "sim/method/rounding.h"
#include "sim/method/step.h"
#include "sim/model/model.h"

struct cs_param_row {
    const char *name, *shape;
    enum cs_dtype dtype;
    enum cs_init init; /* VALUE: 1.0 */
    bool is_scale;
    unsigned when;     /* options of the layer that has it; 0: every layer */
    const char *numel; /* shape word of weight_loader_numel; NULL: absent */
};

struct cs_method {
    const char *name, *text;
    const struct cs_param_row *params;
    size_t n_params;
    const char *const *loaders; /* names, default first; NULL at the end */
    bool is_online;             /* parameters are born on meta and quantised when they are complete */
    bool requantises;           /* online, and what it finds quantised already is read as numbers, and quantised again */
    bool builds_once;           /* quant config and experts object of the first post-load stay */
    int only_bits;              /* upstream refuses other widths of weights; 0: it takes 4 and 8 */
    bool needs_whole_groups;    /* upstream creates a layer with partial groups, and chooses another method for it */
    const char *eplb;           /* back ends, space-separated, whose experts may move to other ranks; NULL: every one */
    struct cs_quant {           /* what a quantization config says when it says nothing else */
        int bits;
        int64_t group, block; /* block: square */
        unsigned options;
    } usual;
};

struct cs_backend {
    const char *method, *name;
    const char *upstream;         /* vLLM's names of it, space-separated */
    struct cs_rounding released;  /* as vLLM 0.33 rounds */
    struct cs_rounding reference; /* as in the published figures (R4); zeros: the same */
    const struct cs_step *steps;  /* NULL: there is none, and `why_not` says why */
    const size_t *n_steps;
    enum cs_status (*round)(struct cs_sizes *sizes); /* what multiples cannot say, after them; refuses what upstream
                                                        refuses. NULL: nothing */
    unsigned options;                                /* that it brings about */
    const char *why_not;                             /* why there are no steps (R8.4) */
    bool is_refused;                                 /* upstream refuses it too */
};

extern const struct cs_method *const cs_methods[];
extern const size_t cs_n_methods;
const struct cs_method *cs_method_by_name(const char *name);

extern const struct cs_backend cs_backends[];
extern const size_t cs_n_backends;
/* Whether upstream lets experts move to other ranks (supports_eplb of its quantization methods). */
bool cs_method_supports_eplb(const struct cs_method *method, const struct cs_backend *backend);
/* By our name, or by an upstream name in any case. NULL when the method has no such back end. */
const struct cs_backend *cs_backend_by_name(const struct cs_method *method, const char *name);
/* Facts (step.h) without which its post-load refuses a layer; 0 when it has no post-load. */
unsigned cs_backend_needs(const struct cs_backend *backend);
/* Whether ranks meet in its post-load, so that none of them can run alone. */
bool cs_backend_reduces(const struct cs_backend *backend, const struct cs_sizes *sizes);
/* What a layer must be configured with for that: a set of cs_layer_option. */
unsigned cs_backend_needed_options(const struct cs_backend *backend);
/* Whether its post-load quantises weights: those of a BF16 checkpoint when they are complete, or quantised ones again by
 * another scale, which takes the same: the old number, a product, rounding, and the largest size or scale before that. */
bool cs_backend_quantises(const struct cs_backend *backend);
/* Whether post-load leaves every parameter as loaders wrote it, and makes nothing of it: a load without post-load is then
 * as good as one with it. Steps under a guard count. */
bool cs_backend_keeps_layout(const struct cs_backend *backend);

/* Shards, then rounds: fills hidden, intermediate_u and intermediate from the other sizes. CS_BAD_VALUE when sizes do
 * not divide or are not positive. Source: vllm fused_moe/layer.py, config.py. */
enum cs_status cs_sizes_resolve(struct cs_sizes *sizes, const struct cs_rounding *rounding);

/* The same by a back end, with its own rule; fills in the method's usual settings where `sizes` has none. */
enum cs_status cs_sizes_for_backend(struct cs_sizes *sizes, const struct cs_backend *backend, bool is_reference);

/* The same for a method and a back end that need not be registered. */
enum cs_status cs_sizes_for_method(struct cs_sizes *sizes, const struct cs_method *method,
                                   const struct cs_backend *backend, bool is_reference);

/* Parses a shape over `sizes`: E, Eg, Ei (rows of activation scales), H, Hu, I, If, Iu, S (shards of w13), B (bits), P
 * (elements of an i32 word), G (group), Bn and Bk (the checkpoint's block), bn and bk (the parameter's). CS_BAD_VALUE
 * names the word. */
enum cs_status cs_shape_parse(const char *text, const struct cs_sizes *sizes, int *ndim, int64_t *shape);

/* That every word of a shape is known, whatever the sizes. CS_BAD_VALUE names the first that is not. */
enum cs_status cs_shape_check(const char *text);

/* The tensors of a routed-experts module, in upstream's order. */
enum cs_status cs_method_tensors(const struct cs_method *method, const struct cs_sizes *sizes, struct cs_arena *arena,
                                 const struct cs_tensor_spec **tensors, size_t *n_tensors);

/* The tensors of an attention layer that quantises its KV cache, and their post-load (kv_cache.c). */
extern const struct cs_tensor_spec cs_kv_tensors[];
extern const size_t cs_n_kv_tensors;
enum cs_status cs_kv_post_load(struct cs_module *module);

/* Runs the module's post-load steps; the caller has filled padding. Also does what every PWAL does: drops the previous
 * quant config and experts object. */
enum cs_status cs_post_load(struct cs_module *module);

#endif
