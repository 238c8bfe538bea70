/* The four policies of R3, side by side. */
#include "sim/padding/padding.h"

static void count_fill(struct cs_fill_stats *stats, const struct cs_view *view) {
    stats->calls++;
    stats->regions++;
    stats->bytes += cs_view_numel(view) * cs_dtype_bits(view->dtype) / 8;
}

static enum cs_status zero_view(const struct cs_device *device, const struct cs_view *view,
                                struct cs_fill_stats *stats) {
    struct cs_fill fill = {.view = *view, .bits = 0};
    count_fill(stats, view);
    return cs_device_fill(device, &fill, 1);
}

/* One small memset for each expert, as the loader of a server would do it: that is its cost (R3, R4.14). */
static enum cs_status zero_per_expert(const struct cs_padding_site *site, const struct cs_region *region) {
    bool is_meta = cs_view_is_meta(&site->view);
    if (is_meta) return CS_OK;
    struct cs_view view = cs_region_view(region, &site->view);
    if (site->n_experts <= 1) return zero_view(site->device, &view, site->stats);
    int64_t first = site->expert < 0 ? 0 : site->expert, end = site->expert < 0 ? view.shape[0] : first + 1;
    for (int64_t e = first; e < end; e++) {
        struct cs_view expert = view;
        CS_TRY(cs_view_select(&expert, 0, e));
        CS_TRY(zero_view(site->device, &expert, site->stats));
    }
    return CS_OK;
}

/* Sorted by what they know. */
/* clang-format off */
const struct cs_policy cs_policies[] = {
    {.name = "none",
     .rule = "nothing refills padding (today's releases)",
     .weakness = "every padded reload"},
    {.name = "zero_materialized",
     .rule = "every rematerialised tensor is zero-filled",
     .weakness = "only layerwise, only zeros: unit scales and direct reload stay wrong",
     .on_materialize = zero_view},
    {.name = "zero_in_loader",
     .rule = "the loader zeroes what it narrows away, per expert, on every load",
     .weakness = "only zeros; very many small fills",
     .on_narrowed = zero_per_expert},
    {.name = "record_and_fill",
     .rule = "loaders record their padding; it is filled with the creation value right before post-load",
     .weakness = "loader-less paths unless they replay the records",
     .on_narrowed = cs_padding_mark,
     .before_post_load = cs_padding_fill},
};
/* clang-format on */
const size_t cs_n_policies = CS_COUNT(cs_policies);

const struct cs_policy *cs_policy_by_name(const char *name) {
    for (size_t i = 0; i < cs_n_policies; i++)
        if (cs_text_equal(cs_policies[i].name, name)) return &cs_policies[i];
    return NULL;
}
