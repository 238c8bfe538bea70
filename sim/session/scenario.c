/* What the names of a scenario mean. */
#include "sim/session/internal.h"

const struct cs_method *cs_scenario_method(const struct cs_scenario *scenario) {
    if (scenario->own_method) return scenario->own_method;
    return scenario->method ? cs_method_by_name(scenario->method) : NULL;
}

const struct cs_backend *cs_scenario_backend(const struct cs_scenario *scenario) {
    if (scenario->own_backend) return scenario->own_backend;
    const struct cs_method *method = scenario->method ? cs_method_by_name(scenario->method) : NULL;
    return method && scenario->backend ? cs_backend_by_name(method, scenario->backend) : NULL;
}

const struct cs_loader *cs_scenario_loader(const struct cs_scenario *scenario, const char *name) {
    const struct cs_method *method = cs_scenario_method(scenario);
    if (!method) return NULL;
    if (!name) name = scenario->loader ? scenario->loader : method->loaders[0];
    for (size_t i = 0; i < scenario->n_own_loaders; i++)
        if (cs_text_equal(scenario->own_loaders[i]->name, name)) return scenario->own_loaders[i];
    return cs_loader_by_name(name);
}
