/* A scenario's own methods, back ends, loaders and layouts, and how its layers are configured; inside sim/script only.
 */
#ifndef CS_SCRIPT_OWN_H
#define CS_SCRIPT_OWN_H

#include "sim/script/fields.h"

/* cs.method: with the loaders that it brings, and the back end that it is unless another one is named. */
struct cs_own_method {
    struct cs_method method;
    size_t n_loaders;
    const struct cs_loader *const *loaders;
    const struct cs_backend *backend;
};

/* { bits = 4, group = 32, … } into a struct cs_layer_settings. */
void cs_read_quantization(const struct cs_value *value, struct cs_layer_settings *layer);
extern const struct cs_record cs_record_quantization;

/* Rows of cs.scenario that say what its routed experts are: method, back end, loader and settings (configure.c). The
 * first three may be the scenario's own. */
void cs_read_method(const struct cs_value *value, void *scenario);
void cs_read_backend(const struct cs_value *value, void *scenario);
void cs_read_loader(const struct cs_value *value, void *scenario);
void cs_read_scenario_quantization(const struct cs_value *value, void *scenario);
void cs_read_experts(const struct cs_value *value, void *scenario);
void cs_read_all2all(const struct cs_value *value, void *scenario);
void cs_read_platform(const struct cs_value *value, void *scenario);
void cs_read_chosen_by(const struct cs_value *value, void *scenario);
extern const struct cs_record cs_record_experts;
/* Tells the scenario's own back end which method it is for, when all is read. */
void cs_scenario_own_backend(lua_State *L, struct cs_scenario *scenario);

#endif
