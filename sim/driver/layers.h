/* Modules whose names point at meta tensors while they load: what layerwise reload and load plans share. Private to
 * this folder. Source: vllm 0.33 model_loader/reload/layerwise.py and meta.py. */
#ifndef CS_LAYERS_H
#define CS_LAYERS_H

#include "sim/driver/drivers.h"

struct cs_buffered_call {
    struct cs_load_call call;
    const char *param;
    int64_t counted;
};

struct cs_recorded_copy {
    const char *param;
    struct cs_view destination, source; /* destination: its storage is the meta tensor's */
};

/* A module is IDLE, or LOADING from INIT until it is processed. */
struct cs_layerwise {
    bool is_loading;
    int64_t counted, total;
    int64_t processed_run; /* run of calls in which it became complete */
    size_t n_kernel, kernel_capacity;
    struct cs_slot *kernel; /* slots before INIT: objects, so addresses */
    size_t n_calls, call_capacity;
    struct cs_buffered_call *calls;
    size_t n_copies, copy_capacity;
    struct cs_recorded_copy *copies; /* of a load plan */
};

/* Names that INIT never deletes and never puts on meta; and those of them that do not even count. */
bool cs_layer_skips(const struct cs_rank *rank, const char *name);
bool cs_layer_counts(const char *name);
/* What a tensor adds to the total, and at most to the count of one call: weight_loader_numel, or its elements. */
int64_t cs_layer_numel(const struct cs_param *param);
/* Sum over the registered tensors that count. */
int64_t cs_layer_total(const struct cs_module *module);

/* INIT of every module that is not LOADING already. */
enum cs_status cs_layers_init(struct cs_rank *rank);
/* Meta tensors get uninitialised memory, never their initial value. */
enum cs_status cs_layer_materialize(struct cs_module *module);
/* Results go into the kernel tensors, whatever their addresses: dtypes convert. */
enum cs_status cs_layer_copy_back(struct cs_module *module);
/* The kernel objects return under their names; names that only this post-load made vanish. The module is IDLE. */
enum cs_status cs_layer_place(struct cs_module *module);

/* An attention module: its kernel tensors return, and beside them parameters as created. */
enum cs_status cs_layer_recreate(struct cs_module *module);
/* Loads and ends an attention module as layerwise reload does (layerwise.c). */
enum cs_status cs_layerwise_load(struct cs_rank *rank, struct cs_load_call *call, const char *param);
enum cs_status cs_layers_finish_attention(struct cs_rank *rank);

/* Checkpoint tensors that buffered calls hold by reference, and what that costs. */
void cs_layer_hold(struct cs_rank *rank, const struct cs_view *source);
void cs_layer_release(struct cs_rank *rank, const struct cs_view *source);

void cs_layers_mark_roots(const struct cs_rank *rank);

#endif
