/* What the files of this folder share. */
#ifndef CS_SESSION_INTERNAL_H
#define CS_SESSION_INTERNAL_H

#include "sim/session/session.h"

/* Fills session->model: every module of every rank with its sizes (resolve.c). */
enum cs_status cs_session_resolve(struct cs_session *session);

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
    const struct cs_checkpoint_entry *entry;
    const struct cs_route *route;
    bool is_slice;   /* of a combined tensor: the route's expert */
    bool is_dropped; /* some rank's driver took no notice of it */
};
struct cs_arrivals {
    size_t n;
    struct cs_arrival *items;
};
/* What arrives, in order, for one operation; does the accounting, and is strict at a start (arrivals.c). Made in
 * `arena`. */
enum cs_status cs_session_arrivals(struct cs_session *session, const struct cs_op *op, struct cs_arena *arena,
                                   struct cs_arrivals *arrivals);

/* The loader that an operation, or the scenario, or the method names; NULL when there are no routed experts. */
const struct cs_loader *cs_session_loader(const struct cs_session *session, const char *name);

#endif
