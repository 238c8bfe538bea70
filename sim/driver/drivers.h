/* What the drivers of this folder share. */
#ifndef CS_DRIVERS_H
#define CS_DRIVERS_H

#include "sim/driver/driver.h"
#include "sim/method/method.h"

extern const struct cs_driver cs_driver_cold_start, cs_driver_direct, cs_driver_direct_unprocessed,
    cs_driver_dummy_start, cs_driver_kernel_format, cs_driver_layerwise, cs_driver_load_plan, cs_driver_meta_build,
    cs_driver_raw, cs_driver_raw_post_load, cs_driver_raw_post_load_per_bucket;

/* Memory for a tensor that has none yet: uninitialised, whatever its initial value was; then the policy's turn. */
enum cs_status cs_materialize(struct cs_rank *rank, struct cs_param *param);
/* Storages that the states of drivers name: buffered calls, kernel tensors aside, places. */
void cs_drivers_mark_roots(const struct cs_rank *rank);
void cs_hosted_mark_roots(const struct cs_rank *rank);
/* What the model hands to its loader: sets call->param to the object that `name` means now. `slot` may be NULL. */
enum cs_status cs_find_param(struct cs_load_call *call, const char *name, struct cs_slot **slot);
/* Whether an attention module that got nothing must forget the scales that it has: the checkpoint has none (F8). */
bool cs_forgets_scales(const struct cs_module *module);
/* Fill, then post-load: whoever runs post-load fills first (R2.4). */
enum cs_status cs_process(struct cs_module *module);

#endif
