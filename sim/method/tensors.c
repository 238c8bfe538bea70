#include "sim/method/method.h"

static enum cs_status make_tensor(const struct cs_method *method, const struct cs_param_row *row,
                                  const struct cs_sizes *sizes, struct cs_tensor_spec *made) {
    *made = (struct cs_tensor_spec){.name = row->name,
                                    .kind = CS_PARAMETER,
                                    .dtype = row->dtype,
                                    .init = row->init,
                                    .init_value = 1.0,
                                    .weight_loader_numel = -1,
                                    .is_scale = row->is_scale,
                                    .is_online = method->is_online};
    enum cs_status status = cs_shape_parse(row->shape, sizes, &made->ndim, made->shape);
    int one;
    int64_t numel[CS_NDIM];
    if (status == CS_OK && row->numel) {
        status = cs_shape_parse(row->numel, sizes, &one, numel);
        made->weight_loader_numel = numel[0];
    }
    CS_REQUIRE(status == CS_OK, status, "%s %s: %s", method->name, row->name, cs_error_text());
    return CS_OK;
}

enum cs_status cs_method_tensors(const struct cs_method *method, const struct cs_sizes *sizes, struct cs_arena *arena,
                                 const struct cs_tensor_spec **tensors, size_t *n_tensors) {
    struct cs_tensor_spec *made = CS_NEW_ARRAY(arena, struct cs_tensor_spec, method->n_params);
    CS_REQUIRE(made, CS_NO_MEMORY, "out of memory for the parameters of %s", method->name);
    *n_tensors = 0;
    for (size_t i = 0; i < method->n_params; i++) {
        if (!cs_options_select(sizes->options, method->params[i].when)) continue;
        CS_TRY(make_tensor(method, &method->params[i], sizes, &made[*n_tensors]));
        ++*n_tensors;
    }
    *tensors = made;
    return CS_OK;
}
