/* Drivers: ways to put a checkpoint into a model. A session calls, for each rank in turn: begin, load for every
 * checkpoint tensor in arrival order, bucket after each bucket of them, finish.
 *
 *   cold_start     create_weights, load, fill, post-load
 *   dummy_start    the same with random numbers instead of a checkpoint: the first real load is a reload
 *   meta_build     built on meta, tensors of a finished server attached: a start, not a reload
 *   layerwise      released vLLM: record, meta, wrapped loaders, count, process, copy back, place, finalize
 *   load_plan      no loader runs: strided copies, planned on meta, into rematerialised parameters
 *   direct         in place: hosted loads, post-load, results put back where they were after the cold start
 *   direct_unprocessed   its first form: no post-load, places are only compared
 *   raw            loaders write into what post-load left; then nothing, or post-load once, or after each bucket
 *   kernel_format  finished tensors are copied by name: no loader, no post-load
 *
 * A load that stops half-way has no finish. Where a driver keeps what it needs, the next begin goes on from there;
 * where it does not, the server is of no more use. */
#ifndef CS_DRIVER_H
#define CS_DRIVER_H

#include "sim/loader/loader.h"

enum cs_driver_takes { CS_TAKES_CHECKPOINT, CS_TAKES_KERNEL_TENSORS, CS_TAKES_NOTHING };

struct cs_driver {
    const char *name, *text;
    bool is_start; /* makes a server; the others need one */
    enum cs_driver_takes takes;
    bool is_fragile; /* after a failure the server is unusable, and says so */
    /* `rank->modules` exist but are empty before a start's begin. */
    enum cs_status (*begin)(struct cs_rank *rank);
    /* `call->param` is NULL: the driver finds the object that the model would hand to its loader. */
    enum cs_status (*load)(struct cs_rank *rank, struct cs_load_call *call, const char *param);
    /* TAKES_KERNEL_TENSORS: a parameter of a finished server. */
    enum cs_status (*take)(struct cs_module *module, const char *param, const struct cs_view *finished);
    enum cs_status (*bucket)(struct cs_rank *rank); /* NULL: a bucket is nothing to it */
    enum cs_status (*finish)(struct cs_rank *rank);
};

extern const struct cs_driver *const cs_drivers[];
extern const size_t cs_n_drivers;
const struct cs_driver *cs_driver_by_name(const char *name);

/* Loader calls that an interrupted layerwise reload left buffered in a module. */
size_t cs_driver_pending_calls(const struct cs_module *module);
/* Whether some module of the rank is still on meta, and waits for the rest of a load. */
bool cs_driver_waits(const struct cs_rank *rank);

#endif
