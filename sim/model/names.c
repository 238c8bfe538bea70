/* Names and rules of the description: how tensors are created, what their padding must hold. */
#include "sim/model/model.h"

const char *cs_init_name(enum cs_init init) {
    static const char *const names[] = {
#define X(id, name) [CS_INIT_##id] = name,
        CS_INITS(X)
#undef X
    };
    return names[init];
}

/* torch.full(x) counts as ones when its bytes are the dtype's 1.0, however x was written. */
static bool is_one(enum cs_dtype dtype, double value) {
    uint64_t bits, one;
    return cs_dtype_encode(dtype, value, &bits) == CS_OK && cs_dtype_encode(dtype, 1.0, &one) == CS_OK && bits == one;
}

double cs_padding_value(const struct cs_tensor_spec *spec, bool on_meta) {
    if (spec->has_padding_value) return spec->padding_value;
    if (on_meta || spec->init == CS_INIT_META) return 0.0;
    bool is_ones = spec->init == CS_INIT_ONES || (spec->init == CS_INIT_VALUE && is_one(spec->dtype, spec->init_value));
    return is_ones && cs_dtype_is_floating(spec->dtype) ? 1.0 : 0.0;
}
