/* The value of padding as loaders record it (R2.2), and the ways to get it wrong. */
#include <string.h>

#include "sim/model/model.h"

/* Uninitialised storage never sets the value, even if it happens to hold a constant; this mutant lets it. */
static enum cs_status read_memory(const struct cs_rank *rank, const struct cs_view *place, double *value) {
    if (place->storage->kind != CS_STORAGE_MEMORY) return CS_OK;
    struct cs_view element = {.storage = place->storage, .offset = place->offset, .dtype = place->dtype};
    uint64_t bits = 0;
    CS_TRY(cs_device_read(rank->device, &element, &bits, (size_t)(cs_dtype_bits(place->dtype) + 7) / 8));
    *value = cs_dtype_decode(place->dtype, bits);
    return CS_OK;
}

enum cs_status cs_param_padding_value(const struct cs_rank *rank, const struct cs_param *param,
                                      const struct cs_view *place, double *value) {
    const struct cs_tensor_spec *spec = param->spec;
    *value = param->padding_value;
    if (!rank->defects || !spec) return CS_OK;
    bool is_floating = cs_dtype_is_floating(spec->dtype);
    if (cs_rank_has_defect(rank, CS_DEFECT_VALUE_ALWAYS_ZERO)) *value = 0;
    if (cs_rank_has_defect(rank, CS_DEFECT_VALUE_FROM_NAME))
        *value = is_floating && strstr(param->name, "scale") ? 1 : 0;
    if (cs_rank_has_defect(rank, CS_DEFECT_VALUE_OF_INTEGER_ONES) && !is_floating && spec->init == CS_INIT_ONES)
        *value = 1;
    if (cs_rank_has_defect(rank, CS_DEFECT_VALUE_NOT_EXPLICIT) && spec->has_padding_value) {
        struct cs_tensor_spec plain = *spec;
        plain.has_padding_value = false;
        *value = cs_padding_value(&plain, false);
    }
    bool reads_memory = cs_rank_has_defect(rank, CS_DEFECT_VALUE_OF_MEMORY) && spec->init == CS_INIT_EMPTY;
    return reads_memory ? read_memory(rank, place, value) : CS_OK;
}
