#include "sim/method/method.h"

enum cs_status cs_method_tensors(const struct cs_method *method, const struct cs_sizes *sizes, struct cs_arena *arena,
                                 const struct cs_tensor_spec **tensors, size_t *n_tensors) {
    struct cs_tensor_spec *made = CS_NEW_ARRAY(arena, struct cs_tensor_spec, method->n_params);
    CS_REQUIRE(made, CS_NO_MEMORY, "out of memory for the parameters of %s", method->name);
    for (size_t i = 0; i < method->n_params; i++) {
        const struct cs_param_row *row = &method->params[i];
        made[i] = (struct cs_tensor_spec){.name = row->name, .kind = CS_PARAMETER, .dtype = row->dtype, .init = row->init,
                                          .weight_loader_numel = -1, .is_scale = row->is_scale};
        enum cs_status status = cs_shape_parse(row->shape, sizes, &made[i].ndim, made[i].shape);
        CS_REQUIRE(status == CS_OK, status, "%s %s: %s", method->name, row->name, cs_error_text());
    }
    *tensors = made;
    *n_tensors = method->n_params;
    return CS_OK;
}
