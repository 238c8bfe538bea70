/* Drivers: ways to put a checkpoint into a model. A session calls, for each rank in turn: begin, load for every
 * checkpoint tensor in arrival order, finish.
 *
 *   cold_start   create_weights, load, fill, post-load
 *   layerwise    released vLLM: record, meta, wrapped loaders, count, process, copy back, place, finalize
 *   direct       in place: hosted loads, post-load, results put back where they were after the cold start
 *   meta_build   built on meta, tensors of a finished server attached: a start, not a reload */
#ifndef CS_DRIVER_H
#define CS_DRIVER_H

#include "sim/loader/loader.h"

struct cs_driver {
    const char *name, *text;
    bool is_start; /* makes a server; the others need one */
    /* `rank->modules` exist but are empty before a start's begin. */
    enum cs_status (*begin)(struct cs_rank *rank);
    /* `call->param` is NULL: the driver finds the object that the model would hand to its loader. */
    enum cs_status (*load)(struct cs_rank *rank, struct cs_load_call *call, const char *param);
    enum cs_status (*finish)(struct cs_rank *rank);
};

extern const struct cs_driver *const cs_drivers[];
extern const size_t cs_n_drivers;
const struct cs_driver *cs_driver_by_name(const char *name);

#endif
