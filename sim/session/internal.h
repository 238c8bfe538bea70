/* What the files of this folder share. */
#ifndef CS_SESSION_INTERNAL_H
#define CS_SESSION_INTERNAL_H

#include "sim/session/session.h"

/* Fills session->model: every module of every rank with its sizes (resolve.c). */
enum cs_status cs_session_resolve(struct cs_session *session);

/* Where a rank's experts are, and its sizes by method and back end; what the scenario says of its layers that nothing
 * depends on (layer.c). */
enum cs_status cs_session_rank_sizes(const struct cs_scenario *scenario, int rank, struct cs_rank_spec *spec);
enum cs_status cs_session_check_layer(const struct cs_scenario *scenario);
/* The scenario's own method, back end and loaders, beyond types (own.c). */
enum cs_status cs_session_check_own(const struct cs_scenario *scenario);
/* What the scenario's layers have: its method, its back end and itself say so. */
unsigned cs_session_options(const struct cs_scenario *scenario);
/* Words of tensors' names that the model renames or stores otherwise (words.c). */
enum cs_status cs_session_check_words(const struct cs_scenario *scenario);
/* Whether checkpoints have this one of cs_kv_tensors: k_scale and v_scale (routes.c). */
bool cs_session_is_stored_scale(const struct cs_tensor_spec *tensor);

/* The checkpoint tensors that a load of this model expects, with an index by name. */
struct cs_route_set {
    struct cs_route_set *next;
    const struct cs_loader *loader; /* NULL: the model has no routed experts */
    const char *checkpoint;         /* toys: each checkpoint has its own calls; else NULL */
    struct cs_routes routes;
    uint32_t *slots; /* open addressing, route + 1 */
    size_t n_slots;
};
/* Made once for each loader, and for toys once for each checkpoint (routes.c). */
enum cs_status cs_session_routes(struct cs_session *session, const struct cs_loader *loader, const char *checkpoint,
                                 const struct cs_route_set **set);
/* NULL when no loader expects a tensor of that name. */
const struct cs_route *cs_route_find(const struct cs_route_set *set, const char *tensor);

/* Opens or makes every checkpoint of the scenario (checkpoints.c). */
enum cs_status cs_session_checkpoints(struct cs_session *session);
/* NULL when the scenario has no checkpoint of that name. */
const struct cs_checkpoint *cs_session_checkpoint(const struct cs_session *session, const char *name);

/* One checkpoint tensor on its way to its loader. */
struct cs_arrival {
    const char *name;
    const struct cs_checkpoint_entry *entry; /* NULL: unknown to the checkpoint too, or made of parts */
    const struct cs_route *route;            /* NULL: no loader expects it */
    bool is_slice;                           /* of a combined tensor: the route's expert */
    size_t n_parts;                          /* tensors of experts that make it, one behind the other; 0: none */
    const struct cs_checkpoint_entry *const *parts;
    bool is_dropped;  /* some rank's driver took no notice of it */
    bool is_unmapped; /* mutant: no rank finds the parameter that it belongs to */
};
struct cs_arrivals {
    size_t n, capacity;
    struct cs_arrival *items;
    const struct cs_route_set *set; /* of the load's form */
};
/* What arrives, in order, for one operation; does the accounting, and is strict at a start (arrivals.c). Made in
 * `arena`. */
enum cs_status cs_session_arrivals(struct cs_session *session, const struct cs_op *op, struct cs_arena *arena,
                                   struct cs_arrivals *arrivals);
/* Whether the model walks its modules by name (AutoWeightsLoader): an unknown name is an error when it arrives, and a
 * module's parameters are looked up anew in each run of its tensors. Others look all up once, and ignore names that
 * they do not know. Source: vllm model_executor/models/utils.py; models/gpt_oss.py. */
bool cs_session_walks_names(const struct cs_session *session, const struct cs_op *op);

/* A list of arrivals while it is made. */
struct cs_listing {
    struct cs_session *session;
    const struct cs_op *op;
    const struct cs_checkpoint *checkpoint;
    const struct cs_route_set *set;
    struct cs_arrivals *arrivals;
    struct cs_arena *arena;
};
/* Each looks whether the operation wants the tensor. */
enum cs_status cs_listing_add(struct cs_listing *list, const struct cs_checkpoint_entry *entry,
                              const struct cs_route *route, bool is_slice);
enum cs_status cs_listing_add_merged(struct cs_listing *list, const struct cs_route *route,
                                     const struct cs_checkpoint_entry *const *parts, size_t n_parts);
enum cs_status cs_listing_add_unknown(struct cs_listing *list, const char *name);
/* Everything, when the checkpoint has the form of another loader (arrivals_form.c). */
enum cs_status cs_listing_in_other_form(struct cs_listing *list, const struct cs_loader *loader,
                                        const struct cs_loader *form);
/* Order, what comes twice, unknown names, end (arrivals_order.c). */
enum cs_status cs_listing_order(struct cs_listing *list);
/* Mutants of the way between sender and loaders (arrivals_mutant.c). */
enum cs_status cs_listing_mutate(struct cs_listing *list);

/* The bytes of one rank's load, on their way (transport.c): bucket after bucket, or each tensor on its own. */
struct cs_transport {
    struct cs_session *session;
    const struct cs_op *op;
    struct cs_rank *rank;
    const struct cs_arrivals *arrivals;
    bool has_buckets;
    size_t first, end;     /* arrivals of the bucket that is here */
    struct cs_view *views; /* of the bucket's tensors, in its buffer */
    uint64_t *digests;
    struct cs_arena *arena;
};
enum cs_status cs_transport_open(struct cs_transport *transport);
/* Brings the next bucket: arrivals [first, end). */
enum cs_status cs_transport_next(struct cs_transport *transport);
/* The source for one loader call; it lives until the next one, unless somebody holds it. */
enum cs_status cs_transport_source(struct cs_transport *transport, size_t arrival, struct cs_view *source);
/* A patch leaves out what did not change, unless `only` asks for it. */
enum cs_status cs_transport_is_sent(struct cs_transport *transport, size_t arrival, bool *is_sent);
/* Whether loaders changed what they read: the sender still has it (found: F18). */
enum cs_status cs_transport_check(struct cs_transport *transport);

/* A load of finished tensors, from a cold start of a server of its own (kernel_tensors.c). */
enum cs_status cs_session_copy_finished(struct cs_session *session, const struct cs_op *op, struct cs_rank *rank);

/* Sleep and wake (sleep.c). */
enum cs_status cs_session_sleep(struct cs_session *session, int level);
enum cs_status cs_session_wake(struct cs_session *session);

/* The loader that an operation, or the scenario, or the method names; NULL when there are no routed experts. */
const struct cs_loader *cs_session_loader(const struct cs_session *session, const char *name);

#endif
