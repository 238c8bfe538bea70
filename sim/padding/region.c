#include "sim/padding/padding.h"

enum cs_status cs_region_of_box(struct cs_region *region, const struct cs_view *view, const int64_t *start,
                                const int64_t *length) {
    struct cs_view box = *view;
    for (int d = 0; d < view->ndim; d++) CS_TRY(cs_view_narrow(&box, d, start[d], length[d]));
    *region = (struct cs_region){.offset = box.offset - view->offset, .ndim = box.ndim};
    for (int d = 0; d < box.ndim; d++) {
        region->shape[d] = box.shape[d];
        region->stride[d] = box.stride[d];
    }
    return CS_OK;
}

struct cs_view cs_region_view(const struct cs_region *region, const struct cs_view *view) {
    struct cs_view part = *view;
    part.offset += region->offset;
    part.ndim = region->ndim;
    for (int d = 0; d < region->ndim; d++) {
        part.shape[d] = region->shape[d];
        part.stride[d] = region->stride[d];
    }
    return part;
}
